package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

// under returns a batch of one event for the stream at any version, under a claim.
func under(stream string, epoch int64) eventstore.Batch {
	b := To(stream, eventstore.AnyVersion, NewEvents(1)...)
	b.Streams[0].Epoch = epoch
	return b
}

func appendUnder(t *testing.T, s eventstore.Store, stream string, epoch int64) error {
	t.Helper()
	_, err := s.Append(withPatience(t), under(stream, epoch))
	return err
}

func wantFenced(t *testing.T, err error, stream string, epoch int64) {
	t.Helper()
	var fenced *eventstore.FencedError
	if !errors.As(err, &fenced) || *fenced != (eventstore.FencedError{Stream: stream, Epoch: epoch}) {
		t.Fatalf("append: %v, want that claim %d of %s has ended", err, epoch, stream)
	}
}

func testFencing(t *testing.T, l Log) {
	s := open(t, l)
	openWork(t, s, "run-1", "run-2")
	register(t, s, "w1")
	for _, stream := range []string{"run-1", "run-9"} { // nobody's, and not there
		wantFenced(t, appendUnder(t, s, stream, 1), stream, 1)
	}
	one, two := claim(t, s, "w1", "run-1"), claim(t, s, "w1", "run-2")
	must(t, appendUnder(t, s, "run-1", one))
	must(t, appendUnder(t, s, "run-1", 0)) // everyone else writes without
	wantFenced(t, appendUnder(t, s, "run-1", two), "run-1", two)

	// All or nothing, whichever part it is.
	both := func(version, first, second int64) eventstore.Batch {
		return eventstore.Batch{Streams: []eventstore.StreamAppend{
			{Stream: "run-1", Expected: eventstore.AnyVersion, Events: NewEvents(1), Epoch: first},
			{Stream: "run-2", Expected: version, Events: NewEvents(1), Epoch: second},
		}}
	}
	_, err := s.Append(withPatience(t), both(1, one, one))
	wantFenced(t, err, "run-2", one)
	_, err = s.Append(withPatience(t), both(1, two, two))
	wantFenced(t, err, "run-1", two)
	wantConflict(t, s, both(0, two, two), "run-2", 0, 1) // the version is told first
	verify(t, readAll(t, s), 4)
	mustAppend(t, s, both(1, one, two))

	// A check alone can be fenced, too.
	check := To("run-1", 4)
	check.Streams[0].Epoch = one
	mustAppend(t, s, check)
	check.Streams[0].Epoch = two
	_, err = s.Append(withPatience(t), check)
	wantFenced(t, err, "run-1", two)
	check.Streams[0].Epoch = -1
	if _, err := s.Append(withPatience(t), check); !errors.Is(err, eventstore.ErrInvalid) {
		t.Errorf("epoch -1: %v, want ErrInvalid", err)
	}
}

// What marks work open or closed decides about the claim as well.
func testClaimEnds(t *testing.T, l Log) {
	s := open(t, l)
	openWork(t, s, "run-1")
	register(t, s, "w1")
	epoch := claim(t, s, "w1", "run-1")
	mark := func(work eventstore.Work, epoch int64) error {
		b := under("run-1", epoch)
		b.Streams[0].Work = work
		_, err := s.Append(withPatience(t), b)
		return err
	}
	must(t, mark(eventstore.WorkOpen, epoch)) // handed back: whoever comes first
	wantClaimable(t, s, "run-1")
	wantFenced(t, mark(eventstore.WorkOpen, epoch), "run-1", epoch)
	epoch = claim(t, s, "w1", "run-1")
	must(t, mark(eventstore.WorkOpen, 0)) // somebody else has news: it ends the claim all the same
	wantFenced(t, mark(eventstore.WorkKeep, epoch), "run-1", epoch)
	epoch = claim(t, s, "w1", "run-1")
	must(t, mark(eventstore.WorkClose, epoch)) // parked
	wantFenced(t, mark(eventstore.WorkKeep, epoch), "run-1", epoch)
	wantFenced(t, mark(eventstore.WorkOpen, epoch), "run-1", epoch)
	wantWorkers(t, s, live("w1", 0))
	must(t, mark(eventstore.WorkOpen, 0)) // answered: whoever claims it next
	wantClaimable(t, s, "run-1")
	wantFenced(t, mark(eventstore.WorkKeep, epoch), "run-1", epoch)
	next := claim(t, s, "w1", "run-1")
	must(t, mark(eventstore.WorkKeep, next))
	wantFenced(t, mark(eventstore.WorkClose, epoch), "run-1", epoch)
	wantWorkers(t, s, live("w1", 1))

	// A cancel needs no claim, and ends the one there is.
	cancel := To("run-1", 6, NewEvents(1)...)
	cancel.Streams[0].Work = eventstore.WorkClose
	mustAppend(t, s, cancel)
	wantFenced(t, mark(eventstore.WorkKeep, next), "run-1", next)
	mustAppend(t, s, To("run-1", 7, NewEvents(1)...)) // what came in late, as anyone may
	verify(t, readAll(t, s), 8)
}

// Whoever does not know whether an append went through repeats it, and that must tell
// the truth also if the append itself or somebody else has ended the claim since.
func testRepeatAfterClaim(t *testing.T, l Log) {
	s := open(t, l)
	openWork(t, s, "run-1")
	register(t, s, "w1")
	epoch := claim(t, s, "w1", "run-1")
	last := To("run-1", 1, NewEvents(2)...)
	last.Streams[0].Epoch, last.Streams[0].Work = epoch, eventstore.WorkClose
	mustAppend(t, s, last)
	if a := mustAppend(t, s, last); a != (eventstore.Appended{First: 2, Last: 3, Repeated: true}) {
		t.Errorf("the same events again: %+v, want 2 to 3, repeated", a)
	}
	other := To("run-1", 1, NewEvents(2)...)
	other.Streams[0].Epoch = epoch
	wantConflict(t, s, other, "run-1", 1, 3)

	reopen := To("run-1", 3, NewEvents(1)...)
	reopen.Streams[0].Work = eventstore.WorkOpen
	mustAppend(t, s, reopen)
	command := under("run-1", claim(t, s, "w1", "run-1"))
	command.CommandID, command.Streams[0].Work = "cmd-1", eventstore.WorkClose
	mustAppend(t, s, command)
	command.Streams[0].Events = NewEvents(1)
	if a := mustAppend(t, s, command); a != (eventstore.Appended{First: 5, Last: 5, Repeated: true}) {
		t.Errorf("the command again: %+v, want 5, repeated", a)
	}
	if a := mustAppend(t, s, last); !a.Repeated {
		t.Errorf("the first append once more: %+v, want a repetition", a)
	}
}

// Appends under a claim and the one that ends it arrive together: in the log none of
// them comes after the end, and everybody is told what is true.
func testCloseAmongAppends(t *testing.T, l Log) {
	s := open(t, l)
	register(t, s, "w1")
	for round := range 5 {
		stream := fmt.Sprintf("run-%d", round)
		openWork(t, s, stream)
		epoch := claim(t, s, "w1", stream)
		const writers = 24
		written := make([]int64, writers) // positions; 0 if fenced
		g, ctx := errgroup.WithContext(withPatience(t))
		for i := range writers {
			g.Go(func() error {
				b := under(stream, epoch)
				if i == writers/2 {
					b.Streams[0].Work = eventstore.WorkClose
				}
				a, err := s.Append(ctx, b)
				var fenced *eventstore.FencedError
				if err != nil && (!errors.As(err, &fenced) || i == writers/2) {
					return err
				}
				written[i] = a.First
				return nil
			})
		}
		must(t, g.Wait())
		end := written[writers/2]
		for i, position := range written {
			if position > end {
				t.Fatalf("append %d stands at %d, behind the end of the claim at %d", i, position, end)
			}
		}
	}
	records := readAll(t, s)
	verify(t, records, len(records))
}

// raceClaims lets as many workers as there are streams claim at once, each the stream
// that is named for it, on all stores of the log. It returns how many won; the others
// must get the given error.
func raceClaims(t *testing.T, stores []eventstore.Store, streams []string, claimsMax int, lost error) (winners int) {
	t.Helper()
	won := make([]bool, len(streams))
	var g errgroup.Group
	for i, stream := range streams {
		g.Go(func() error {
			_, err := stores[i%len(stores)].Claim(withPatience(t), fmt.Sprintf("w%d", i), stream, claimsMax)
			won[i] = err == nil
			if errors.Is(err, lost) {
				return nil
			}
			return err
		})
	}
	must(t, g.Wait())
	for _, w := range won {
		if w {
			winners++
		}
	}
	return winners
}

// Many claimers at once: each stream goes to one of them, and the bound holds.
func testClaimRace(t *testing.T, l Log) {
	stores := []eventstore.Store{open(t, l)}
	if l.Shared {
		stores = append(stores, open(t, l), open(t, l))
	}
	const claimers = 8
	for i := range claimers {
		register(t, stores[0], fmt.Sprintf("w%d", i))
	}
	for round := range 6 {
		stream := fmt.Sprintf("run-%d", round)
		openWork(t, stores[0], stream)
		same := slices.Repeat([]string{stream}, claimers)
		if n := raceClaims(t, stores, same, 0, eventstore.ErrClaimed); n != 1 {
			t.Fatalf("round %d: %d have %s", round, n, stream)
		}
		closeWork(t, stores[0], stream)
	}
	for round := range 3 {
		var own []string
		for i := range claimers {
			own = append(own, fmt.Sprintf("run-%d-%d", round, i))
		}
		openWork(t, stores[0], own...)
		if n := raceClaims(t, stores, own, 3, eventstore.ErrBusy); n != 3 {
			t.Fatalf("round %d: %d claims, 3 are allowed", round, n)
		}
		for _, stream := range own {
			closeWork(t, stores[0], stream)
		}
	}
}

// A zombie goes on writing while its stream is taken over, through another store where
// there is one. Whoever has claimed the stream has seen all that the zombie wrote.
func testZombie(t *testing.T, l Log) {
	mine := open(t, l)
	theirs := mine
	if l.Shared {
		theirs = open(t, l)
	}
	for round := range 6 {
		stream := fmt.Sprintf("run-%d", round)
		zombie, heir := fmt.Sprintf("zombie-%d", round), fmt.Sprintf("heir-%d", round)
		openWork(t, mine, stream)
		register(t, mine, zombie)
		epoch := claim(t, mine, zombie, stream)
		l.Pass(t, 2*leaseTime)
		register(t, theirs, heir)
		ctx, g := withPatience(t), errgroup.Group{}
		written := make(chan struct{}, 1)
		var last int64
		g.Go(func() error {
			var err error
			last, err = writeUntilFenced(ctx, mine, under(stream, epoch), round%2 == 0, written)
			return err
		})
		<-written
		next := claim(t, theirs, heir, stream)
		seen, err := theirs.ReadStream(ctx, stream, 0, 1<<20)
		must(t, err)
		must(t, g.Wait())
		if seenLast := seen[len(seen)-1].Position; last > seenLast {
			t.Fatalf("the zombie wrote at %d, the heir had claimed at %d", last, seenLast)
		}
		b := under(stream, next)
		b.Streams[0].Expected = int64(len(seen))
		mustAppend(t, theirs, b)
	}
}

// writeUntilFenced repeats the append, with new events, at its version or at any, until
// its claim has ended. It returns the last position written.
func writeUntilFenced(ctx context.Context, s eventstore.Store, b eventstore.Batch, atVersion bool, written chan<- struct{}) (last int64, err error) {
	for version := int64(1); ; version++ {
		b.Streams[0].Events = NewEvents(1)
		if atVersion {
			b.Streams[0].Expected = version
		}
		a, err := s.Append(ctx, b)
		var fenced *eventstore.FencedError
		if errors.As(err, &fenced) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = a.Last
		select {
		case written <- struct{}{}:
		default:
		}
	}
}

// The log is opened anew. Epochs go on growing, and a claim from before is either as
// it was or has ended.
func testEpochsGrow(t *testing.T, l Log) {
	s := l.Open(t)
	openWork(t, s, "run-1", "run-2")
	register(t, s, "w1")
	first := claim(t, s, "w1", "run-1")
	last := claim(t, s, "w1", "run-1")
	must(t, s.Close())
	for i := range 3 { // nothing is appended in between
		s = l.Open(t)
		back := worker(fmt.Sprintf("w1-%d", i))
		back.Node = worker("w1").Node
		must(t, s.Register(withPatience(t), back))
		wantFenced(t, appendUnder(t, s, "run-1", last), "run-1", last)
		next := claim(t, s, back.Instance, "run-1")
		if first >= last || next <= last {
			t.Fatalf("epoch %d after %d and %d", next, last, first)
		}
		last = next
		must(t, s.Close())
	}
}
