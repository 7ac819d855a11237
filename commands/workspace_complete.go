package commands

import (
	"context"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/eventstore"
)

// BeginOperation records that the files of an operation are about to be touched, under
// the worker's claim. A *eventstore.ConflictError or *eventstore.FencedError means that
// it is another worker's.
func (x *Executor) BeginOperation(ctx context.Context, m Meta, s *operation.State, b operation.Begun) error {
	events := x.now(s.Version, b)
	_, err := x.append(ctx, m.dueTo(s.Position), part{stream: OperationStream(s.ID), expected: s.Version, epoch: b.Epoch, events: events})
	if err == nil {
		s.Apply(events[0])
	}
	return err
}

// CompleteOperation records how an operation ended and what it adds to the run, in one
// append. A *eventstore.ConflictError of the run's stream means: fold the run anew.
func (x *Executor) CompleteOperation(ctx context.Context, m Meta, s *operation.State, epoch int64, c operation.Completed, of *run.State, adds ...event.Payload) error {
	var parts []part
	if len(adds) > 0 { // before the answer: who has read that can wait for what came before it
		parts = append(parts, part{stream: RunStream(of.ID), expected: of.Version, events: x.now(of.Version, adds...)})
	}
	events := x.now(s.Version, c)
	parts = append(parts, part{stream: OperationStream(s.ID), expected: s.Version, work: eventstore.WorkClose, epoch: epoch, events: events})
	_, err := x.append(ctx, m.dueTo(s.Position), parts...)
	if err == nil {
		s.Apply(events[0])
	}
	return err
}

// OutlineRun folds a run without the texts that stand in blobs, and shows each event to
// the others as well. A run without events is a not-found fault.
func (x *Executor) OutlineRun(ctx context.Context, id string, others ...func(event.Event)) (*run.State, error) {
	s := run.New(id)
	err := x.read(ctx, RunStream(id), 0, nil, func(e event.Event) {
		s.Apply(e)
		for _, see := range others {
			see(e)
		}
	})
	if err == nil && s.Version == 0 {
		err = fault.NotFound("not_found", "task run not found")
	}
	return &s, err
}
