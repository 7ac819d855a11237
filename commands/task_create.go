package commands

import (
	"context"

	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/task"
	"hecate/eventstore"
)

// TaskResult is where a task stands after a command.
type TaskResult struct {
	TaskID   string
	State    task.State
	Position int64
}

// CreateTask records what somebody wants done. It starts nothing.
func (x *Executor) CreateTask(ctx context.Context, m Meta, d task.Definition) (TaskResult, error) {
	d.Posture = permission.PostureRuntime
	d, err := d.Normalize()
	if err != nil {
		return TaskResult{}, err
	}
	return once(ctx, x, m, x.recallTask(ctx), func() (TaskResult, error) {
		r := TaskResult{TaskID: ident.New("task")}
		events := x.now(0, task.Created{Definition: d, RequestID: m.RequestID})
		done, err := x.append(ctx, m, part{stream: TaskStream(r.TaskID), expected: eventstore.NoStream, events: events})
		if err != nil {
			return r, err
		}
		for _, e := range events {
			r.State.Apply(e)
		}
		r.Position = done.Last
		return r, nil
	})
}
