package commands

import (
	"context"

	"hecate/domain/fault"
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
	return x.createTask(ctx, m, func() (task.Definition, error) { return d.Normalize() })
}

// CreateTaskFrom is CreateTask under a work policy, which the task keeps as it is now.
func (x *Executor) CreateTaskFrom(ctx context.Context, m Meta, presetID string, d task.Definition) (TaskResult, error) {
	return x.createTask(ctx, m, func() (task.Definition, error) {
		p, err := x.LoadPreset(ctx, presetID)
		if f, ok := fault.Of(err); ok && f.Kind == fault.KindNotFound {
			return d, fault.Invalid("invalid_request", "agent_preset_id: %s", f.Message)
		}
		if err != nil {
			return d, err
		}
		return d.Follow(p)
	})
}

func (x *Executor) createTask(ctx context.Context, m Meta, define func() (task.Definition, error)) (TaskResult, error) {
	return once(ctx, x, m, x.recallTask(ctx), func() (TaskResult, error) {
		d, err := define()
		if err != nil {
			return TaskResult{}, err
		}
		if d.Posture == permission.PostureLevels && x.LevelsForbidden {
			return TaskResult{}, fault.Forbidden("forbidden", "permission_posture \"levels\" is forbidden on this server (HECATE_TASK_LEVELS_POSTURE=forbid); leave it out, or ask the operator")
		}
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
