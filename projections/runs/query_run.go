package runs

import (
	"context"
	"database/sql"

	"hecate/projections"
)

// Steps returns the steps of a run by index.
func (v *Views) Steps(ctx context.Context, taskID, runID string) ([]projections.Step, error) {
	return view(ctx, v, func(q query) ([]projections.Step, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return nil, err
		}
		return q.steps(ctx, r, "")
	})
}

// Step returns one step of a run.
func (v *Views) Step(ctx context.Context, taskID, runID, stepID string) (projections.Step, error) {
	return view(ctx, v, func(q query) (projections.Step, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return projections.Step{}, err
		}
		found, err := q.steps(ctx, r, stepID)
		if err != nil {
			return projections.Step{}, err
		}
		return first(found, "task step")
	})
}

// steps returns the run's steps, or the one with the id.
func (q query) steps(ctx context.Context, r foundRun, id string) ([]projections.Step, error) {
	text, args := `SELECT idx, pos, doc FROM hecate_view_steps_@ WHERE run = $1`, []any{r.pos}
	if id != "" {
		text, args = text+` AND step_id = $2`, append(args, id)
	}
	return list(ctx, q, text+` ORDER BY idx`, func(rows *sql.Rows) (s projections.Step, err error) {
		err = scanDoc(rows, &s, &s.Index, &s.Position)
		s.TaskID, s.RunID, s.RequestID, s.TraceID = r.item.TaskID, r.item.ID, r.item.RequestID, r.item.TraceID
		return s, err
	}, args...)
}

// TaskApprovals returns the approvals of all runs of a task, newest first.
func (v *Views) TaskApprovals(ctx context.Context, taskID string) ([]projections.Approval, error) {
	return view(ctx, v, func(q query) ([]projections.Approval, error) {
		runs, err := q.runs(ctx, taskID)
		if err != nil {
			return nil, err
		}
		return q.approvals(ctx, runs, `JOIN hecate_view_runs_@ r ON r.pos = a.run WHERE r.task_id = $1 ORDER BY a.pos DESC`, taskID)
	})
}

// Approval returns one approval of a task.
func (v *Views) Approval(ctx context.Context, taskID, approvalID string) (projections.Approval, error) {
	return view(ctx, v, func(q query) (projections.Approval, error) {
		runs, err := q.runs(ctx, taskID)
		if err != nil {
			return projections.Approval{}, err
		}
		found, err := q.approvals(ctx, runs, `JOIN hecate_view_runs_@ r ON r.pos = a.run WHERE r.task_id = $1 AND a.approval_id = $2 ORDER BY a.pos DESC`, taskID, approvalID)
		if err != nil {
			return projections.Approval{}, err
		}
		return first(found, "task approval")
	})
}

func (q query) runApprovals(ctx context.Context, r foundRun) ([]projections.Approval, error) {
	return q.approvals(ctx, []foundRun{r}, `WHERE a.run = $1 ORDER BY a.pos DESC`, r.pos)
}

func (q query) approvals(ctx context.Context, runs []foundRun, rest string, args ...any) ([]projections.Approval, error) {
	byPos := map[int64]*foundRun{}
	for i := range runs {
		byPos[runs[i].pos] = &runs[i]
	}
	return list(ctx, q, `SELECT a.run, a.pos, a.doc FROM hecate_view_approvals_@ a `+rest, func(rows *sql.Rows) (a projections.Approval, err error) {
		var of int64
		if err := scanDoc(rows, &a, &of, &a.Position); err != nil {
			return a, err
		}
		if r := byPos[of]; r != nil {
			a.TaskID, a.RunID, a.RequestID, a.TraceID = r.item.TaskID, r.item.ID, r.item.RequestID, r.item.TraceID
		}
		return a, nil
	}, args...)
}

// Snapshot is a run with all that it made, at one moment.
type Snapshot struct {
	Run       projections.Run
	Steps     []projections.Step     // by index
	Artifacts []projections.Artifact // newest first
	Approvals []projections.Approval // newest first
	Notes     []projections.Note     // in order
}

// Snapshot returns a run with all that it made. Without bodies its artifacts have
// neither content nor digest, which is much cheaper; their previews are there.
func (v *Views) Snapshot(ctx context.Context, taskID, runID string, bodies bool) (Snapshot, error) {
	return view(ctx, v, func(q query) (s Snapshot, err error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return s, err
		}
		s.Run = r.item
		if s.Steps, err = q.steps(ctx, r, ""); err != nil {
			return s, err
		}
		if s.Artifacts, err = q.artifactItems(ctx, []foundRun{r}, "", bodies); err != nil {
			return s, err
		}
		if s.Approvals, err = q.runApprovals(ctx, r); err != nil {
			return s, err
		}
		s.Notes, err = q.notes(ctx, r)
		return s, err
	})
}
