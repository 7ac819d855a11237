package commands_test

import (
	"testing"

	"hecate/commands"
	"hecate/domain/run"
	"hecate/eventstore"
)

// Every event names the newest one that it was decided on: what a worker does leads to
// what put the run before it, a follower to its source's end, and a start to nothing.
func TestCauses(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := start(t, x, agent())
	begin(t, x, runID)
	cancel(t, x, taskID, runID)
	next, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: runID})
	if err != nil {
		t.Fatal(err)
	}
	stream := func(id string) []eventstore.Record {
		records, err := x.Store.ReadStream(t.Context(), commands.RunStream(id), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	first, second := stream(runID), stream(next.RunID)
	for _, r := range first {
		opens := r.Type == (run.Created{}).EventType() || r.Type == (run.Queued{}).EventType()
		if opens != (r.CausedBy == 0) || r.CausedBy >= r.Position {
			t.Errorf("%s at %d is caused by %d", r.Type, r.Position, r.CausedBy)
		}
	}
	if end := first[len(first)-1].Position; second[0].CausedBy != end {
		t.Errorf("the run that resumes is caused by %d, not by the end of the first at %d", second[0].CausedBy, end)
	}
}
