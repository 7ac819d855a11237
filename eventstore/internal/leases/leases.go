// Package leases keeps the leases of a log that only one process can open. They live
// in its memory: when the process ends all workers of the log are dead, and their
// claims and locks are gone with it.
package leases

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"hecate/eventstore"
)

// Table holds the workers of one log, their claims and their locks. All methods may
// be called concurrently; those that begin or end claims only under Order, as each says.
type Table struct {
	// Order is held by whoever begins or ends claims, and by the appender from the
	// check of an epoch until the append is durable: so nobody can take a stream over
	// while the holder still writes. Renewals don't wait for it.
	Order sync.Mutex

	mu      sync.Mutex
	now     func() time.Time
	workers map[string]worker // by instance; what has expired may stand here for a while
	claims  map[string]claim  // by stream, of open streams only
	locks   map[hold]lock     // also those whose leases have run out, for a while
	epoch   int64             // given out last
}

type worker struct {
	eventstore.Worker
	expires time.Time
}

type claim struct {
	instance, node string
	epoch          int64
	begun          time.Time
}

// New returns a table without workers, whose epochs are higher than the given one.
func New(epoch int64) *Table {
	return &Table{
		now:     func() time.Time { return time.Now() },
		workers: map[string]worker{}, claims: map[string]claim{}, locks: map[hold]lock{}, epoch: epoch,
	}
}

// SetClock replaces the clock by which leases run out.
func (t *Table) SetClock(now func() time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = now
}

// Register begins a lease and ends all earlier ones of the node. Needs Order.
func (t *Table) Register(w eventstore.Worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream, c := range t.claims {
		if c.node == w.Node || c.instance == w.Instance {
			delete(t.claims, stream)
		}
	}
	for instance, other := range t.workers {
		if other.Node == w.Node || instance == w.Instance || !t.lives(instance) {
			delete(t.workers, instance)
		}
	}
	t.endLostLocks()
	w.Reach = slices.Clone(w.Reach)
	t.workers[w.Instance] = worker{w, t.now().Add(w.TTL)}
}

// Renew makes a lease that holds do so for its TTL from now.
func (t *Table) Renew(instance string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lives(instance) {
		return eventstore.ErrLeaseLost
	}
	w := t.workers[instance]
	w.expires = t.now().Add(w.TTL)
	t.workers[instance] = w
	return nil
}

// Release ends a lease, its claims and its locks. Needs Order.
func (t *Table) Release(instance string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream, c := range t.claims {
		if c.instance == instance {
			delete(t.claims, stream)
		}
	}
	delete(t.workers, instance)
	t.endLostLocks()
}

// Claim takes the stream, which is open or not, for the instance. Needs Order, from
// before the caller has looked whether it is open.
func (t *Table) Claim(instance, stream string, open bool, claimsMax int) (epoch int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lives(instance) {
		return 0, eventstore.ErrLeaseLost
	}
	holder, held := t.claims[stream]
	if !open || held && holder.instance != instance && t.lives(holder.instance) {
		return 0, eventstore.ErrClaimed
	}
	if claimsMax > 0 && t.held(stream) >= claimsMax {
		return 0, eventstore.ErrBusy
	}
	t.epoch++
	t.claims[stream] = claim{instance, t.workers[instance].Node, t.epoch, t.now()}
	return t.epoch, nil
}

// held counts the claims of live workers, without the one on the given stream.
func (t *Table) held(without string) (n int) {
	for stream, c := range t.claims {
		if stream != without && t.lives(c.instance) {
			n++
		}
	}
	return n
}

// Unclaim ends the instance's claim on the stream, if it has one. Needs Order.
func (t *Table) Unclaim(instance, stream string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claims[stream].instance == instance {
		delete(t.claims, stream)
	}
}

// End ends the claim on the stream, if there is one. Needs Order.
func (t *Table) End(stream string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.claims, stream)
}

// Epoch returns the epoch of the stream's claim, 0 if there is none. It stays true
// for as long as the caller holds Order.
func (t *Table) Epoch(stream string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.claims[stream].epoch
}

// Held reports whether a live worker has the stream.
func (t *Table) Held(stream string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.claims[stream]
	return ok && t.lives(c.instance)
}

// Workers returns the workers whose leases hold, by node.
func (t *Table) Workers() []eventstore.LiveWorker {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []eventstore.LiveWorker
	for instance, w := range t.workers {
		if !t.lives(instance) {
			continue
		}
		live := eventstore.LiveWorker{Instance: instance, Node: w.Node, Reach: slices.Clone(w.Reach)}
		for _, c := range t.claims {
			if c.instance == instance {
				live.Claims++
			}
		}
		out = append(out, live)
	}
	slices.SortFunc(out, func(a, b eventstore.LiveWorker) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Instance, b.Instance))
	})
	return out
}

// Claims counts the claims of live workers and says how long ago the oldest began.
func (t *Table) Claims() (n int, oldest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.claims {
		if t.lives(c.instance) {
			n++
			oldest = max(oldest, t.now().Sub(c.begun))
		}
	}
	return n, oldest
}

func (t *Table) lives(instance string) bool {
	w, ok := t.workers[instance]
	return ok && t.now().Before(w.expires)
}
