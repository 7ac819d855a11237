package commands

import (
	"context"

	"hecate/domain/ident"
	"hecate/domain/task"
	"hecate/eventstore"
)

// CreateSegment records a task whose runs go on in the isolated workspace of an earlier
// task's run, which must have ended: what is uncommitted there is theirs. It is for callers
// inside, such as a conversation whose next segment begins; no request can ask for it.
func (x *Executor) CreateSegment(ctx context.Context, m Meta, taskID, runID string, d task.Definition) (TaskResult, error) {
	return once(ctx, x, m, x.recallTask(ctx), func() (TaskResult, error) {
		return retry(ctx, func() (TaskResult, error) {
			from, err := x.foldRun(ctx, runID)
			if err != nil {
				return TaskResult{}, err
			}
			s, version, err := x.loadTask(ctx, taskID)
			if err == nil {
				err = s.Visible()
			}
			if err == nil {
				err = s.HasRun(runID)
			}
			if err != nil {
				return TaskResult{}, err
			}
			home, homeVersion := s, version
			if from.Home() != taskID {
				if home, homeVersion, err = x.loadTask(ctx, from.Home()); err != nil {
					return TaskResult{}, err
				}
			}
			if d, err = d.Segment(s, home, from); err != nil {
				return TaskResult{}, err
			}
			r := TaskResult{TaskID: ident.New("task")}
			created := x.now(0, task.Created{Definition: d, RequestID: m.RequestID})
			parts := []part{
				{stream: TaskStream(r.TaskID), expected: eventstore.NoStream, events: created},
				{stream: TaskStream(from.Home()), expected: homeVersion, events: x.now(homeVersion, task.WorkspaceShared{TaskID: r.TaskID})},
			}
			if from.Home() != taskID { // it must not lose the workspace meanwhile
				parts = append(parts, part{stream: TaskStream(taskID), expected: version})
			}
			done, err := x.append(ctx, m, parts...)
			if err != nil {
				return r, err
			}
			for _, e := range created {
				r.State.Apply(e)
			}
			r.Position = done.Last
			return r, nil
		})
	})
}
