package v1

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/envelope"
	"hecate/api/feed"
	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/fault"
)

// eventMax bounds a caller's event, in bytes of its request.
const eventMax = 512 << 10

type runEventsInput struct {
	RunPath
	After       cursor `query:"after_sequence" doc:"Only events with a greater sequence; an unreadable value counts as 0."`
	LastEventID cursor `header:"Last-Event-ID" doc:"The last id that was received; counts if after_sequence is absent."`
}

func (in runEventsInput) cursor() int64 {
	if in.After != "" {
		return in.After.lenient()
	}
	return in.LastEventID.lenient()
}

type streamRunInput struct {
	RunPath
	After       cursor `query:"after_sequence" doc:"Only events with a greater sequence."`
	LastEventID cursor `header:"Last-Event-ID" doc:"The last id that was received; counts if after_sequence is absent."`
}

// eventRequest is what a caller adds to a run's history.
type eventRequest struct {
	Type   string         `json:"type,omitempty" doc:"external.event if empty. The runtime's own namespaces (run, task, model, tool, approval …) are refused." example:"ci.build.finished"`
	StepID string         `json:"step_id,omitempty" doc:"Becomes the member step_id of the event's data."`
	Status string         `json:"status,omitempty" doc:"Becomes the member status of the event's data."`
	Note   string         `json:"note,omitempty" doc:"Becomes the member note of the event's data."`
	Data   map[string]any `json:"data,omitempty" doc:"The event's data. Numbers come back as they were written; the members run, steps, artifacts and snapshot are dropped."`
}

type postEventInput struct {
	RunPath
	Payload required[eventRequest]
}

func (a *API) registerRunEvents() {
	register(a, spec{
		id: "listRunEvents", method: http.MethodGet, path: runRoot + "/events", tag: "Events",
		summary: "List events of a run", description: "At most 500, oldest first. Go on with the sequence of the last one until a page is empty.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_run_events", "data": []any{exampleEvent}},
	}, a.listRunEvents)
	register(a, spec{
		id: "postRunEvent", method: http.MethodPost, path: runRoot + "/events", tag: "Events", keyed: true,
		summary: "Add an event to a run", description: "For what happens around a run. It is accepted in any state of the run and moves nothing in it.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound},
		body:  reflect.TypeFor[eventRequest](), bodyExample: map[string]any{"type": "ci.build.finished", "status": "green", "data": map[string]any{"build": 4711}},
	}, a.postRunEvent)
	register(a, spec{
		id: "streamRun", method: http.MethodGet, path: runRoot + "/stream", tag: "Events",
		summary: "Follow a run",
		description: "Server-sent events until the run has ended. Every event of the run is a frame `event: snapshot` with the event's sequence as `id` and the run " +
			"as it was then; in between come pictures of the live state (`event_type: snapshot`) with steps, artifacts, approvals and activity, also while an answer streams. " +
			"The last picture comes once more as `event: done`; then the server closes. The larger a picture is, the longer it is until the next one, which shows the newest state; " +
			"an approval that is asked for or answered is shown at once. A comment comes at least every 15 seconds. A cursor that is no sequence of this log is refused.",
		fails:   []int{http.StatusBadRequest, http.StatusNotFound},
		media:   "text/event-stream",
		example: ": ok\n\nid: 128\nevent: snapshot\ndata: {\"object\":\"task_run_stream_event\",\"data\":{…}}\n\n",
	}, a.streamRun)
}

func (a *API) listRunEvents(ctx context.Context, in *runEventsInput) (*answer[[]*feed.Item], error) {
	if _, err := a.Views.Run(ctx, in.TaskID, in.RunID); err != nil {
		return nil, err
	}
	items, err := a.Feed.Run(ctx, in.RunID, in.cursor(), eventsPageMax)
	return list("task_run_events", items), err
}

func (a *API) postRunEvent(ctx context.Context, in *postEventInput) (*answer[*feed.Item], error) {
	body := in.Payload.Value
	if size := len(in.Payload.Raw); size > eventMax {
		return nil, envelope.New(http.StatusRequestEntityTooLarge, envelope.TypeTooLarge, fmt.Sprintf("an event has at most %d bytes, this one has %d", eventMax, size))
	}
	done, err := a.Commands.PostEvent(ctx, request.From(ctx).Meta(), commands.PostEvent{
		TaskID: in.TaskID, RunID: in.RunID, Type: body.Type, StepID: body.StepID, Status: body.Status, Note: body.Note, Data: body.Data,
	})
	if err != nil {
		return nil, err
	}
	items, err := a.Feed.Run(ctx, in.RunID, done.Last-1, 1)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 { // the task was deleted right after
		return nil, fault.NotFound("not_found", "task not found")
	}
	out := of("task_run_event", items[0])
	out.at(done.Last)
	return out, nil
}

func (a *API) streamRun(ctx context.Context, in *streamRunInput) (*StreamOutput, error) {
	if _, err := a.Views.Run(ctx, in.TaskID, in.RunID); err != nil {
		return nil, err
	}
	if in.After != "" {
		in.LastEventID = ""
	}
	after, err := a.streamStart(ctx, in.After, in.LastEventID)
	if err != nil {
		return nil, err
	}
	return &StreamOutput{Body: func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		a.Runs.Serve(w, r, in.TaskID, in.RunID, max(after[0], after[1]))
	}}, nil
}
