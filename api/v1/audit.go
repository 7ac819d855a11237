package v1

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/feed"
	"hecate/domain/fault"
	"hecate/projections/audit"
)

// Limits of a page of the audit.
const (
	auditPage    = 100
	auditPageMax = 500
)

// AuditQuery chooses events by what they speak of.
type AuditQuery struct {
	TaskID     string `query:"task_id" doc:"Only what belongs to this task, its operations on workspaces among it." example:"task_4f6b1f0c9d2e8a7b3c5d6e7f"`
	RunID      string `query:"run_id" doc:"Only what belongs to this run." example:"run_0a1b2c3d4e5f60718293a4b5"`
	Actor      string `query:"actor" doc:"Only what this actor caused: kind:name, a kind (operator, client, worker, schedule, system) for all of it, or a name whatever its kind." example:"operator:ada"`
	EventType  string `query:"event_type" doc:"Only these types; exact names, separated by commas." example:"tool.dispatch.intended,tool.dispatch.settled"`
	Tool       string `query:"tool" doc:"Only events that name this tool." example:"shell_exec"`
	Path       string `query:"path" doc:"Only events that name this file, spelled as they do: calls name files below the workspace, what was changed also has absolute paths. With a slash at its end: everything below it." example:"internal/"`
	Host       string `query:"host" doc:"Only events that name this host; with a port only those that name that port." example:"docs.example"`
	Secret     string `query:"secret" doc:"Only events from which this secret of the server was withheld, and calls that name it: the variable that it is in, or operator:NAME." example:"OPENAI_API_KEY"`
	ApprovalID string `query:"approval_id" doc:"Only events that name this approval: the question, its answer, and the calls that it allowed." example:"approval_9b8a7c6d5e4f3a2b1c0d9e8f"`
	From       string `query:"from" doc:"Only what was recorded at this time or later, in RFC 3339." example:"2026-02-03T00:00:00Z"`
	To         string `query:"to" doc:"Only what was recorded before this time, in RFC 3339." example:"2026-02-04T00:00:00Z"`
	After      cursor `query:"after_sequence" doc:"Only events with a greater sequence."`
	Before     cursor `query:"before_sequence" doc:"Only events with a lower sequence."`
	Order      string `query:"order" doc:"desc for the newest first, asc for the oldest first. If absent: asc with after_sequence alone and for JSON Lines, else desc." enum:"asc,desc"`
}

type listAuditInput struct {
	AuditQuery
	Limit  count  `query:"limit" doc:"At most this many events; 100 if absent, never more than 500. Not for JSON Lines, which have all."`
	Format string `query:"format" doc:"jsonl for JSON Lines: one event on each line, all that match." enum:"json,jsonl"`
	Accept string `header:"Accept" doc:"application/jsonl means format=jsonl."`
}

// auditPageBody is a page of what was found.
type auditPageBody struct {
	Object string       `json:"object" doc:"Names the kind of the answer." enum:"audit_events"`
	Data   []*feed.Item `json:"data" doc:"The events, in the order that was asked for."`
	Before int64        `json:"next_before_sequence,omitempty" doc:"The before_sequence of the next page, newest first; absent at the end."`
	After  int64        `json:"next_after_sequence,omitempty" doc:"The after_sequence of the next page, oldest first; absent at the end."`
}

type auditOutput struct {
	Placed
	Body func(huma.Context)
}

func (a *API) registerAudit() {
	register(a, spec{
		id: "listAuditEvents", method: http.MethodGet, path: Base + "/audit/events", tag: "Audit",
		summary: "Search the history",
		description: "Events that meet all filters: of all runs, and of tasks, work policies, operations on workspaces and permission files, those of deleted tasks among them. " +
			"Newest first, unless said otherwise. Go on with the next sequence that the answer names until it names none; " +
			"a search looks at a bounded number of events, so a page may hold few events, or none, and still have a next one.\n\n" +
			"With `format=jsonl`, or `Accept: application/jsonl`, the answer is one event on each line, all that match, up to what the log held when the request came. " +
			"If that breaks off, so does the connection.",
		fails:  []int{http.StatusBadRequest},
		answer: reflect.TypeFor[auditPageBody](),
		example: map[string]any{
			"object": "audit_events", "data": []any{exampleEvent}, "next_before_sequence": 128,
		},
	}, a.listAudit)
}

func (a *API) listAudit(ctx context.Context, in *listAuditInput) (*auditOutput, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	lines, err := in.lines()
	if err != nil {
		return nil, err
	}
	order, err := in.order(lines)
	if err != nil {
		return nil, err
	}
	if lines {
		return a.auditLines(ctx, f, order)
	}
	limit, err := in.Limit.between(1, auditPage, auditPageMax)
	if err != nil {
		return nil, err
	}
	items, next, err := a.auditItems(ctx, f, order, limit)
	if err != nil {
		return nil, err
	}
	body := auditPageBody{Object: "audit_events", Data: items}
	if order == audit.NewestFirst {
		body.Before = next
	} else {
		body.After = next
	}
	return &auditOutput{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // events are shown as in the feeds, byte by byte
		_ = enc.Encode(body)     // an error means that the client is gone
	}}, nil
}

// auditItems returns one page of what f wants, and where the search goes on.
func (a *API) auditItems(ctx context.Context, f audit.Filter, order audit.Order, limit int) ([]*feed.Item, int64, error) {
	page, err := a.Audit.Page(ctx, f, order, limit)
	if err != nil {
		return nil, 0, err
	}
	items, err := a.Feed.Places(ctx, places(page.Found))
	return items, page.Next, err
}

func places(found []audit.Found) []feed.Place {
	out := make([]feed.Place, len(found))
	for i, f := range found {
		out[i] = feed.Place(f)
	}
	return out
}

// filter reads what is asked for.
func (q AuditQuery) filter() (audit.Filter, error) {
	f := audit.Filter{
		TaskID: strings.TrimSpace(q.TaskID), RunID: strings.TrimSpace(q.RunID), ApprovalID: strings.TrimSpace(q.ApprovalID),
		Actor: strings.TrimSpace(q.Actor), Tool: strings.TrimSpace(q.Tool), Path: q.Path, Host: strings.TrimSpace(q.Host), Secret: strings.TrimSpace(q.Secret),
	}
	f.Types = FeedQuery{EventType: q.EventType}.filter().Types
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"from", q.From, &f.From}, {"to", q.To, &f.To}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, t.text)
		if err != nil {
			return f, fault.Invalid("invalid_request", "%s must be a time in RFC 3339, such as 2026-02-03T09:30:00Z", t.name)
		}
		*t.to = at
	}
	var err error
	if f.After, err = q.After.strict("after_sequence"); err != nil {
		return f, err
	}
	f.Before, err = q.Before.strict("before_sequence")
	return f, err
}

// order is the order that is asked for, or that goes with the rest.
func (q AuditQuery) order(lines bool) (audit.Order, error) {
	switch q.Order {
	case "desc":
		return audit.NewestFirst, nil
	case "asc":
		return audit.OldestFirst, nil
	case "":
		return audit.Order(!lines && (q.After == "" || q.Before != "")), nil
	}
	return audit.NewestFirst, fault.Invalid("invalid_request", "order must be asc or desc")
}

// lines reports whether JSON Lines are asked for. What the query says counts.
func (in listAuditInput) lines() (bool, error) {
	switch in.Format {
	case "jsonl":
		return true, nil
	case "json":
		return false, nil
	case "":
		return strings.Contains(in.Accept, jsonLines), nil
	}
	return false, fault.Invalid("invalid_request", "format must be json or jsonl")
}
