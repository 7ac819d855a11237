package builtin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

// scene is one tool in a place where it has something to do.
type scene struct {
	// set prepares the workspace. What it returns are words of the calls and results that
	// stand for others: the address of a server, the id of a terminal.
	set   func(t *testing.T, w *tooltest.Workspace) map[string]string
	tool  func(t *testing.T) tools.Tool // nil: the built-in one of the name
	calls []attempt
}

// attempt is one call of a scene.
type attempt struct {
	args any                   // a string is sent as it stands
	with func(env *tools.Env)  // a circumstance of this call and those after it
	is   func(r *tools.Result) // takes what varies out of the result
}

func does(a any) attempt { return attempt{args: a} }

// What a tool answers is what models have learnt to read, and clients to show: each
// change is one of a contract. The files are also what the documentation shows.
func TestCallsAndResults(t *testing.T) {
	all := scenes()
	for _, x := range append(catalogue(), builtin.Direct()...) {
		s, ok := all[x.Name]
		if !ok {
			t.Errorf("%s has no scene: add one, so that its results are written down", x.Name)
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			if s.tool != nil {
				x = s.tool(t)
			}
			golden(t, "calls/"+x.Name+".txt", s.play(t, x))
		})
	}
}

// play makes the calls one after another and writes down what came of them.
func (s scene) play(t *testing.T, x tools.Tool) string {
	w := tooltest.New(t)
	words := map[string]string{}
	if s.set != nil {
		words = s.set(t, w)
	}
	asWritten, asShown := []string{}, []string{w.Dir, "/home/me/project"}
	for shown, real := range words {
		asWritten, asShown = append(asWritten, shown, real), append(asShown, real, shown)
	}
	var b strings.Builder
	for i, c := range s.calls {
		if c.with != nil {
			c.with(w.Env)
		}
		w.Env.StepID = fmt.Sprint("step_", i+1)
		text := written(t, x, c.args)
		status, result := "refused", ""
		if p, err := x.Prepare([]byte(strings.NewReplacer(asWritten...).Replace(text))); err != nil {
			result = err.Error()
		} else {
			w.Env.ToolName = x.Name
			r := p.Run(t.Context(), w.Env)
			if c.is != nil {
				c.is(&r)
			}
			result, status = r.Text, string(r.Outcome)
			if r.Outcome != run.OutcomeCompleted {
				status += " " + r.ErrorKind
			}
		}
		fmt.Fprintf(&b, "%s\n%s\n%s\n", text, status, lined(strings.NewReplacer(asShown...).Replace(result)))
	}
	return b.String()
}

// lined marks the lines of a result, so that none can be taken for what stands around it.
func lined(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			line = " " + line
		}
		b.WriteString("|" + line + "\n")
	}
	return b.String()
}

// written is a call's arguments, in the order of the tool's schema.
func written(t *testing.T, x tools.Tool, a any) string {
	members, is := a.(args)
	if !is {
		return a.(string)
	}
	place := func(name string) int { return strings.Index(string(x.Schema), `"`+name+`":`) }
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int { return place(a) - place(b) })
	parts := make([]string, len(names))
	for i, name := range names {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(members[name]); err != nil {
			t.Fatal(err)
		}
		parts[i] = fmt.Sprintf("%q: %s", name, strings.TrimSpace(b.String()))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
