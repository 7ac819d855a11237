package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

func testAppendAndRead(t *testing.T, l Log) {
	s := open(t, l)
	b := eventstore.Batch{
		CommandID: "cmd-1", Actor: eventstore.Actor{Kind: "client", Name: "c-1", Org: "o-1"}, CausedBy: 7,
		Trace:   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Streams: []eventstore.StreamAppend{{Stream: "run-1", Events: NewEvents(3)}},
	}
	b.Streams[0].Events[2].Schema = 4
	got := mustAppend(t, s, b)
	if want := (eventstore.Appended{First: 1, Last: 3}); got != want {
		t.Fatalf("appended at %+v, want %+v", got, want)
	}
	var want []eventstore.Record
	for i, e := range b.Streams[0].Events {
		r := eventstore.Record{
			Position: int64(i) + 1, Stream: "run-1", Version: int64(i) + 1, ID: e.ID, Type: e.Type, Schema: e.Schema, At: At,
			Actor: b.Actor, CausedBy: 7, CommandID: "cmd-1", Trace: b.Trace, Data: e.Data, Salt: e.Salt,
		}
		r.Hash = eventstore.Hash(r)
		want = append(want, r)
	}
	ctx := withPatience(t)
	stream, err := s.ReadStream(ctx, "run-1", 0, 10)
	same(t, "the stream", want, stream, err)
	all, err := s.ReadAll(ctx, 0, 10)
	same(t, "the log", want, all, err)
	same(t, "the stored log", want, readAll(t, s), nil)
	part, err := s.ReadStream(ctx, "run-1", 1, 1)
	same(t, "a part of the stream", want[1:2], part, err)
	part, err = s.ReadAll(ctx, 1, 1)
	same(t, "a part of the log", want[1:2], part, err)
	some, err := s.ReadAt(ctx, []int64{1, 3})
	same(t, "some of the log", []eventstore.Record{want[0], want[2]}, some, err)
	some, err = s.ReadAt(ctx, []int64{0, 2, 3, 9})
	same(t, "some that are there", want[1:], some, err)
	some, err = s.ReadAt(ctx, nil)
	same(t, "none of the log", nil, some, err)
	none, err := s.ReadAll(ctx, 3, 10)
	same(t, "the end", nil, none, err)
	none, err = s.ReadAll(ctx, 0, 0)
	same(t, "limit 0", nil, none, err)
	none, err = s.ReadStream(ctx, "run-2", 0, 10)
	same(t, "no stream", nil, none, err)
	if head, err := s.Head(ctx); head != 3 || err != nil {
		t.Errorf("head %d, %v, want 3", head, err)
	}
}

func same(t *testing.T, what string, want, got []eventstore.Record, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func testEmptyAppend(t *testing.T, l Log) {
	s := open(t, l)
	mustAppend(t, s, To("run-1", 0, NewEvents(2)...))
	for name, b := range map[string]eventstore.Batch{
		"no streams":             {},
		"a check of the version": To("run-1", 2),
		"of no stream":           To("run-2", eventstore.NoStream),
		"a command":              {CommandID: "cmd-1"},
	} {
		if a := mustAppend(t, s, b); a.First != 3 || a.Last != 2 || a.Repeated {
			t.Errorf("%s: appended at %+v, want 3 to 2", name, a)
		}
	}
	wantConflict(t, s, To("run-1", 1), "run-1", 1, 2)
	mustAppend(t, s, To("run-2", eventstore.NoStream, NewEvents(1)...))
	if a := mustAppend(t, s, eventstore.Batch{CommandID: "cmd-1"}); a.First != 3 || a.Last != 2 || !a.Repeated {
		t.Errorf("the command again: %+v, want 3 to 2, repeated", a)
	}
}

func testExpectedVersions(t *testing.T, l Log) {
	s := open(t, l)
	wantConflict(t, s, To("run-1", 1, NewEvents(1)...), "run-1", 1, 0)
	mustAppend(t, s, To("run-1", eventstore.NoStream, NewEvents(2)...))
	wantConflict(t, s, To("run-1", eventstore.NoStream, NewEvents(1)...), "run-1", 0, 2)
	wantConflict(t, s, To("run-1", 1, NewEvents(1)...), "run-1", 1, 2)
	wantConflict(t, s, To("run-1", 3, NewEvents(1)...), "run-1", 3, 2)
	mustAppend(t, s, To("run-1", 2, NewEvents(1)...))
	mustAppend(t, s, To("run-1", eventstore.AnyVersion, NewEvents(2)...))
	mustAppend(t, s, To("run-2", eventstore.AnyVersion, NewEvents(1)...))
	wantConflict(t, s, To("run-1", 3, NewEvents(1)...), "run-1", 3, 5)
	verify(t, readAll(t, s), 6)
}

// wantConflict appends b and checks that the conflict names what stands where.
func wantConflict(t *testing.T, s eventstore.Store, b eventstore.Batch, stream string, expected, actual int64) {
	t.Helper()
	_, err := s.Append(withPatience(t), b)
	var c *eventstore.ConflictError
	if !errors.As(err, &c) {
		t.Fatalf("append: %v, want a conflict on %s", err, stream)
	}
	if want := (eventstore.ConflictError{Stream: stream, Expected: expected, Actual: actual}); *c != want {
		t.Fatalf("conflict %+v, want %+v", *c, want)
	}
}

// verify checks that the records are a whole log of n events: dense positions,
// dense versions in each stream, right hashes.
func verify(t *testing.T, records []eventstore.Record, n int) {
	t.Helper()
	if len(records) != n {
		t.Fatalf("the log holds %d records, want %d", len(records), n)
	}
	c := newChecker(0)
	for _, r := range records {
		if err := c.see(r); err != nil {
			t.Fatal(err)
		}
	}
}

func testAtomic(t *testing.T, l Log) {
	s := open(t, l)
	mustAppend(t, s, To("task-1", 0, NewEvents(1)...))
	two := func(taskVersion, runVersion int64) eventstore.Batch {
		return eventstore.Batch{Streams: []eventstore.StreamAppend{
			{Stream: "task-1", Expected: taskVersion, Events: NewEvents(1)},
			{Stream: "run-1", Expected: runVersion, Events: NewEvents(2)},
			{Stream: "chat-1", Expected: eventstore.AnyVersion, Events: NewEvents(1)},
		}}
	}
	wantConflict(t, s, two(0, 0), "task-1", 0, 1)
	wantConflict(t, s, two(1, 5), "run-1", 5, 0)
	verify(t, readAll(t, s), 1)
	a := mustAppend(t, s, two(1, 0))
	if a.First != 2 || a.Last != 5 {
		t.Fatalf("appended at %+v, want 2 to 5", a)
	}
	var order []string
	for _, r := range readAll(t, s)[1:] {
		order = append(order, fmt.Sprintf("%s/%d", r.Stream, r.Version))
	}
	if got := strings.Join(order, " "); got != "task-1/2 run-1/1 run-1/2 chat-1/1" {
		t.Errorf("written in order %s", got)
	}
}

func testRace(t *testing.T, l Log) {
	s := open(t, l)
	const writers, rounds = 8, 5
	for round := range rounds {
		var won, lost int
		var mu sync.Mutex
		g, ctx := errgroup.WithContext(withPatience(t))
		for range writers {
			g.Go(func() error {
				_, err := s.Append(ctx, To("run-1", int64(round), NewEvents(1)...))
				var c *eventstore.ConflictError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
				case errors.As(err, &c) && c.Expected == int64(round) && c.Actual == int64(round)+1:
					lost++
				default:
					return err
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if won != 1 || lost != writers-1 {
			t.Fatalf("round %d: %d won and %d lost", round, won, lost)
		}
	}
	verify(t, readAll(t, s), rounds)
}

// Requests with and without a chance arrive together; each gets its own answer.
func testNeighbours(t *testing.T, l Log) {
	s := open(t, l)
	mustAppend(t, s, To("busy", 0, NewEvents(1)...))
	const writers = 40
	g, ctx := errgroup.WithContext(withPatience(t))
	for i := range writers {
		g.Go(func() error {
			if i%2 == 0 {
				_, err := s.Append(ctx, To(fmt.Sprintf("run-%d", i), 0, NewEvents(3)...))
				return err
			}
			_, err := s.Append(ctx, eventstore.Batch{Streams: []eventstore.StreamAppend{
				{Stream: fmt.Sprintf("run-%d", i), Expected: 0, Events: NewEvents(1)},
				{Stream: "busy", Expected: 0, Events: NewEvents(1)},
			}})
			var c *eventstore.ConflictError
			if !errors.As(err, &c) || c.Stream != "busy" || c.Actual != 1 {
				return fmt.Errorf("writer %d: %w, want a conflict on busy", i, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	verify(t, readAll(t, s), 1+3*writers/2)
}

func testCancel(t *testing.T, l Log) {
	s := open(t, l)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.Append(ctx, To("run-1", 0, NewEvents(1)...)); !errors.Is(err, context.Canceled) {
		t.Fatalf("append: %v, want a cancel", err)
	}
	// Whatever the moment of the cancel: the answer is true.
	const writers = 30
	var acknowledged sync.Map
	var g errgroup.Group
	for i := range writers {
		g.Go(func() error {
			stream := fmt.Sprintf("run-%d", i)
			ctx, stop := context.WithCancel(context.Background())
			go stop()
			_, err := s.Append(ctx, To(stream, 0, NewEvents(1)...))
			if err == nil {
				acknowledged.Store(stream, true)
			} else if !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range readAll(t, s) {
		if _, ok := acknowledged.LoadAndDelete(r.Stream); !ok {
			t.Errorf("%s was written and reported as cancelled", r.Stream)
		}
	}
	acknowledged.Range(func(stream, _ any) bool { t.Errorf("%s was acknowledged and not written", stream); return true })
}

// Poisoned appends many batches at once to a log whose database refuses the
// stream "poison" for a reason of its own: nobody else may feel it.
func Poisoned(t *testing.T, s eventstore.Store) {
	t.Helper()
	const writers = 24
	g, ctx := errgroup.WithContext(withPatience(t))
	for i := range writers {
		g.Go(func() error {
			stream, poisoned := fmt.Sprintf("run-%d", i), i%8 == 3
			if poisoned {
				stream = "poison"
			}
			_, err := s.Append(ctx, To(stream, eventstore.AnyVersion, NewEvents(2)...))
			if poisoned == (err == nil) {
				return fmt.Errorf("append to %s: %w", stream, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	verify(t, readAll(t, s), 2*writers*7/8)
}
