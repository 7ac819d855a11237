package audit

import (
	"fmt"
	"slices"
	"testing"

	"hecate/eventstore"
	"hecate/migrations/readmodel"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// A record that could not be taken when it came, and is taken later, stands where it
// belongs: between what came before and behind it, and before all that there is.
func TestLateRecords(t *testing.T) {
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	update := func(do func(*readdb.Tx) error) {
		t.Helper()
		if err := db.Update(t.Context(), "x", do); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *readdb.Tx) error { return tx.Script(t.Context(), "x", readmodel.Audit) })
	f := newFold()
	take := func(positions ...int64) {
		t.Helper()
		update(func(tx *readdb.Tx) error {
			for _, p := range positions {
				r := eventstore.Record{Position: p, Stream: "run-a", Type: "run.queued", CausedBy: 1, Actor: eventstore.Actor{Kind: "worker", Name: fmt.Sprint(p % 2)}}
				if err := f.Apply(t.Context(), tx, runner.Fact{Record: r}); err != nil {
					return err
				}
			}
			return f.Flush(t.Context(), tx)
		})
	}
	var all []int64
	missing := []int64{2, 40, 1500, 1501, 2999}
	for p := int64(2); p <= 3000; p++ {
		all = append(all, p)
		if !slices.Contains(missing, p) {
			take(p)
		}
	}
	take(missing[1:4]...)
	f.Forget() // as after a restart
	take(2999, 2)
	take(3001)
	all = append(all, 3001)
	update(func(tx *readdb.Tx) error {
		for _, way := range []direction{direction(OldestFirst), direction(NewestFirst)} {
			s := search{tx: tx, way: way, limit: 5000, lists: [][]int64{{f.mustCode(t, name{kindRun, "a"})}}}
			found, err := s.run(t.Context())
			if err != nil {
				return err
			}
			if way == direction(NewestFirst) {
				slices.Reverse(found.Found)
			}
			var got []int64
			for _, one := range found.Found {
				got = append(got, one.Position)
			}
			if !slices.Equal(got, all) {
				t.Errorf("newest first %v: %d records, want %d", way, len(got), len(all))
			}
		}
		led := search{tx: tx, limit: 5000}
		if effects, err := led.effects(t.Context(), 1); err != nil || len(effects.Found) != len(all) {
			t.Errorf("%d effects of %d, %v", len(effects.Found), len(all), err)
		}
		return nil
	})
}

func (f *fold) mustCode(t *testing.T, n name) int64 {
	t.Helper()
	c, ok := f.codes.get(n)
	if !ok {
		t.Fatalf("%v has no code", n)
	}
	return c.code
}
