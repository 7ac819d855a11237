package sqlite

import "time"

// SetLeaseClock replaces the clock by which leases run out.
func (s *Store) SetLeaseClock(now func() time.Time) { s.leases.SetClock(now) }
