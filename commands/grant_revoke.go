package commands

import (
	"context"

	"hecate/domain/run"
	"hecate/domain/task"
)

// RevokeGrant ends a grant of the session of a task: of its latest run and the ones that
// go on from it. No run is opened between looking for the latest one and recording it.
// A grant that the session does not have is a not-found fault.
func (x *Executor) RevokeGrant(ctx context.Context, m Meta, taskID, grantID string) (RunResult, error) {
	return once(ctx, x, m, x.recallRun(ctx), func() (RunResult, error) {
		return retry(ctx, func() (RunResult, error) {
			s, version, err := x.latest(ctx, taskID)
			if err != nil {
				return RunResult{}, err
			}
			payloads, err := run.Revoke(s, grantID)
			if err != nil {
				return RunResult{}, err
			}
			events := x.now(s.Version, payloads...)
			done, err := x.append(ctx, m,
				part{stream: RunStream(s.ID), expected: s.Version, events: events},
				part{stream: TaskStream(taskID), expected: version},
			)
			if err != nil {
				return RunResult{}, err
			}
			for _, e := range events {
				s.Apply(e)
			}
			return RunResult{RunID: s.ID, State: s, Position: done.Last}, nil
		})
	})
}

// LatestRun returns the newest run of a task without the texts that stand in blobs. A
// task without runs has one without an id, that nothing was given to.
func (x *Executor) LatestRun(ctx context.Context, taskID string) (*run.State, error) {
	s, _, err := x.latest(ctx, taskID)
	return s, err
}

// latest also returns the version of the task that says so.
func (x *Executor) latest(ctx context.Context, taskID string) (*run.State, int64, error) {
	t, version, err := x.loadTask(ctx, taskID)
	if err != nil {
		return nil, 0, err
	}
	if err := t.Visible(); err != nil {
		return nil, 0, err
	}
	s := run.New("")
	if len(t.Runs) == 0 {
		return &s, version, nil
	}
	s.ID = t.Runs[len(t.Runs)-1]
	return &s, version, x.outline(ctx, &s)
}

// LoadTask returns a task as it stands. One that does not exist, or no longer, is a
// not-found fault.
func (x *Executor) LoadTask(ctx context.Context, id string) (task.State, error) {
	t, _, err := x.loadTask(ctx, id)
	if err != nil {
		return t, err
	}
	return t, t.Visible()
}
