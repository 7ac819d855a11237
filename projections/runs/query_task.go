package runs

import (
	"context"
	"database/sql"
	"encoding/json"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/projections"
)

// Task returns one task.
func (v *Views) Task(ctx context.Context, id string) (projections.Task, error) {
	return view(ctx, v, func(q query) (projections.Task, error) {
		found, err := list(ctx, q, selectTasks+`WHERE t.task_id = $1`, scanTask, id)
		if err != nil {
			return projections.Task{}, err
		}
		t, err := first(found, "task")
		if err != nil {
			return projections.Task{}, err
		}
		return q.showTask(ctx, &t)
	})
}

// Runs returns the runs of a task, newest first.
func (v *Views) Runs(ctx context.Context, taskID string) ([]projections.Run, error) {
	return view(ctx, v, func(q query) ([]projections.Run, error) {
		found, err := q.runs(ctx, taskID)
		out := make([]projections.Run, len(found))
		for i, r := range found {
			out[i] = r.item
		}
		return out, err
	})
}

// Run returns one run of a task.
func (v *Views) Run(ctx context.Context, taskID, runID string) (projections.Run, error) {
	return view(ctx, v, func(q query) (projections.Run, error) {
		r, err := q.run(ctx, taskID, runID)
		return r.item, err
	})
}

// taskStatus is a task's status in SQL: that of its latest run, which may stand in
// the log a moment after the task's own word of it.
const taskStatus = `coalesce(r.status, CASE WHEN t.latest_run = '' THEN 'not_started' ELSE 'queued' END)`

// selectTasks joins the latest run and the one before it.
const selectTasks = `SELECT t.pos, t.task_id, t.latest_run, ` + taskStatus + `, t.doc, r.doc, p.doc
	FROM hecate_view_tasks_@ t
	LEFT JOIN hecate_view_runs_@ r ON r.run_id = t.latest_run
	LEFT JOIN hecate_view_runs_@ p ON p.task_id = t.task_id AND p.number = r.number - 1 `

type foundTask struct {
	pos      int64 // of task.created
	item     projections.Task
	doc      taskDoc
	latest   *runDoc
	previous *runDoc
}

func scanTask(rows *sql.Rows) (t foundTask, err error) {
	var own, latest, previous sql.RawBytes
	if err := rows.Scan(&t.pos, &t.item.ID, &t.item.LatestRunID, &t.item.Status, &own, &latest, &previous); err != nil {
		return t, err
	}
	if err := json.Unmarshal(own, &t.doc); err != nil {
		return t, err
	}
	for _, r := range []struct {
		raw []byte
		to  **runDoc
	}{{latest, &t.latest}, {previous, &t.previous}} {
		if len(r.raw) == 0 {
			continue
		}
		*r.to = &runDoc{}
		if err := json.Unmarshal(r.raw, *r.to); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (q query) showTask(ctx context.Context, t *foundTask) (projections.Task, error) {
	it, d := &t.item, &t.doc.Definition
	it.Title, it.ExecutionKind, it.ExecutionProfile = d.Title, d.ExecutionKind, d.ExecutionProfile
	it.FileOperation, it.FilePath = d.FileOperation, d.FilePath
	it.WorkspaceMode, it.WorkingDirectory, it.Repo, it.BaseBranch = d.WorkspaceMode, d.WorkingDirectory, d.Repo, d.BaseBranch
	it.AllowedRoot, it.ReadOnly, it.Network, it.TimeoutMS = d.AllowedRoot, d.ReadOnly, d.Network, d.TimeoutMS
	it.Priority, it.RequestedModel, it.RequestedProvider = d.Priority, d.Model, d.Provider
	it.BudgetMicroUSD, it.ProjectID = d.BudgetMicroUSD, d.ProjectID
	it.CreatedAt, it.UpdatedAt, it.StartedAt = projections.FormatTime(t.doc.CreatedAt), projections.FormatTime(t.doc.UpdatedAt), projections.FormatTime(t.doc.StartedAt)
	it.LatestRequestID = t.doc.RequestID
	it.Freeze(*d)
	t.showRun()
	for _, text := range []struct {
		to   *string
		from *event.Text
	}{
		{&it.Prompt, &d.Prompt},
		{&it.SystemPrompt, &d.SystemPrompt},
		{&it.ShellCommand, &d.ShellCommand},
		{&it.GitCommand, &d.GitCommand},
		{&it.FileContent, &d.FileContent},
	} {
		var err error
		if *text.to, err = q.text(ctx, *text.from); err != nil {
			return *it, err
		}
	}
	return *it, nil
}

// showRun fills in what a task says about its latest run.
func (t *foundTask) showRun() {
	r := t.latest
	if r == nil {
		return
	}
	it := &t.item
	it.LatestModel, it.LatestProvider = r.Item.Model, r.Item.Provider
	it.LatestRunStepCount, it.LatestRunArtifactCount = r.Item.StepCount, r.Item.ArtifactCount
	it.PendingApprovalCount = r.Pending
	it.RootTraceID, it.LatestTraceID = r.Item.TraceID, r.Item.TraceID
	if r.Item.RequestID != "" {
		it.LatestRequestID = r.Item.RequestID
	}
	it.FinishedAt = r.Item.FinishedAt
	it.UpdatedAt = max(it.UpdatedAt, projections.FormatTime(r.UpdatedAt))
	it.LastError = r.Item.LastError
	if t.previous != nil && !run.Status(r.Item.Status).Terminal() {
		it.LastError = t.previous.Item.LastError
	}
}
