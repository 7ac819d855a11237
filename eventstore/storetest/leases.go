package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/eventstore"
)

// leaseTime is how long the leases of the tests hold unless they say otherwise.
const leaseTime = time.Minute

// worker returns a worker whose node has a name of its own, from "w1" as "node-w1".
func worker(instance string) eventstore.Worker {
	return eventstore.Worker{Instance: instance, Node: "node-" + instance, Reach: []string{"host-1"}, TTL: leaseTime}
}

func register(t *testing.T, s eventstore.Store, instances ...string) {
	t.Helper()
	for _, i := range instances {
		must(t, s.Register(withPatience(t), worker(i)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// openWork marks streams that must not exist, each by its first event.
func openWork(t *testing.T, s eventstore.Store, streams ...string) {
	t.Helper()
	for _, stream := range streams {
		b := To(stream, eventstore.NoStream, NewEvents(1)...)
		b.Streams[0].Work = eventstore.WorkOpen
		mustAppend(t, s, b)
	}
}

func closeWork(t *testing.T, s eventstore.Store, stream string) {
	t.Helper()
	b := To(stream, eventstore.AnyVersion)
	b.Streams[0].Work = eventstore.WorkClose
	mustAppend(t, s, b)
}

func claim(t *testing.T, s eventstore.Store, instance, stream string) (epoch int64) {
	t.Helper()
	epoch, err := s.Claim(withPatience(t), instance, stream, 0)
	if err != nil || epoch <= 0 {
		t.Fatalf("%s claims %s: %d, %v", instance, stream, epoch, err)
	}
	return epoch
}

func wantNoClaim(t *testing.T, s eventstore.Store, instance, stream string, claimsMax int, want error) {
	t.Helper()
	epoch, err := s.Claim(withPatience(t), instance, stream, claimsMax)
	if epoch != 0 || !errors.Is(err, want) {
		t.Fatalf("%s claims %s: %d, %v, want %v", instance, stream, epoch, err, want)
	}
}

// wantClaimable checks which streams may be claimed, in order.
func wantClaimable(t *testing.T, s eventstore.Store, want ...string) {
	t.Helper()
	found, err := s.Claimable(withPatience(t), 0, 100)
	must(t, err)
	var got []string
	for _, o := range found {
		got = append(got, o.Stream)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("claimable (-want +got):\n%s", diff)
	}
}

func wantWorkers(t *testing.T, s eventstore.Store, want ...eventstore.LiveWorker) {
	t.Helper()
	got, err := s.Workers(withPatience(t))
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("workers (-want +got):\n%s", diff)
	}
}

func live(instance string, claims int) eventstore.LiveWorker {
	w := worker(instance)
	return eventstore.LiveWorker{Instance: w.Instance, Node: w.Node, Reach: w.Reach, Claims: claims}
}

func testLeases(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	wantErr(t, "renew what was never there", s.Renew(ctx, "w1"), eventstore.ErrLeaseLost)
	must(t, s.Release(ctx, "w1"))
	wantWorkers(t, s)
	register(t, s, "w2", "w1")
	wantWorkers(t, s, live("w1", 0), live("w2", 0))

	l.Pass(t, leaseTime*2/3)
	must(t, s.Renew(ctx, "w1"))
	l.Pass(t, leaseTime*2/3)
	must(t, s.Renew(ctx, "w1"))
	wantErr(t, "renew too late", s.Renew(ctx, "w2"), eventstore.ErrLeaseLost)
	wantWorkers(t, s, live("w1", 0))
	register(t, s, "w2")
	must(t, s.Renew(ctx, "w2"))

	must(t, s.Release(ctx, "w1"))
	must(t, s.Release(ctx, "w1"))
	wantErr(t, "renew after the release", s.Renew(ctx, "w1"), eventstore.ErrLeaseLost)
	wantWorkers(t, s, live("w2", 0))
}

// The leases run out by themselves: nobody lets time pass here.
func testShortLease(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	openWork(t, s, "run-1")
	w := worker("w1")
	w.TTL = time.Millisecond
	must(t, s.Register(ctx, w))
	for {
		workers, err := s.Workers(ctx)
		must(t, err)
		if len(workers) == 0 {
			break
		}
	}
	wantErr(t, "renew", s.Renew(ctx, "w1"), eventstore.ErrLeaseLost)
	wantNoClaim(t, s, "w1", "run-1", 0, eventstore.ErrLeaseLost)
}

func testBadWorkers(t *testing.T, l Log) {
	s := open(t, l)
	for name, change := range map[string]func(*eventstore.Worker){
		"no instance":    func(w *eventstore.Worker) { w.Instance = "" },
		"no node":        func(w *eventstore.Worker) { w.Node = "" },
		"a broken node":  func(w *eventstore.Worker) { w.Node = "a\x00b" },
		"a long name":    func(w *eventstore.Worker) { w.Instance = strings.Repeat("n", eventstore.NameMax+1) },
		"no time":        func(w *eventstore.Worker) { w.TTL = 0 },
		"a blank place":  func(w *eventstore.Worker) { w.Reach = []string{"a", " "} },
		"too many":       func(w *eventstore.Worker) { w.Reach = make([]string, eventstore.PlacesMax+1) },
		"time backwards": func(w *eventstore.Worker) { w.TTL = -time.Second },
	} {
		w := worker("w1")
		change(&w)
		if err := s.Register(withPatience(t), w); !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	none := worker("w1")
	none.Reach = nil
	must(t, s.Register(withPatience(t), none))
}

func testClaims(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	openWork(t, s, "run-1", "run-2")
	mustAppend(t, s, To("run-3", 0, NewEvents(1)...))
	wantNoClaim(t, s, "w1", "run-1", 0, eventstore.ErrLeaseLost)
	register(t, s, "w1", "w2")
	wantNoClaim(t, s, "w1", "run-3", 0, eventstore.ErrClaimed) // not open
	wantNoClaim(t, s, "w1", "run-9", 0, eventstore.ErrClaimed) // not there

	first := claim(t, s, "w1", "run-1")
	wantClaimable(t, s, "run-2")
	wantWorkers(t, s, live("w1", 1), live("w2", 0))
	wantNoClaim(t, s, "w2", "run-1", 0, eventstore.ErrClaimed)
	must(t, s.Unclaim(ctx, "w2", "run-1")) // not w2's: nothing happens
	wantClaimable(t, s, "run-2")
	other := claim(t, s, "w2", "run-2")
	again := claim(t, s, "w1", "run-1")
	if first >= other || other >= again {
		t.Errorf("epochs %d, %d, %d do not grow", first, other, again)
	}

	must(t, s.Unclaim(ctx, "w1", "run-1"))
	must(t, s.Unclaim(ctx, "w1", "run-1"))
	wantClaimable(t, s, "run-1")
	if next := claim(t, s, "w2", "run-1"); next <= again {
		t.Errorf("epoch %d after %d", next, again)
	}
	must(t, s.Release(ctx, "w2"))
	wantClaimable(t, s, "run-1", "run-2")
	closeWork(t, s, "run-1")
	wantNoClaim(t, s, "w1", "run-1", 0, eventstore.ErrClaimed)
	wantClaimable(t, s, "run-2")
}

func testTakeOver(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	openWork(t, s, "run-1")
	register(t, s, "w1", "w2")
	lost := claim(t, s, "w1", "run-1")
	l.Pass(t, leaseTime/2)
	must(t, s.Renew(ctx, "w2"))
	wantNoClaim(t, s, "w2", "run-1", 0, eventstore.ErrClaimed)
	l.Pass(t, leaseTime*2/3)
	wantClaimable(t, s, "run-1")
	wantWorkers(t, s, live("w2", 0))
	// Nobody has it yet: what the old holder has got may still go into the log.
	must(t, appendUnder(t, s, "run-1", lost))
	if next := claim(t, s, "w2", "run-1"); next <= lost {
		t.Errorf("epoch %d after %d", next, lost)
	}
	wantFenced(t, appendUnder(t, s, "run-1", lost), "run-1", lost)
	// A worker that comes back begins with nothing.
	register(t, s, "w1")
	wantFenced(t, appendUnder(t, s, "run-1", lost), "run-1", lost)
	must(t, s.Unclaim(ctx, "w1", "run-1"))
	wantNoClaim(t, s, "w1", "run-1", 0, eventstore.ErrClaimed)
}

// Whoever registers a node knows that its earlier process is gone. Nobody waits for
// that one's lease, alive or not.
func testNodeComesBack(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	openWork(t, s, "run-1", "run-2", "run-3")
	register(t, s, "w1", "other")
	epoch := claim(t, s, "w1", "run-1")
	kept := claim(t, s, "other", "run-2")
	back := worker("w1-again")
	back.Node = worker("w1").Node
	must(t, s.Register(ctx, back))
	wantClaimable(t, s, "run-1", "run-3")
	wantErr(t, "renew the earlier lease", s.Renew(ctx, "w1"), eventstore.ErrLeaseLost)
	wantFenced(t, appendUnder(t, s, "run-1", epoch), "run-1", epoch)
	must(t, appendUnder(t, s, "run-2", kept))

	epoch = claim(t, s, "w1-again", "run-1")
	l.Pass(t, 2*leaseTime)
	register(t, s, "third") // which tidies up what ran out
	back.Instance = "w1-once-more"
	must(t, s.Register(ctx, back))
	wantFenced(t, appendUnder(t, s, "run-1", epoch), "run-1", epoch)
	must(t, appendUnder(t, s, "run-2", kept)) // its node is not back
	// The same instance anew is a new lease, too.
	epoch = claim(t, s, "w1-once-more", "run-3")
	must(t, s.Register(ctx, back))
	wantFenced(t, appendUnder(t, s, "run-3", epoch), "run-3", epoch)
}

func testClaimBound(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	openWork(t, s, "run-1", "run-2", "run-3", "run-4")
	register(t, s, "w1", "w2")
	claim(t, s, "w1", "run-1")
	wantNoClaim(t, s, "w2", "run-2", 1, eventstore.ErrBusy)
	wantNoClaim(t, s, "w2", "run-1", 1, eventstore.ErrClaimed) // which is told first
	claim(t, s, "w2", "run-2")
	wantNoClaim(t, s, "w1", "run-3", 2, eventstore.ErrBusy)
	for _, claimsMax := range []int{2, 3} { // one's own claim does not stand in one's way
		if _, err := s.Claim(ctx, "w1", "run-1", claimsMax); err != nil {
			t.Fatalf("claim anew: %v", err)
		}
	}
	closeWork(t, s, "run-1")
	if _, err := s.Claim(ctx, "w1", "run-3", 2); err != nil {
		t.Fatalf("after a close: %v", err)
	}
	must(t, s.Unclaim(ctx, "w2", "run-2"))
	if _, err := s.Claim(ctx, "w1", "run-2", 2); err != nil {
		t.Fatalf("after one was given back: %v", err)
	}
	wantNoClaim(t, s, "w2", "run-4", 2, eventstore.ErrBusy)
	l.Pass(t, 2*leaseTime)
	register(t, s, "w3")
	if _, err := s.Claim(ctx, "w3", "run-4", 1); err != nil {
		t.Fatalf("beside the claims of the dead: %v", err)
	}
	wantNoClaim(t, s, "w3", "run-2", 1, eventstore.ErrBusy) // taking over counts
}

func testClaimablePages(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	const streams, each = 1200, eventstore.StreamsMax
	for i := 0; i < streams; i += each {
		var b eventstore.Batch
		for k := range each {
			b.Streams = append(b.Streams, eventstore.StreamAppend{Stream: fmt.Sprintf("run-%d", i+k), Events: NewEvents(1), Work: eventstore.WorkOpen})
		}
		mustAppend(t, s, b)
	}
	register(t, s, "w1", "dead")
	claim(t, s, "dead", "run-5")
	l.Pass(t, leaseTime/2)
	must(t, s.Renew(ctx, "w1"))
	l.Pass(t, leaseTime*2/3)
	for i := range 300 { // so many at the front that whole pages are held
		claim(t, s, "w1", fmt.Sprintf("run-%d", i+10))
	}
	var got []string
	for after := int64(0); ; {
		page, err := s.Claimable(ctx, after, 70)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for _, o := range page {
			if o.Since <= after {
				t.Fatalf("%s at %d came after %d", o.Stream, o.Since, after)
			}
			after = o.Since
			got = append(got, o.Stream)
		}
	}
	var want []string
	for i := range streams {
		if i < 10 || i >= 310 {
			want = append(want, fmt.Sprintf("run-%d", i))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claimable (-want +got):\n%s", diff)
	}
	for _, limit := range []int{0, 1} {
		if page, err := s.Claimable(ctx, 0, limit); len(page) != limit || err != nil {
			t.Errorf("limit %d: %d streams, %v", limit, len(page), err)
		}
	}
}

func testWorkStats(t *testing.T, l Log) {
	s, ctx := open(t, l), withPatience(t)
	want := func(waiting, claimed int, since, begun time.Duration) {
		t.Helper()
		got, err := s.WorkStats(ctx)
		must(t, err)
		near := func(got, want time.Duration) bool { return got >= want && got < want+patience }
		if got.Waiting != waiting || got.Claimed != claimed || !near(got.OldestWaiting, since) || !near(got.OldestClaimed, begun) {
			t.Fatalf("%+v, want %d for %s, %d for %s", got, waiting, since, claimed, begun)
		}
	}
	want(0, 0, 0, 0)
	for stream, age := range map[string]time.Duration{"run-1": 3 * time.Hour, "run-2": 2 * time.Hour} {
		b := To(stream, eventstore.NoStream, NewEvents(1)...)
		b.Streams[0].Events[0].At = time.Now().Add(-age)
		b.Streams[0].Work = eventstore.WorkOpen
		if stream == "run-2" {
			b.Streams[0].Events = append(NewEvents(3), b.Streams[0].Events...)
		}
		mustAppend(t, s, b)
	}
	closeWork(t, s, "run-1") // whatever came first: run-1 is the older one
	b := To("run-1", eventstore.AnyVersion, NewEvents(1)...)
	b.Streams[0].Events[0].At, b.Streams[0].Work = time.Now().Add(-time.Hour), eventstore.WorkOpen
	mustAppend(t, s, b)
	want(2, 0, 2*time.Hour, 0)
	register(t, s, "w1")
	claim(t, s, "w1", "run-2")
	l.Pass(t, leaseTime/3)
	claim(t, s, "w1", "run-1")
	want(0, 2, 0, leaseTime/3)
	l.Pass(t, leaseTime)
	want(2, 0, 2*time.Hour, 0)
}
