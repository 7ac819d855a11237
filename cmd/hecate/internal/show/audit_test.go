package show_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// Events of several runs stand below the run that they belong to, with who caused them.
// Names that nothing proves are marked, and nothing that an event says moves the cursor.
func TestAuditLines(t *testing.T) {
	time.Local = time.UTC
	yes, no := true, false
	at := time.Date(2026, 2, 3, 9, 30, 0, 0, time.UTC)
	var out bytes.Buffer
	a := show.NewAudit(&out, terminal.Style{})
	for i, e := range []client.Event{
		{TaskID: "task_1", Type: "task.created", Actor: client.Actor{Kind: "client", Name: "ci", Verified: &no}, Data: json.RawMessage(`{"definition":{"title":"fix it"}}`)},
		{TaskID: "task_1", RunID: "run_1", Type: "approval.resolved", Actor: client.Actor{Kind: "operator", Name: "ada", Org: "acme", Verified: &yes}, Data: json.RawMessage(`{"status":"approved","by":"operator"}`)},
		{TaskID: "task_1", RunID: "run_1", Type: "run.started", Actor: client.Actor{Kind: "worker", Name: "node"}, Data: json.RawMessage(`{}`)},
		{TaskID: "task_2", RunID: "run_2", Type: "run.failed", Actor: client.Actor{Kind: "worker"}, Data: json.RawMessage(`{"message":"a\u001b[2Jb"}`)},
		{Type: "preset.updated", Actor: client.Actor{Kind: "client"}, Data: json.RawMessage(`{"definition":{"name":"Careful"}}`)},
		{TaskID: "task_2", Type: "task.deleted", Data: json.RawMessage(`{}`)},
	} {
		e.Sequence, e.OccurredAt = int64(i+1), at.Add(time.Duration(i)*5*time.Hour)
		a.Event(e)
	}
	want := `2026-02-03 (UTC)
task_1
       1  09:30:00.000  ci?               task.created                  “fix it”
run_1 of task_1
       2  14:30:00.000  ada@acme          approval.resolved             approved by operator
       3  19:30:00.000  worker            run.started
2026-02-04 (UTC)
run_2 of task_2
       4  00:30:00.000  worker            run.failed                    a\x1b[2Jb
       5  05:30:00.000  client            preset.updated                Careful
task_2
       6  10:30:00.000                    task.deleted
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
