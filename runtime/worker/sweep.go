package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hecate/commands"
	"hecate/domain/ident"
	"hecate/domain/task"
	"hecate/eventstore"
)

// leaveMax is how long it is waited for those who are still in the workspaces of a deleted
// task: commands of a run that was cancelled right before.
const leaveMax = time.Minute

// sweep removes the workspaces of deleted tasks: those that an earlier process left,
// then those that are deleted from now on. It stands beside following the log, because
// removing a large workspace must not delay a cancel.
func (p *Pool) sweep(ctx context.Context, t *tenure) error {
	ids, err := p.Workspaces.Tasks()
	if err != nil {
		p.Log.Warn("look for workspaces of deleted tasks", "error", err)
	}
	for _, id := range ids {
		p.removeDeleted(ctx, t, id)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case id := <-p.deleted:
			p.removeDeleted(ctx, t, id)
		}
	}
}

// removeDeleted removes the workspaces of a task if it is deleted, and all that went on in
// them. What cannot be removed stays until the next start.
func (p *Pool) removeDeleted(ctx context.Context, t *tenure, taskID string) {
	s, ok := p.deletedTask(ctx, taskID)
	if ok && s.Definition.Reuse != nil {
		taskID = s.Definition.Reuse.TaskID
		s, ok = p.deletedTask(ctx, taskID)
	}
	for _, id := range s.Sharers {
		if _, gone := p.deletedTask(ctx, id); !gone {
			return
		}
	}
	if !ok {
		return
	}
	release, err := p.exclude(ctx, t, eventstore.Holder{Run: "deletion", Call: taskID}, taskID, s.Runs, leaveMax)
	if err == nil {
		err = p.Workspaces.RemoveTask(taskID)
		release()
	}
	if err != nil && ctx.Err() == nil {
		p.Log.Warn("remove workspaces of a deleted task", "task_id", taskID, "error", err)
	}
}

func (p *Pool) deletedTask(ctx context.Context, taskID string) (s task.State, deleted bool) {
	err := p.Executor.Load(ctx, commands.TaskStream(taskID), 0, s.Apply)
	return s, err == nil && s.Deleted
}

// exclude keeps runs and operations out of the isolated workspaces that were made for these
// runs of a task. A *eventstore.LockedError means that somebody stayed in one of them.
func (p *Pool) exclude(ctx context.Context, t *tenure, h eventstore.Holder, taskID string, runs []string, wait time.Duration) (release func(), err error) {
	names := make([]string, len(runs))
	for i, id := range runs {
		names[i] = ident.Derive("workspace", p.places.isolated, taskID, id)
	}
	for until := time.Now().Add(wait); ; pause(ctx, lockPause) {
		err := p.Store.TakeLocks(ctx, t.instance, h, names)
		switch {
		case err == nil:
			return func() {
				if t.lease.Valid() {
					p.drop(ctx, h)
				}
			}, nil
		case errors.Is(err, eventstore.ErrLeaseLost):
			t.lease.End()
			return nil, err
		case !errors.As(err, new(*eventstore.LockedError)):
			return nil, fmt.Errorf("lock workspaces: %w", err)
		case time.Now().After(until) || ctx.Err() != nil:
			return nil, err
		}
	}
}
