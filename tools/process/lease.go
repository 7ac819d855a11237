package process

import (
	"errors"
	"sync"
	"time"
)

// ErrLeaseOver is the error of a command that was not started, or was ended, because
// its lease was over.
var ErrLeaseOver = errors.New("the lease is over")

// lookAgain is how often a lease with a limit looks at the clocks at least. Timers
// stand still while the machine is suspended; the wall clock does not.
const lookAgain = time.Second

// Lease is the time for which a worker may act. It is shared by all that the worker
// does on the strength of it: commands that run under it are ended with it, and are
// not started after it.
//
// It begins without a limit, and has one from the first Extend on. It is over when
// that passed or End was called, and is never valid again then. The monotonic and the
// wall clock both count, whichever is further on: so a lease also ends for a process
// that was stopped and for a machine that was suspended meanwhile.
//
// A nil *Lease is one that never ends; only Extend and End need one that is there. A
// Lease is safe for concurrent use. It holds a timer while it has a limit, until it
// is over, and no goroutine.
type Lease struct {
	done chan struct{}

	mu        sync.Mutex
	over      bool
	limited   bool
	until     time.Time   // meaningless without a limit
	timer     *time.Timer // nil without a limit
	followers map[follower]struct{}
}

// follower is told of every new limit of a lease. It may not block.
type follower interface{ extend(until time.Time) }

// NewLease returns a lease without a limit.
func NewLease() *Lease {
	return &Lease{done: make(chan struct{}), followers: map[follower]struct{}{}}
}

// Extend lets the lease last until the given time, which is best taken from time.Now
// before what it depends on was asked for: without a monotonic reading only the wall
// clock counts. Commands begin to be ended at that time, so leave them a second or two
// before somebody else may act. An earlier time than the one before changes nothing,
// and so does any time after the lease is over. Extend does not wait for anything.
func (l *Lease) Extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.overNow() || l.limited && !until.After(l.until) {
		return
	}
	l.limited, l.until = true, until
	if l.overNow() {
		return
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(l.nextLook(), l.look)
	}
	for f := range l.followers {
		f.extend(until)
	}
}

// End ends the lease.
func (l *Lease) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// Until returns the limit of the lease, and whether it has one.
func (l *Lease) Until() (time.Time, bool) {
	if l == nil {
		return time.Time{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until, l.limited
}

// Done returns a channel that is closed when the lease is over. It lags behind Valid:
// by up to a second after the machine was suspended. For a nil lease it is nil.
func (l *Lease) Done() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.done
}

// Valid reports whether the lease is not over. It looks at the clocks, so it is the
// one to ask right before an effect.
func (l *Lease) Valid() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.overNow()
}

// overNow reports whether the lease is over, and ends it if its time has just passed.
func (l *Lease) overNow() bool {
	if !l.over && l.limited && remaining(l.until) <= 0 {
		l.end()
	}
	return l.over
}

func (l *Lease) end() {
	if l.over {
		return
	}
	l.over = true
	close(l.done)
	if l.timer != nil {
		l.timer.Stop()
	}
}

// look is what the timer does: it comes again until the lease is over.
func (l *Lease) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.overNow() {
		l.timer.Reset(l.nextLook())
	}
}

func (l *Lease) nextLook() time.Duration { return min(remaining(l.until), lookAgain) }

// follow tells f of each limit that the lease gets from here on until leave. It returns
// the present one, if there is one.
func (l *Lease) follow(f follower) (until time.Time, limited bool) {
	if l == nil {
		return time.Time{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers[f] = struct{}{}
	return l.until, l.limited
}

func (l *Lease) leave(f follower) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.followers, f)
}

// remaining is the time until t by the clock that is further on.
func remaining(t time.Time) time.Duration {
	now := time.Now()
	return min(t.Sub(now), t.Round(0).Sub(now.Round(0))) // Round takes the monotonic reading off
}
