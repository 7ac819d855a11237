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

// lockPause is how often a lock that is held by another run is tried.
const lockPause = 100 * time.Millisecond

// lock takes what the call needs, all at once. While another run has some of it the
// call waits, for everybody to see, and nothing is held. It is decided about anew
// once they are taken: the files may have changed meanwhile.
func (a *attempt) lock(ctx context.Context, e run.Dispatch) error {
	want := locks{call: e.Call.ID, names: e.Locks, step: a.s.NextStepID()}
	waiting, stop := a.untilTold(ctx)
	defer stop()
	for told := false; ; {
		err := a.Store.TakeLocks(ctx, a.t.instance, eventstore.Holder{Run: a.s.ID, Call: want.step}, want.names)
		var held *eventstore.LockedError
		switch {
		case err == nil:
			a.locks = want
			return nil
		case errors.Is(err, eventstore.ErrLeaseLost):
			a.t.lease.End()
			return tools.ErrLeaseLost
		case !errors.As(err, &held):
			return fmt.Errorf("take the execution locks of a call: %w", err)
		case !told:
			told = true
			a.stage(run.LockWaiting{
				ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, Locks: want.names,
				Lock: held.Name, HeldByRun: held.By.Run, HeldByStep: held.By.Call,
			})
			if err := a.flush(ctx); err != nil {
				return err
			}
			// The run that has the lock may need a worker to get on.
			defer a.t.substitute()()
		}
		pause(waiting, lockPause)
		if waiting.Err() != nil {
			return ctx.Err()
		}
	}
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
