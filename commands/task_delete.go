package commands

import (
	"context"

	"hecate/domain/task"
)

// DeleteTask hides a task without an open run. The log keeps its history.
func (x *Executor) DeleteTask(ctx context.Context, m Meta, taskID string) (TaskResult, error) {
	return once(ctx, x, m, x.recallTask(ctx), func() (TaskResult, error) {
		return retry(ctx, func() (TaskResult, error) {
			s, version, err := x.loadTask(ctx, taskID)
			if err != nil {
				return TaskResult{}, err
			}
			payloads, err := task.Delete(s)
			if err != nil {
				return TaskResult{}, err
			}
			done, err := x.append(ctx, m, part{stream: TaskStream(taskID), expected: version, events: x.now(version, payloads...)})
			return TaskResult{TaskID: taskID, State: s, Position: done.Last}, err
		})
	})
}
