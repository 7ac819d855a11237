package audit_test

import (
	"fmt"
	"slices"
	"testing"

	"hecate/domain/run"
	"hecate/projections/projectiontest"
)

// Counting from the end finds what a list of all records of the types has there.
func TestNth(t *testing.T) {
	log := projectiontest.New(t)
	types := [][]string{{"run.finished"}, {"run.failed", "run.finished", "no.such"}, {"no.such"}, nil}
	for i := range 700 { // more than stand in one piece
		log.Add(fmt.Sprintf("run-%d", i), run.Created{TaskID: "task_1"}, run.Finished{})
		if i%5 == 0 {
			log.Add(fmt.Sprintf("run-f%d", i), run.Failed{})
		}
	}
	_, v := project(t, log, memory(t))
	for _, want := range types {
		var places []int64
		for _, r := range log.Records() {
			if slices.Contains(want, r.Type) {
				places = append(places, r.Position)
			}
		}
		for _, n := range []int64{-1, 0, 1, 2, 7, 399, 400, 700, 701, 840, 841, 1 << 40} {
			var expected int64
			if n >= 1 && n <= int64(len(places)) {
				expected = places[int64(len(places))-n]
			}
			if got, err := v.Nth(t.Context(), n, want...); err != nil || got != expected {
				t.Errorf("%v, %d: %d, want %d (%v)", want, n, got, expected, err)
			}
		}
	}
}
