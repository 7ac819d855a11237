package commands

import (
	"context"

	"hecate/domain/fault"
	"hecate/domain/run"
)

// CancelRun ends a run for good. It commits before anything is stopped: whatever
// the run's worker records later changes nothing. A run that has ended stays as it is.
func (x *Executor) CancelRun(ctx context.Context, m Meta, taskID, runID, reason string) (RunResult, error) {
	if err := x.hasRun(ctx, taskID, runID); err != nil {
		return RunResult{}, err
	}
	s := run.New(runID)
	return once(ctx, x, m, x.recallRun(ctx), func() (RunResult, error) {
		return retry(ctx, func() (RunResult, error) {
			if err := x.outline(ctx, &s); err != nil {
				return RunResult{}, err
			}
			if s.TaskID != taskID {
				return RunResult{}, fault.NotFound("not_found", "task run not found")
			}
			payloads := run.Cancel(&s, reason)
			if len(payloads) == 0 {
				return RunResult{RunID: runID, State: &s}, nil
			}
			done, err := x.Advance(ctx, m, &s, payloads...)
			return RunResult{RunID: runID, State: &s, Position: done.Last}, err
		})
	})
}

// hasRun returns a not-found fault unless the run belongs to the task and the task is visible.
func (x *Executor) hasRun(ctx context.Context, taskID, runID string) error {
	t, _, err := x.loadTask(ctx, taskID)
	if err != nil {
		return err
	}
	if err := t.Visible(); err != nil {
		return err
	}
	return t.HasRun(runID)
}
