package runner

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

const (
	feedRecords = 2048 // read, decoded and written at a time when there is much to catch up with
	feedAhead   = 1    // batches that wait between two of these
)

type feedBatch struct {
	records []eventstore.Record
	batch   batch
}

// feed hands out the log behind a position until its end as it is when that is
// reached. Reading, decoding and taking go on at the same time; take is called for
// each batch, in order.
func feed(ctx context.Context, log eventstore.Store, m Model, after int64, take func(feedBatch) error) error {
	group, ctx := errgroup.WithContext(ctx)
	read := make(chan []eventstore.Record, feedAhead)
	decoded := make(chan feedBatch, feedAhead)
	group.Go(func() error {
		defer close(read)
		return feedRecordsFrom(ctx, log, after, read)
	})
	group.Go(func() error {
		defer close(decoded)
		for records := range read {
			select {
			case decoded <- feedBatch{records, decode(m, records, never)}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	group.Go(func() error {
		for b := range decoded {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := take(b); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

func feedRecordsFrom(ctx context.Context, log eventstore.Store, after int64, to chan<- []eventstore.Record) error {
	for {
		records, err := log.ReadAll(ctx, after, feedRecords)
		if err != nil || len(records) == 0 {
			return err
		}
		if err := dense(records, after); err != nil {
			return err
		}
		select {
		case to <- records:
		case <-ctx.Done():
			return ctx.Err()
		}
		after = records[len(records)-1].Position
	}
}

// CatchUp brings all models to the end of the log as it is when they get there. It is
// faster than waiting for Run to deliver message by message.
func (r *Runner) CatchUp(ctx context.Context) error {
	for _, p := range r.models {
		if err := r.catchUp(ctx, p); err != nil {
			return fmt.Errorf("catch up read model %s: %w", p.model.Name(), err)
		}
	}
	return nil
}

func (r *Runner) catchUp(ctx context.Context, p *projection) error {
	return feed(ctx, r.log, p.model, p.position(), func(b feedBatch) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		batch := b.batch
		if len(p.live.parked) > 0 { // decoded without knowing that
			batch = decode(p.model, b.records, p.live.isParked)
		}
		err := p.live.take(ctx, b.records, batch)
		if err == nil {
			p.show()
		}
		return err
	})
}
