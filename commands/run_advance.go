package commands

import (
	"context"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// Advance appends what a worker found out to its run, at the version that the
// worker folded, and folds it into s. An event that ends the run closes it in its
// task in the same append. On a *eventstore.ConflictError s is unchanged: fold anew.
func (x *Executor) Advance(ctx context.Context, m Meta, s *run.State, payloads ...event.Payload) (eventstore.Appended, error) {
	parts := []part{{stream: RunStream(s.ID), expected: s.Version, work: workOf(payloads), payloads: payloads}}
	if end, ok := ending(payloads); ok && !s.Status.Terminal() {
		parts = append(parts, closing(s, end))
	}
	done, events, err := x.append(ctx, m, parts...)
	if err != nil {
		return done, err
	}
	for _, e := range events {
		s.Apply(e)
	}
	return done, nil
}

// closing is the task's side of a run's end. Its version does not matter: closing
// a run that is not the open one changes nothing.
func closing(s *run.State, end run.Status) part {
	return part{
		stream: TaskStream(s.TaskID), expected: eventstore.AnyVersion,
		payloads: []event.Payload{task.Closed(s.ID, end)},
	}
}

// ending returns the final status that the payloads lead to.
func ending(payloads []event.Payload) (run.Status, bool) {
	for _, p := range payloads {
		switch p.(type) {
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
func workOf(payloads []event.Payload) eventstore.Work {
	work := eventstore.WorkKeep
	for _, p := range payloads {
		switch p.(type) {
		case run.Queued:
			work = eventstore.WorkOpen
		case run.AwaitingApproval, run.Finished, run.Failed, run.Cancelled:
			work = eventstore.WorkClose
		}
	}
	return work
}
