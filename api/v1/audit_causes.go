package v1

import (
	"context"
	"net/http"

	"hecate/api/feed"
	"hecate/domain/fault"
)

// causesMax bounds the events of one chain of causes.
const causesMax = 100

type causesInput struct {
	Sequence cursor `path:"sequence" doc:"Sequence of the event."`
	After    cursor `query:"after_sequence" doc:"Only effects with a greater sequence."`
	Limit    count  `query:"limit" doc:"At most this many effects; 100 if absent, never more than 500."`
}

// eventCauses is what led to an event, and what it led to.
type eventCauses struct {
	Event   *feed.Item   `json:"event" doc:"The event itself."`
	Causes  []*feed.Item `json:"causes" doc:"What it was decided on, what that was decided on, and so on: the nearest first."`
	Cut     bool         `json:"causes_cut,omitempty" doc:"The chain goes on: ask for the causes of its last event."`
	Effects []*feed.Item `json:"effects" doc:"Events that were decided on this one, oldest first."`
	Next    int64        `json:"next_after_sequence,omitempty" doc:"The after_sequence of the next effects; absent at the end."`
}

func (a *API) registerCauses() {
	register(a, spec{
		id: "getEventCauses", method: http.MethodGet, path: Base + "/audit/events/{sequence}/causes", tag: "Audit",
		summary:     "Get causes and effects of an event",
		description: "Whoever records an event has looked at a history, and names its newest event: `caused_by`. The chain of those leads to where something began: a request, an answer, a schedule.",
		fails:       []int{http.StatusBadRequest, http.StatusNotFound},
		example: map[string]any{"object": "audit_event_causes", "data": map[string]any{
			"event": exampleEvent, "causes": []any{with(exampleEvent, map[string]any{"sequence": 126, "type": "run.queued", "data": map[string]any{"kind": "builtin"}})}, "effects": []any{},
		}},
	}, a.eventCauses)
}

func (a *API) eventCauses(ctx context.Context, in *causesInput) (*answer[eventCauses], error) {
	sequence, err := in.Sequence.strict("sequence")
	if err != nil {
		return nil, err
	}
	after, err := in.After.strict("after_sequence")
	if err != nil {
		return nil, err
	}
	limit, err := in.Limit.between(1, auditPage, auditPageMax)
	if err != nil {
		return nil, err
	}
	chain, cut, err := a.Audit.Causes(ctx, sequence, causesMax)
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 {
		return nil, fault.NotFound("not_found", "event not found")
	}
	page, err := a.Audit.Effects(ctx, sequence, after, limit)
	if err != nil {
		return nil, err
	}
	items, err := a.Feed.Places(ctx, places(append(chain, page.Found...)))
	if err != nil {
		return nil, err
	}
	return of("audit_event_causes", eventCauses{
		Event: items[0], Causes: items[1:len(chain)], Cut: cut, Effects: items[len(chain):], Next: page.Next,
	}), nil
}
