package commands

import (
	"context"

	"hecate/domain/task"
	"hecate/eventstore"
)

// RemoveWorkspace records that a workspace of the task is about to be removed, if the task
// is still at the version that this was decided on: a run that was opened meanwhile may go
// on in it. Then it is a *eventstore.ConflictError.
func (x *Executor) RemoveWorkspace(ctx context.Context, m Meta, taskID string, version int64, w task.WorkspaceRemoved) error {
	s, now, err := x.loadTask(ctx, taskID)
	if err != nil {
		return err
	}
	if now != version {
		return &eventstore.ConflictError{Stream: TaskStream(taskID), Expected: version, Actual: now}
	}
	payloads, err := task.RemoveWorkspace(s, w)
	if err != nil || len(payloads) == 0 {
		return err
	}
	_, err = x.append(ctx, m, part{stream: TaskStream(taskID), expected: version, events: x.now(version, payloads...)})
	return err
}
