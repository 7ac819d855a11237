package audit_test

import (
	"slices"
	"testing"

	"hecate/projections/audit"
)

// One of several names is found wherever in the lists a search begins, in either order.
func TestChoices(t *testing.T) {
	const last = 20_000
	_, v := project(t, &workload{last: last}, memory(t))
	types := []string{"model.call.started", "tool.invoked", "workspace.changed", "run.created", "no.such"}
	for _, f := range []audit.Filter{{}, {After: 7_777}, {Before: 12_345}, {After: 5_000, Before: 5_100}, {After: last - 3}, {Before: 4}} {
		var want []int64
		for p := f.After + 1; p <= last && (f.Before == 0 || p < f.Before); p++ {
			if slices.Contains(types, workRecord(p).Type) {
				want = append(want, p)
			}
		}
		f.Types = types
		if got := positions(pages(t, v, f, audit.OldestFirst, 500)); !slices.Equal(got, want) {
			t.Errorf("%+v, oldest first: %d records, want %d", f, len(got), len(want))
		}
		got := positions(pages(t, v, f, audit.NewestFirst, 500))
		if slices.Reverse(got); !slices.Equal(got, want) {
			t.Errorf("%+v, newest first: %d records, want %d", f, len(got), len(want))
		}
	}
}
