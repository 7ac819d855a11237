package audit_test

import (
	"slices"
	"testing"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections/projectiontest"
)

// From a record the chain of causes leads back to where it began, over rows of any number.
func TestCauses(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("run-a", run.Queued{})
	want := []int64{1}
	for p := int64(2); p <= 1200; p++ {
		cause := int64(0)
		if p%3 == 0 {
			cause = want[len(want)-1]
			want = append(want, p)
		}
		if p > 300 && p < 1100 {
			log.Add("run-b", run.TaskUpdated{})
			if p%3 == 0 {
				want = want[:len(want)-1]
			}
			continue
		}
		_, err := log.Append(t.Context(), eventstore.Batch{
			CausedBy: cause, Actor: eventstore.Actor{Kind: "system"},
			Streams: []eventstore.StreamAppend{{Stream: "run-a", Expected: eventstore.AnyVersion, Events: []eventstore.Event{log.Event(run.TaskUpdated{}.EventType(), []byte("{}"))}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(want)
	_, v := project(t, log, memory(t))
	chain, cut, err := v.Causes(t.Context(), want[0], 1000)
	if got := positions(chain); err != nil || cut || !slices.Equal(got, want) {
		t.Errorf("%v, %v, %v; want %v", got, cut, err, want)
	}
	chain, cut, err = v.Causes(t.Context(), want[0], 10)
	if got := positions(chain); err != nil || !cut || !slices.Equal(got, want[:11]) {
		t.Errorf("%v, %v, %v; want %v", got, cut, err, want[:11])
	}
	if chain, cut, err = v.Causes(t.Context(), want[0], len(want)-1); err != nil || cut || len(chain) != len(want) {
		t.Errorf("%d in the chain, %v, %v", len(chain), cut, err)
	}
	if chain, _, err = v.Causes(t.Context(), 5000, 10); err != nil || len(chain) != 0 {
		t.Errorf("behind the end is %v, %v", chain, err)
	}
}
