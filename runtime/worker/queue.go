package worker

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/tools"
)

// holder is what the pool knows of a run that is queued or being executed.
type holder struct {
	cancel context.CancelCauseFunc // nil while queued
	again  bool                    // queued once more while active
	ended  bool                    // the run was ended while active
}

// offerPage is how many open runs one read asks for.
const offerPage = 500

// offerAll queues all open runs that no live worker holds.
func (p *Pool) offerAll(ctx context.Context) error {
	after := int64(0)
	for {
		open, err := p.Store.Claimable(ctx, after, offerPage)
		if err != nil {
			return err
		}
		for _, o := range open {
			p.offer(o.Stream)
			after = o.Since
		}
		if len(open) < offerPage {
			return nil
		}
	}
}

// Where there are other workers, this often some of the oldest open runs that nobody
// holds are looked at: those of a node that died, above all.
const (
	lookEvery = time.Second
	lookPage  = 64
)

// reconcile offers open runs that nobody holds, however that came about.
func (p *Pool) reconcile(ctx context.Context) error {
	all := time.NewTicker(p.Reconcile)
	defer all.Stop()
	look := make(<-chan time.Time)
	if p.LeaseTTL > 0 {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-all.C:
			p.mu.Lock()
			clear(p.elsewhere) // perhaps a place has become reachable
			maps.DeleteFunc(p.deferred, func(_ string, since time.Time) bool { return time.Since(since) > 2*courtesy })
			p.mu.Unlock()
			err = p.offerAll(ctx)
		case <-look:
			var open []eventstore.OpenStream
			open, err = p.Store.Claimable(ctx, 0, lookPage)
			for _, o := range open {
				p.offer(o.Stream)
			}
		}
		if err != nil && ctx.Err() == nil {
			p.Log.Warn("look for runs that nobody executes", "error", err)
		}
	}
}

// followPage is how many records one read of the log asks for.
const followPage = 512

// follow watches the log for runs that became ready and for runs that ended.
func (p *Pool) follow(ctx context.Context, t *tenure, after int64) error {
	for {
		err := p.insist(ctx, "follow the log", func() error {
			if err := p.Store.Wait(ctx, after); err != nil {
				return err
			}
			recs, err := p.Store.ReadAll(ctx, after, followPage)
			for _, r := range recs {
				p.see(t, r)
				after = r.Position
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

func (p *Pool) see(t *tenure, r eventstore.Record) {
	switch r.Type {
	case "run.queued", "workspace.operation.requested":
		p.offer(r.Stream)
	case "run.cancelled":
		p.stop(t, strings.TrimPrefix(r.Stream, "run-"))
	case "run.claimed":
		t.leave(strings.TrimPrefix(r.Stream, "run-"), r)
	case "task.deleted":
		select {
		case p.deleted <- strings.TrimPrefix(r.Stream, "task-"):
		default: // more than can wait; the next start sweeps
		}
	}
}

// offer queues a run, or marks it for another look if a worker has it just now.
func (p *Pool) offer(stream string) {
	if p.offerOperation(stream) {
		return
	}
	id, ok := strings.CutPrefix(stream, "run-")
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, away := p.elsewhere[id]; away {
		return
	}
	if h, known := p.state[id]; known {
		h.again = h.cancel != nil
		return
	}
	p.state[id] = &holder{}
	p.queue = append(p.queue, id)
	p.signal()
}

// offerLater queues a run after a while. The timer outlives nothing: a pool that has
// stopped takes no runs.
func (p *Pool) offerLater(ctx context.Context, id string, wait time.Duration) {
	time.AfterFunc(wait, func() {
		if ctx.Err() == nil {
			p.offer("run-" + id)
		}
	})
}

func (p *Pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// stop ends the attempt of a run that was ended in the log, and what it has left running.
func (p *Pool) stop(t *tenure, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.elsewhere, id)
	if h := p.state[id]; h != nil && h.cancel != nil {
		h.ended = true
		h.cancel(tools.ErrRunEnded)
		t.terminals.Kill(id) // the attempt records what they wrote, and forgets them
		return
	}
	t.retire(id)
}

// errSurplus says that there is a worker too many.
var errSurplus = errors.New("another worker goes on in this one's place")

// work executes one run after the other until ctx ends or it is one too many. What is done for them goes on
// under acting.
func (p *Pool) work(ctx, acting context.Context, t *tenure) error {
	for {
		a, runCtx, err := p.next(ctx, acting, t)
		switch {
		case errors.Is(err, errSurplus):
			p.signal() // it may have been woken for a run
			return nil
		case err != nil:
			return err
		}
		p.release(ctx, t, a.s.ID, a.execute(runCtx))
	}
}

// next takes the oldest queued run that there is something to do for. Where claims are
// bounded, one worker at a time looks: others would overtake the run that it waits with.
func (p *Pool) next(ctx, acting context.Context, t *tenure) (*attempt, context.Context, error) {
	if p.ClaimsMax > 0 {
		p.turn.Lock()
		defer p.turn.Unlock()
	}
	for {
		select {
		case <-t.surplus:
			return nil, nil, errSurplus
		default:
		}
		id, runCtx, ok := p.take(ctx, acting)
		if !ok {
			select {
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			case <-t.surplus:
				return nil, nil, errSurplus
			case <-p.wake:
				continue
			}
		}
		a, err := p.claim(runCtx, ctx, t, id)
		switch {
		case errors.Is(err, eventstore.ErrBusy):
			p.putBack(id)
			pause(ctx, busyWait)
		case a == nil:
			p.release(ctx, t, id, err)
		default:
			return a, runCtx, nil
		}
	}
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// take removes the oldest queued run and makes it active.
func (p *Pool) take(ctx, acting context.Context) (string, context.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || ctx.Err() != nil {
		return "", nil, false
	}
	id := p.queue[0]
	p.queue = p.queue[1:]
	if len(p.queue) > 0 {
		p.signal() // another worker may be asleep
	}
	runCtx, cancel := context.WithCancelCause(acting)
	p.state[id].cancel = cancel
	return id, runCtx, true
}

// busyWait is how long a worker rests while as many runs as allowed are executed.
const busyWait = 100 * time.Millisecond

// putBack makes a run that was not claimed the next one again.
func (p *Pool) putBack(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state[id].cancel(nil)
	p.state[id] = &holder{}
	p.queue = append([]string{id}, p.queue...)
	p.signal()
}

// release ends an attempt. If it broke, or the run was asked for meanwhile, the run is
// queued again.
func (p *Pool) release(ctx context.Context, t *tenure, id string, err error) {
	if err != nil && ctx.Err() == nil {
		p.Log.Error("execute run", "run_id", id, "error", err)
	}
	p.mu.Lock()
	h := p.state[id]
	h.cancel(nil)
	delete(p.state, id)
	delete(p.broken, id)
	if err != nil {
		p.broken[id] = err.Error()
	}
	again := h.again
	p.mu.Unlock()
	if h.ended {
		t.retire(id) // of a run that had just been parked
	}
	switch {
	case err != nil:
		p.offerLater(ctx, id, retryAfter)
	case again:
		p.offer("run-" + id)
	}
}

// settled reports whether this process has nothing to do with a run any more: a run
// that follows it may use its workspace.
func (p *Pool) settled(source *run.Source) bool {
	if source == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.state[source.RunID]
	return h == nil || h.cancel == nil
}
