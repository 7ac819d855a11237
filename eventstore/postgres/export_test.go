package postgres

import (
	"context"
	"time"
)

// SettleWithin sets how long the outcome of a lost append is looked for.
func (s *Store) SettleWithin(d time.Duration) { s.settleMax = d }

// CatchUp reads what the store has not seen, as it does by itself now and then.
func (s *Store) CatchUp(ctx context.Context) error { return s.catchUp(ctx) }
