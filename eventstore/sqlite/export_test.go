package sqlite

import (
	"context"
	"fmt"
	"time"
)

// SetLeaseClock replaces the clock by which leases run out.
func (s *Store) SetLeaseClock(now func() time.Time) { s.leases.SetClock(now) }

// LimitRoom lets the file grow by so many pages and no more; 0 takes the limit away.
func (s *Store) LimitRoom(ctx context.Context, pages int64) error {
	const none = 1<<32 - 2
	limit := int64(none)
	if pages > 0 {
		if err := s.writer.QueryRowContext(ctx, "PRAGMA page_count").Scan(&limit); err != nil {
			return err
		}
		limit += pages
	}
	_, err := s.writer.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", limit))
	return err
}
