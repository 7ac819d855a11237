package leases

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"hecate/eventstore"
)

// hold says who holds which name. Several calls of one run may hold the same.
type hold struct {
	name   string
	holder eventstore.Holder
}

func (h hold) compare(other hold) int {
	return cmp.Or(cmp.Compare(h.name, other.name),
		cmp.Compare(h.holder.Run, other.holder.Run), cmp.Compare(h.holder.Call, other.holder.Call))
}

type lock struct {
	instance string
	since    time.Time
}

// TakeLocks takes all of names, which are sorted and differ, or none. Unlike a claim a
// lock says nothing about appends, so it does not need Order.
func (t *Table) TakeLocks(instance string, h eventstore.Holder, names []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lives(instance) {
		return eventstore.ErrLeaseLost
	}
	t.endLocks(func(_ hold, l lock) bool { return !t.lives(l.instance) })
	if by, locked := t.blocks(h.Run, names); locked {
		return &eventstore.LockedError{Name: by.name, By: by.holder}
	}
	for _, name := range names {
		l, held := t.locks[hold{name, h}]
		if !held {
			l.since = t.now().UTC()
		}
		l.instance = instance
		t.locks[hold{name, h}] = l
	}
	return nil
}

// blocks returns the first hold of another run on one of the names.
func (t *Table) blocks(run string, names []string) (first hold, found bool) {
	for h := range t.locks {
		if _, wanted := slices.BinarySearch(names, h.name); !wanted || h.holder.Run == run {
			continue
		}
		if !found || h.compare(first) < 0 {
			first, found = h, true
		}
	}
	return first, found
}

// DropLocks ends all locks of the holder.
func (t *Table) DropLocks(holder eventstore.Holder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocks(func(h hold, _ lock) bool { return h.holder == holder })
}

// DropRunLocks ends all locks of the run's calls.
func (t *Table) DropRunLocks(run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocks(func(h hold, _ lock) bool { return h.holder.Run == run })
}

func (t *Table) endLocks(ends func(hold, lock) bool) { maps.DeleteFunc(t.locks, ends) }

// endLostLocks ends the locks whose leases were ended: with the same instance a new
// lease may begin, and these are not under it.
func (t *Table) endLostLocks() {
	t.endLocks(func(_ hold, l lock) bool {
		_, ok := t.workers[l.instance]
		return !ok
	})
}

// HeldLocks returns the locks under leases that hold, by name, run and call.
func (t *Table) HeldLocks() []eventstore.HeldLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []eventstore.HeldLock
	for _, h := range slices.SortedFunc(maps.Keys(t.locks), hold.compare) {
		if l := t.locks[h]; t.lives(l.instance) {
			out = append(out, eventstore.HeldLock{
				Name: h.name, Holder: h.holder, Instance: l.instance, Node: t.workers[l.instance].Node, Since: l.since,
			})
		}
	}
	return out
}
