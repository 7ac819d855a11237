package commands_test

import (
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
)

// What goes on in a workspace of its own, and what has none.
func TestWhatNoSegmentGoesOnIn(t *testing.T) {
	x := newExecutor(t)
	segment := func(taskID, runID string) error {
		_, err := x.CreateSegment(t.Context(), commands.Meta{}, taskID, runID, agent())
		return err
	}
	inPlace := agent()
	inPlace.WorkspaceMode, inPlace.WorkingDirectory = "in_place", "/src"
	for name, c := range map[string]struct {
		d    task.Definition
		end  bool
		kind fault.Kind
	}{
		"in place":      {inPlace, true, fault.KindInvalid},
		"not ended":     {agent(), false, fault.KindConflict},
		"not begun yet": {agent(), true, fault.KindConflict},
	} {
		id := newTask(t, x, c.d)
		r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
		if err != nil {
			t.Fatal(err)
		}
		if c.end {
			if _, err := x.CancelRun(t.Context(), commands.Meta{}, id, r.RunID, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := segment(id, r.RunID); !isKind(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if err := segment(newTask(t, x, agent()), r.RunID); !isKind(err, fault.KindNotFound) {
			t.Errorf("%s: a run of another task: %v", name, err)
		}
	}
}
