package show

import (
	"encoding/json"
	"io"
	"strings"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission/pattern"
)

// Bars stand before every row of what somebody else wrote, so that none of it can
// pass for a line of ours. The second one marks the rest of a line that is too long.
const (
	bar  = "│ "
	bent = "┆ "
)

// exact makes lines of a text of which every character counts.
func exact(lead, next, text string) []Line {
	var out []Line
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, Line{Lead: lead, Next: next, Text: terminal.Exact(line), Exact: true})
		lead = strings.Repeat(" ", terminal.Columns(lead)-terminal.Columns(bar)) + bar
	}
	return out
}

// principals name the argument that a call of the tool is about: it is shown by itself,
// without its name.
var principals = map[string]string{
	"shell": "command", "background": "command", "terminal_write": "command", "git_exec": "command", "web_fetch": "url",
}

// Lines are the call's arguments, completely and in the model's order, except that a
// command, a program or a URL comes first.
func (c Call) Lines() []Line {
	members := membersOf(c.Input)
	name := pattern.Canonical(c.Tool)
	if key := programKeys[name]; key != "" {
		if x, ok := programOf(members, key); ok {
			return append(append(x.set, x.command...), labelled(x.rest)...)
		}
	}
	for i, m := range members {
		if m.name == principals[name] && once(members, m.name) {
			rest := append(append([]member{}, members[:i]...), members[i+1:]...)
			return append(exact(bar, bent, m.text), labelled(rest)...)
		}
	}
	return labelled(members)
}

// Verbatim writes the call's lines for a terminal of that style.
func (c Call) Verbatim(w io.Writer, st terminal.Style, indent string) {
	for _, r := range Rows(c.Lines(), width(st, indent)) {
		_, _ = io.WriteString(w, indent+r.Weight.Paint(st, r.Text)+"\n") // what fails here fails again with the next line
	}
}

func width(st terminal.Style, indent string) int {
	if st.Columns == 0 {
		return 0
	}
	return st.Columns - len(indent)
}

// labelled are members with their names before them.
func labelled(members []member) []Line {
	columns := 0
	for _, m := range members {
		columns = max(columns, terminal.Columns(terminal.Exact(m.name)))
	}
	var out []Line
	for _, m := range members {
		name := terminal.Exact(m.name)
		label := name + strings.Repeat(" ", columns-terminal.Columns(name)+1)
		out = append(out, exact(label+bar, strings.Repeat(" ", columns+1)+bent, strings.TrimSuffix(m.text, "\n"))...)
	}
	return out
}

// program is a call of exec as a command line.
type program struct {
	set     []Line // what it sets for the program
	command []Line
	rest    []member // its other arguments
}

// programKeys name the argument that is the program, of tools that run one directly.
var programKeys = map[string]string{"exec": "program", toolOpen: "command"}

// programOf is not ok if the arguments are not what such a tool takes.
func programOf(members []member, key string) (x program, ok bool) {
	var words, args []string
	for _, m := range members {
		if !once(members, m.name) {
			return program{}, false
		}
		switch m.name {
		case key:
			words, ok = []string{quoteWord(m.text)}, m.isText
		case "args":
			if json.Unmarshal(m.raw, &args) != nil || strings.ContainsRune(strings.Join(args, ""), '\ufffd') {
				return program{}, false
			}
		case "env":
			for _, v := range membersOf(m.raw) {
				if !v.isText {
					return program{}, false
				}
				x.set = append(x.set, exact(bar, bent, v.name+"="+quoteWord(v.text))...)
			}
		default:
			x.rest = append(x.rest, m)
		}
	}
	for _, a := range args {
		words = append(words, quoteWord(a))
	}
	x.command = exact(bar, bent, strings.Join(words, " "))
	return x, ok
}

func once(members []member, name string) bool {
	n := 0
	for _, m := range members {
		if m.name == name {
			n++
		}
	}
	return n == 1
}

// quoteWord writes a text as one word of a command line, so that it is seen where it
// begins and ends. Line breaks stay.
func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// member is one argument.
type member struct {
	name   string
	text   string          // as it is meant; what is no text, or no clean one, as its JSON
	isText bool            // text is the value of a string
	raw    json.RawMessage // as it was written
}

// membersOf lists the members of a JSON object in the order they stand in.
func membersOf(input json.RawMessage) []member {
	whole := []member{{name: "input", text: string(input), raw: input}}
	d := json.NewDecoder(strings.NewReader(string(input)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return whole
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return whole
		}
		m := member{name: name.(string), text: string(value), raw: value}
		var s string
		// Half of a surrogate pair would become the sign that an honest text may have, too.
		if value[0] == '"' && json.Unmarshal(value, &s) == nil && !strings.ContainsRune(s, '\ufffd') {
			m.text, m.isText = s, true
		}
		out = append(out, m)
	}
	return out
}

// hides reports whether something in the call is shown as an escape, since it has no
// sign of its own.
func (c Call) hides() bool {
	for _, m := range membersOf(c.Input) {
		for line := range strings.SplitSeq(m.text, "\n") {
			if terminal.Exact(line) != line && strings.ReplaceAll(terminal.Exact(line), `\t`, "\t") != line {
				return true
			}
		}
	}
	return false
}
