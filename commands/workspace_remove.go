package commands

import (
	"context"

	"hecate/domain/task"
	"hecate/eventstore"
)

// Loss is what one task loses when a workspace is removed.
type Loss struct {
	TaskID  string
	Version int64 // of the task, when that was decided on
	task.WorkspaceRemoved
}

// RemoveWorkspace records that a workspace is about to be removed, for all tasks whose runs
// may go on in it, if they still are at the versions that this was decided on: a run that
// was opened meanwhile needs it. Then it is a *eventstore.ConflictError.
func (x *Executor) RemoveWorkspace(ctx context.Context, m Meta, losses []Loss) error {
	var parts []part
	events := 0
	for _, l := range losses {
		s, now, err := x.loadTask(ctx, l.TaskID)
		if err != nil {
			return err
		}
		if now != l.Version {
			return &eventstore.ConflictError{Stream: TaskStream(l.TaskID), Expected: l.Version, Actual: now}
		}
		payloads, err := task.RemoveWorkspace(s, l.WorkspaceRemoved)
		if err != nil {
			return err
		}
		events += len(payloads)
		parts = append(parts, part{stream: TaskStream(l.TaskID), expected: l.Version, events: x.now(l.Version, payloads...)})
	}
	if events == 0 {
		return nil
	}
	_, err := x.append(ctx, m, parts...)
	return err
}
