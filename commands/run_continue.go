package commands

import (
	"context"

	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
)

// reasonPrompt is why a continued run goes on, as followers read it.
const reasonPrompt = "session_prompt"

// ContinueRun opens a run that takes the conversation of an ended one further with a
// new prompt, in its workspace and on its bill.
func (x *Executor) ContinueRun(ctx context.Context, m Meta, taskID, runID, prompt string, ahead run.Ahead) (RunResult, error) {
	return x.open(ctx, m, taskID, ahead, func(t task.State) (opening, error) {
		if t.Definition.ExecutionKind != run.KindAgentLoop {
			return opening{}, fault.Invalid("invalid_request", "only agent_loop runs have a conversation to continue")
		}
		o, err := x.sourceOf(ctx, t, run.SourceContinue, runID, reasonPrompt)
		if err != nil {
			return o, err
		}
		if err := notEnded(o.from); err != nil {
			return o, err
		}
		o.inherited, err = o.from.Continue(prompt)
		return o, err
	})
}
