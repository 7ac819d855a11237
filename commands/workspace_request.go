package commands

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/ident"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/eventstore"
)

// OperationPrefix is what the streams of operations begin with.
const OperationPrefix = "op-"

// OperationStream names the stream of an operation on a workspace.
func OperationStream(id string) string { return OperationPrefix + id }

// RequestOperation asks the workers for something to be done to the workspace of a run,
// which must rest. OperationID and Reach of the request are set here. Without a live
// worker that reaches the workspace nothing is recorded: that is an unavailable fault.
func (x *Executor) RequestOperation(ctx context.Context, m Meta, r operation.Requested) (operation.State, error) {
	if err := x.hasRun(ctx, r.TaskID, r.RunID); err != nil {
		return operation.State{}, err
	}
	return once(ctx, x, m, x.recallOperation(ctx), func() (operation.State, error) {
		s, err := x.workspaceOf(ctx, r)
		if err != nil {
			return operation.State{}, err
		}
		if r.Reach = s.Reach; r.Reach != "" {
			if err := x.reached(ctx, r.Reach); err != nil {
				return operation.State{}, err
			}
		}
		r.OperationID = ident.New("op")
		o := operation.State{ID: r.OperationID}
		events := x.now(0, r)
		done, err := x.append(ctx, m, part{stream: OperationStream(o.ID), expected: eventstore.NoStream, work: eventstore.WorkOpen, events: events})
		if err != nil {
			return o, err
		}
		events[0].Position = done.Last
		o.Apply(events[0])
		return o, nil
	})
}

// workspaceOf folds the run that a request is about, and refuses what its state forbids.
func (x *Executor) workspaceOf(ctx context.Context, r operation.Requested) (*run.State, error) {
	s := run.New(r.RunID)
	patch, timeline := operation.Patch{ID: r.ArtifactID}, operation.Timeline{}
	err := x.read(ctx, RunStream(s.ID), 0, nil, func(e event.Event) {
		s.Apply(e)
		patch.Apply(e)
		timeline.Apply(e)
	})
	if err == nil {
		err = r.May(&s, &patch, &timeline)
	}
	return &s, err
}

// reached returns an unavailable fault if no live worker reaches the place.
func (x *Executor) reached(ctx context.Context, place string) error {
	live, err := x.Store.Workers(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(live, func(w eventstore.LiveWorker) bool { return slices.Contains(w.Reach, place) }) {
		return nil
	}
	return fault.Unavailable("unavailable", "no running worker reaches the run's workspace; start the node that executed the run, and try again")
}

func (x *Executor) recallOperation(ctx context.Context) func(eventstore.Appended) (operation.State, error) {
	return func(done eventstore.Appended) (operation.State, error) {
		id, err := x.subject(ctx, done, OperationPrefix)
		if err != nil {
			return operation.State{}, err
		}
		return x.LoadOperation(ctx, id)
	}
}

// LoadOperation folds an operation; one that there is not is a not-found fault.
func (x *Executor) LoadOperation(ctx context.Context, id string) (operation.State, error) {
	s := operation.State{ID: id}
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) || len(id) > eventstore.NameMax-len(OperationPrefix) {
		return s, fault.NotFound("not_found", "operation not found")
	}
	if err := x.Load(ctx, OperationStream(id), 0, s.Apply); err != nil {
		return s, err
	}
	if s.Version == 0 {
		return s, fault.NotFound("not_found", "operation not found")
	}
	return s, nil
}

// AwaitOperation folds an operation until it is over or ctx ends, which is no error:
// s says how far it is.
func (x *Executor) AwaitOperation(ctx context.Context, s *operation.State) error {
	for s.Completed == nil {
		head, err := x.Store.Head(ctx)
		if err == nil {
			err = x.Load(ctx, OperationStream(s.ID), s.Version, s.Apply)
		}
		if err == nil && s.Completed == nil {
			err = x.Store.Wait(ctx, head)
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
