package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

// once makes a command that has an id harmless to repeat: whoever sends it again, at
// the same time or later, gets what the first one led to. A command that changed
// nothing is simply carried out again.
func once[T any](ctx context.Context, x *Executor, m Meta, recall func(eventstore.Appended) (T, error), do func() (T, error)) (T, error) {
	if m.CommandID == "" {
		return do()
	}
	done, err := x.done(ctx, m.CommandID)
	if err == nil {
		return recall(done)
	}
	var out T
	if !errors.Is(err, eventstore.ErrNotFound) {
		return out, err
	}
	out, failed := do()
	// Another one with the same id may have been faster, before or after we decided.
	done, err = x.done(ctx, m.CommandID)
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		return out, failed
	case err != nil:
		return out, errors.Join(failed, err)
	}
	return recall(done)
}

// done is where the batch of a command stands, once its records can be read here: another
// one, in this process or elsewhere, may have appended it this moment.
func (x *Executor) done(ctx context.Context, commandID string) (eventstore.Appended, error) {
	done, err := x.Store.Command(ctx, commandID)
	if err == nil && done.First <= done.Last {
		err = x.Store.Wait(ctx, done.Last-1)
	}
	return done, err
}

// recallRun tells where a run stood after the command whose batch is given.
func (x *Executor) recallRun(ctx context.Context) func(eventstore.Appended) (RunResult, error) {
	return func(done eventstore.Appended) (RunResult, error) {
		id, err := x.subject(ctx, done, "run-")
		if err != nil {
			return RunResult{}, err
		}
		s := run.New(id)
		err = x.read(ctx, RunStream(id), 0, nil, upTo(done.Last, s.Apply))
		return RunResult{RunID: id, State: &s, Position: done.Last}, err
	}
}

// recallTask does so for a task.
func (x *Executor) recallTask(ctx context.Context) func(eventstore.Appended) (TaskResult, error) {
	return func(done eventstore.Appended) (TaskResult, error) {
		id, err := x.subject(ctx, done, "task-")
		if err != nil {
			return TaskResult{}, err
		}
		r := TaskResult{TaskID: id, Position: done.Last}
		err = x.Load(ctx, TaskStream(id), 0, upTo(done.Last, r.State.Apply))
		return r, err
	}
}

func upTo(position int64, apply func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		if e.Position <= position {
			apply(e)
		}
	}
}

// subject finds the stream with the prefix that a batch wrote to.
func (x *Executor) subject(ctx context.Context, done eventstore.Appended, prefix string) (string, error) {
	recs, err := x.Store.ReadAll(ctx, done.First-1, int(done.Last-done.First)+1)
	if err != nil {
		return "", err
	}
	for _, r := range recs {
		if id, ok := strings.CutPrefix(r.Stream, prefix); ok {
			return id, nil
		}
	}
	return "", fmt.Errorf("recall a command: its events from position %d on name no %s stream", done.First, prefix)
}
