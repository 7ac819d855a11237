package show

import (
	"encoding/json"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
)

// What a call does is not always in its arguments.

const (
	toolConfig = "config_edit"
	toolOpen   = "background" // terminal_open
)

// program names what a call starts or acts on, where its arguments do not.
func (p Prompt) program() []Line {
	name := terminal.Exact(p.Asked.Program)
	switch {
	case pattern.Canonical(p.Call.Tool) == toolOpen && p.Call.opensShell():
		text := "(the user's shell)"
		if name != "" {
			text = "(the user's shell: " + name + ")"
		}
		return []Line{{Lead: "  ", Next: "  ", Text: text, Exact: true}}
	case name == "":
		return nil
	}
	return []Line{{Lead: "  the terminal runs: ", Next: "    ", Text: name, Exact: true}}
}

// opensShell reports whether a call that opens a terminal leaves the program out.
func (c Call) opensShell() bool {
	var in struct {
		Command string `json:"command"`
	}
	return json.Unmarshal(c.Input, &in) == nil && in.Command == ""
}

// configChange is the change that a call of config_edit would make.
func (c Call) configChange() (permission.Change, bool) {
	var in struct {
		File, List, Entry, Reason string
		Remove                    bool
	}
	if pattern.Canonical(c.Tool) != toolConfig || json.Unmarshal(c.Input, &in) != nil {
		return permission.Change{}, false
	}
	return permission.Change{Layer: permission.Layer(in.File), List: in.List, Text: in.Entry, Reason: in.Reason, Remove: in.Remove}, true
}

// configPlace is the file that a change is made in.
func (p Prompt) configPlace() string {
	whose := "your permission file"
	if c, ok := p.Call.configChange(); ok && c.Layer == permission.LayerProject {
		whose = "the project's permission file"
	}
	if p.Asked.ConfigFile == "" {
		return "changes " + whose
	}
	return "changes " + p.Where.file(p.Asked.ConfigFile) + "   (" + whose + ")"
}

// change says what a change of a permission file means.
func (p Prompt) change() []Line {
	c, ok := p.Call.configChange()
	if !ok {
		return nil
	}
	return []Line{
		{Lead: "  ", Next: "    ", Text: terminal.Exact(c.Words()), Exact: true},
		{Lead: "   = ", Next: "     ", Text: terminal.Line(c.Meaning())},
	}
}
