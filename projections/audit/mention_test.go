package audit

import (
	"slices"
	"strings"
	"testing"

	"hecate/domain/run"
	"hecate/eventstore"
)

// Whatever a record holds, reading it comes to an end, and what it names is bounded and
// can be asked for.
func FuzzMentions(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `nonsense`, `{"tool_name":7,"path":"a"}`, `{"path":"/a//b/../c/"}`, `{"input":{"path":"..","url":"https://[::1]:8/x"}}`,
		`{"files":[{"path":"a"},{"path":null}]}`, `{"calls":[{"offer":{"host":true,"scope":"a.b:1"}}]}`, `{"change":{"list":"network.deny","text":"*"}}`,
		`{"path":"` + strings.Repeat("a/", 100) + `"}`,
	} {
		f.Add("run.x", []byte(seed))
		f.Add(run.ExternalEvent{}.EventType(), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		r := eventstore.Record{Type: typ, Data: data}
		m := mentionsOf(&r)
		names := m.names(&r, "/ws")
		if len(names) > mentionsMax {
			t.Errorf("%d names", len(names))
		}
		for _, n := range names {
			if n.value == "" {
				t.Errorf("kind %d has an empty name", n.kind)
			}
			if len(n.short().value) > valueMax {
				t.Errorf("a name has %d bytes", len(n.short().value))
			}
			if n.kind == kindPath && cleanPath(n.value) != n.value {
				t.Errorf("%q is asked for as %q", n.value, cleanPath(n.value))
			}
		}
	})
}

// A file can be found by each directory above it.
func TestPathsAbove(t *testing.T) {
	for p, want := range map[string][]string{
		"":           nil,
		".":          nil,
		"a.go":       {"a.go"},
		"./a/b.go":   {"a/b.go", "a/"},
		"/ws/a/b/":   {"/ws/a/b", "/", "/ws/", "/ws/a/"},
		"a/../../b":  {"../b", "../"},
		`"\xff"/a`:   {`"\xff"/a`, `"\xff"/`},
		"/ws//x/./y": {"/ws/x/y", "/", "/ws/", "/ws/x/"},

		"/home/you/ws/a/b": {"a/b", "a/", "/home/you/ws/a/b", "/", "/home/", "/home/you/", "/home/you/ws/", "/home/you/ws/a/"},
		"/home/you/ws":     {"/home/you/ws", "/", "/home/", "/home/you/"},
	} {
		l := list{workspace: "/home/you/ws"}
		l.path(p)
		var got []string
		for _, n := range l.names {
			got = append(got, n.value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}
