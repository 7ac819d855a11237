package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

func testOpenWork(t *testing.T, l Log) {
	s := open(t, l)
	work := func(w eventstore.Work, stream string, events int) {
		t.Helper()
		b := To(stream, eventstore.AnyVersion, NewEvents(events)...)
		b.Streams[0].Work = w
		mustAppend(t, s, b)
	}
	want := func(after int64, limit int, streams ...eventstore.OpenStream) {
		t.Helper()
		got, err := s.OpenWork(withPatience(t), after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(streams, got); diff != "" {
			t.Fatalf("open work after %d (-want +got):\n%s", after, diff)
		}
	}
	want(0, 10)
	work(eventstore.WorkOpen, "run-1", 2)  // 1, 2
	work(eventstore.WorkKeep, "run-2", 1)  // 3
	work(eventstore.WorkOpen, "run-3", 1)  // 4
	work(eventstore.WorkKeep, "run-1", 1)  // 5: stays where it was
	work(eventstore.WorkClose, "run-9", 1) // 6: was not open
	want(0, 10, eventstore.OpenStream{Stream: "run-1", Since: 2}, eventstore.OpenStream{Stream: "run-3", Since: 4})
	want(0, 1, eventstore.OpenStream{Stream: "run-1", Since: 2})
	want(2, 10, eventstore.OpenStream{Stream: "run-3", Since: 4})
	work(eventstore.WorkOpen, "run-1", 1) // 7: a new mark, news for who has seen the old one
	want(4, 10, eventstore.OpenStream{Stream: "run-1", Since: 7})
	work(eventstore.WorkClose, "run-3", 0) // without an event
	work(eventstore.WorkClose, "run-1", 1) // 8
	want(0, 10)
	// Two streams of one batch have different marks, a refused batch leaves none.
	two := eventstore.Batch{Streams: []eventstore.StreamAppend{
		{Stream: "run-4", Events: NewEvents(1), Work: eventstore.WorkOpen},
		{Stream: "run-5", Events: NewEvents(1), Work: eventstore.WorkOpen},
	}}
	mustAppend(t, s, two) // 9, 10
	two.Streams[0].Stream, two.Streams[0].Events, two.Streams[1].Events = "run-6", NewEvents(1), NewEvents(1)
	wantConflict(t, s, two, "run-5", 0, 1)
	want(0, 10, eventstore.OpenStream{Stream: "run-4", Since: 9}, eventstore.OpenStream{Stream: "run-5", Since: 10})
}

func testWaking(t *testing.T, l Log) {
	s := open(t, l)
	ctx := withPatience(t)
	mustAppend(t, s, To("run-1", 0, NewEvents(1)...))
	if err := s.Wait(ctx, 0); err != nil {
		t.Fatalf("wait for what is there: %v", err)
	}
	short, stop := context.WithCancel(ctx)
	stop()
	if err := s.Wait(short, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("wait with a cancelled context: %v", err)
	}
	const readers = 1000
	var g errgroup.Group
	for i := range readers {
		g.Go(func() error {
			after := int64(1 + i%3) // some are woken in vain first
			if err := s.Wait(ctx, after); err != nil {
				return err
			}
			if page, err := s.ReadAll(ctx, after, 1); err != nil || len(page) != 1 || page[0].Position != after+1 {
				return fmt.Errorf("woken after %d, read %d records, %w", after, len(page), err)
			}
			return nil
		})
	}
	for i := range 3 {
		mustAppend(t, s, To("run-1", int64(i)+1, NewEvents(1)...))
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func testCloseWhileWaiting(t *testing.T, l Log) {
	s := open(t, l)
	waiting, ended := make(chan struct{}), make(chan error)
	go func() {
		close(waiting)
		ended <- s.Wait(withPatience(t), 0)
	}()
	<-waiting
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("wait: %v, want ErrClosed", err)
	}
	ctx := withPatience(t)
	_, appendErr := s.Append(ctx, To("run-1", 0, NewEvents(1)...))
	_, streamErr := s.ReadStream(ctx, "run-1", 0, 1)
	_, allErr := s.ReadAll(ctx, 0, 1)
	_, blobErr := s.Blob(ctx, "00")
	_, workErr := s.OpenWork(ctx, 0, 1)
	_, claimErr := s.Claim(ctx, "w1", "run-1", 0)
	_, claimableErr := s.Claimable(ctx, 0, 1)
	_, workersErr := s.Workers(ctx)
	_, statsErr := s.WorkStats(ctx)
	for what, err := range map[string]error{
		"append": appendErr, "read stream": streamErr, "read all": allErr, "blob": blobErr, "open work": workErr, "wait": s.Wait(ctx, 0),
		"register": s.Register(ctx, worker("w1")), "renew": s.Renew(ctx, "w1"), "release": s.Release(ctx, "w1"), "unclaim": s.Unclaim(ctx, "w1", "run-1"),
		"claim": claimErr, "claimable": claimableErr, "workers": workersErr, "work stats": statsErr,
	} {
		if !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("%s on a closed log: %v, want ErrClosed", what, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

// What was under way when the log is closed is finished or refused, and the
// answer is true.
func testCloseWhileAppending(t *testing.T, l Log) {
	s := l.Open(t)
	const writers = 20
	acknowledged := make([]int64, writers)
	var g errgroup.Group
	first := make(chan struct{}, writers)
	for w := range writers {
		g.Go(func() error {
			for {
				_, err := s.Append(context.Background(), To(fmt.Sprintf("run-%d", w), acknowledged[w], NewEvents(1)...))
				if errors.Is(err, eventstore.ErrClosed) {
					return nil
				}
				if err != nil {
					return err
				}
				acknowledged[w]++
				first <- struct{}{}
			}
		})
	}
	for range writers {
		<-first
	}
	go func() {
		for range first { // drain
		}
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	close(first)
	if !l.Durable {
		return
	}
	again := open(t, l)
	total := 0
	for w, n := range acknowledged {
		records, err := again.ReadStream(withPatience(t), fmt.Sprintf("run-%d", w), 0, 1<<20)
		if err != nil || int64(len(records)) != n {
			t.Errorf("writer %d: %d events of %d acknowledged, %v", w, len(records), n, err)
		}
		total += len(records)
	}
	verify(t, readAll(t, again), total)
}
