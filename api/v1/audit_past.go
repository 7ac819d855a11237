package v1

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"hecate/domain/fault"
	"hecate/projections"
	"hecate/projections/runs"
)

// pastsMax is how many histories are folded at the same time.
const pastsMax = 2

// AsOf is a moment of the past.
type AsOf struct {
	AsOf string `query:"as_of" doc:"The moment: the sequence of the last event that counts, or a time in RFC 3339. Now, if absent." example:"2026-02-03T09:31:00Z"`
}

// Resolve refuses a moment that is there and says nothing: it would be answered with today.
func (q *AsOf) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	if given := u.Query()["as_of"]; len(given) > 0 && given[0] == "" {
		return []error{fault.Invalid("invalid_request", "as_of is empty; leave it out, or give a sequence or a time in RFC 3339")}
	}
	return nil
}

// moment reads it.
func (q AsOf) moment() (runs.Moment, error) {
	if q.AsOf == "" {
		return runs.Moment{}, nil
	}
	if n, err := strconv.ParseInt(q.AsOf, 10, 64); err == nil && n > 0 {
		return runs.Moment{Position: n}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, q.AsOf)
	if err != nil {
		return runs.Moment{}, fault.Invalid("invalid_request", "as_of must be a sequence or a time in RFC 3339, such as 2026-02-03T09:30:00Z")
	}
	return runs.Moment{Time: at}, nil
}

type pastRunInput struct {
	AsOf
	RunID string `path:"run_id" doc:"Id of the run." example:"run_0a1b2c3d4e5f60718293a4b5"`
}

type pastTaskInput struct {
	AsOf
	TaskPath
}

// pastRun is a run as it was.
type pastRun struct {
	Sequence  int64                  `json:"as_of_sequence" doc:"The newest event of its task that counts."`
	Run       projections.Run        `json:"run" doc:"The run."`
	Steps     []projections.Step     `json:"steps" doc:"Its steps, by index."`
	Approvals []projections.Approval `json:"approvals" doc:"Its approvals, newest first."`
}

// pastTask is a task as it was.
type pastTask struct {
	Sequence  int64                  `json:"as_of_sequence" doc:"The newest event of the task that counts."`
	Task      projections.Task       `json:"task" doc:"The task."`
	Runs      []projections.Run      `json:"runs" doc:"Its runs, newest first."`
	Approvals []projections.Approval `json:"approvals" doc:"Its approvals, newest first."`
}

func (a *API) registerPast() {
	register(a, spec{
		id: "getTaskAsOf", method: http.MethodGet, path: Base + "/audit/tasks/{task_id}", tag: "Audit",
		summary:     "Get a task as it was",
		description: "The task with its runs and approvals at a moment of the past, folded from the log. Before its creation and after its deletion it is not found.",
		fails:       []int{http.StatusBadRequest, http.StatusNotFound},
		example: map[string]any{"object": "audit_task", "data": map[string]any{
			"as_of_sequence": 128, "task": exampleTask, "runs": []any{exampleRun}, "approvals": []any{},
		}},
	}, a.taskAsOf)
	register(a, spec{
		id: "getRunAsOf", method: http.MethodGet, path: Base + "/audit/runs/{run_id}", tag: "Audit",
		summary:     "Get a run as it was",
		description: "The run with its steps and approvals at a moment of the past, folded from the log. Before its creation and after the deletion of its task it is not found.",
		fails:       []int{http.StatusBadRequest, http.StatusNotFound},
		example: map[string]any{"object": "audit_run", "data": map[string]any{
			"as_of_sequence": 128, "run": exampleRun, "steps": []any{exampleStep}, "approvals": []any{exampleApproval},
		}},
	}, a.runAsOf)
}

func (a *API) taskAsOf(ctx context.Context, in *pastTaskInput) (*answer[pastTask], error) {
	var out pastTask
	err := a.past(ctx, in.AsOf, func(m runs.Moment) (*runs.Past, error) { return runs.TaskAsOf(ctx, a.Commands.Store, in.TaskID, m) }, func(p *runs.Past) (err error) {
		out.Sequence = p.Position
		if out.Task, err = p.Task(ctx, p.TaskID); err != nil {
			return err
		}
		if out.Runs, err = p.Runs(ctx, p.TaskID); err != nil {
			return err
		}
		out.Approvals, err = p.TaskApprovals(ctx, p.TaskID)
		return err
	})
	return of("audit_task", out), err
}

func (a *API) runAsOf(ctx context.Context, in *pastRunInput) (*answer[pastRun], error) {
	var out pastRun
	err := a.past(ctx, in.AsOf, func(m runs.Moment) (*runs.Past, error) { return runs.RunAsOf(ctx, a.Commands.Store, in.RunID, m) }, func(p *runs.Past) error {
		s, err := p.Snapshot(ctx, p.TaskID, in.RunID, false)
		out = pastRun{Sequence: p.Position, Run: s.Run, Steps: s.Steps, Approvals: s.Approvals}
		return err
	})
	return of("audit_run", out), err
}

// past folds a history and reads from it. Folding costs as much as the history is long,
// so few do it at the same time.
func (a *API) past(ctx context.Context, q AsOf, fold func(runs.Moment) (*runs.Past, error), read func(*runs.Past) error) error {
	m, err := q.moment()
	if err != nil {
		return err
	}
	select {
	case a.pasts <- struct{}{}:
		defer func() { <-a.pasts }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p, err := fold(m)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }() // it is in memory
	return read(p)
}
