package show_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// A history says in words what has become of files.
func TestLogOfWorkspaces(t *testing.T) {
	var out bytes.Buffer
	l := show.NewLog(&out, terminal.Style{})
	for _, e := range [][2]string{
		{"workspace.changed", `{"tool_name":"shell_exec","files":[{"path":"a","kind":"add"},{"path":"b","kind":"update"},{"path":"c","kind":"delete"},{"path":"d","kind":"add"}],"files_count":9}`},
		{"workspace.changed", `{"operation_id":"op_1","files":[{"path":"a","kind":"delete"}],"files_count":1}`},
		{"workspace.changed", `{"files_count":2}`},
		{"workspace.changed", `{"problem":"the disk is full"}`},
		{"workspace.taken", `{"target":"/src","files_count":1}`},
		{"workspace.taken", `{"target":"/src","branch":"x","files_count":2}`},
		{"workspace.restored", `{"before":"step_1","files_count":2}`},
	} {
		l.Event(client.Event{Type: e[0], Data: json.RawMessage(e[1])})
	}
	for _, want := range []string{
		"+a ~b -c and 6 more, by shell_exec", "-a, by an operation", "and 2 more, by somebody else, or a call whose outcome is unknown", "the disk is full",
		"1 file to /src", "2 files to the branch x of /src", "2 files, back to before step_1",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
