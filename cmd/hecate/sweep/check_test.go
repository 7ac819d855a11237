//go:build linux

package sweep_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// check asserts everything that is promised of a story that has been told. It ends
// the server. The outcome is what the table shows.
func (x *experiment) check(s scenario) string {
	x.t.Helper()
	ctx, stop := context.WithTimeout(x.t.Context(), experimentMax)
	defer stop()
	x.checkReadModels(ctx)
	calls := x.states(ctx)
	bill, err := x.driver.object(ctx, api+"/usage/summary")
	if err != nil {
		x.t.Fatal(err)
	}
	x.end()
	end, err := x.store.read(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	x.checkOrder(end)
	x.checkNothingLost(end)
	x.checkCalls(s, end, calls)
	x.checkModel(s, end)
	x.checkBill(end, bill)
	x.checkEnd(s, end)
	outcome := completed
	if len(unknown(end)) > 0 {
		outcome = unknownReported
	}
	if x.checkWaited() {
		outcome += waited
	}
	return outcome
}

// checkWaited asserts that a run waited for its node if its workspace was there, and
// that the other one did nothing for it. It reports whether that was so.
func (x *experiment) checkWaited() bool {
	x.t.Helper()
	if !x.mode.back || len(x.atDeath) == 0 {
		return false
	}
	left := x.atDeath[0]
	begun, ended := len(left.of("run.claimed")) > 0, len(left.of("run.finished", "run.failed", "run.cancelled"))
	if want := begun && ended < len(x.driver.runs); want != x.waited {
		x.t.Errorf("there was a workspace and something to do in it: %v; a run waited: %v", want, x.waited)
	}
	if !x.waited {
		return false
	}
	all, err := readTrace(x.last().traces[0])
	if err != nil {
		x.t.Fatal(err)
	}
	for _, r := range all {
		if strings.HasPrefix(r.point, "tool.") || strings.HasPrefix(r.point, "model.") {
			x.t.Errorf("the node that cannot reach the workspace got to %s", r.point)
		}
	}
	return true
}

// Outcomes of an experiment.
const (
	completed       = "completed"
	unknownReported = "unknown"
	failed          = "FAILED"
	waited          = ", waited" // after one of the others: for the node with its workspace
)

// checkOrder asserts that positions and versions have no gaps and ids no doubles.
func (x *experiment) checkOrder(h *history) {
	x.t.Helper()
	versions, ids := map[string]int64{}, map[[16]byte]bool{}
	for i, r := range h.records {
		versions[r.Stream]++
		if r.Position != int64(i)+1 || r.Version != versions[r.Stream] || ids[r.ID] {
			x.t.Errorf("record %d of %s at version %d comes as number %d", r.Position, r.Stream, r.Version, i+1)
		}
		ids[r.ID] = true
	}
}

// checkNothingLost asserts that what each process left in the log, and what was
// acknowledged to the caller, is still there, unchanged.
func (x *experiment) checkNothingLost(end *history) {
	x.t.Helper()
	for i, h := range x.atDeath {
		for j, r := range h.records {
			if j >= len(end.records) || !reflect.DeepEqual(end.records[j], r) {
				x.t.Errorf("record %d is lost, or was changed, after death %d", r.Position, i+1)
			}
		}
	}
	d := x.driver
	opened := map[string]int{}
	for _, f := range end.of("run.created") {
		opened[f.run]++
	}
	if len(opened) != len(d.runs) {
		x.t.Errorf("%d runs were opened, %d acknowledged", len(opened), len(d.runs))
	}
	for _, run := range d.runs {
		if opened[run] != 1 {
			x.t.Errorf("the acknowledged run %s was opened %d times", run, opened[run])
		}
	}
	if d.approval == "" {
		return
	}
	asked, answered := end.of("approval.requested"), end.of("approval.resolved")
	if len(asked) != 1 || len(answered) != 1 || answered[0].Decision != "approved" {
		x.t.Errorf("%d times asked, answers: %v", len(asked), answered)
	}
}

// checkEnd asserts that each run has one end, and the one that the design gives it.
func (x *experiment) checkEnd(s scenario, end *history) {
	x.t.Helper()
	want := map[string]string{}
	for i, run := range x.driver.runs {
		want[run] = "run.finished"
		if i < s.cancelled {
			want[run] = "run.cancelled"
		}
	}
	if s.reply == nil && len(unknown(end)) > 0 { // nobody could be told, so it is the operator's choice
		want[x.driver.runs[0]] = "run.failed"
	}
	got := map[string]string{}
	for _, f := range end.of("run.finished", "run.failed", "run.cancelled") {
		if got[f.run] != "" {
			x.t.Errorf("run %s ended twice: %s and %s", f.run, got[f.run], f.kind)
		}
		got[f.run] = f.kind
		if f.kind == "run.failed" && f.Reason != "tool_dispatch_outcome_unknown" {
			x.t.Errorf("run %s failed: %s", f.run, f.Reason)
		}
	}
	if !maps.Equal(got, want) {
		x.t.Errorf("the runs ended as %v, want %v", got, want)
	}
}

// checkReadModels asserts that read models that are made anew answer byte for byte as
// those that went through the deaths.
func (x *experiment) checkReadModels(ctx context.Context) {
	x.t.Helper()
	err := x.driver.untilIn(ctx, "nothing lags", func() (bool, error) {
		models, err := x.driver.list(ctx, api+"/system/projections")
		return !slices.ContainsFunc(models, func(m doc) bool { return m.num("lag") > 0 }), err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	before := x.answers(ctx)
	if _, err := x.driver.send(ctx, http.MethodPost, api+"/system/projections/rebuild", "", args{}); err != nil {
		x.t.Fatal(err)
	}
	for path, now := range x.answers(ctx) {
		if now != before[path] {
			x.t.Errorf("%s was\n%s\nand is, rebuilt,\n%s", path, before[path], now)
		}
	}
}

// answers are what the API says about the story.
func (x *experiment) answers(ctx context.Context) map[string]string {
	x.t.Helper()
	task := api + "/tasks/" + x.driver.task
	paths := []string{api + "/tasks", task, task + "/runs", task + "/approvals", task + "/artifacts", api + "/usage/summary", api + "/usage/events"}
	for _, run := range x.driver.runs {
		for _, part := range []string{"", "/steps", "/artifacts", "/tool-calls", "/patches", "/events"} {
			paths = append(paths, fmt.Sprint(x.driver.pathOf(run), part))
		}
	}
	out := map[string]string{}
	for _, path := range paths {
		raw, err := x.driver.send(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			x.t.Fatal(err)
		}
		out[path] = string(raw)
	}
	return out
}
