package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"hecate/domain/ident"
	"hecate/eventstore"
	"hecate/tools/process"
	"hecate/tools/terminal"
)

// tenure is the time for which this process holds its place among the workers of the
// log. A place that was lost is never taken again: the next tenure has another name.
type tenure struct {
	instance  string
	lease     *process.Lease     // what is done for runs is done under it
	terminals *terminal.Registry // what runs have left running; ends with the tenure
	kept      sync.WaitGroup     // terminals that end, and the execution locks that they hold
	ended     chan struct{}      // closed when nothing is done for runs any more

	// substitute has another worker take runs for one that only waits, so that what it
	// waits for can come about. Whoever waited takes a place again by takePlace, which
	// returns when a worker that has nothing in hand has left, or ctx ends: nobody is
	// interrupted.
	substitute func() (takePlace func(ctx context.Context))
	surplus    chan struct{} // sent to by those who want a worker to leave

	rest context.CancelFunc // stops the heart
	beat sync.WaitGroup
}

// margin is how long before the log takes the lease for over this process does: time
// for commands to be killed in.
func margin(ttl time.Duration) time.Duration { return min(ttl/5, 3*time.Second) }

// forever is how long a lease holds that nobody waits for the end of.
const forever = 100 * 365 * 24 * time.Hour

func (p *Pool) begin(ctx context.Context) (*tenure, error) {
	t := &tenure{instance: ident.New("instance"), lease: process.NewLease(), terminals: terminal.NewRegistry(), ended: make(chan struct{}), surplus: make(chan struct{})}
	p.mu.Lock()
	p.instances[t.instance] = true
	p.mu.Unlock()
	asked := time.Now()
	w := eventstore.Worker{Instance: t.instance, Node: p.NodeID, Reach: p.places.all(), TTL: p.LeaseTTL}
	if w.TTL == 0 {
		w.TTL = forever
	}
	if err := p.Store.Register(ctx, w); err != nil {
		return nil, err
	}
	beating, rest := context.WithCancel(context.WithoutCancel(ctx)) // the lease must hold while the pool drains
	t.rest = rest
	if p.LeaseTTL > 0 {
		t.lease.Extend(asked.Add(p.LeaseTTL - margin(p.LeaseTTL)))
		t.beat.Go(func() { p.heart(beating, t) })
	}
	return t, nil
}

// heart renews the lease until ctx ends or it is lost. A log that does not answer is
// asked again, sooner; what it does not answer in time is lost.
func (p *Pool) heart(ctx context.Context, t *tenure) {
	every := p.LeaseTTL / 3
	pause := every
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.lease.Done():
			return
		case <-time.After(pause):
		}
		asked := time.Now()
		asking, stop := context.WithTimeout(ctx, every)
		err := p.Store.Renew(asking, t.instance)
		stop()
		switch pause = every; {
		case err == nil:
			t.lease.Extend(asked.Add(p.LeaseTTL - margin(p.LeaseTTL)))
		case ctx.Err() != nil:
			return
		case errors.Is(err, eventstore.ErrLeaseLost):
			t.lease.End()
		default:
			pause = every / 4
			p.Log.Warn("renew the worker's lease", "error", err)
		}
	}
}

// releaseMax bounds giving the place back; the lease runs out by itself.
const releaseMax = 3 * time.Second

// end gives the place back. Nothing is done for runs any more.
func (p *Pool) end(t *tenure) {
	close(t.ended)
	t.rest()
	t.beat.Wait()
	if t.lease.Valid() {
		ctx, stop := context.WithTimeout(context.Background(), releaseMax)
		defer stop()
		if err := p.Store.Release(ctx, t.instance); err != nil {
			p.Log.Warn("give the worker's lease back", "error", err)
		}
	}
	t.lease.End()
}
