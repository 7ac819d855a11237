package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

// raceLocks are taken in overlapping sets.
var raceLocks = [...]string{"a", "b", "c", "d"}

// storesOf opens the log as often as it may be, up to three times.
func storesOf(t *testing.T, l Log) []eventstore.Store {
	t.Helper()
	stores := []eventstore.Store{open(t, l)}
	if l.Shared {
		stores = append(stores, open(t, l), open(t, l))
	}
	return stores
}

// Many calls want overlapping sets that they name in different orders. Everybody gets
// what it wants in the end, and nobody has anything at the same time as another run.
func testLockRace(t *testing.T, l Log) {
	stores := storesOf(t, l)
	const runs, rounds = 6, 24
	var owner [len(raceLocks)]atomic.Int64 // run number, from 1
	g, ctx := errgroup.WithContext(withPatience(t))
	for run := range runs {
		s, instance, h := stores[run%len(stores)], fmt.Sprintf("w%d", run), holder(fmt.Sprintf("run-%d", run), "call-1")
		register(t, s, instance)
		g.Go(func() error {
			for round := range rounds {
				set := []int{(run + round) % len(raceLocks), round % len(raceLocks), (run + 3) % len(raceLocks)}
				if err := takeInTheEnd(ctx, s, instance, h, set); err != nil {
					return err
				}
				if err := useLocks(owner[:], set, int64(run)+1); err != nil {
					return err
				}
				if err := s.DropLocks(ctx, h); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, g.Wait())
	wantHeld(t, stores[0])
}

// takeInTheEnd asks until nothing of the set is held by another run.
func takeInTheEnd(ctx context.Context, s eventstore.Store, instance string, h eventstore.Holder, set []int) error {
	var names []string
	for _, i := range set {
		names = append(names, raceLocks[i])
	}
	for {
		err := s.TakeLocks(ctx, instance, h, names)
		var locked *eventstore.LockedError
		if !errors.As(err, &locked) || ctx.Err() != nil {
			return err
		}
		if locked.By.Run == h.Run {
			return fmt.Errorf("%v stands in its own way: %w", h, err)
		}
		runtime.Gosched()
	}
}

// useLocks fails if anything of the set is in use, or changes hands meanwhile.
func useLocks(owner []atomic.Int64, set []int, run int64) error {
	for _, i := range set {
		if by := owner[i].Swap(run); by != 0 && by != run {
			return fmt.Errorf("run %d got %s, which run %d has", run, raceLocks[i], by)
		}
	}
	for range 3 {
		runtime.Gosched()
	}
	for _, i := range set {
		if by := owner[i].Swap(0); by != run && by != 0 {
			return fmt.Errorf("run %d had %s, and run %d got it", run, raceLocks[i], by)
		}
	}
	return nil
}

// Leases come and go while locks are taken under them, and all get along.
func testLocksAmongLeases(t *testing.T, l Log) {
	stores := storesOf(t, l)
	const workers, rounds = 6, 12
	g, ctx := errgroup.WithContext(withPatience(t))
	for i := range workers {
		s := stores[i%len(stores)]
		w := worker(fmt.Sprintf("w%d", i))
		w.Node = fmt.Sprintf("node-%d", i/2) // two end each other's leases
		h := holder(fmt.Sprintf("run-%d", i), "call-1")
		g.Go(func() error {
			for round := range rounds {
				w.TTL = leaseTime
				if round%2 == 0 {
					w.TTL = time.Microsecond
				}
				if err := s.Register(ctx, w); err != nil {
					return fmt.Errorf("register: %w", err)
				}
				if err := lockUnder(ctx, s, w.Instance, h, round); err != nil {
					return err
				}
			}
			return s.Release(ctx, w.Instance)
		})
	}
	must(t, g.Wait())
	wantHeld(t, stores[0])
}

// lockUnder does what may be done under a lease. That this is lost is no error.
func lockUnder(ctx context.Context, s eventstore.Store, instance string, h eventstore.Holder, round int) error {
	var names []string
	for i := range raceLocks[1:] {
		names = append(names, raceLocks[(round+i)%len(raceLocks)])
	}
	err := s.TakeLocks(ctx, instance, h, names)
	var locked *eventstore.LockedError
	if err != nil && !errors.As(err, &locked) && !errors.Is(err, eventstore.ErrLeaseLost) {
		return fmt.Errorf("take: %w", err)
	}
	if err := s.Renew(ctx, instance); err != nil && !errors.Is(err, eventstore.ErrLeaseLost) {
		return fmt.Errorf("renew: %w", err)
	}
	switch round % 4 {
	case 0:
		err = s.DropLocks(ctx, h)
	case 1:
		err = s.DropRunLocks(ctx, h.Run)
	case 2:
		err = s.Release(ctx, instance)
	default:
		_, err = s.HeldLocks(ctx)
	}
	return err
}
