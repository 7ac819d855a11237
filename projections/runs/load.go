package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"hecate/projections/readdb"
)

// task returns the task from memory or from its row, nil if there is none.
func (f *fold) task(ctx context.Context, tx *readdb.Tx, id string) (*taskState, error) {
	if t, ok := f.tasks[id]; ok {
		return t, nil
	}
	t := &taskState{id: id}
	var doc []byte
	found, err := tx.One(ctx, `SELECT pos, latest_run, doc FROM hecate_view_tasks_@ WHERE task_id = $1`, []any{id}, &t.pos, &t.latestRun, &doc)
	if err != nil || !found {
		return nil, err
	}
	if err := json.Unmarshal(doc, &t.doc); err != nil {
		return nil, fmt.Errorf("read task %s: %w", id, err)
	}
	f.tasks[id] = t
	return t, nil
}

// run returns the run from memory or from its rows, nil if there is none.
func (f *fold) run(ctx context.Context, tx *readdb.Tx, id string) (*runState, error) {
	if r, ok := f.runs[id]; ok {
		return r, nil
	}
	r := &runState{id: id}
	r.open()
	var doc []byte
	found, err := tx.One(ctx, `SELECT pos, doc FROM hecate_view_runs_@ WHERE run_id = $1`, []any{id}, &r.pos, &doc)
	if err != nil || !found {
		return nil, err
	}
	if err := json.Unmarshal(doc, &r.doc); err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	if err := r.loadPending(ctx, tx); err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	f.runs[id] = r
	return r, nil
}

func (r *runState) loadPending(ctx context.Context, tx *readdb.Tx) error {
	err := tx.Query(ctx, `SELECT pos, idx, doc FROM hecate_view_steps_@ WHERE run = $1 AND pending = 1`, func(rows *sql.Rows) error {
		s := &stepRow{run: r.pos, pending: true}
		if err := scanDoc(rows, &s.doc, &s.pos, &s.doc.Index); err != nil {
			return err
		}
		r.steps[s.doc.ID] = s
		return nil
	}, r.pos)
	if err != nil {
		return err
	}
	err = tx.Query(ctx, `SELECT pos, doc FROM hecate_view_artifacts_@ WHERE run = $1 AND pending = 1`, func(rows *sql.Rows) error {
		a := &artifactRow{run: r.pos, pending: true}
		if err := scanDoc(rows, &a.doc, &a.pos); err != nil {
			return err
		}
		r.artifacts[a.doc.ID] = a
		return nil
	}, r.pos)
	if err != nil {
		return err
	}
	return tx.Query(ctx, `SELECT pos, doc FROM hecate_view_approvals_@ WHERE run = $1 AND pending = 1`, func(rows *sql.Rows) error {
		a := &approvalRow{run: r.pos, pending: true}
		if err := scanDoc(rows, &a.doc, &a.pos); err != nil {
			return err
		}
		r.approvals[a.doc.ID] = a
		return nil
	}, r.pos)
}

// scanDoc scans a row whose last column is a JSON document.
func scanDoc(rows *sql.Rows, doc any, others ...any) error {
	var raw sql.RawBytes
	if err := rows.Scan(append(others, &raw)...); err != nil {
		return err
	}
	return json.Unmarshal(raw, doc)
}

// recordedBefore reports whether the run has an artifact of this id already.
func (f *fold) recordedBefore(ctx context.Context, tx *readdb.Tx, r *runState, id string) (bool, error) {
	if r.recorded[id] || r.whole {
		return r.recorded[id], nil
	}
	var one int64
	return tx.One(ctx, `SELECT 1 FROM hecate_view_artifacts_@ WHERE run = $1 AND artifact_id = $2`, []any{r.pos, id}, &one)
}
