package eventstore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Limits of one TakeLocks.
const (
	LocksMax    = 64 // different names
	LockNameMax = 64 // bytes of a name
)

// Holder is one tool call that holds locks, or waits for them.
type Holder struct {
	Run  string
	Call string // id of the call's step, unique within the run
}

// HeldLock is a holder's hold on one name.
type HeldLock struct {
	Name     string
	Holder   Holder
	Instance string    // the worker under whose lease it is held
	Node     string    // of that worker
	Since    time.Time // by the log's own clock, UTC
}

// Locks are how the tool calls of one log keep out of each other's way: at any moment
// the live holders of a name are calls of one run (permission text, execution locks).
// A lock lasts as long as the lease under which it was taken, see Leases; where that
// ran out or was ended the lock is free. Nothing here waits: callers ask again.
type Locks interface {
	// TakeLocks takes all of names for the holder under the lease of the instance, or
	// none of them. What the holder has already goes over to this lease. Calls of the
	// same run don't block each other: each holds the lock by itself. Errors: one that
	// wraps ErrInvalid, ErrLeaseLost, *LockedError for the first name in sorted order
	// that another run holds. After any other error the locks may have been taken: take
	// them again, or drop them.
	TakeLocks(ctx context.Context, instance string, h Holder, names []string) error
	// DropLocks gives back all that the holder has, which may be nothing.
	DropLocks(ctx context.Context, h Holder) error
	// DropRunLocks gives back all that the run's calls have: it has ended, or another
	// worker has it.
	DropRunLocks(ctx context.Context, run string) error
	// HeldLocks returns the locks that are held under live leases, by name, then run,
	// then call.
	HeldLocks(ctx context.Context) ([]HeldLock, error)
}

// LockedError says that another run holds a lock. Nothing was taken.
type LockedError struct {
	Name string
	By   Holder // of several calls of that run the first in sorted order
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("lock %s is held by call %s of run %s", e.Name, e.By.Call, e.By.Run)
}

// CheckLocks returns names sorted and without duplicates, or an error that wraps
// ErrInvalid if no log could give them to the holder. Stores call it before anything
// else.
func CheckLocks(h Holder, names []string) ([]string, error) {
	if err := checkName("run", h.Run); err != nil {
		return nil, err
	}
	if err := checkName("call", h.Call); err != nil {
		return nil, err
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > LocksMax {
		return nil, invalid("%d locks, at most %d", len(names), LocksMax)
	}
	for _, name := range names {
		if err := checkName("lock", name); err != nil {
			return nil, err
		}
		if len(name) > LockNameMax {
			return nil, invalid("lock %q has %d bytes, at most %d", name, len(name), LockNameMax)
		}
	}
	return names, nil
}
