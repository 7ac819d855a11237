package show

import (
	"encoding/json"
	"io"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/event"
	"hecate/domain/run"
)

// Call is one tool call that a model asked for.
type Call struct {
	ID    string
	Tool  string
	Input json.RawMessage // the arguments; {"raw": text} if they are no JSON object
}

// Bundle is the calls of one model response, in order.
type Bundle struct {
	RunID string
	Index int64 // of the model call
	Calls []Call

	exact []run.ToolCall // with the bytes that the model wrote
}

// Digest names the calls of the bundle exactly: hex SHA-256, see run.BundleDigest.
func (b *Bundle) Digest() string { return run.BundleDigest(b.RunID, b.Index, b.exact) }

// TakenOver is the bundle as a run inherits it that goes on from the one whose model
// asked for it: the same calls under that run's name. An approval in it is about them.
func (b *Bundle) TakenOver(runID string) *Bundle {
	out := *b
	out.RunID, out.Index = runID, 0
	return &out
}

// Bundles gathers the bundles of runs from their events.
type Bundles struct {
	all    map[bundleKey]*Bundle
	latest map[string]*Bundle // by run
}

type bundleKey struct {
	run   string
	index int64
}

// Add looks at one event.
func (b *Bundles) Add(e client.Event) {
	if e.Type != "assistant.tool_call_proposed" {
		return
	}
	if b.latest == nil {
		b.all, b.latest = map[bundleKey]*Bundle{}, map[string]*Bundle{}
	}
	d := decode[assistant](e)
	key := bundleKey{e.RunID, d.Index}
	at := b.all[key]
	if at == nil {
		at = &Bundle{RunID: e.RunID, Index: d.Index}
		b.all[key], b.latest[e.RunID] = at, at
	}
	written := d.written()
	at.Calls = append(at.Calls, Call{ID: d.ToolCallID, Tool: d.ToolName, Input: parsed(written)})
	at.exact = append(at.exact, run.ToolCall{ID: d.ToolCallID, Name: d.ToolName, Arguments: event.NewText(written)})
}

// written is the text of the arguments as the model wrote them.
func (d assistant) written() string {
	switch {
	case d.Exact != nil:
		return string(d.Exact)
	case d.Arguments != nil:
		return *d.Arguments
	}
	return string(d.Input)
}

// parsed is the JSON object that the model wrote, or {"raw": text} for anything else.
// What is shown comes from the same bytes as the digest.
func parsed(written string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(written), &object) == nil && object != nil {
		return json.RawMessage(written)
	}
	raw, _ := json.Marshal(map[string]string{"raw": written}) // a map of strings always encodes
	return raw
}

// Of returns the latest bundle of a run, nil if none is known.
func (b *Bundles) Of(runID string) *Bundle { return b.latest[runID] }

// At returns the bundle of one model call of a run, nil if it is not known.
func (b *Bundles) At(runID string, index int64) *Bundle { return b.all[bundleKey{runID, index}] }

// Call finds a call by its id in the bundle of one model call of a run.
func (b *Bundles) Call(runID string, index int64, id string) (Call, bool) {
	if at := b.At(runID, index); at != nil {
		for _, c := range at.Calls {
			if c.ID == id {
				return c, true
			}
		}
	}
	return Call{}, false
}

// Verbatim writes the call's arguments completely, one after the other in the
// model's order, every control character visible and every line behind a bar, so
// that no argument can pass for a line of ours.
func (c Call) Verbatim(w io.Writer, st terminal.Style, indent string) {
	fields := membersOf(c.Input)
	nameColumns := 0
	for _, f := range fields {
		nameColumns = max(nameColumns, terminal.Columns(f.name))
	}
	for _, f := range fields {
		label := f.name + strings.Repeat(" ", nameColumns-terminal.Columns(f.name))
		for _, line := range f.lines(st.Columns - len(indent) - nameColumns - 3) {
			io.WriteString(w, indent+st.Dim(label+" │")+" "+line+"\n")
			label = strings.Repeat(" ", nameColumns)
		}
	}
}

// member is one argument, ready to be shown.
type member struct {
	name string
	text string
}

func (m member) lines(columns int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(m.text, "\n"), "\n") {
		if columns < 10 {
			out = append(out, line)
			continue
		}
		out = append(out, terminal.Fold(line, columns)...)
	}
	return out
}

// membersOf lists the members of a JSON object in the order they stand in. Strings
// are shown as their text, everything else as its JSON.
func membersOf(input json.RawMessage) []member {
	d := json.NewDecoder(strings.NewReader(string(input)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []member{{"input", terminal.Text(string(input))}}
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return []member{{"input", terminal.Text(string(input))}}
		}
		text := string(value)
		var s string
		if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil {
			text = s
		}
		// Unlike in prose a tab counts here: it is shown as \t.
		out = append(out, member{terminal.Line(name.(string)), strings.ReplaceAll(terminal.Text(text), "\t", `\t`)})
	}
	return out
}

// Summary names the call on one line: its tool and what it is about.
func (c Call) Summary() string {
	about := c.about()
	if about == "" {
		return terminal.Line(c.Tool)
	}
	return terminal.Line(c.Tool) + " " + about
}

// aboutColumns is how much of an argument a summary shows.
const aboutColumns = 60

func (c Call) about() string {
	var in map[string]any
	if json.Unmarshal(c.Input, &in) != nil {
		return ""
	}
	text := func(name string) string {
		s, _ := in[name].(string)
		return terminal.Cut(terminal.Line(s), aboutColumns)
	}
	if pattern := text("pattern"); pattern != "" {
		if path := text("path"); path != "" && path != "." {
			return `"` + pattern + `" in ` + path
		}
		return `"` + pattern + `"`
	}
	for _, name := range []string{"command", "path", "url", "query", "operation", "terminal_id", "artifact_id"} {
		if s := text(name); s != "" {
			return s
		}
	}
	return ""
}
