package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/event"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
)

// Call is one tool call that a model asked for.
type Call struct {
	ID    string
	Tool  string
	Input json.RawMessage // the arguments; {"raw": text} if they are no JSON object

	// What the model said before the call in the same answer, the latest of each: its
	// text, and its reasoning as far as the provider shows it. Either may be "".
	Why, Thinking string
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
	said   map[bundleKey]said
}

// said is what a model has said in one of its answers so far.
type said struct{ text, thinking string }

type bundleKey struct {
	run   string
	index int64
}

// Add looks at one event.
func (b *Bundles) Add(e client.Event) {
	switch e.Type {
	case "assistant.text_complete", "assistant.thinking_complete", "assistant.tool_call_proposed":
	default:
		return
	}
	if b.latest == nil {
		b.all, b.latest, b.said = map[bundleKey]*Bundle{}, map[string]*Bundle{}, map[bundleKey]said{}
	}
	d := decode[assistant](e)
	key := bundleKey{e.RunID, d.Index}
	before, text := b.said[key], d.Text.String()
	switch {
	case e.Type == "assistant.tool_call_proposed":
		b.propose(key, d)
	case strings.TrimSpace(text) == "":
	case e.Type == "assistant.text_complete":
		b.said[key] = said{text, before.thinking}
	default:
		b.said[key] = said{before.text, text}
	}
}

func (b *Bundles) propose(key bundleKey, d assistant) {
	at := b.all[key]
	if at == nil {
		at = &Bundle{RunID: key.run, Index: key.index}
		b.all[key], b.latest[key.run] = at, at
	}
	written, before := d.written(), b.said[key]
	at.Calls = append(at.Calls, Call{ID: d.ToolCallID, Tool: d.ToolName, Input: parsed(written), Why: before.text, Thinking: before.thinking})
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
	raw, _ := json.Marshal(map[string]string{"raw": printable(written)}) // a map of strings always encodes
	return raw
}

// printable shows bytes that are no UTF-8 as escapes: in JSON they would all look alike.
func printable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, s[i])
		} else {
			out.WriteString(s[i : i+size])
		}
		i += size
	}
	return out.String()
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
	if key := programKeys[pattern.Canonical(c.Tool)]; key != "" {
		if x, ok := programOf(membersOf(c.Input), key); ok {
			// What is set for the program is half of what runs.
			words := ""
			for _, l := range append(x.set, x.command[0]) {
				words += l.Text + " "
			}
			return terminal.Cut(strings.TrimSpace(words), aboutColumns)
		}
	}
	if c, ok := c.configChange(); ok {
		return terminal.Cut(terminal.Line(c.Words()), aboutColumns)
	}
	if pattern.Canonical(c.Tool) == toolOpen && c.opensShell() {
		return "(the user's shell)"
	}
	text := func(name string) string {
		s, _ := in[name].(string)
		return terminal.Cut(terminal.Line(s), aboutColumns)
	}
	if sought := text("pattern"); sought != "" {
		if path := text("path"); path != "" && path != "." {
			return `"` + sought + `" in ` + path
		}
		return `"` + sought + `"`
	}
	for _, name := range []string{"command", "git", "path", "url", "query", "operation", "terminal_id", "artifact_id"} {
		if s := text(name); s != "" {
			return s
		}
	}
	return ""
}
