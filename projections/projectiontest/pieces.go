package projectiontest

import (
	"context"
	"math/rand/v2"

	"hecate/eventstore"
)

// Chopped hands out a log in pieces of random size.
type Chopped struct {
	eventstore.Store
	Random *rand.Rand
	Max    int // records in one piece
}

// ReadAll returns less than there is.
func (c *Chopped) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	return c.Store.ReadAll(ctx, after, min(limit, 1+c.Random.IntN(c.Max)))
}

// UpTo hides what stands behind a position of a log.
type UpTo struct {
	eventstore.Store
	Last int64
}

// ReadAll returns what stands before the position.
func (u *UpTo) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	if after >= u.Last {
		return nil, nil
	}
	return u.Store.ReadAll(ctx, after, int(min(int64(limit), u.Last-after)))
}

// Head is the position.
func (u *UpTo) Head(context.Context) (int64, error) { return u.Last, nil }
