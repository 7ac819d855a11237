package commands

import (
	"context"

	"hecate/domain/run"
	"hecate/domain/task"
)

// RetryRun opens a run that does the task again from the beginning: no history, a
// fresh workspace, a bill of its own. The earlier run must have ended.
func (x *Executor) RetryRun(ctx context.Context, m Meta, taskID, runID, reason string, ahead run.Ahead) (RunResult, error) {
	return x.open(ctx, m, taskID, ahead, func(t task.State) (opening, error) {
		o, err := x.sourceOf(ctx, t, run.SourceRetry, runID, reason)
		if err != nil {
			return o, err
		}
		return o, notEnded(o.from)
	})
}
