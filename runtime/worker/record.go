package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/tools"
)

// saveTries and savePause bound how long results are kept in memory while the log
// cannot be written. After that the run is left to recovery.
const (
	saveTries = 6
	savePause = 500 * time.Millisecond
	saveLimit = 15 * time.Second
)

// recordMax is how many events one append takes. What is longer is made durable in
// order, piece by piece.
const recordMax = eventstore.EventsMax / 2

// stage folds facts now and keeps them until the next flush, so that neighbours
// without an effect between them become durable together.
func (a *attempt) stage(payloads ...event.Payload) {
	now := a.Clock.Now()
	for _, p := range payloads {
		// The id makes a repeated append harmless whose first answer was lost.
		e := a.withhold(event.Event{ID: a.Executor.NewID(), Version: a.s.Version + 1, At: now, Payload: p})
		a.s.Apply(e)
		a.staged = append(a.staged, e)
	}
}

// flush makes what is staged durable. It goes on after ctx has ended, because a
// result that was obtained must not be lost with it.
func (a *attempt) flush(ctx context.Context) error {
	if len(a.staged) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer stop()
	return a.saveAll(ctx)
}

// saveAll makes the staged events durable, piece by piece.
func (a *attempt) saveAll(ctx context.Context) error {
	for len(a.staged) > 0 {
		if err := a.save(ctx, a.staged[:min(len(a.staged), recordMax)]); err != nil {
			return err
		}
	}
	a.staged = nil
	return nil
}

// save makes the first of the staged events durable.
func (a *attempt) save(ctx context.Context, events []event.Event) error {
	var err error
	for range saveTries {
		_, err = a.Executor.Record(ctx, a.meta(), a.s, a.epochFor(events), events)
		var conflict *eventstore.ConflictError
		var fenced *eventstore.FencedError
		switch {
		case err == nil:
			a.staged = a.staged[len(events):]
			return nil
		case errors.As(err, &conflict):
			return a.moveOn(ctx)
		case errors.As(err, &fenced), errors.Is(err, eventstore.ErrInvalid), errors.Is(err, eventstore.ErrClosed):
			return fmt.Errorf("record run %s: %w", a.s.ID, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("record run %s: %w", a.s.ID, err)
		case <-a.t.lease.Done():
			return tools.ErrLeaseLost
		case <-time.After(savePause):
		}
	}
	return fmt.Errorf("record run %s: %w", a.s.ID, err)
}

// epochFor is what guards an append. With the end of the run its claim is gone; what
// is added then changes nothing in it.
func (a *attempt) epochFor(events []event.Event) int64 {
	if a.over > 0 && events[0].Version > a.over {
		return 0
	}
	return a.epoch
}

func (a *attempt) flushOrMoveOn(ctx context.Context) error {
	if err := a.flush(ctx); err != nil && !errors.Is(err, errLost) {
		return err
	}
	return nil
}

// moveOn folds the run anew after somebody else changed it. Of a run that was ended
// while this attempt had it, the results that are not in the log yet are recorded:
// they change nothing more in it.
func (a *attempt) moveOn(ctx context.Context) error {
	results := lateResults(a.staged)
	if err := a.fold(ctx, a.s.ID); err != nil {
		return err
	}
	if len(results) > 0 && a.mine() && a.s.Status.Terminal() && !a.recorded(results) {
		for _, e := range results {
			a.stage(e.Payload)
			a.staged[len(a.staged)-1].Withheld = e.Withheld // the payload is without it already
		}
		if err := a.saveAll(ctx); err != nil {
			return fmt.Errorf("record late results: %w", err)
		}
	}
	return errLost
}

// recorded reports whether the log holds the results already: the append that
// seemed to fail had been made durable.
func (a *attempt) recorded(results []event.Event) bool {
	for _, e := range results {
		d, ok := e.Payload.(run.DispatchSettled)
		if !ok {
			continue
		}
		for _, b := range []*run.Batch{a.s.Batch, a.s.Direct} {
			if b == nil {
				continue
			}
			if _, in := b.Settled[d.ToolCallID]; in {
				return true
			}
		}
	}
	return false
}

// lateResults picks what happened in the world, as opposed to what would have
// happened next in a run that has moved on.
func lateResults(staged []event.Event) []event.Event {
	var out []event.Event
	for _, e := range staged {
		switch e.Payload.(type) {
		case run.ShellOutput, run.ShellExited, run.ToolCompleted, run.ToolFailed, run.ToolCancelled, run.ToolTimedOut,
			run.FilePatch, run.ArtifactRecorded, run.WorkspaceChanged, run.DispatchSettled, run.ModelCallCompleted, run.ProgressCheckCompleted:
			out = append(out, e)
		}
	}
	return out
}

// wrapUp records what is left to record here. Of a run that was ended from outside
// these are late results and a last look at the workspace.
func (a *attempt) wrapUp(ctx context.Context) error {
	if err := a.flushOrMoveOn(ctx); err != nil {
		return err
	}
	ended := errors.Is(context.Cause(ctx), tools.ErrRunEnded) || a.s.Status == run.StatusCancelled
	if !ended || !a.mine() || a.root == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := a.fold(ctx, a.s.ID); err != nil {
		return err
	}
	a.windUp(ctx)
	return a.flushOrMoveOn(ctx)
}

func (a *attempt) meta() commands.Meta {
	return commands.Meta{Actor: eventstore.Actor{Kind: "worker", Name: a.NodeID}}
}
