package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/tools"
)

// locks are the execution locks that are held for one call.
type locks struct {
	call  string   // its id; "" if none are held
	names []string // sorted
	step  string
}

// are reports whether they are the ones that the dispatch needs.
func (l locks) are(e run.Dispatch) bool {
	return l.call != "" && l.call == e.Call.ID && slices.Equal(l.names, e.Locks)
}

// lockPause is how often a lock that is held by another run is tried; lockRest how often
// after lockPatience, because very many may wait for long. After each lockTries it is looked
// whether the call still needs it, and may still be made.
const (
	lockPause    = 100 * time.Millisecond
	lockRest     = 500 * time.Millisecond
	lockPatience = 5 * time.Second
	lockTries    = 5
)

// lock takes what the call needs, all at once. While another run has some of it the
// call waits, for everybody to see, and nothing is held. It is decided about anew
// once they are taken: the files may have changed meanwhile.
func (a *attempt) lock(ctx context.Context, e run.Dispatch) error {
	want := locks{call: e.Call.ID, names: e.Locks, step: a.s.NextStepID()}
	held, err := a.takeLocks(ctx, want)
	if err != nil || held == nil {
		return err
	}
	a.stage(run.LockWaiting{
		ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, Locks: want.names,
		Lock: held.Name, HeldByRun: held.By.Run, HeldByStep: held.By.Call,
	})
	if err := a.flush(ctx); err != nil {
		return err
	}
	return a.await(ctx, e, want, held.Name)
}

// takeLocks takes them, or says which of them another run has.
func (a *attempt) takeLocks(ctx context.Context, want locks) (held *eventstore.LockedError, err error) {
	err = a.Store.TakeLocks(ctx, a.t.instance, eventstore.Holder{Run: a.s.ID, Call: want.step}, want.names)
	switch {
	case err == nil:
		a.locks = want
		return nil, nil
	case errors.Is(err, eventstore.ErrLeaseLost):
		a.t.lease.End()
		return nil, tools.ErrLeaseLost
	case errors.As(err, &held):
		return held, nil
	}
	return nil, fmt.Errorf("take the execution locks of a call: %w", err)
}

// await tries until the locks are taken, the run is told to stop, something else is to be
// done with the call, or it turns out that they cannot become free. Somebody else works meanwhile, and what the call has waited
// for is used once that one leaves the place: the run that has a lock may need it.
func (a *attempt) await(ctx context.Context, e run.Dispatch, want locks, lock string) error {
	waiting, stop := a.untilTold(ctx)
	defer stop()
	w := wait{attempt: a}
	defer w.end(ctx)
	takePlace := a.t.substitute()
	defer func() {
		takePlace(waiting)
		w.untilAllowed(waiting)
	}()
	begun, rest := time.Now(), lockPause
	for tries := 1; ; tries++ {
		if tries%lockTries == 0 && !a.stillWants(e) {
			return nil
		}
		if err := w.on(ctx, lock); err != nil {
			return err
		}
		if circle, err := w.circle(ctx); err != nil {
			return err
		} else if circle != "" {
			a.stage(a.refusal(e.Call, e.Index, run.OutcomeRefused, circle))
			return nil
		}
		if time.Since(begun) > lockPatience {
			rest = lockRest
		}
		pause(waiting, rest)
		if waiting.Err() != nil {
			return ctx.Err()
		}
		held, err := a.takeLocks(ctx, want)
		if err != nil || held == nil {
			return err
		}
		lock = held.Name
	}
}

// stillWants reports whether the call would be made by now if it had its locks: the files
// may have changed.
func (a *attempt) stillWants(e run.Dispatch) bool {
	next, ok := run.Next(a.s, a.rules()).(run.Dispatch)
	return ok && next.Call.ID == e.Call.ID && slices.Equal(next.Locks, e.Locks)
}

// unlock gives back what is held. What cannot be given back ends with the lease. One
// that is over has nothing to give back: somebody else may have the run, and the locks.
func (a *attempt) unlock(ctx context.Context) {
	if a.locks.call == "" || !a.t.lease.Valid() {
		return
	}
	a.drop(ctx, eventstore.Holder{Run: a.s.ID, Call: a.locks.step})
	a.locks = locks{}
}

func (p *Pool) drop(ctx context.Context, h eventstore.Holder) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseMax)
	defer stop()
	if err := p.Store.DropLocks(ctx, h); err != nil {
		p.Log.Warn("give execution locks back", "run_id", h.Run, "error", err)
	}
}
