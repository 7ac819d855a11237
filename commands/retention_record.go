package commands

import (
	"context"
	"fmt"
	"time"

	"hecate/domain/event"
	"hecate/domain/retention"
	"hecate/eventstore"
)

// recordMax is how long the record of a pass may take, also of one that was broken off.
const recordMax = 5 * time.Second

// RetentionResult is a pass as the log has it. Position is 0 for one that left no record.
type RetentionResult struct {
	retention.Finished
	FinishedAt time.Time
	Position   int64
}

// RecordRetention carries out a pass and records what it did, unless pass says that this is
// not worth a record. A pass that was asked for with an id is carried out once.
func (x *Executor) RecordRetention(ctx context.Context, m Meta, pass func() (f retention.Finished, worth bool)) (RetentionResult, error) {
	recall := func(done eventstore.Appended) (RetentionResult, error) { return x.recallRetention(ctx, done) }
	return once(ctx, x, m, recall, func() (RetentionResult, error) {
		f, worth := pass()
		events := x.now(0, f)
		out := RetentionResult{Finished: f, FinishedAt: events[0].At}
		if !worth {
			return out, nil
		}
		// What was erased is erased, whether or not somebody still waits for the answer.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), recordMax)
		defer stop()
		done, err := x.append(ctx, m, part{stream: retention.Stream, expected: eventstore.AnyVersion, events: events})
		if err != nil {
			return out, fmt.Errorf("record a pass of retention: %w", err)
		}
		out.Position = done.Last
		return out, nil
	})
}

// recallRetention reads the pass that a batch recorded.
func (x *Executor) recallRetention(ctx context.Context, done eventstore.Appended) (RetentionResult, error) {
	records, err := x.Store.ReadAll(ctx, done.Last-1, 1)
	if err == nil && len(records) == 0 {
		err = eventstore.ErrNotFound
	}
	if err != nil {
		return RetentionResult{}, fmt.Errorf("recall a pass of retention at position %d: %w", done.Last, err)
	}
	return RetentionOf(records[0])
}

// RetentionOf reads the pass that a record tells of.
func RetentionOf(r eventstore.Record) (RetentionResult, error) {
	p, err := event.Decode(r.Type, r.Schema, r.Data, nil)
	if err != nil {
		return RetentionResult{}, fmt.Errorf("read a pass of retention at position %d: %w", r.Position, err)
	}
	f, ok := p.(retention.Finished)
	if !ok {
		return RetentionResult{}, fmt.Errorf("record %d is no pass of retention but %s", r.Position, r.Type)
	}
	return RetentionResult{Finished: f, FinishedAt: r.At, Position: r.Position}, nil
}
