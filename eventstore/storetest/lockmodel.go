package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"hecate/eventstore"
)

// modelHold is one holder's hold on one name.
type modelHold struct{ name, run, call string }

func (h modelHold) compare(other modelHold) int {
	return cmp.Or(cmp.Compare(h.name, other.name), cmp.Compare(h.run, other.run), cmp.Compare(h.call, other.call))
}

// endLocks ends those whose instances have no lease, not even one that ran out.
func (m *leaseModel) endLocks() {
	maps.DeleteFunc(m.locks, func(_ modelHold, instance string) bool {
		_, ok := m.workers[instance]
		return !ok
	})
}

func (m *leaseModel) drawHolder(rt *rapid.T) eventstore.Holder {
	return holder(
		fmt.Sprintf("run-%d", rapid.IntRange(0, 2).Draw(rt, "run")),
		fmt.Sprintf("call-%d", rapid.IntRange(0, 1).Draw(rt, "call")),
	)
}

func (m *leaseModel) take(rt *rapid.T) {
	instance, h := m.drawInstance(rt), m.drawHolder(rt)
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(rt, "names")
	var by []modelHold
	for o, under := range m.locks {
		if slices.Contains(names, o.name) && o.run != h.Run && m.lives(under) {
			by = append(by, o)
		}
	}
	err := m.store.TakeLocks(withPatience(m.t), instance, h, names)
	switch {
	case !m.lives(instance):
		m.wantErr(rt, "take", err, eventstore.ErrLeaseLost)
	case len(by) > 0:
		first := slices.MinFunc(by, modelHold.compare)
		var locked *eventstore.LockedError
		if !errors.As(err, &locked) || *locked != (eventstore.LockedError{Name: first.name, By: holder(first.run, first.call)}) {
			rt.Fatalf("take %q: %v, want that it is locked by %v", names, err, first)
		}
	default:
		m.wantErr(rt, "take", err, nil)
		for _, name := range names {
			m.locks[modelHold{name, h.Run, h.Call}] = instance
		}
	}
}

func (m *leaseModel) drop(rt *rapid.T) {
	h := m.drawHolder(rt)
	m.wantErr(rt, "drop", m.store.DropLocks(withPatience(m.t), h), nil)
	maps.DeleteFunc(m.locks, func(o modelHold, _ string) bool { return o.run == h.Run && o.call == h.Call })
}

func (m *leaseModel) dropRun(rt *rapid.T) {
	h := m.drawHolder(rt)
	m.wantErr(rt, "drop all of a run", m.store.DropRunLocks(withPatience(m.t), h.Run), nil)
	maps.DeleteFunc(m.locks, func(o modelHold, _ string) bool { return o.run == h.Run })
}

// lookAtLocks compares the locks that are held.
func (m *leaseModel) lookAtLocks(rt *rapid.T) {
	var want []eventstore.HeldLock
	for _, h := range slices.SortedFunc(maps.Keys(m.locks), modelHold.compare) {
		if instance := m.locks[h]; m.lives(instance) {
			want = append(want, eventstore.HeldLock{
				Name: h.name, Holder: holder(h.run, h.call), Instance: instance, Node: m.workers[instance].node,
			})
		}
	}
	got, err := m.store.HeldLocks(withPatience(m.t))
	for i := range got {
		got[i].Since = time.Time{} // the model's time is another
	}
	m.same(rt, "held locks", want, got, err)
}
