package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

// checker follows records in the order in which a reader gets them.
type checker struct {
	position int64
	versions map[string]int64
}

func newChecker(after int64) *checker { return &checker{after, map[string]int64{}} }

func (c *checker) see(r eventstore.Record) error {
	if r.Position != c.position+1 {
		return fmt.Errorf("position %d came after %d", r.Position, c.position)
	}
	if r.Version != c.versions[r.Stream]+1 {
		return fmt.Errorf("version %d of %s came after %d", r.Version, r.Stream, c.versions[r.Stream])
	}
	if err := eventstore.Verify(r); err != nil {
		return err
	}
	c.position, c.versions[r.Stream] = r.Position, r.Version
	return nil
}

// Follow reads the whole log from its beginning up to the given position as it
// grows. It returns an error as soon as the order has a gap, a stream's versions
// have one, or a hash is wrong.
func Follow(ctx context.Context, s eventstore.Store, until int64) error {
	return follow(ctx, s, s.ReadAll, until)
}

func follow(ctx context.Context, s eventstore.Store, read func(context.Context, int64, int) ([]eventstore.Record, error), until int64) error {
	c := newChecker(0)
	for c.position < until {
		if err := s.Wait(ctx, c.position); err != nil {
			return fmt.Errorf("wait after %d: %w", c.position, err)
		}
		page, err := read(ctx, c.position, 64)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return fmt.Errorf("woken after %d, and nothing is there", c.position)
		}
		for _, r := range page {
			if err := c.see(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// mixedBatch returns a small quick batch or a large slow one, of n events.
func mixedBatch(stream string, i int) (b eventstore.Batch, n int) {
	n = 1
	if i%10 == 0 {
		n = 60
	}
	events := NewEvents(n)
	if n > 1 {
		for j := range events {
			events[j].Data = []byte(`"` + strings.Repeat("x", 1+rand.IntN(4000)) + `"`)
		}
	}
	return To(stream, eventstore.AnyVersion, events...), n
}

const (
	orderWriters = 8
	orderBatches = 20
)

// orderTotal is what writeMixed writes in all.
func orderTotal() (total int64) {
	for i := range orderBatches {
		_, n := mixedBatch("x", i)
		total += int64(n)
	}
	return total * orderWriters
}

func writeMixed(ctx context.Context, g *errgroup.Group, stores []eventstore.Store) {
	for w := range orderWriters {
		g.Go(func() error {
			for i := range orderBatches {
				// Two writers share each stream.
				b, _ := mixedBatch(fmt.Sprintf("run-%d", w/2), (i+w)%orderBatches)
				if _, err := stores[w%len(stores)].Append(ctx, b); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func testOrder(t *testing.T, l Log) {
	s := open(t, l)
	Order(t, []eventstore.Store{s}, []eventstore.Store{s})
}

func testSharedOrder(t *testing.T, l Log) {
	stores := []eventstore.Store{open(t, l), open(t, l), open(t, l)}
	Order(t, stores, append(stores, open(t, l))) // the last one only reads
}

// Order writes small and large batches through all writers at once, while every
// reader follows the log, which must be empty at the beginning: from memory and
// from the database.
func Order(t *testing.T, writers, readers []eventstore.Store) {
	t.Helper()
	g, ctx := errgroup.WithContext(withPatience(t))
	writeMixed(ctx, g, writers)
	for _, s := range readers {
		g.Go(func() error { return Follow(ctx, s, orderTotal()) })
		if stored, ok := s.(eventstore.StoredReader); ok {
			g.Go(func() error { return follow(ctx, s, stored.ReadStored, orderTotal()) })
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	verify(t, readAll(t, readers[0]), int(orderTotal()))
}
