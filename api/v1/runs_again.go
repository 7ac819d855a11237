package v1

import (
	"context"
	"net/http"
	"reflect"

	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/projections"
)

type retryRequest struct {
	Reason string `json:"reason,omitempty" doc:"Kept with the run; cut to 4096 bytes."`

	Permissions *aheadRequest `json:"permissions,omitempty" doc:"Answers to the run's questions before there are any. They are not inherited."`
}

type retryInput struct {
	RunPath
	Payload retryBody
}

type resumeRequest struct {
	Reason      string `json:"reason,omitempty" doc:"Kept with the run; followers see it. At most 4096 bytes." example:"the network is back"`
	BudgetMicro int64  `json:"budget_micros_usd,omitempty" doc:"Raises the task's ceiling for cost to this, in millionths of a US dollar. 0 leaves it as it is; less than it is is refused." minimum:"0"`

	Permissions *aheadRequest `json:"permissions,omitempty" doc:"Answers to the run's questions before there are any. They are not inherited."`
}

type resumeInput struct {
	RunPath
	Payload required[resumeRequest]
}

type continueRequest struct {
	Prompt string `json:"prompt" doc:"What is wanted next. At most 1 MiB."`

	Permissions *aheadRequest `json:"permissions,omitempty" doc:"Answers to the run's questions before there are any. They are not inherited."`
}

type continueInput struct {
	RunPath
	Payload required[continueRequest]
}

type branchRequest struct {
	ModelCallIndex int64  `json:"model_call_index" doc:"The model call of the run that is made again; 1 is its first." minimum:"1" example:"2"`
	Reason         string `json:"reason,omitempty" doc:"Kept with the run; followers see it. At most 4096 bytes."`

	Permissions *aheadRequest `json:"permissions,omitempty" doc:"Answers to the run's questions before there are any. They are not inherited."`
}

type branchInput struct {
	RunPath
	Payload required[branchRequest]
}

// opens are the ways in which opening a run fails, whatever it follows.
var opens = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}

// registerRunsAgain declares the ways to go on from a run that has ended. Each opens
// another run of the task; the old one stays as it is.
func (a *API) registerRunsAgain() {
	register(a, spec{
		id: "retryRun", method: http.MethodPost, path: runRoot + "/retry", tag: "Runs", keyed: true,
		summary: "Do a run again",
		description: "Opens a run that begins anew: no history, a fresh copy of the workspace, a bill of its own. " +
			"The run must have ended (409), in whatever way. A missing or unreadable body is no error, but `permissions` that cannot be read are.",
		fails: opens,
		body:  reflect.TypeFor[retryRequest](), bodyOptional: true,
		example: map[string]any{"object": "task_run", "data": exampleFollowing(run.SourceRetry)},
	}, a.retryRun)
	register(a, spec{
		id: "resumeRun", method: http.MethodPost, path: runRoot + "/resume", tag: "Runs", keyed: true,
		summary: "Go on where a run stopped",
		description: "Opens a run in the same workspace, with the conversation and the bill of a run that failed or was cancelled; of one that completed it is refused (409), continue that one. " +
			"Nothing that was done is done again. Calls that were left open are decided about anew and, where the policy asks for it, approved anew. " +
			"The body is needed: send at least `{}`.",
		fails: opens,
		body:  reflect.TypeFor[resumeRequest](), bodyExample: map[string]any{"reason": "more money", "budget_micros_usd": 2_000_000},
		example: map[string]any{"object": "task_run", "data": exampleFollowing(run.SourceResume)},
	}, a.resumeRun)
	register(a, spec{
		id: "continueRun", method: http.MethodPost, path: runRoot + "/continue", tag: "Runs", keyed: true,
		summary: "Say something more in a run's conversation",
		description: "Opens a run in the same workspace that takes the conversation and the bill of an ended run further with a new prompt. " +
			"Only for execution_kind agent_loop, and for runs that got as far as a conversation (400).",
		fails: opens,
		body:  reflect.TypeFor[continueRequest](), bodyExample: map[string]any{"prompt": "Now add a test for it."},
		example: map[string]any{"object": "task_run", "data": exampleFollowing(run.SourceContinue)},
	}, a.continueRun)
	register(a, spec{
		id: "retryRunFromModelCall", method: http.MethodPost, path: runRoot + "/retry-from-model-call", tag: "Runs", keyed: true,
		summary: "Make one model call of a run again",
		description: "Opens a run with the conversation of an ended run up to just before the answer to one of its model calls, which is asked for again. " +
			"What was done in the workspace after it is not undone. Steps and calls are counted from 1 again, the bill goes on. " +
			"Only for execution_kind agent_loop; an index that the run does not have, and a run that has not ended, are refused with 400.",
		fails: opens,
		body:  reflect.TypeFor[branchRequest](), bodyExample: map[string]any{"model_call_index": 2},
		example: map[string]any{"object": "task_run", "data": exampleFollowing(run.SourceBranch)},
	}, a.retryFromModelCall)
}

func (a *API) retryRun(ctx context.Context, in *retryInput) (*tracedAnswer[projections.Run], error) {
	ahead, err := a.ahead(ctx, in.TaskID, in.Payload.Value.Permissions)
	if err != nil {
		return nil, err
	}
	r, err := a.Commands.RetryRun(ctx, request.From(ctx).Meta(), in.TaskID, in.RunID, cutRemark(in.Payload.Value.Reason), ahead)
	return a.opened(ctx, in.TaskID, r, err)
}

func (a *API) resumeRun(ctx context.Context, in *resumeInput) (*tracedAnswer[projections.Run], error) {
	body := in.Payload.Value
	if err := remark("reason", body.Reason); err != nil {
		return nil, err
	}
	ahead, err := a.ahead(ctx, in.TaskID, body.Permissions)
	if err != nil {
		return nil, err
	}
	r, err := a.Commands.ResumeRun(ctx, request.From(ctx).Meta(), commands.ResumeRun{
		TaskID: in.TaskID, RunID: in.RunID, Reason: body.Reason, BudgetMicro: body.BudgetMicro, Ahead: ahead,
	})
	return a.opened(ctx, in.TaskID, r, err)
}

func (a *API) continueRun(ctx context.Context, in *continueInput) (*tracedAnswer[projections.Run], error) {
	prompt := in.Payload.Value.Prompt
	if len(prompt) > task.TextMax {
		return nil, invalid("prompt has %d bytes, at most %d are allowed", len(prompt), task.TextMax)
	}
	ahead, err := a.ahead(ctx, in.TaskID, in.Payload.Value.Permissions)
	if err != nil {
		return nil, err
	}
	r, err := a.Commands.ContinueRun(ctx, request.From(ctx).Meta(), in.TaskID, in.RunID, prompt, ahead)
	return a.opened(ctx, in.TaskID, r, err)
}

func (a *API) retryFromModelCall(ctx context.Context, in *branchInput) (*tracedAnswer[projections.Run], error) {
	body := in.Payload.Value
	if err := remark("reason", body.Reason); err != nil {
		return nil, err
	}
	ahead, err := a.ahead(ctx, in.TaskID, body.Permissions)
	if err != nil {
		return nil, err
	}
	r, err := a.Commands.RetryFromModelCall(ctx, request.From(ctx).Meta(), commands.RetryFromModelCall{
		TaskID: in.TaskID, RunID: in.RunID, ModelCallIndex: body.ModelCallIndex, Reason: body.Reason, Ahead: ahead,
	})
	return a.opened(ctx, in.TaskID, r, err)
}
