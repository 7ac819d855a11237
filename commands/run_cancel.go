package commands

import (
	"context"

	"hecate/domain/fault"
	"hecate/domain/run"
)

// CancelRun ends a run for good. It commits before anything is stopped: whatever
// the run's worker records later changes nothing. A run that has ended stays as it is.
func (x *Executor) CancelRun(ctx context.Context, m Meta, taskID, runID, reason string) (RunResult, error) {
	return retry(ctx, func() (RunResult, error) {
		s, err := x.runOf(ctx, taskID, runID)
		if err != nil {
			return RunResult{}, err
		}
		payloads := run.Cancel(s, reason)
		if len(payloads) == 0 {
			return RunResult{RunID: runID, State: s}, nil
		}
		done, err := x.Advance(ctx, m, s, payloads...)
		return RunResult{RunID: runID, State: s, Position: done.Last}, err
	})
}

// runOf loads a run of a visible task; a run of another task is not found.
func (x *Executor) runOf(ctx context.Context, taskID, runID string) (*run.State, error) {
	t, _, err := x.loadTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	if err := t.Visible(); err != nil {
		return nil, err
	}
	if err := t.HasRun(runID); err != nil {
		return nil, err
	}
	s, err := x.LoadRun(ctx, runID)
	if err != nil {
		return nil, err
	}
	if s.TaskID != taskID {
		return nil, fault.NotFound("not_found", "task run not found")
	}
	return s, nil
}
