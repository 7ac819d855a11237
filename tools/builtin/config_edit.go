package builtin

import (
	"context"
	"fmt"

	"hecate/domain/permission"
	"hecate/tools"
)

// configEdit changes one entry of a permission file, after a person has said yes to that.
var configEdit = tools.New(tools.Spec[configEditIn]{
	Name: "config_edit",
	Summary: "Add one entry to a permission file, or remove one. A person is asked about every change. " +
		"Use it only when the user wants the permissions changed.",
	Check: func(in *configEditIn) error { return in.check() },
	Input: configEditIn.input,
	Line:  func(in configEditIn) (string, bool) { return in.line(), true },
	Facts: func(_ tools.Place, in configEditIn) permission.Facts {
		return permission.Facts{Principal: in.principal()}
	},
	Handle: runConfigEdit,
})

type configEditIn struct {
	File   string `json:"file" enum:"user,project" jsonschema:"whose file"`
	List   string `json:"list" enum:"permissions.deny,permissions.approve,permissions.promoted,network.deny,network.allow,network.promoted" jsonschema:"which list of it"`
	Entry  string `json:"entry" jsonschema:"a pattern such as exec(go) args(test *), or for the lists of network one host"`
	Reason string `json:"reason,omitempty" jsonschema:"for a deny entry: what to tell whoever meets it, and what to do instead"`
	Remove bool   `json:"remove,omitempty" jsonschema:"take the entry out instead"`
}

func (in configEditIn) change() permission.Change {
	return permission.Change{Layer: permission.Layer(in.File), List: in.List, Text: in.Entry, Reason: in.Reason, Remove: in.Remove}
}

func (in configEditIn) check() error {
	if in.Entry == "" {
		return fmt.Errorf("config_edit: entry is required")
	}
	if err := in.change().Check(); err != nil {
		return fmt.Errorf("config_edit: %w", err)
	}
	return nil
}

func (in configEditIn) principal() string { return in.File + " " + in.List + " " + in.Entry }

func (in configEditIn) verb() string {
	if in.Remove {
		return "remove"
	}
	return "add"
}

func (in configEditIn) input() map[string]any {
	return map[string]any{"file": in.File, "list": in.List, "entry": in.Entry, "reason": in.Reason, "remove": in.Remove}
}

// line shows all that would change: it is about what may be done without a question.
func (in configEditIn) line() string {
	line := fmt.Sprintf("config_edit %s file=%s list=%s entry=%s", in.verb(), in.File, in.List, tools.Quoted(in.Entry))
	if in.Reason != "" {
		line += " reason=" + tools.Quoted(in.Reason)
	}
	return line
}

func runConfigEdit(ctx context.Context, env *tools.Env, in configEditIn) tools.Result {
	if env.EditConfig == nil {
		return refused(env, "nobody is attached to this run who could agree to it; tell the user which entry you would change, in which file and why")
	}
	file, err := env.EditConfig(ctx, in.change())
	if err != nil {
		if ctx.Err() != nil {
			return tools.Cancelled(ctx, env.ToolName)
		}
		return refused(env, "the file was not changed: %v", err)
	}
	what := "added to"
	if in.Remove {
		what = "removed from"
	}
	r := done("config_edit "+in.List, fmt.Sprintf("status=completed\n%s %s %s of %s\nIt counts from the next call on.", tools.Quoted(in.Entry), what, in.List, tools.ShownName(file)))
	r.Output = map[string]any{"file": file, "list": in.List, "remove": in.Remove}
	return r
}
