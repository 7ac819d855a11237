package v1

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/feed"
)

// Limits of a page of events.
const (
	eventsPage    = 200
	eventsPageMax = 500
)

// FeedQuery chooses events of all runs.
type FeedQuery struct {
	EventType string `query:"event_type" doc:"Only these types; exact names, separated by commas." example:"run.finished,run.failed,run.cancelled"`
	TaskID    string `query:"task_id" doc:"Only the events of this task."`
	After     cursor `query:"after_sequence" doc:"Only events with a greater sequence."`
}

func (q FeedQuery) filter() feed.Filter {
	f := feed.Filter{TaskID: strings.TrimSpace(q.TaskID)}
	for t := range strings.SplitSeq(q.EventType, ",") {
		if t = strings.TrimSpace(t); t != "" {
			f.Types = append(f.Types, t)
		}
	}
	return f
}

type listEventsInput struct {
	FeedQuery
	Limit count `query:"limit" doc:"At most this many events; 200 if absent, never more than 500."`
}

type eventsOutput struct {
	Placed
	Body struct {
		Object string       `json:"object" doc:"Names the kind of the answer." enum:"events"`
		Data   []*feed.Item `json:"data" doc:"The events, oldest first."`
		Next   int64        `json:"next_after_sequence,omitempty" doc:"The after_sequence of the next page; absent on an empty page, which is the end."`
	}
}

// StreamOutput is an answer that goes on.
type StreamOutput struct {
	Body func(huma.Context)
}

func (a *API) registerEvents() {
	register(a, spec{
		id: "listEvents", method: http.MethodGet, path: Base + "/events", tag: "Events",
		summary:     "List events of all runs",
		description: "One page of the history of all runs, oldest first. Go on with `next_after_sequence` until a page is empty.",
		fails:       []int{http.StatusBadRequest},
		example:     map[string]any{"object": "events", "data": []any{exampleEvent}, "next_after_sequence": 128},
	}, a.listEvents)
	register(a, spec{
		id: "streamEvents", method: http.MethodGet, path: Base + "/events/stream", tag: "Events",
		summary: "Follow events of all runs",
		description: "Server-sent events that never end by themselves. The first line is `: ok`. Every frame has the event's sequence as `id`, " +
			"`event: event`, and `{\"object\":\"event\",\"data\":…}` as `data`. A comment comes at least every 15 seconds. " +
			"Reconnect with the last `id` in `Last-Event-ID`; with no cursor the whole history is sent first. A cursor that is no sequence of this log is refused.",
		fails:   []int{http.StatusBadRequest},
		media:   "text/event-stream",
		example: ": ok\n\nid: 128\nevent: event\ndata: {\"object\":\"event\",\"data\":{…}}\n\n",
	}, a.streamEvents)
}

func (a *API) listEvents(ctx context.Context, in *listEventsInput) (*eventsOutput, error) {
	after, err := in.After.strict("after_sequence")
	if err != nil {
		return nil, err
	}
	limit, err := in.Limit.between(1, eventsPage, eventsPageMax)
	if err != nil {
		return nil, err
	}
	items, err := a.Feed.List(ctx, after, limit, in.filter())
	if err != nil {
		return nil, err
	}
	out := &eventsOutput{}
	out.Body.Object, out.Body.Data = "events", items
	if out.Body.Data == nil {
		out.Body.Data = []*feed.Item{}
	}
	if n := len(items); n > 0 {
		out.Body.Next = items[n-1].Sequence
	}
	return out, nil
}

type streamEventsInput struct {
	FeedQuery
	LastEventID cursor `header:"Last-Event-ID" doc:"The last id that was received; the greater one of this and after_sequence counts."`
}

func (a *API) streamEvents(ctx context.Context, in *streamEventsInput) (*StreamOutput, error) {
	after, err := a.streamStart(ctx, in.After, in.LastEventID)
	if err != nil {
		return nil, err
	}
	return &StreamOutput{Body: func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		a.Events.Serve(w, r, max(after[0], after[1]), in.filter())
	}}, nil
}

// streamStart reads the cursors of a stream. One that is none, or not of this log, is
// an error: from another place the stream would repeat events, or skip them.
func (a *API) streamStart(ctx context.Context, query, header cursor) (after [2]int64, err error) {
	for i, c := range []struct {
		cursor
		name string
	}{{query, "after_sequence"}, {header, "Last-Event-ID"}} {
		if after[i], err = c.strict(c.name); err != nil {
			return after, err
		}
		if err = a.Feed.Check(ctx, c.name, after[i]); err != nil {
			return after, err
		}
	}
	return after, nil
}
