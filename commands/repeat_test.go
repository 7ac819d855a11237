package commands_test

import (
	"context"
	"sync/atomic"
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/eventstore"
)

// A command that is given again gets the first one's answer and changes nothing:
// while what it opened goes on, and when that has long ended.
func TestARepeatedOpenReturnsTheFirstRun(t *testing.T) {
	actions := map[string]action{"start": func(x *commands.Executor, t *testing.T, m commands.Meta, taskID, _ string) (commands.RunResult, error) {
		return x.StartRun(t.Context(), m, taskID, run.Ahead{})
	}}
	for name, do := range actionsAnd(actions) {
		t.Run(name, func(t *testing.T) {
			x := newExecutor(t)
			taskID, source := failed(t, x, agent(), 3)
			m := commands.Meta{CommandID: "cmd-" + name}
			first, err := do(x, t, m, taskID, source)
			if err != nil {
				t.Fatal(err)
			}
			sameAnswer := func(when string) {
				t.Helper()
				head, _ := x.Store.Head(t.Context())
				again, err := do(x, t, m, taskID, source)
				if err != nil || again.RunID != first.RunID || again.Position != first.Position || again.State.TaskID != taskID || again.State.Number != 2 {
					t.Fatalf("%s: %+v, %v; the first answer was %+v", when, again, err, first)
				}
				if now, _ := x.Store.Head(t.Context()); now != head {
					t.Errorf("%s: the log grew by %d", when, now-head)
				}
			}
			sameAnswer("while it is open")
			cancel(t, x, taskID, first.RunID)
			sameAnswer("when it has ended")
			if other, err := do(x, t, commands.Meta{CommandID: "another"}, taskID, source); err != nil || other.RunID == first.RunID {
				t.Errorf("another command: %+v, %v", other, err)
			}
			sameAnswer("while another is open")
		})
	}
}

func actionsAnd(more map[string]action) map[string]action {
	for name, do := range actions {
		more[name] = do
	}
	return more
}

// However many send the same command at once, one run is opened and all hear of it.
func TestTheSameOpenManyTimesAtOnce(t *testing.T) {
	for name, open := range logs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := open(t)
			taskID, source := failed(t, x[0], agent(), 0)
			ids := make([]string, 16)
			atOnce(len(ids), func(i int) {
				r, err := actions["resume"](x[i%2], t, commands.Meta{CommandID: "once"}, taskID, source)
				if err != nil {
					t.Error(err)
				}
				ids[i] = r.RunID
			})
			for _, id := range ids {
				if id != ids[0] {
					t.Fatalf("runs %v", ids)
				}
			}
		})
	}
}

// A request that was refused has not used its name up.
func TestARefusedCommandMayBeGivenAgain(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := start(t, x, agent())
	m := commands.Meta{CommandID: "again"}
	if _, err := x.RetryRun(t.Context(), m, taskID, runID, "", run.Ahead{}); !isKind(err, fault.KindConflict) {
		t.Fatalf("retrying a queued run gives %v", err)
	}
	cancel(t, x, taskID, runID)
	if r, err := x.RetryRun(t.Context(), m, taskID, runID, "", run.Ahead{}); err != nil || r.State.Number != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestARepeatedCreateReturnsTheFirstTask(t *testing.T) {
	x := newExecutor(t)
	m := commands.Meta{CommandID: "cmd-1"}
	first, err := x.CreateTask(t.Context(), m, agent())
	if err != nil {
		t.Fatal(err)
	}
	other := agent()
	other.Title = "something else"
	again, err := x.CreateTask(t.Context(), m, other)
	if err != nil || again.TaskID != first.TaskID || again.Position != first.Position || again.State.Definition.Title != first.State.Definition.Title {
		t.Fatalf("the second time: %+v, %v; the first: %+v", again, err, first)
	}
	if head, _ := x.Store.Head(t.Context()); head != first.Position {
		t.Fatalf("the log grew to %d", head)
	}
	ids := make([]string, 8)
	atOnce(len(ids), func(i int) {
		r, err := x.CreateTask(t.Context(), commands.Meta{CommandID: "cmd-2"}, agent())
		if err != nil {
			t.Error(err)
		}
		ids[i] = r.TaskID
	})
	for _, id := range ids {
		if id != ids[0] || id == first.TaskID {
			t.Fatalf("tasks %v", ids)
		}
	}
}

// A yes, a no, a cancel and a statement that are sent again are no conflict, whatever
// the repetition says.
func TestWhatARunWasToldIsNotAConflictWhenToldAgain(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	tell := func(id string, do func(m commands.Meta, second bool) (commands.RunResult, error)) {
		t.Helper()
		m := commands.Meta{CommandID: id}
		first, err := do(m, false)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		status := first.State.Status
		head, _ := x.Store.Head(t.Context())
		again, err := do(m, true)
		if err != nil || again.RunID != first.RunID || again.State.Status != status || again.Position != first.Position {
			t.Fatalf("%s again: %+v, %v; the first answer was %+v", id, again, err, first)
		}
		if now, _ := x.Store.Head(t.Context()); now != head {
			t.Errorf("%s again: the log grew by %d", id, now-head)
		}
	}
	taskID, runID := start(t, x, shellTask())
	approval := advance(t, x, runID).Approval.ApprovalID
	tell("yes", func(m commands.Meta, second bool) (commands.RunResult, error) {
		decision := "approve"
		if second {
			decision = "reject"
		}
		return x.ResolveApproval(t.Context(), m, taskID, run.Resolution{ApprovalID: approval, Decision: decision})
	})
	if _, err := x.ResolveApproval(t.Context(), commands.Meta{CommandID: "other"}, taskID, run.Resolution{ApprovalID: approval, Decision: "approve"}); !isKind(err, fault.KindConflict) {
		t.Errorf("another yes gives %v", err)
	}
	begin(t, x, runID)
	s := advance(t, x, runID)
	advance(t, x, runID, run.DispatchIntended{ToolCallID: "c", ToolName: "shell", StepID: s.NextStepID()})
	tell("cancel", func(m commands.Meta, _ bool) (commands.RunResult, error) {
		return x.CancelRun(t.Context(), m, taskID, runID, "enough")
	})
	tell("state", func(m commands.Meta, second bool) (commands.RunResult, error) {
		outcome := "done"
		if second {
			outcome = "not_done"
		}
		return x.StateOutcome(t.Context(), m, commands.StateOutcome{TaskID: taskID, RunID: runID, StepID: s.NextStepID(), Outcome: outcome})
	})
	if d := advance(t, x, runID).Doubtful; len(d) != 1 || d[0].Stated == nil || !d[0].Stated.Done {
		t.Errorf("doubts %+v", d)
	}
}

// Both who give the same answer at once are told that it counted, once.
func TestTheSameYesTwiceAtOnce(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	for range 20 {
		taskID, runID := start(t, x, shellTask())
		approval := advance(t, x, runID).Approval.ApprovalID
		atOnce(2, func(int) {
			r, err := x.ResolveApproval(t.Context(), commands.Meta{CommandID: runID}, taskID, run.Resolution{ApprovalID: approval, Decision: "approve"})
			if err != nil || r.State.Status != run.StatusQueued {
				t.Errorf("%+v, %v", r.State, err)
			}
		})
		if got := types(t, x, commands.RunStream(runID)); count(got, "approval.resolved") != 1 {
			t.Fatalf("events %v", got)
		}
	}
}

// A repeated event of a caller is the same event.
func TestARepeatedCallerEvent(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := start(t, x, agent())
	var places [2]eventstore.Appended
	for i := range places {
		var err error
		places[i], err = x.PostEvent(t.Context(), commands.Meta{CommandID: "e"}, commands.PostEvent{TaskID: taskID, RunID: runID, Type: "ci.build"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if places[0].First != places[1].First || !places[1].Repeated {
		t.Errorf("%+v", places)
	}
}

// lagging shows a log whose newest records cannot be read before they were waited for.
type lagging struct {
	eventstore.Store
	waited atomic.Bool
}

func (l *lagging) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	if !l.waited.Load() {
		return nil, nil
	}
	return l.Store.ReadAll(ctx, after, limit)
}

func (l *lagging) Wait(ctx context.Context, after int64) error {
	err := l.Store.Wait(ctx, after)
	l.waited.Store(err == nil)
	return err
}

// A command whose first answer is not readable yet is recalled all the same.
func TestARepeatedCommandThatHasJustBeenAppended(t *testing.T) {
	x := newExecutor(t)
	taskID := newTask(t, x, agent())
	first, err := x.StartRun(t.Context(), commands.Meta{CommandID: "start"}, taskID, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := executorOn(&lagging{Store: x.Store}).StartRun(t.Context(), commands.Meta{CommandID: "start"}, taskID, run.Ahead{})
	if err != nil || again.RunID != first.RunID {
		t.Errorf("%s, %v, want %s", again.RunID, err, first.RunID)
	}
}
