package usage_test

import (
	"log/slog"
	"testing"

	"hecate/projections/projectiontest"
	"hecate/projections/runner"
	"hecate/projections/runs"
	"hecate/projections/usage"
)

// What the runs say that they cost is what was used, checks for progress included.
// Only the model's own calls count as such.
func TestUsageIsWhatRunsSayTheyCost(t *testing.T) {
	for name, story := range projectiontest.Stories() {
		if name == "deleted" {
			continue // its runs are gone, its usage is not
		}
		log := projectiontest.New(t)
		log.AddAll(story.Facts)
		r, err := runner.New(t.Context(), runner.Config{Log: log, DB: memory(t), Models: []runner.Model{runs.Model{Log: log}, usage.Model{}}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := runs.NewViews(r, log, nil).Runs(t.Context(), story.TaskID)
		if err != nil {
			t.Fatal(err)
		}
		views := usage.NewViews(r, "memory")
		total, err := views.Summary(t.Context(), "", "", "")
		if err != nil {
			t.Fatal(err)
		}
		events, err := views.Events(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		var cost, calls, known int64
		allKnown := true
		for _, r := range found {
			cost, calls, allKnown = cost+r.CostMicroUSD, calls+r.ModelCallCount, allKnown && r.CostKnown
		}
		for _, e := range events {
			if e.Detail == "" {
				known++
			}
		}
		if diff := total.UsedMicroUSD - cost; diff < -int64(len(found)) || diff > int64(len(found)) || len(found) == 1 && diff != 0 {
			t.Errorf("%s: used %d, runs say %d", name, total.UsedMicroUSD, cost)
		}
		if allKnown != total.CostKnown {
			t.Errorf("%s: cost is known: %v, runs say %v", name, total.CostKnown, allKnown)
		}
		if name == "checked" && (calls != 4 || known != 4 || len(events) != 7 || total.UsedMicroUSD != 7) {
			t.Errorf("%d calls, %d of them in %d events, %d used", calls, known, len(events), total.UsedMicroUSD)
		}
	}
}
