package v1

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"hecate/api/envelope"
	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/retention"
	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/audit"
)

// Limits of a list of passes.
const (
	passesPage    = 20
	passesPageMax = 200
)

// Retention carries out passes of retention.
type Retention interface {
	// Manual has one pass of the named subsystems, of all if none is named, and records it.
	Manual(ctx context.Context, m commands.Meta, subsystems []string) (commands.RetentionResult, error)
}

// retentionRequest chooses subsystems.
type retentionRequest struct {
	Subsystems []string `json:"subsystems,omitempty" doc:"Only these; all of them if there is none. The others are skipped, and a name that nobody knows chooses nothing."`
}

type retentionInput struct {
	Payload optional[retentionRequest]
}

type retentionRunsInput struct {
	Limit string `query:"limit" doc:"At most this many, 20 if absent, never more than 200; 0 for none." example:"20"`
}

// retentionRun is a pass of retention.
type retentionRun struct {
	StartedAt  string            `json:"started_at" format:"date-time" doc:"When it began."`
	FinishedAt string            `json:"finished_at" format:"date-time" doc:"When it was over."`
	Trigger    string            `json:"trigger" doc:"Who wanted it: a request, or the server after an interval." enum:"manual,scheduled"`
	Actor      string            `json:"actor,omitempty" doc:"Of a manual one: operator: and the id of the request. Who that was, the event retention.finished says."`
	RequestID  string            `json:"request_id,omitempty" doc:"Of a manual one: the request."`
	Results    []retentionResult `json:"results" doc:"What it did, for each subsystem."`
}

// retentionResult is what a pass did in a subsystem.
type retentionResult struct {
	Name       string `json:"name" doc:"Name of the subsystem." enum:"trace_snapshots,usage_events,audit_events,provider_history,model_call_events,chat_approvals,run_contents"`
	Deleted    int64  `json:"deleted" doc:"Events whose content was erased. The events themselves stay, with their digests."`
	MaxAge     string `json:"max_age,omitempty" doc:"What is older is pruned; absent if there is no limit to the age." example:"168h0m0s"`
	MaxCount   int64  `json:"max_count" doc:"So many stay, the newest ones; 0 if there is no limit to the number."`
	Error      string `json:"error,omitempty" doc:"Why it ended early. The next pass goes on."`
	Skipped    bool   `json:"skipped,omitempty" doc:"It was not chosen, it has no limits, or there is nothing of its own that could be pruned."`
	Incomplete bool   `json:"incomplete,omitempty" doc:"The pass looked at as much as one does at most. The next one goes on."`
}

func (a *API) registerRetention() {
	pass := map[string]any{
		"started_at": "2026-02-03T09:30:00.000000000Z", "finished_at": "2026-02-03T09:30:00.042000000Z", "trigger": "manual",
		"actor": "operator:req_5f0c2c6f2a7b4d1e9a3c8b70", "request_id": "req_5f0c2c6f2a7b4d1e9a3c8b70",
		"results": []any{
			map[string]any{"name": "model_call_events", "deleted": 12, "max_age": "168h0m0s", "max_count": 100000},
			map[string]any{"name": "chat_approvals", "deleted": 0, "max_age": "720h0m0s", "max_count": 10000, "skipped": true},
		},
	}
	register(a, spec{
		id: "runRetention", method: http.MethodPost, path: Base + "/system/retention/run", tag: "System", keyed: true,
		summary: "Prune what is no longer kept",
		description: "Erases the content of events that are too old or too many by the settings `HECATE_RETENTION_…`, also where the server does not do so by itself. " +
			"Conversations and costs are never touched. Answers when the pass is over; a client that leaves earlier ends it.",
		fails: []int{http.StatusBadRequest, http.StatusServiceUnavailable},
		body:  reflect.TypeFor[retentionRequest](), bodyOptional: true, bodyExample: map[string]any{"subsystems": []any{"model_call_events"}},
		example: map[string]any{"object": "retention_run", "data": pass},
	}, a.runRetention)
	register(a, spec{
		id: "listRetentionRuns", method: http.MethodGet, path: Base + "/system/retention/runs", tag: "System",
		summary:     "List passes of retention",
		description: "Newest first. A pass that the server had by itself and that did nothing is not kept.",
		fails:       []int{http.StatusBadRequest},
		example:     map[string]any{"object": "retention_runs", "data": []any{pass}},
	}, a.listRetentionRuns)
}

func (a *API) runRetention(ctx context.Context, in *retentionInput) (*answer[retentionRun], error) {
	if a.Retention == nil {
		return nil, envelope.New(http.StatusServiceUnavailable, envelope.TypeGateway, "this server prunes nothing")
	}
	head, err := a.Commands.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	a.ready(ctx, head, audit.Name) // if not, what is missing there is pruned by a later pass
	r, err := a.Retention.Manual(ctx, request.From(ctx).Meta(), in.Payload.Value.Subsystems)
	if err != nil {
		return nil, err
	}
	out := of("retention_run", retentionRunOf(r))
	out.at(r.Position)
	if !a.ready(ctx, r.Position, audit.Name) {
		out.Stale = "true"
	}
	return out, nil
}

func (a *API) listRetentionRuns(ctx context.Context, in *retentionRunsInput) (*answer[[]retentionRun], error) {
	limit := passesPage
	if in.Limit != "" {
		n, err := strconv.Atoi(in.Limit)
		if err != nil || n < 0 {
			return nil, fault.Invalid(envelope.TypeInvalid, "limit query parameter must be a non-negative integer")
		}
		limit = min(n, passesPageMax)
	}
	records, err := a.passes(ctx, audit.Filter{}, audit.NewestFirst, limit)
	if err != nil {
		return nil, err
	}
	out := make([]retentionRun, len(records))
	for i, r := range records {
		pass, err := commands.RetentionOf(r)
		if err != nil {
			return nil, err
		}
		out[i] = retentionRunOf(pass)
	}
	return list("retention_runs", out), nil
}

// passes are records of passes that the log has.
func (a *API) passes(ctx context.Context, f audit.Filter, order audit.Order, limit int) (out []eventstore.Record, err error) {
	f.Types = []string{retention.Type}
	for len(out) < limit {
		page, err := a.Audit.Page(ctx, f, order, limit-len(out))
		if err != nil {
			return nil, err
		}
		positions := make([]int64, len(page.Found))
		for i, found := range page.Found {
			positions[i] = found.Position
		}
		if order == audit.NewestFirst {
			slices.Reverse(positions)
		}
		records, err := a.Commands.Store.ReadAt(ctx, positions)
		if err != nil {
			return nil, err
		}
		if order == audit.NewestFirst {
			slices.Reverse(records)
		}
		for _, r := range records {
			if r.Stream == retention.Stream { // a caller's event may have the name
				out = append(out, r)
			}
		}
		if page.Next == 0 {
			break
		}
		if order == audit.NewestFirst {
			f.Before = page.Next
		} else {
			f.After = page.Next
		}
	}
	return out, nil
}

func retentionRunOf(r commands.RetentionResult) retentionRun {
	out := retentionRun{
		StartedAt: projections.FormatTime(r.StartedAt), FinishedAt: projections.FormatTime(r.FinishedAt), Trigger: r.Trigger, RequestID: r.RequestID,
		Results: make([]retentionResult, len(r.Results)),
	}
	if r.Trigger == retention.TriggerManual {
		out.Actor = "operator:" + r.RequestID
	}
	for i, one := range r.Results {
		out.Results[i] = retentionResult{
			Name: one.Name, Deleted: one.Deleted, MaxCount: one.MaxCount, Error: one.Error, Skipped: one.Skipped, Incomplete: one.Incomplete,
		}
		if one.MaxAgeMS > 0 {
			out.Results[i].MaxAge = (time.Duration(one.MaxAgeMS) * time.Millisecond).String()
		}
	}
	return out
}
