// Package clock is where recorded time comes from. Only this package may ask
// the machine for the time that goes into the log.
package clock

import "time"

// Clock tells the time that is recorded.
type Clock interface{ Now() time.Time }

// System is the machine's clock, in UTC, cut to the microseconds that the log keeps.
type System struct{}

// Now returns the current time in UTC with microsecond precision.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Fixed is a clock that stands still, for tests.
type Fixed struct{ T time.Time }

// Now returns the fixed time.
func (f *Fixed) Now() time.Time { return f.T }
