package v1

import (
	"context"
	"net/http"
	"reflect"

	"hecate/api/envelope"
	"hecate/api/request"
	"hecate/commands"
	"hecate/projections"
)

// tracedAnswer is an answer with the request's place in its trace.
type tracedAnswer[T any] struct {
	Placed
	TraceID string `header:"X-Trace-Id" doc:"The trace of this request: the caller's if it sent a traceparent. A run that starts here belongs to it."`
	SpanID  string `header:"X-Span-Id" doc:"The span of this request."`
	Body    envelope.Answer[T]
}

func traced[T any](ctx context.Context, a *answer[T]) *tracedAnswer[T] {
	info := request.From(ctx)
	return &tracedAnswer[T]{Placed: a.Placed, TraceID: info.TraceID, SpanID: info.SpanID, Body: a.Body}
}

type startInput struct {
	TaskPath
	Payload optional[startRequest]
}

type startRequest struct {
	Permissions *aheadRequest `json:"permissions,omitempty" doc:"Answers to the run's questions before there are any."`
}

type cancelRequest struct {
	Reason string `json:"reason,omitempty" doc:"Shown as the run's last error; cut to 4096 bytes."`
}

type cancelInput struct {
	RunPath
	Payload tolerant[cancelRequest]
}

func (a *API) registerRuns() {
	register(a, spec{
		id: "startTask", method: http.MethodPost, path: Base + "/tasks/{task_id}/start", tag: "Runs", keyed: true,
		summary: "Start a run",
		description: "Opens the task's next run and answers at once: the run is `queued`, or `awaiting_approval` if a person must agree first. " +
			"Of concurrent calls exactly one opens a run; the others get 409. A W3C `traceparent` is joined.",
		fails: opens,
		body:  reflect.TypeFor[startRequest](), bodyOptional: true, bodyExample: exampleAhead,
		example: map[string]any{"object": "task_run", "data": exampleRun},
	}, a.startTask)
	register(a, spec{
		id: "listRuns", method: http.MethodGet, path: Base + "/tasks/{task_id}/runs", tag: "Runs",
		summary: "List runs of a task", description: "Newest first.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_runs", "data": []any{exampleRun}},
	}, a.listRuns)
	register(a, spec{
		id: "getRun", method: http.MethodGet, path: Base + "/tasks/{task_id}/runs/{run_id}", tag: "Runs",
		summary: "Get a run", description: "Where the run stands. A run of another task is not found.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_run", "data": exampleRun},
	}, a.getRun)
	register(a, spec{
		id: "cancelRun", method: http.MethodPost, path: Base + "/tasks/{task_id}/runs/{run_id}/cancel", tag: "Runs", keyed: true,
		summary: "Cancel a run",
		description: "Ends the run for good. The answer already shows it as `cancelled`; what it was doing is stopped right after. " +
			"A run that has ended stays as it is. A missing or unreadable body is no error.",
		fails: []int{http.StatusNotFound},
		body:  reflect.TypeFor[cancelRequest](), bodyOptional: true, bodyExample: map[string]any{"reason": "wrong branch"},
	}, a.cancelRun)
}

func (a *API) startTask(ctx context.Context, in *startInput) (*tracedAnswer[projections.Run], error) {
	ahead, err := a.ahead(ctx, in.TaskID, in.Payload.Value.Permissions)
	if err != nil {
		return nil, err
	}
	r, err := a.Commands.StartRun(ctx, request.From(ctx).Meta(), in.TaskID, ahead)
	return a.opened(ctx, in.TaskID, r, err)
}

// opened answers a command that opens a run.
func (a *API) opened(ctx context.Context, taskID string, r commands.RunResult, err error) (*tracedAnswer[projections.Run], error) {
	if err != nil {
		return nil, err
	}
	out, err := a.afterRun(ctx, taskID, r)
	if err != nil {
		return nil, err
	}
	return traced(ctx, out), nil
}

// afterRun answers with the run as the command left it, even if it is further now.
func (a *API) afterRun(ctx context.Context, taskID string, r commands.RunResult) (*answer[projections.Run], error) {
	return after(ctx, a, "task_run", r.Position,
		func() (projections.Run, error) {
			item, err := a.Views.Run(ctx, taskID, r.RunID)
			if err == nil && item.Status != string(r.State.Status) {
				item = asOf(r.State, item)
			}
			return item, err
		},
		func() (projections.Run, error) {
			return asOf(r.State, projections.Run{RequestID: request.From(ctx).ID}), nil
		})
}

func (a *API) listRuns(ctx context.Context, in *TaskPath) (*answer[[]projections.Run], error) {
	found, err := a.Views.Runs(ctx, in.TaskID)
	return list("task_runs", found), err
}

func (a *API) getRun(ctx context.Context, in *RunPath) (*answer[projections.Run], error) {
	r, err := a.Views.Run(ctx, in.TaskID, in.RunID)
	return of("task_run", r), err
}

func (a *API) cancelRun(ctx context.Context, in *cancelInput) (*answer[projections.Run], error) {
	r, err := a.Commands.CancelRun(ctx, request.From(ctx).Meta(), in.TaskID, in.RunID, cutRemark(in.Payload.Value.Reason))
	if err != nil {
		return nil, err
	}
	return a.afterRun(ctx, in.TaskID, r)
}
