package storetest

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

func testCommandIDs(t *testing.T, l Log) {
	s := open(t, l)
	first := To("run-1", 0, NewEvents(2)...)
	first.CommandID = "cmd-1"
	mustAppend(t, s, first)
	mustAppend(t, s, To("run-1", 2, NewEvents(1)...))

	again := To("run-1", 0, NewEvents(2)...) // new ids, an old version: the command id decides
	again.CommandID = "cmd-1"
	if a := mustAppend(t, s, again); a != (eventstore.Appended{First: 1, Last: 2, Repeated: true}) {
		t.Errorf("the command again: %+v, want 1 to 2, repeated", a)
	}
	other := To("run-2", 0, NewEvents(1)...) // even about something else
	other.CommandID = "cmd-1"
	if a := mustAppend(t, s, other); !a.Repeated {
		t.Errorf("the command with other events: %+v, want a repetition", a)
	}
	// A command that was refused may be tried again.
	refused := To("run-1", 0, NewEvents(1)...)
	refused.CommandID = "cmd-2"
	wantConflict(t, s, refused, "run-1", 0, 3)
	refused.Streams[0].Expected = 3
	if a := mustAppend(t, s, refused); a != (eventstore.Appended{First: 4, Last: 4}) {
		t.Errorf("the refused command again: %+v, want 4 to 4", a)
	}
	verify(t, readAll(t, s), 4)
}

func testCommandAtOnce(t *testing.T, l Log) {
	stores := []eventstore.Store{open(t, l)}
	if l.Shared {
		stores = append(stores, open(t, l), open(t, l))
	}
	for round := range 5 {
		answers := make([]eventstore.Appended, 9)
		g, ctx := errgroup.WithContext(withPatience(t))
		for i := range answers {
			g.Go(func() (err error) {
				// Different streams, so that nothing but the command id holds them apart.
				b := To(fmt.Sprintf("run-%d-%d", round, i), eventstore.AnyVersion, NewEvents(1)...)
				b.CommandID = fmt.Sprintf("cmd-%d", round)
				answers[i], err = stores[i%len(stores)].Append(ctx, b)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		wantOneFirst(t, answers, int64(round)+1)
	}
	verify(t, readAll(t, stores[0]), 5)
}

// wantOneFirst checks that all answers name one place and one of them was new.
func wantOneFirst(t *testing.T, answers []eventstore.Appended, position int64) {
	t.Helper()
	news := 0
	for _, a := range answers {
		if a.First != position || a.Last != position {
			t.Fatalf("answers %+v, want all at %d", answers, position)
		}
		if !a.Repeated {
			news++
		}
	}
	if news != 1 {
		t.Fatalf("%d answers are new, want 1", news)
	}
}

func testEventIDs(t *testing.T, l Log) {
	s := open(t, l)
	mustAppend(t, s, To("chat-1", 0, NewEvents(1)...))
	b := eventstore.Batch{Streams: []eventstore.StreamAppend{
		{Stream: "chat-1", Expected: eventstore.AnyVersion, Events: NewEvents(2)},
		{Stream: "task-1", Expected: 0, Events: NewEvents(1)},
		{Stream: "run-1", Expected: 0, Events: NewEvents(3)},
	}}
	mustAppend(t, s, b)
	mustAppend(t, s, To("run-1", 3, NewEvents(1)...))
	if a := mustAppend(t, s, b); a != (eventstore.Appended{First: 2, Last: 7, Repeated: true}) {
		t.Errorf("the same events again: %+v, want 2 to 7, repeated", a)
	}
	// Some of them, or others with them, are not the same append.
	part := eventstore.Batch{Streams: []eventstore.StreamAppend{b.Streams[1], {Stream: "run-1", Expected: 0, Events: NewEvents(3)}}}
	wantConflict(t, s, part, "task-1", 0, 1)
	longer := To("run-1", 0, append(b.Streams[2].Events, NewEvents(1)...)...)
	wantConflict(t, s, longer, "run-1", 0, 4)
	verify(t, readAll(t, s), 8)
}

func testEventsAtOnce(t *testing.T, l Log) {
	stores := []eventstore.Store{open(t, l)}
	if l.Shared {
		stores = append(stores, open(t, l), open(t, l))
	}
	for round := range 5 {
		b := To("run-1", int64(round), NewEvents(1)...)
		answers := make([]eventstore.Appended, 9)
		g, ctx := errgroup.WithContext(withPatience(t))
		for i := range answers {
			g.Go(func() (err error) {
				answers[i], err = stores[i%len(stores)].Append(ctx, b)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		wantOneFirst(t, answers, int64(round)+1)
	}
	verify(t, readAll(t, stores[0]), 5)
}
