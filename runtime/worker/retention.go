package worker

import (
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
	tasks []tenant  // the task that it was made for, and those that go on in it; without deleted ones
	since time.Time // the end of the last run of them, or when the last of them was made
}

// tenant is a task whose runs work in a workspace.
type tenant struct {
	id      string
	state   task.State
	version int64
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

// resting reports whether no run of the workspace's tasks is open. What they have lost
// already, by the log, is removed right away: an earlier process did not get to it.
func (p *Pool) resting(ctx context.Context, w workspace.Workspace) (rest, bool) {
	r := rest{Workspace: w}
	home, err := p.tenant(ctx, w.TaskID, &r.since)
	if err != nil {
		return r, false
	}
	r.tasks = []tenant{home}
	for _, id := range home.state.Sharers {
		one, err := p.tenant(ctx, id, &r.since)
		if err != nil {
			return r, false
		}
		if one.state.Definition.Reuse.Path == w.Path {
			r.tasks = append(r.tasks, one)
		}
	}
	r.tasks = slices.DeleteFunc(r.tasks, func(t tenant) bool { return !t.state.Exists || t.state.Deleted })
	if len(r.tasks) == 0 || slices.ContainsFunc(r.tasks, func(t tenant) bool { return t.state.OpenRun != "" }) {
		return r, false
	}
	if slices.Contains(r.tasks[0].state.Gone, w.Path) {
		if err := p.Workspaces.Remove(w); err != nil {
			p.Log.Warn("remove an old workspace", "task_id", w.TaskID, "run_id", w.RunID, "error", err)
		}
		return r, false
	}
	return r, true
}

// tenant folds a task, and notes if it began, or a run of it ended, later than since.
func (p *Pool) tenant(ctx context.Context, id string, since *time.Time) (tenant, error) {
	one := tenant{id: id}
	err := p.Executor.Load(ctx, commands.TaskStream(id), 0, func(e event.Event) {
		one.state.Apply(e)
		one.version = e.Version
		switch e.Payload.(type) {
		case task.Created, task.RunClosed:
			if e.At.After(*since) {
				*since = e.At
			}
		}
	})
	return one, err
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
	losses, landed, err := p.losses(ctx, r)
	if err != nil {
		return err
	}
	if changed && landed != "" {
		changed = !p.stands(ctx, r, landed)
	}
	if ctx.Err() != nil || changed && !p.Retention.Changed || !t.lease.Valid() {
		return ctx.Err()
	}
	for i := range losses {
		losses[i].Reason, losses[i].Changed = why, changed
	}
	meta := commands.Meta{Actor: eventstore.Actor{Kind: "worker", Name: p.NodeID}}
	err = p.Executor.RemoveWorkspace(ctx, meta, losses)
	var moved *eventstore.ConflictError
	if _, refused := fault.Of(err); refused || errors.As(err, &moved) {
		return nil // it is needed again
	} else if err != nil {
		return err
	}
	return p.Workspaces.Remove(r.Workspace)
}

// losses are what each task loses with a workspace: the runs that worked in it. It also
// returns the snapshot of the last time that all of their changes were taken over; "" if
// they never were.
func (p *Pool) losses(ctx context.Context, r rest) (out []commands.Loss, landed string, err error) {
	var last int64 // where that stands
	for _, t := range r.tasks {
		l := commands.Loss{TaskID: t.id, Version: t.version, WorkspaceRemoved: task.WorkspaceRemoved{Path: r.Path}}
		for _, id := range t.state.Runs {
			s, after, at := run.New(id), "", int64(0)
			err := p.Executor.Load(ctx, commands.RunStream(id), 0, func(e event.Event) {
				s.Apply(e)
				if taken, ok := e.Payload.(run.WorkspaceTaken); ok && taken.Whole {
					after, at = taken.After, e.Position
				}
			})
			if err != nil {
				return nil, "", err
			}
			if s.WorkspacePath != r.Path {
				continue
			}
			l.RunIDs = append(l.RunIDs, id)
			if at > last {
				landed, last = after, at
			}
		}
		out = append(out, l)
	}
	return out, landed, nil
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
