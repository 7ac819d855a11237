package commands

import (
	"context"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// Advance decides what happens to a run now: it appends the payloads at the
// version that s was folded to and folds them into s.
func (x *Executor) Advance(ctx context.Context, m Meta, s *run.State, payloads ...event.Payload) (eventstore.Appended, error) {
	events := x.now(s.Version, payloads...)
	done, err := x.Record(ctx, m, s, 0, events)
	if err != nil {
		return done, err
	}
	for _, e := range events {
		s.Apply(e)
	}
	return done, nil
}

// Record appends events that a worker has numbered already; the first one follows
// the version that the worker folded, and epoch is that of its claim. An event that
// ends the run closes it in its task in the same append. A *eventstore.ConflictError
// means: fold anew; a *eventstore.FencedError: the run is another worker's.
func (x *Executor) Record(ctx context.Context, m Meta, s *run.State, epoch int64, events []event.Event) (eventstore.Appended, error) {
	parts := []part{{stream: RunStream(s.ID), expected: events[0].Version - 1, work: workOf(events), epoch: epoch, events: events}}
	if end, ok := ending(events); ok {
		parts = append(parts, x.closing(s, end))
	}
	return x.append(ctx, m.dueTo(s.Position), parts...)
}

// closing is the task's side of a run's end. Its version does not matter: closing
// a run that is not the open one changes nothing.
func (x *Executor) closing(s *run.State, end run.Status) part {
	return part{
		stream: TaskStream(s.TaskID), expected: eventstore.AnyVersion,
		events: x.now(0, task.Closed(s.ID, end)),
	}
}

// ending returns the final status that the events lead to.
func ending(events []event.Event) (run.Status, bool) {
	for _, e := range events {
		switch e.Payload.(type) {
		case run.Finished:
			return run.StatusCompleted, true
		case run.Failed:
			return run.StatusFailed, true
		case run.Cancelled:
			return run.StatusCancelled, true
		}
	}
	return "", false
}

// workOf says whether a worker has to look at the run after these events.
func workOf(events []event.Event) eventstore.Work {
	work := eventstore.WorkKeep
	for _, e := range events {
		switch e.Payload.(type) {
		case run.Queued:
			work = eventstore.WorkOpen
		case run.AwaitingApproval, run.Finished, run.Failed, run.Cancelled:
			work = eventstore.WorkClose
		}
	}
	return work
}
