package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hecate/eventstore"
	"hecate/tools"
)

// marked begins the names by which the log's locks tell who waits for what: a run that
// waits holds marked+run for a call marked+lock. No other lock has a colon in its name.
const marked = "waits:"

// wait is a run's wait for an execution lock, as all processes of the log see it.
type wait struct {
	*attempt
	lock  string // that it says it waits for; "" before it has said so
	again bool   // the last look has found a circle
}

func (w *wait) mark() eventstore.Holder {
	return eventstore.Holder{Run: w.s.ID, Call: marked + w.lock}
}

// on says which lock it is.
func (w *wait) on(ctx context.Context, lock string) error {
	if lock == w.lock {
		return nil
	}
	w.end(ctx)
	w.lock = lock
	switch err := w.Store.TakeLocks(ctx, w.t.instance, w.mark(), []string{marked + w.s.ID}); {
	case errors.Is(err, eventstore.ErrLeaseLost):
		w.t.lease.End()
		return tools.ErrLeaseLost
	case err != nil:
		return fmt.Errorf("say that a call waits for a lock: %w", err)
	}
	return nil
}

func (w *wait) end(ctx context.Context) {
	if w.lock != "" && w.t.lease.Valid() {
		w.drop(ctx, w.mark())
	}
	w.lock = ""
}

// circle says why the wait would never end, if two looks in a row have found that: runs
// that have left something running hold locks while they wait for each other. All of them
// see the same circle, and the one with the last id breaks it.
func (w *wait) circle(ctx context.Context) (why string, err error) {
	if !w.t.terminals.Has(w.s.ID) {
		return "", nil // it holds nothing that anybody could wait for
	}
	x, err := w.waits(ctx)
	if err != nil {
		return "", err
	}
	runs := x.circle(w.s.ID)
	found := len(runs) > 0 && slices.Max(runs) == w.s.ID
	if !found || !w.again {
		w.again = found
		return "", nil
	}
	return fmt.Sprintf("not run: it needs the execution lock %s, which %s holds, and that waits for a lock that a background job of this run holds. "+
		"They would wait for each other for ever: end the job with terminal_kill first, or do without this call", w.lock, x.holds[w.lock]), nil
}

// untilAllowed waits until one more run may be executed, where that is bounded: a run
// that waits does not count.
func (w *wait) untilAllowed(ctx context.Context) {
	for w.ClaimsMax > 0 && ctx.Err() == nil {
		x, err := w.waits(ctx)
		if err != nil {
			return
		}
		work, err := w.Store.WorkStats(ctx)
		if err != nil || work.Claimed-len(x.wants) < w.ClaimsMax {
			return
		}
		pause(ctx, busyWait)
	}
}

// waits are the locks of the log and who waits for them, at one moment.
type waits struct {
	holds map[string]string // the run that has a lock
	wants map[string]string // the lock that a run waits for
}

func (p *Pool) waits(ctx context.Context) (waits, error) {
	held, err := p.Store.HeldLocks(ctx)
	if err != nil {
		return waits{}, fmt.Errorf("look who waits for whom: %w", err)
	}
	x := waits{map[string]string{}, map[string]string{}}
	for _, h := range held {
		if strings.HasPrefix(h.Name, marked) {
			x.wants[h.Holder.Run] = strings.TrimPrefix(h.Holder.Call, marked)
		} else {
			x.holds[h.Name] = h.Holder.Run
		}
	}
	return x, nil
}

// circle returns the runs that wait for each other, beginning with the given one; nil if
// that is in no circle.
func (x waits) circle(id string) []string {
	var runs []string
	for at := id; ; {
		runs = append(runs, at)
		at = x.holds[x.wants[at]]
		switch {
		case at == id:
			return runs
		case at == "", slices.Contains(runs, at):
			return nil
		}
	}
}
