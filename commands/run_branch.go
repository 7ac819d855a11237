package commands

import (
	"context"

	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
)

// RetryFromModelCall asks for one model call of a run to be made again.
type RetryFromModelCall struct {
	TaskID, RunID  string
	ModelCallIndex int64 // 1-based, within the run
	Reason         string
	Ahead          run.Ahead
}

// RetryFromModelCall opens a run with the conversation of an ended one up to just
// before the answer to one of its model calls, which is made again. Its numbering of
// calls and steps begins anew; its bill goes on.
func (x *Executor) RetryFromModelCall(ctx context.Context, m Meta, c RetryFromModelCall) (RunResult, error) {
	return x.open(ctx, m, c.TaskID, c.Ahead, func(t task.State) (opening, error) {
		if t.Definition.ExecutionKind != run.KindAgentLoop {
			return opening{}, fault.Invalid("invalid_request", "only agent_loop runs have model calls")
		}
		o, err := x.sourceOf(ctx, t, run.SourceBranch, c.RunID, c.Reason)
		if err != nil {
			return o, err
		}
		if !o.from.Status.Terminal() {
			return o, fault.Invalid("invalid_request", "task run is %s; wait for it to end or cancel it", o.from.Status)
		}
		o.source.ModelCallIndex = c.ModelCallIndex
		o.inherited, err = o.from.Branch(c.ModelCallIndex)
		return o, err
	})
}
