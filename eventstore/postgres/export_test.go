package postgres

import "time"

// SettleWithin sets how long the outcome of a lost append is looked for.
func (s *Store) SettleWithin(d time.Duration) { s.settleMax = d }
