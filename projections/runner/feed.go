package runner

import (
	"context"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

const (
	feedRecords = 2048 // read, decoded and written at a time when there is much to catch up with
	feedAhead   = 2    // batches that are read and decoded while one is written
)

type feedBatch struct {
	records []eventstore.Record
	batch   batch
}

// feed moves a build to the end of the log as it is when it gets there. Reading and
// decoding go ahead of writing. take is called for each batch, in order.
func feed(ctx context.Context, log eventstore.Store, m Model, after int64, take func(feedBatch) error) error {
	group, ctx := errgroup.WithContext(ctx)
	batches := make(chan feedBatch, feedAhead)
	group.Go(func() error {
		defer close(batches)
		for {
			records, err := log.ReadAll(ctx, after, feedRecords)
			if err != nil || len(records) == 0 {
				return err
			}
			if records[0].Position != after+1 {
				return &GapError{Want: after + 1, Got: records[0].Position}
			}
			b := feedBatch{records, decode(m, records, func(string) bool { return false })}
			select {
			case batches <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
			after = b.batch.last
		}
	})
	group.Go(func() error {
		for b := range batches {
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

// catchUp brings the live build near the end of the log faster than message by message.
func (r *Runner) catchUp(ctx context.Context, p *projection) error {
	return feed(ctx, r.log, p.model, p.position(), func(b feedBatch) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		err := p.live.take(ctx, b.records, b.batch)
		if err == nil {
			p.show()
		}
		return err
	})
}
