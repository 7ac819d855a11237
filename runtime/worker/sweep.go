package worker

import (
	"context"

	"hecate/commands"
	"hecate/domain/task"
)

// sweep removes the workspaces of deleted tasks: those that an earlier process left,
// then those that are deleted from now on. It stands beside following the log, because
// removing a large workspace must not delay a cancel.
func (p *Pool) sweep(ctx context.Context) error {
	ids, err := p.Workspaces.Tasks()
	if err != nil {
		p.Log.Warn("look for workspaces of deleted tasks", "error", err)
	}
	for _, id := range ids {
		var t task.State
		if err := p.Executor.Load(ctx, commands.TaskStream(id), 0, t.Apply); err == nil && t.Deleted {
			p.remove(id)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case id := <-p.deleted:
			p.remove(id)
		}
	}
}

func (p *Pool) remove(taskID string) {
	if err := p.Workspaces.RemoveTask(taskID); err != nil {
		p.Log.Warn("remove workspaces of a deleted task", "task_id", taskID, "error", err)
	}
}
