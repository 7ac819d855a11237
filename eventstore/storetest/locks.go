package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hecate/eventstore"
)

func holder(run, call string) eventstore.Holder { return eventstore.Holder{Run: run, Call: call} }

func take(t *testing.T, s eventstore.Store, instance string, h eventstore.Holder, names ...string) {
	t.Helper()
	if err := s.TakeLocks(withPatience(t), instance, h, names); err != nil {
		t.Fatalf("%v takes %q: %v", h, names, err)
	}
}

func wantLocked(t *testing.T, err error, name string, by eventstore.Holder) {
	t.Helper()
	var locked *eventstore.LockedError
	if !errors.As(err, &locked) || *locked != (eventstore.LockedError{Name: name, By: by}) {
		t.Fatalf("%v, want that %v has %s", err, by, name)
	}
}

func held(name string, h eventstore.Holder, instance string) eventstore.HeldLock {
	return eventstore.HeldLock{Name: name, Holder: h, Instance: instance, Node: worker(instance).Node}
}

// wantHeld checks which locks are held, in order. It returns since when.
func wantHeld(t *testing.T, s eventstore.Store, want ...eventstore.HeldLock) (since []time.Time) {
	t.Helper()
	got, err := s.HeldLocks(withPatience(t))
	must(t, err)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(eventstore.HeldLock{}, "Since")); diff != "" {
		t.Fatalf("held locks (-want +got):\n%s", diff)
	}
	for _, l := range got {
		since = append(since, l.Since)
	}
	return since
}

func testLocks(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	one, other := holder("run-1", "call-1"), holder("run-2", "call-1")
	wantErr(t, "take without a lease", s.TakeLocks(ctx, "w1", one, []string{"db"}), eventstore.ErrLeaseLost)
	must(t, s.DropLocks(ctx, one))
	must(t, s.DropRunLocks(ctx, "run-1"))
	wantHeld(t, s)

	register(t, s, "w1", "w2")
	take(t, s, "w1", one) // a call that no lock is meant for
	wantHeld(t, s)
	begun := time.Now()
	take(t, s, "w1", one, "db", "build", "db", "Zoo")
	take(t, s, "w2", other, "port 80")
	since := wantHeld(t, s, held("Zoo", one, "w1"), held("build", one, "w1"), held("db", one, "w1"), held("port 80", other, "w2"))
	for _, at := range since {
		if at.Before(begun.Add(-patience)) || at.After(begun.Add(patience)) || at.Location() != time.UTC {
			t.Errorf("held since %s, taken at %s", at, begun)
		}
	}
	// The answer was lost, say: what it has it keeps, and what else it needs it gets.
	take(t, s, "w1", one, "db", "build", "net")
	again := wantHeld(t, s, held("Zoo", one, "w1"), held("build", one, "w1"), held("db", one, "w1"), held("net", one, "w1"), held("port 80", other, "w2"))
	if !again[2].Equal(since[2]) {
		t.Errorf("taken again, held since %s, before that %s", again[2], since[2])
	}

	wantLocked(t, s.TakeLocks(ctx, "w2", other, []string{"net", "db"}), "db", one)
	must(t, s.DropLocks(ctx, one))
	must(t, s.DropLocks(ctx, one))
	wantHeld(t, s, held("port 80", other, "w2"))
	take(t, s, "w2", other, "net", "db")
	wantLocked(t, s.TakeLocks(ctx, "w1", one, []string{"db"}), "db", other)
}

func testBadLocks(t *testing.T, l Log) {
	s, h := open(t, l), holder("run-1", "call-1")
	register(t, s, "w1")
	var most []string
	for i := range eventstore.LocksMax {
		most = append(most, fmt.Sprintf("%02d", i)+strings.Repeat("n", eventstore.LockNameMax-2))
	}
	for name, c := range map[string]struct {
		holder eventstore.Holder
		names  []string
	}{
		"no name":        {h, []string{"a", ""}},
		"a long name":    {h, []string{strings.Repeat("n", eventstore.LockNameMax+1)}},
		"a broken name":  {h, []string{"a\x00b"}},
		"not a text":     {h, []string{"a\xffb"}},
		"a padded name":  {h, []string{" a"}},
		"too many":       {h, append([]string{"more"}, most...)},
		"nobody's":       {eventstore.Holder{}, []string{"a"}},
		"no call":        {holder("run-1", ""), []string{"a"}},
		"a broken run":   {holder("run\n1", "call-1"), []string{"a"}},
		"a long call id": {holder("run-1", strings.Repeat("n", eventstore.NameMax+1)), nil},
	} {
		if err := s.TakeLocks(withPatience(t), "w1", c.holder, c.names); !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	wantHeld(t, s)
	take(t, s, "w1", h, append(most, most...)...)
	if all, err := s.HeldLocks(withPatience(t)); err != nil || len(all) != len(most) {
		t.Errorf("%d locks, %v, want %d", len(all), err, len(most))
	}
}

// All or none, whatever the order in which they are named.
func testLocksAsAWhole(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	register(t, s, "w1", "w2")
	first, second, third := holder("run-1", "call-1"), holder("run-2", "call-1"), holder("run-3", "call-1")
	take(t, s, "w1", first, "b")
	take(t, s, "w1", second, "c")
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "d", "c"}} {
		wantLocked(t, s.TakeLocks(ctx, "w2", third, names), "b", first)
	}
	// What it has already stays its own when it cannot get more.
	take(t, s, "w2", third, "d")
	wantLocked(t, s.TakeLocks(ctx, "w2", third, []string{"a", "c", "d"}), "c", second)
	wantHeld(t, s, held("b", first, "w1"), held("c", second, "w1"), held("d", third, "w2"))
}

// The calls of one run hold together, and each lets go by itself.
func testLocksWithinARun(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	register(t, s, "w1", "w2")
	job, call, other := holder("run-1", "job"), holder("run-1", "call-2"), holder("run-2", "job")
	take(t, s, "w1", job, "db", "port")
	take(t, s, "w1", call, "db")
	wantLocked(t, s.TakeLocks(ctx, "w2", other, []string{"db"}), "db", call)
	must(t, s.DropLocks(ctx, call))
	wantLocked(t, s.TakeLocks(ctx, "w2", other, []string{"db"}), "db", job)
	must(t, s.DropLocks(ctx, job))
	take(t, s, "w2", other, "db")

	// A run goes at once, with all its calls, and no other run does.
	take(t, s, "w1", job, "port")
	take(t, s, "w1", call, "port", "net")
	must(t, s.DropRunLocks(ctx, "run"))
	must(t, s.DropRunLocks(ctx, "run-1"))
	must(t, s.DropRunLocks(ctx, "run-1"))
	wantHeld(t, s, held("db", other, "w2"))
}

// Locks last as long as the lease.
func testLocksEndWithTheLease(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	register(t, s, "w1", "w2")
	lost, kept, heir := holder("run-1", "call-1"), holder("run-2", "call-1"), holder("run-3", "call-1")
	take(t, s, "w1", lost, "db", "net")
	take(t, s, "w2", kept, "port")
	l.Pass(t, leaseTime*2/3)
	wantLocked(t, s.TakeLocks(ctx, "w2", heir, []string{"db"}), "db", lost)
	must(t, s.Renew(ctx, "w2"))
	l.Pass(t, leaseTime*2/3)
	wantHeld(t, s, held("port", kept, "w2"))
	wantErr(t, "take under a lost lease", s.TakeLocks(ctx, "w1", lost, []string{"db"}), eventstore.ErrLeaseLost)
	take(t, s, "w2", heir, "db")
	wantLocked(t, s.TakeLocks(ctx, "w2", heir, []string{"db", "port"}), "port", kept)
	// A worker that comes back begins with nothing.
	register(t, s, "w1")
	wantHeld(t, s, held("db", heir, "w2"), held("port", kept, "w2"))
	wantLocked(t, s.TakeLocks(ctx, "w1", lost, []string{"db"}), "db", heir)

	must(t, s.Release(ctx, "w2"))
	wantHeld(t, s)
	take(t, s, "w1", lost, "db", "port")
	// A call whose run went to another worker asks there for what it has.
	register(t, s, "w3")
	take(t, s, "w3", lost, "port")
	must(t, s.Release(ctx, "w1"))
	wantHeld(t, s, held("port", lost, "w3"))
	// It has what ran out, too: its own does not stand in its way.
	l.Pass(t, 2*leaseTime)
	register(t, s, "w1")
	take(t, s, "w1", lost, "port")
	wantHeld(t, s, held("port", lost, "w1"))
}

// Nobody waits for a process whose node is back, nor does that inherit its locks.
func testLocksEndWhenTheNodeComesBack(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	register(t, s, "w1", "other")
	h, kept := holder("run-1", "call-1"), holder("run-2", "call-1")
	take(t, s, "w1", h, "db")
	take(t, s, "other", kept, "port")
	back := worker("w1-again")
	back.Node = worker("w1").Node
	must(t, s.Register(ctx, back))
	wantErr(t, "take under the earlier lease", s.TakeLocks(ctx, "w1", h, []string{"db"}), eventstore.ErrLeaseLost)
	wantHeld(t, s, held("port", kept, "other"))
	take(t, s, back.Instance, h, "db")
	must(t, s.Register(ctx, back)) // the same instance anew is a new lease, too
	wantHeld(t, s, held("port", kept, "other"))
	take(t, s, "other", kept, "db")

	// Also if it had a claim when its lease ran out.
	openWork(t, s, "run-1")
	claim(t, s, back.Instance, "run-1")
	take(t, s, back.Instance, h, "net")
	l.Pass(t, 2*leaseTime)
	register(t, s, "third")
	must(t, s.Register(ctx, back))
	wantHeld(t, s)
}
