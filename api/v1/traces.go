package v1

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"hecate/domain/fault"
	"hecate/projections"
	"hecate/projections/audit"
	"hecate/projections/traces"
)

// Limits of a list of traces. Any other value than 1 to tracesMax means tracesPage, as
// the contract has it.
const (
	tracesPage = 50
	tracesMax  = 200
)

// sameRequestMax is how many runs of one request are looked through for a trace. A
// request opens one run; only a client that gives several requests one id has more.
const sameRequestMax = 64

type tracesInput struct {
	Limit     string `query:"limit" doc:"At most this many, 50 if absent; anything but 1 to 200 is 50." example:"20"`
	RequestID string `query:"request_id" doc:"The trace of the run that this request opened, with its spans, instead of the list." example:"req_5f0c2c6f2a7b4d1e9a3c8b70"`
	TraceID   string `query:"trace_id" doc:"With request_id, where several requests had that id: the one in this trace, instead of the latest." example:"4bf92f3577b34da6a3ce929d0e0e4736"`
}

// tracesAnswer is a list of traces or one of them.
type tracesAnswer struct {
	List   []projections.Trace
	Detail *projections.TraceDetail
}

// Schema says that it is one of the two.
func (tracesAnswer) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "Traces, newest first; with request_id one trace with its spans.",
		OneOf: []*huma.Schema{
			{Type: huma.TypeArray, Items: r.Schema(reflect.TypeFor[projections.Trace](), true, "Trace")},
			r.Schema(reflect.TypeFor[projections.TraceDetail](), true, "TraceDetail"),
		},
	}
}

// MarshalJSON writes what it is.
func (t tracesAnswer) MarshalJSON() ([]byte, error) {
	if t.Detail != nil {
		return json.Marshal(t.Detail)
	}
	return json.Marshal(t.List)
}

func (a *API) registerTraces() {
	register(a, spec{
		id: "listTraces", method: http.MethodGet, path: Base + "/traces", tag: "System",
		summary: "List traces, or get one",
		description: "Each run is a trace, told from the log: spans with the times of the events, and with ids that are the same on every server and in " +
			"what is exported over OTLP. The list has the newest runs first; runs of deleted tasks are not in it. Passes of retention are traces, too. Spans hold names, numbers and words, no texts.",
		fails: []int{http.StatusNotFound},
		example: map[string]any{"object": "list", "data": []any{map[string]any{
			"request_id": "req_5f0c2c6f2a7b4d1e9a3c8b70", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
			"task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "started_at": "2026-02-03T09:30:00.000000000Z", "span_count": 12, "duration_ms": 4210, "status_code": "ok",
			"route": map[string]any{"final_provider": "openai", "final_provider_kind": "cloud", "final_model": "gpt-5"},
		}}},
	}, a.listTraces)
}

func (a *API) listTraces(ctx context.Context, in *tracesInput) (*answer[tracesAnswer], error) {
	if in.RequestID != "" {
		return a.getTrace(ctx, in.RequestID, in.TraceID)
	}
	limit, err := strconv.Atoi(in.Limit)
	if err != nil || limit < 1 || limit > tracesMax {
		limit = tracesPage
	}
	ids, err := a.Views.Opened(ctx, "", limit)
	if err != nil {
		return nil, err
	}
	found, err := a.passTraces(ctx, limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		it, err := a.traces.Item(ctx, id)
		if err != nil {
			return nil, err
		}
		found = append(found, it)
	}
	slices.SortStableFunc(found, func(x, y projections.Trace) int { return strings.Compare(y.StartedAt, x.StartedAt) })
	return of("list", tracesAnswer{List: found[:min(limit, len(found))]}), nil
}

// passTraces are the traces of the newest passes of retention.
func (a *API) passTraces(ctx context.Context, limit int) ([]projections.Trace, error) {
	records, err := a.passes(ctx, audit.Filter{}, audit.NewestFirst, limit)
	out := make([]projections.Trace, 0, 2*limit)
	for _, r := range records {
		t, err := traces.Pass(r)
		if err != nil {
			return nil, err
		}
		out = append(out, t.Item())
	}
	return out, err
}

// passesAtOnce is how many passes that end about the same time are looked through for one.
const passesAtOnce = 64

// passTrace returns the trace of the pass that began at a time.
func (a *API) passTrace(ctx context.Context, name string, began time.Time) (*answer[tracesAnswer], error) {
	records, err := a.passes(ctx, audit.Filter{From: began}, audit.OldestFirst, passesAtOnce)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		t, err := traces.Pass(r)
		if err != nil {
			return nil, err
		}
		if t.Run.RequestID == name {
			d := t.Detail()
			return of("trace", tracesAnswer{Detail: &d}), nil
		}
	}
	return nil, fault.NotFound("not_found", "trace %q not found", name)
}

// getTrace returns the trace of the latest run that the request opened in the trace; any
// trace if none is named.
func (a *API) getTrace(ctx context.Context, requestID, traceID string) (*answer[tracesAnswer], error) {
	if began, ok := traces.PassStart(requestID); ok {
		return a.passTrace(ctx, requestID, began)
	}
	ids, err := a.Views.Opened(ctx, requestID, sameRequestMax)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := a.traces.Detail(ctx, id)
		if err != nil {
			return nil, err
		}
		if traceID == "" || d.TraceID == traceID {
			return of("trace", tracesAnswer{Detail: &d}), nil
		}
	}
	return nil, fault.NotFound("not_found", "trace %q not found", requestID)
}
