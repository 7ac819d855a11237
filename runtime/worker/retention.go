package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/workspace"
)

// Retention says how long isolated workspaces stay after the last run of their task has
// ended. The zero value keeps them.
type Retention struct {
	Every    time.Duration // how often it is looked; 0: never
	MaxAge   time.Duration // since the end of the task's last run; 0: any age
	MaxCount int           // the latest ones stay, over all tasks; 0: any number
	// Changed removes workspaces with changes, too. Without it a workspace stays in which
	// anything differs from what it was made with, unless all of that was taken over.
	Changed bool
}

// Why a workspace is removed.
const (
	tooOld  = "age"
	tooMany = "count"
)

// rest is a workspace that no run works in, as far as the log says.
type rest struct {
	workspace.Workspace
	task    task.State
	version int64     // of the task
	since   time.Time // the end of its last run
}

// retain removes workspaces that nobody needs any more, again and again.
func (p *Pool) retain(ctx context.Context, t *tenure) error {
	if p.Retention.Every <= 0 {
		return nil
	}
	tick := time.NewTicker(p.Retention.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := p.retire(ctx, t); err != nil && ctx.Err() == nil {
				p.Log.Warn("remove old workspaces", "error", err)
			}
		}
	}
}

// retire removes the workspaces that are too old or too many, the oldest first.
func (p *Pool) retire(ctx context.Context, t *tenure) error {
	all, err := p.Workspaces.List()
	if err != nil {
		return err
	}
	var resting []rest
	for _, w := range all {
		if r, ok := p.resting(ctx, w); ok {
			resting = append(resting, r)
		}
	}
	slices.SortStableFunc(resting, func(a, b rest) int { return b.since.Compare(a.since) })
	for i, r := range slices.Backward(resting) {
		why := ""
		switch {
		case p.Retention.MaxAge > 0 && p.Clock.Now().Sub(r.since) > p.Retention.MaxAge:
			why = tooOld
		case p.Retention.MaxCount > 0 && i >= p.Retention.MaxCount:
			why = tooMany
		default:
			continue
		}
		if err := p.retireOne(ctx, t, r, why); err != nil {
			p.Log.Warn("remove an old workspace", "task_id", r.TaskID, "run_id", r.RunID, "error", err)
		}
	}
	return nil
}

// resting reports whether no run of the workspace's task is open. What a task has lost
// already, by the log, is removed right away: an earlier process did not get to it.
func (p *Pool) resting(ctx context.Context, w workspace.Workspace) (rest, bool) {
	r := rest{Workspace: w}
	err := p.Executor.Load(ctx, commands.TaskStream(w.TaskID), 0, func(e event.Event) {
		r.task.Apply(e)
		r.version = e.Version
		if _, ended := e.Payload.(task.RunClosed); ended {
			r.since = e.At
		}
	})
	if err != nil || !r.task.Exists || r.task.Deleted || r.task.OpenRun != "" {
		return r, false
	}
	if slices.Contains(r.task.Gone, w.Path) {
		if err := p.Workspaces.Remove(w); err != nil {
			p.Log.Warn("remove an old workspace", "task_id", w.TaskID, "run_id", w.RunID, "error", err)
		}
		return r, false
	}
	return r, true
}

// retireOne removes a workspace while nobody else can get in: it takes the lock that
// operations take, and a run that is opened meanwhile lets it fail.
func (p *Pool) retireOne(ctx context.Context, t *tenure, r rest, why string) error {
	release, err := p.exclude(ctx, t, eventstore.Holder{Run: "retention", Call: r.RunID}, r.TaskID, []string{r.RunID}, 0)
	if errors.As(err, new(*eventstore.LockedError)) {
		return nil // somebody is at work in there
	} else if err != nil {
		return err
	}
	defer release()
	changed, err := p.Workspaces.Changed(ctx, r.Workspace)
	if err != nil {
		p.Log.Debug("an old workspace may have changes", "task_id", r.TaskID, "run_id", r.RunID, "error", err)
	}
	runs, landed, err := p.workedIn(ctx, r)
	if err != nil {
		return err
	}
	if changed && landed != "" {
		changed = !p.stands(ctx, r, landed)
	}
	if ctx.Err() != nil || changed && !p.Retention.Changed || !t.lease.Valid() {
		return ctx.Err()
	}
	meta := commands.Meta{Actor: eventstore.Actor{Kind: "worker", Name: p.NodeID}}
	err = p.Executor.RemoveWorkspace(ctx, meta, r.TaskID, r.version, task.WorkspaceRemoved{RunIDs: runs, Path: r.Path, Reason: why, Changed: changed})
	var moved *eventstore.ConflictError
	if _, refused := fault.Of(err); refused || errors.As(err, &moved) {
		return nil // it is needed again
	} else if err != nil {
		return err
	}
	return p.Workspaces.Remove(r.Workspace)
}

// workedIn returns the runs that worked in a workspace, and its snapshot of the last time
// that all of their changes were taken over; "" if they never were.
func (p *Pool) workedIn(ctx context.Context, r rest) (runs []string, landed string, err error) {
	for _, id := range r.task.Runs {
		s, after := run.New(id), ""
		err := p.Executor.Load(ctx, commands.RunStream(id), 0, func(e event.Event) {
			s.Apply(e)
			if taken, ok := e.Payload.(run.WorkspaceTaken); ok && taken.Whole {
				after = taken.After
			}
		})
		if err != nil {
			return nil, "", err
		}
		if s.WorkspacePath == r.Path {
			runs = append(runs, id)
			landed = cmp.Or(after, landed)
		}
	}
	return runs, landed, nil
}

// stands reports whether the files of a workspace are still those of a snapshot.
func (p *Pool) stands(ctx context.Context, r rest, snapshot string) bool {
	h, err := p.history(r.TaskID, r.Path)
	if err != nil {
		return false
	}
	now, err := h.peek(ctx)
	return err == nil && string(now) == snapshot
}
