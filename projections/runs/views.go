package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Blobs is where large texts stand: the log.
type Blobs interface {
	Blob(ctx context.Context, digest string) ([]byte, error)
}

// Partial returns what has arrived of a model's answer that is still on its way.
type Partial func(ctx context.Context, runID string) (text string, ok bool)

// Views answers queries about tasks and runs. Each answer is of one moment of the
// log. What does not exist is a not-found fault.
type Views struct {
	runner  viewer
	blobs   Blobs
	partial Partial
}

// viewer is what shows one state of the model's tables.
type viewer interface {
	View(ctx context.Context, model string, f func(*readdb.Tx) error) error
}

func noPartial(context.Context, string) (string, bool) { return "", false }

// NewViews returns the queries over what the runner keeps. partial may be nil.
func NewViews(r *runner.Runner, blobs Blobs, partial Partial) *Views {
	if partial == nil {
		partial = noPartial
	}
	return &Views{runner: r, blobs: blobs, partial: partial}
}

// query is one read of one moment.
type query struct {
	tx *readdb.Tx
	v  *Views
}

func view[T any](ctx context.Context, v *Views, read func(query) (T, error)) (T, error) {
	var out T
	err := v.runner.View(ctx, Name, func(tx *readdb.Tx) (err error) {
		out, err = read(query{tx, v})
		return err
	})
	return out, err
}

// list reads all rows of a query. The answer is never nil.
func list[T any](ctx context.Context, q query, text string, scan func(*sql.Rows) (T, error), args ...any) ([]T, error) {
	out := []T{}
	err := q.tx.Query(ctx, text, func(rows *sql.Rows) error {
		item, err := scan(rows)
		out = append(out, item)
		return err
	}, args...)
	return out, err
}

func first[T any](items []T, what string) (T, error) {
	if len(items) == 0 {
		var none T
		return none, fault.NotFound("not_found", "%s not found", what)
	}
	return items[0], nil
}

// text brings back a text that may stand in a blob. One that is gone is empty.
func (q query) text(ctx context.Context, t event.Text) (string, error) {
	ref := t.Ref()
	if ref == nil || t.String() != "" {
		return t.String(), nil
	}
	b, err := q.blob(ctx, ref.Digest)
	return string(b), err
}

func (q query) blob(ctx context.Context, digest string) ([]byte, error) {
	b, err := q.v.blobs.Blob(ctx, digest)
	switch {
	case errors.Is(err, eventstore.ErrErased):
		return []byte(event.ErasedMark), nil
	case errors.Is(err, eventstore.ErrNotFound):
		return nil, nil
	}
	return b, err
}

// foundRun is a run with what its rows need from it.
type foundRun struct {
	pos  int64
	doc  runDoc
	item projections.Run
}

func (d *runDoc) show(projectID string) projections.Run {
	it := d.Item
	it.ProjectID = projectID
	it.CostMicroUSD, it.PriorMicroUSD = run.MicroUSD(d.PicoUSD), run.MicroUSD(d.PriorPico)
	return it
}

const selectRuns = `SELECT r.pos, r.doc, t.project_id FROM hecate_view_runs_@ r
	JOIN hecate_view_tasks_@ t ON t.task_id = r.task_id WHERE r.task_id = $1`

func scanRun(rows *sql.Rows) (r foundRun, err error) {
	var raw sql.RawBytes
	var project string
	if err := rows.Scan(&r.pos, &raw, &project); err != nil {
		return r, err
	}
	err = json.Unmarshal(raw, &r.doc)
	r.item = r.doc.show(project)
	return r, err
}

func (q query) run(ctx context.Context, taskID, runID string) (foundRun, error) {
	found, err := list(ctx, q, selectRuns+` AND r.run_id = $2`, scanRun, taskID, runID)
	if err != nil {
		return foundRun{}, err
	}
	return first(found, "task run")
}

// runs returns the task's runs, newest first.
func (q query) runs(ctx context.Context, taskID string) ([]foundRun, error) {
	found, err := list(ctx, q, selectRuns+` ORDER BY r.number DESC`, scanRun, taskID)
	if err != nil || len(found) > 0 {
		return found, err
	}
	return found, q.taskExists(ctx, taskID)
}

func (q query) taskExists(ctx context.Context, taskID string) error {
	var one int64
	found, err := q.tx.One(ctx, `SELECT 1 FROM hecate_view_tasks_@ WHERE task_id = $1`, []any{taskID}, &one)
	if err == nil && !found {
		err = fault.NotFound("not_found", "task not found")
	}
	return err
}
