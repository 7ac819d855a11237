package v1

import (
	"context"
	"net/http"
	"reflect"

	"hecate/api/request"
	"hecate/commands"
	"hecate/projections"
)

type settleRequest struct {
	Outcome string `json:"outcome" doc:"done: the call took effect; not_done: it did not." enum:"done,not_done"`
	Note    string `json:"note,omitempty" doc:"What else the model should know; it is told with the outcome. At most 4096 bytes."`
}

type settleInput struct {
	StepPath
	Payload required[settleRequest]
}

func (a *API) registerCalls() {
	register(a, spec{
		id: "listToolCalls", method: http.MethodGet, path: runRoot + "/tool-calls", tag: "Run details",
		summary: "List tool calls of a run",
		description: "What the run's model asked for, in that order, and how far each call has come: from before it starts to what an operator found out about it. " +
			"Calls that the run took over from an earlier one come first.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_tool_calls", "data": []any{exampleCall}},
	}, a.listToolCalls)
	register(a, spec{
		id: "settleStep", method: http.MethodPost, path: runRoot + "/steps/{step_id}/settle", tag: "Run details", keyed: true,
		summary: "Say what came of a call",
		description: "A call that was under way when its worker died has an unknown outcome, and is never made again by itself. " +
			"Here the operator says what came of it, once: the next run that goes on from this one (resume, continue) tells the model. " +
			"The history stays as it was. Of a call whose outcome is known, or was said before, it is refused (409).",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
		body:  reflect.TypeFor[settleRequest](), bodyExample: map[string]any{"outcome": "done", "note": "the file is there"},
		example: map[string]any{"object": "task_step", "data": exampleDoubt},
	}, a.settleStep)
}

func (a *API) listToolCalls(ctx context.Context, in *RunPath) (*answer[[]projections.Call], error) {
	found, err := a.Views.Calls(ctx, in.TaskID, in.RunID)
	return list("task_tool_calls", found), err
}

func (a *API) settleStep(ctx context.Context, in *settleInput) (*answer[projections.Step], error) {
	body := in.Payload.Value
	r, err := a.Commands.StateOutcome(ctx, request.From(ctx).Meta(), commands.StateOutcome{
		TaskID: in.TaskID, RunID: in.RunID, StepID: in.StepID, Outcome: body.Outcome, Note: body.Note,
	})
	if err != nil {
		return nil, err
	}
	return after(ctx, a, "task_step", r.Position,
		func() (projections.Step, error) { return a.Views.Step(ctx, in.TaskID, in.RunID, in.StepID) },
		func() (projections.Step, error) { return stepItem(r.State, in.StepID), nil })
}
