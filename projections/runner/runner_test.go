package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"hecate/eventstore"
	"hecate/projections/projectiontest"
	"hecate/projections/runner"
)

// What is appended becomes visible, also what stood in the log before.
func TestDelivers(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("a-1", noted{"one"})
	r := open(t, log, file(t), notes{})
	if got := status(t, r); got.Lag != 1 || got.Position != 0 {
		t.Errorf("before Run: %+v", got)
	}
	start(t, r)
	wait(t, r, 1)
	log.Add("a-1", ignored{}, noted{"two"})
	log.Add("b-1", noted{"three"})
	wait(t, r, 4)
	expect(t, r, "one two three")
	if got := status(t, r); got.Lag != 0 || got.Position != 4 || got.Parked != 0 || got.Generation != 1 {
		t.Errorf("at the end: %+v", got)
	}
	if p, err := r.Position("notes"); p != 4 || err != nil {
		t.Errorf("position %d, %v", p, err)
	}
}

// Waiting ends with the caller's patience, and asks only for models that exist.
func TestWaitForGivesUp(t *testing.T) {
	r := open(t, projectiontest.New(t), memory(t), notes{})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := r.WaitFor(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := r.WaitFor(context.Background(), 0, "notes"); err != nil {
		t.Errorf("nothing to wait for: %v", err)
	}
	if err := r.WaitFor(context.Background(), 0, "nonsense"); err == nil {
		t.Error("waited for a model that does not exist")
	}
}

// A stream with a fact that the model cannot take waits; the others go on. A build
// that can take it lets the stream go on where it stopped.
func TestPoisonParksItsStream(t *testing.T) {
	panics := func(text string) error {
		if text == "poison" {
			panic("a bug")
		}
		return nil
	}
	for name, first := range map[string]notes{"refused": {refuse: refuse("poison")}, "panic": {refuse: panics}} {
		t.Run(name, func(t *testing.T) {
			log, db := projectiontest.New(t), file(t)
			log.Add("a-1", noted{"a1"}, noted{"poison"}, noted{"a2"})
			log.Add("b-1", noted{"b1"})
			r := open(t, log, db, first)
			stop := start(t, r)
			wait(t, r, 4)
			log.Add("a-1", noted{"a3"})
			log.Add("b-1", noted{"b2"})
			wait(t, r, 6)
			expect(t, r, "a1 b1 b2")
			if got := status(t, r); got.Parked != 1 || got.Streams[0].Stream != "a-1" || got.Streams[0].Position != 2 || got.Streams[0].Attempts != 1 {
				t.Errorf("parked: %+v", got)
			}
			stop()

			r = open(t, log, db, first) // the same again: it stays parked
			stop = start(t, r)
			log.Add("b-1", noted{"b3"})
			wait(t, r, 7)
			expect(t, r, "a1 b1 b2 b3")
			if got := status(t, r); got.Parked != 1 || got.Streams[0].Attempts != 2 {
				t.Errorf("after another try: %+v", got)
			}
			stop()

			r = open(t, log, db, notes{}) // repaired
			start(t, r)
			log.Add("a-1", noted{"a4"})
			wait(t, r, 8)
			expect(t, r, "a1 poison a2 b1 a3 b2 b3 a4")
			if got := status(t, r); got.Parked != 0 {
				t.Errorf("repaired: %+v", got)
			}
		})
	}
}

// Data that cannot be read, and a schema from the future, park their streams too.
func TestUndecodableParks(t *testing.T) {
	log := projectiontest.New(t)
	future := log.Event("test.noted", []byte(`{"text":"later"}`))
	future.Schema = 2
	log.Raw("a-1", bad(log))
	log.Raw("b-1", future)
	log.Raw("c-1", log.Event("test.unheard", []byte(`{}`)))
	log.Add("c-1", noted{"c"})
	r := open(t, log, memory(t), notes{})
	start(t, r)
	wait(t, r, 4)
	expect(t, r, "c")
	if got := status(t, r); got.Parked != 2 {
		t.Errorf("%+v", got)
	}
}

// A database that fails is asked again; nothing is parked, lost or doubled.
func TestDatabaseFailuresAreRetried(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("a-1", noted{"one"})
	var calls atomic.Int64
	r := open(t, log, memory(t), notes{flush: func() error {
		if calls.Add(1)%3 != 0 {
			return errors.New("disk full")
		}
		return nil
	}})
	start(t, r)
	wait(t, r, 1)
	log.Add("a-1", noted{"two"})
	wait(t, r, 2)
	expect(t, r, "one two")
	if got := status(t, r); got.Parked != 0 {
		t.Errorf("%+v", got)
	}
}

// Two processes on one read model: every fact counts once, whoever writes it.
func TestTwoOwners(t *testing.T) {
	log, db := projectiontest.New(t), file(t)
	first, second := open(t, log, db, notes{}), open(t, log, db, notes{})
	start(t, first)
	start(t, second)
	var want []string
	for i := range 50 {
		text := fmt.Sprint("n", i)
		want = append(want, text)
		log.Add("a-1", noted{text})
	}
	wait(t, first, 50)
	wait(t, second, 50)
	expect(t, first, strings.Join(want, " "))
	expect(t, second, strings.Join(want, " "))
}

// A checkpoint that unwanted facts moved is found again after a restart.
func TestUnwantedFactsMoveTheCheckpoint(t *testing.T) {
	log, db := projectiontest.New(t), file(t)
	log.Add("a-1", ignored{}, ignored{})
	r := open(t, log, db, notes{})
	stop := start(t, r)
	wait(t, r, 2)
	stop()
	if got := status(t, open(t, log, db, notes{})); got.Position != 2 {
		t.Errorf("after a restart: %+v", got)
	}
}

// skipping is a log that leaves a record out.
type skipping struct{ eventstore.Store }

func (s skipping) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	records, err := s.Store.ReadAll(ctx, after, limit)
	if len(records) > 2 {
		records = append(records[:1:1], records[2:]...)
	}
	return records, err
}

// A gap in the log stops the model before it shows something wrong.
func TestGapStops(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("a-1", noted{"one"}, noted{"two"}, noted{"three"})
	r := open(t, skipping{log}, memory(t), notes{})
	var gap *runner.GapError
	if err := r.CatchUp(context.Background()); !errors.As(err, &gap) || gap.Want != 2 || gap.Got != 3 {
		t.Errorf("got %v", err)
	}
	expect(t, r, "")
}
