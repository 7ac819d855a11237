package tail_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"hecate/eventstore"
	"hecate/eventstore/internal/tail"
)

// records returns n records behind the given position, each with so many bytes.
func records(after int64, n, bytes int) []eventstore.Record {
	out := make([]eventstore.Record, n)
	for i := range out {
		out[i] = eventstore.Record{Position: after + int64(i) + 1, Data: make([]byte, bytes)}
	}
	return out
}

func want(t *testing.T, tl *tail.Tail, after int64, limit int, first, last int64) {
	t.Helper()
	got, ok := tl.Read(after, limit)
	if !ok || len(got) == 0 || got[0].Position != first || got[len(got)-1].Position != last || int64(len(got)) != last-first+1 {
		t.Errorf("read %d after %d: %d records, %v, want %d to %d", limit, after, len(got), ok, first, last)
	}
}

func TestTailKeepsTheNewest(t *testing.T) {
	tl := tail.New(10)
	if got, ok := tl.Read(10, 5); !ok || len(got) != 0 {
		t.Errorf("at the end: %d records, %v", len(got), ok)
	}
	if _, ok := tl.Read(9, 5); ok {
		t.Error("read what was never kept")
	}
	tl.Push(records(10, 5000, 1))
	want(t, tl, 5008, 10, 5009, 5010)
	want(t, tl, 914, 2, 915, 916)
	if _, ok := tl.Read(913, 1); ok {
		t.Error("more than 4,096 records are kept")
	}
	tl.Push(records(5010, 20, 1<<20)) // 16 MiB of data is all that is kept
	want(t, tl, 5014, 100, 5015, 5030)
	if _, ok := tl.Read(5013, 1); ok {
		t.Error("more than 16 MiB are kept")
	}
	tl.Push(records(5030, 1, 32<<20)) // larger than everything
	if tl.Head() != 5031 {
		t.Errorf("head %d, want 5031", tl.Head())
	}
}

func TestTailHasNoGaps(t *testing.T) {
	tl := tail.New(0)
	tl.Push(records(0, 3, 1))
	if tl.Push(records(4, 1, 1)) || tl.Push(records(2, 2, 1)) {
		t.Error("a gap or an overlap was taken")
	}
	want(t, tl, 0, 10, 1, 3)
	tl.Jump(2) // backwards is no jump
	want(t, tl, 0, 10, 1, 3)
	tl.Jump(9)
	if tl.Head() != 9 || !tl.Push(records(9, 1, 1)) {
		t.Error("does not go on behind the jump")
	}
	want(t, tl, 9, 10, 10, 10)
	picked, ok := tl.Pick([]int64{10})
	if !ok || picked[0].Position != 10 {
		t.Errorf("picked %v, %v", picked, ok)
	}
	for _, positions := range [][]int64{{9}, {9, 10}, {10, 11}, {}} {
		if _, ok := tl.Pick(positions); ok {
			t.Errorf("picked %v", positions)
		}
	}
}

func TestTailWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tl := tail.New(0)
		ctx, stop := context.WithCancel(t.Context())
		answers := map[string]chan error{"one": make(chan error, 1), "two": make(chan error, 1), "cancelled": make(chan error, 1), "closed": make(chan error, 1)}
		go func() { answers["one"] <- tl.Wait(t.Context(), 0) }()
		go func() { answers["two"] <- tl.Wait(t.Context(), 1) }()
		go func() { answers["cancelled"] <- tl.Wait(ctx, 5) }()
		go func() { answers["closed"] <- tl.Wait(t.Context(), 5) }()
		expect := func(name string, want error) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-answers[name]:
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			default:
				t.Errorf("%s still waits", name)
			}
		}
		tl.Push(records(0, 1, 1))
		expect("one", nil)
		if len(answers["two"]) != 0 {
			t.Error("woken too early")
		}
		tl.Push(records(1, 1, 1))
		expect("two", nil)
		stop()
		expect("cancelled", context.Canceled)
		tl.Close()
		expect("closed", eventstore.ErrClosed)
		tl.Close()
	})
}

// Who waits hears why nothing comes, until something does.
func TestTailFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tl, gap := tail.New(0), errors.New("gap")
		waiting := make(chan error, 1)
		go func() { waiting <- tl.Wait(t.Context(), 0) }()
		synctest.Wait()
		tl.Fail(gap)
		if err := <-waiting; !errors.Is(err, gap) {
			t.Errorf("waiting: %v", err)
		}
		if err := tl.Wait(t.Context(), 0); !errors.Is(err, gap) {
			t.Errorf("late: %v", err)
		}
		tl.Push(records(0, 1, 1))
		if err := tl.Wait(t.Context(), 0); err != nil {
			t.Errorf("with news: %v", err)
		}
	})
}
