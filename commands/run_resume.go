package commands

import (
	"context"

	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
)

// ResumeRun asks for a run that goes on where another one stopped.
type ResumeRun struct {
	TaskID, RunID string
	Reason        string
	Ahead         run.Ahead
	BudgetMicro   int64 // the task's ceiling from now on; 0 leaves it. It never falls
}

// ResumeRun opens a run that goes on where a failed or cancelled one stopped: in its
// workspace, with its conversation and its bill. Calls that were left open pass the
// policy, and a person if it asks for one, again.
func (x *Executor) ResumeRun(ctx context.Context, m Meta, c ResumeRun) (RunResult, error) {
	if c.BudgetMicro < 0 || c.BudgetMicro > task.BudgetMax {
		return RunResult{}, fault.Invalid("invalid_request", "budget_micros_usd must be between 0 and %d", int64(task.BudgetMax))
	}
	return x.open(ctx, m, c.TaskID, c.Ahead, func(t task.State) (opening, error) {
		o, err := x.sourceOf(ctx, t, run.SourceResume, c.RunID, c.Reason)
		if err != nil {
			return o, err
		}
		switch err := notEnded(o.from); {
		case err != nil:
			return o, err
		case o.from.Status == run.StatusCompleted:
			return o, fault.Conflict("invalid_request", "task run is completed; only a failed or cancelled run can be resumed, a completed one can be continued with a new prompt")
		case c.BudgetMicro > 0 && c.BudgetMicro < t.BudgetMicroUSD:
			return o, fault.Invalid("invalid_request", "budget_micros_usd must not be below the task's present ceiling of %d", t.BudgetMicroUSD)
		}
		o.inherited, o.budget = o.from.Resume(), c.BudgetMicro
		return o, nil
	})
}
