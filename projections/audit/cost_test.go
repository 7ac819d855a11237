package audit_test

import (
	"testing"
	"time"

	"hecate/projections/audit"
)

// What a page costs is bounded, whatever is asked for, and far from the bound where what is
// asked for is common or rare.
func TestCost(t *testing.T) {
	const last, limit, little = 20_000, 100, 200
	_, v := project(t, &workload{last: last}, memory(t))
	for what, f := range questions(last) {
		for _, order := range []audit.Order{audit.OldestFirst, audit.NewestFirst} {
			p, cost, err := audit.PageCost(t.Context(), v, f, order, limit)
			if err != nil {
				t.Fatal(err)
			}
			if cost > little {
				t.Errorf("%s, newest first %v: %d rows for %d records", what, order, cost, len(p.Found))
			}
		}
	}
}

// A search that finds nothing among much ends its pages within the bound, and comes to an
// end: for two common names that never come together with hundreds of records for each
// row, for a second in a minute of which all other records are with those of a row.
func TestCostOfNothing(t *testing.T) {
	const last, limit = 60_000, 100
	_, v := project(t, &apart{workload{last: last}}, memory(t))
	second := time.Time{}.Add(2 * time.Second)
	for most, f := range map[int]audit.Filter{
		last / 200: {Tool: "here", Types: []string{"there"}},
		last / 15:  {From: second, To: second.Add(time.Second)},
	} {
		for _, order := range []audit.Order{audit.OldestFirst, audit.NewestFirst} {
			f, total := f, 0
			for next := int64(1); next > 0; {
				p, cost, err := audit.PageCost(t.Context(), v, f, order, limit)
				if err != nil || len(p.Found) > 0 {
					t.Fatalf("%d found, %v", len(p.Found), err)
				}
				total, next = total+cost, p.Next
				if cost > audit.PageBudget+limit || total > most {
					t.Fatalf("%+v, newest first %v: a page cost %d rows, all of them %d", f, order, cost, total)
				}
				if f.Before = next; order == audit.OldestFirst {
					f.Before, f.After = 0, next
				}
			}
		}
	}
}
