package commands_test

import (
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
)

// Of all who follow one run at the same moment, in whatever way and on whatever
// server, one opens a run. Cancelling the run that ended long ago changes nothing. Who
// deletes the task meanwhile is refused, or everybody else is.
func TestOfAllWhoFollowExactlyOneOpensARun(t *testing.T) {
	for name, open := range logs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := open(t)
			for round := range 3 {
				taskID, source := failed(t, x[0], agent(), 0)
				deletes := round > 0
				errs := make([]error, 32)
				atOnce(len(errs), func(i int) { errs[i] = follow(t, x[i%2], i, deletes, taskID, source) })
				checkOneOpened(t, x[0], taskID, errs)
			}
		})
	}
}

// follow is what the ith of many does at once: 10 resume, 10 retry, 10 continue.
func follow(t *testing.T, x *commands.Executor, i int, deletes bool, taskID, source string) (err error) {
	switch {
	case i < 30:
		name := []string{"resume", "retry", "continue"}[i%3]
		_, err = actions[name](x, t, commands.Meta{}, taskID, source)
	case i == 30:
		if _, err := x.CancelRun(t.Context(), commands.Meta{}, taskID, source, ""); err != nil && !isKind(err, fault.KindNotFound) {
			t.Errorf("cancel: %v", err)
		}
		return errChangesNothing
	case deletes:
		_, err = x.DeleteTask(t.Context(), commands.Meta{}, taskID)
	default:
		return errChangesNothing
	}
	return err
}

var errChangesNothing = fault.Conflict("nothing", "this one cannot win")

func checkOneOpened(t *testing.T, x *commands.Executor, taskID string, errs []error) {
	t.Helper()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !isKind(err, fault.KindConflict) && !isKind(err, fault.KindNotFound):
			t.Errorf("%d gets %v", i, err)
		}
	}
	got := types(t, x, commands.TaskStream(taskID))
	opened, deleted := count(got, "task.run.opened")-1, count(got, "task.deleted")
	if won != 1 || opened+deleted != 1 {
		t.Fatalf("%d won; the task's events are %v", won, got)
	}
}

// A run that is opened while its task is deleted: one of the two happens.
func TestDeletingATaskThatIsBeingStarted(t *testing.T) {
	for name, open := range logs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := open(t)
			for range 20 {
				taskID := newTask(t, x[0], agent())
				var startErr, deleteErr error
				atOnce(2, func(i int) {
					if i == 0 {
						_, startErr = x[0].StartRun(t.Context(), commands.Meta{}, taskID, run.Ahead{})
					} else {
						_, deleteErr = x[1].DeleteTask(t.Context(), commands.Meta{}, taskID)
					}
				})
				switch {
				case startErr == nil && isKind(deleteErr, fault.KindConflict):
				case deleteErr == nil && isKind(startErr, fault.KindNotFound):
				default:
					t.Fatalf("start: %v, delete: %v", startErr, deleteErr)
				}
			}
		})
	}
}

// A run that follows another one gets the task's ceiling as it is when it is opened:
// who asked for less before somebody raised it is refused, and nothing lowers it.
func TestAStaleRequestDoesNotLowerTheCeiling(t *testing.T) {
	x := newExecutor(t)
	d := agent()
	d.BudgetMicroUSD = 1000
	taskID, source := failed(t, x, d, 0)
	stale := *x
	stale.Store = &hooked{Store: x.Store, before: func() {
		r, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: source, BudgetMicro: 5000})
		if err != nil {
			t.Fatal(err)
		}
		cancel(t, x, taskID, r.RunID)
	}}
	_, err := stale.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: source, BudgetMicro: 3000})
	if !isKind(err, fault.KindInvalid) {
		t.Fatalf("the stale request gets %v", err)
	}
	// Those who ask for nothing, or for as much, leave it.
	for _, again := range []func() (commands.RunResult, error){
		func() (commands.RunResult, error) {
			return x.RetryRun(t.Context(), commands.Meta{}, taskID, source, "", run.Ahead{})
		},
		func() (commands.RunResult, error) {
			return x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: source, BudgetMicro: 5000})
		},
		func() (commands.RunResult, error) {
			return x.ContinueRun(t.Context(), commands.Meta{}, taskID, source, "go on", run.Ahead{})
		},
	} {
		r, err := again()
		if err != nil || advance(t, x, r.RunID).BudgetMicroUSD != 5000 {
			t.Fatalf("%+v, %v", r.State, err)
		}
		cancel(t, x, taskID, r.RunID)
	}
	if got := count(types(t, x, commands.TaskStream(taskID)), "task.budget.raised"); got != 1 {
		t.Errorf("the ceiling was raised %d times", got)
	}
}

// Whoever raises the ceiling at the same moment as others, it only rises.
func TestTheCeilingOnlyRises(t *testing.T) {
	x := newExecutor(t)
	taskID, source := failed(t, x, agent(), 0)
	last := int64(0)
	for round := range 5 {
		atOnce(8, func(i int) {
			_, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: source, BudgetMicro: int64(777 + 100*round + i)})
			if err != nil && !isKind(err, fault.KindConflict) && !isKind(err, fault.KindInvalid) {
				t.Error(err)
			}
		})
		s := taskOf(t, x, taskID)
		if s.BudgetMicroUSD < last || s.BudgetMicroUSD < 777 {
			t.Fatalf("the ceiling went from %d to %d", last, s.BudgetMicroUSD)
		}
		last = s.BudgetMicroUSD
		cancel(t, x, taskID, s.OpenRun)
	}
}

func taskOf(t *testing.T, x *commands.Executor, id string) task.State {
	t.Helper()
	var s task.State
	if err := x.Load(t.Context(), commands.TaskStream(id), 0, s.Apply); err != nil {
		t.Fatal(err)
	}
	return s
}

// What the runs of a chain spent is added up along the chain, whichever way they
// follow each other; a retry begins a bill of its own.
func TestTheBillFollowsTheChain(t *testing.T) {
	const micro = 1_000_000
	x := newExecutor(t)
	taskID, first := failed(t, x, agent(), 600)
	second := next(t, x, "resume", taskID, first, 600*micro)
	spend(t, x, second, 50)
	third := next(t, x, "continue", taskID, second, 650*micro)
	spend(t, x, third, 7)
	branch := next(t, x, "branch", taskID, second, 650*micro)
	spend(t, x, branch, 1)
	next(t, x, "resume", taskID, branch, 651*micro)
	retry := next(t, x, "retry", taskID, third, 0)
	spend(t, x, retry, 3)
	next(t, x, "resume", taskID, retry, 3*micro)
}

// next follows a run, checks what it has to carry and closes it for those after it.
func next(t *testing.T, x *commands.Executor, way, taskID, runID string, prior int64) string {
	t.Helper()
	if open := taskOf(t, x, taskID).OpenRun; open != "" {
		cancel(t, x, taskID, open)
	}
	r, err := actions[way](x, t, commands.Meta{}, taskID, runID)
	if err != nil {
		t.Fatal(err)
	}
	s := advance(t, x, r.RunID)
	if s.PriorPicoUSD != prior || s.SpentPicoUSD != 0 {
		t.Fatalf("a %s begins with %d before it and %d spent, want %d", way, s.PriorPicoUSD, s.SpentPicoUSD, prior)
	}
	return r.RunID
}

func spend(t *testing.T, x *commands.Executor, runID string, micro int64) {
	t.Helper()
	begin(t, x, runID)
	ask(t, x, runID, micro)
	fail(t, x, runID)
}

// What was reserved for a call that nobody knows the cost of stays on the bill, also of
// a call that the run's end cut short.
func TestReservationsFollowTheChain(t *testing.T) {
	x := newExecutor(t)
	d := agent()
	d.BudgetMicroUSD = 1000
	taskID, first := start(t, x, d)
	begin(t, x, first)
	advance(t, x, first, run.ModelCallStarted{ModelCallIndex: 1, StepID: "s1", ReservedPicoUSD: 5}, run.ModelCallAbandoned{ModelCallIndex: 1, StepID: "s1"})
	advance(t, x, first, run.ModelCallStarted{ModelCallIndex: 1, StepID: "s2", ReservedPicoUSD: 11})
	cancel(t, x, taskID, first)
	for _, c := range []struct {
		way  string
		want int64
	}{{"resume", 16}, {"continue", 16}, {"retry", 0}} {
		r, err := actions[c.way](x, t, commands.Meta{}, taskID, first)
		if err != nil {
			t.Fatal(err)
		}
		if s := advance(t, x, r.RunID); s.HeldPicoUSD != c.want || s.Charged() != c.want {
			t.Errorf("a %s begins with %d held and %d charged, want %d", c.way, s.HeldPicoUSD, s.Charged(), c.want)
		}
		cancel(t, x, taskID, r.RunID)
	}
}
