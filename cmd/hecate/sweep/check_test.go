//go:build linux

package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
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
	x.end()
	end, err := x.store.read(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	x.checkOrder(end)
	x.checkNothingLost(end)
	x.checkCalls(s, end, calls)
	x.checkModel(s, end)
	x.checkEnd(s, end)
	switch {
	case x.waited:
		x.checkWaited()
		return waited
	case len(unknown(end)) > 0:
		return unknownReported
	}
	return completed
}

// checkWaited asserts that the node which could not reach the workspace did nothing.
func (x *experiment) checkWaited() {
	x.t.Helper()
	all, err := readTrace(x.last().traces[0])
	if err != nil {
		x.t.Fatal(err)
	}
	for _, r := range all {
		if strings.HasPrefix(r.point, "tool.") || strings.HasPrefix(r.point, "model.") {
			x.t.Errorf("the node that cannot reach the workspace got to %s", r.point)
		}
	}
}

// Outcomes of an experiment.
const (
	completed       = "completed"
	unknownReported = "unknown reported"
	waited          = "waited for its node"
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

// unknown are the calls that were settled as unknown.
func unknown(h *history) map[string]bool {
	found := map[string]bool{}
	for _, f := range h.of("tool.dispatch.settled") {
		if f.Outcome == "unknown" {
			found[f.ToolCall] = true
		}
	}
	return found
}

// states are the states of all calls of the story's runs, as the API tells them: of a
// call in several runs, the last.
func (x *experiment) states(ctx context.Context) map[string]string {
	x.t.Helper()
	states := map[string]string{}
	for _, run := range x.driver.runs {
		calls, err := x.driver.list(ctx, x.driver.pathOf(run)+"/tool-calls")
		if err != nil {
			x.t.Fatal(err)
		}
		steps, err := x.driver.list(ctx, x.driver.pathOf(run)+"/steps")
		if err != nil {
			x.t.Fatal(err)
		}
		for _, c := range calls {
			states[c.str("tool_call_id")] = c.str("state")
			if c.str("outcome") != "unknown" || c.str("step_run_id") != "" {
				continue
			}
			i := slices.IndexFunc(steps, func(s doc) bool { return s.str("id") == c.str("step_id") })
			if i < 0 || steps[i].str("error_kind") != "tool_dispatch_outcome_unknown" {
				x.t.Errorf("no step says that the outcome of %s is unknown: %v", c.str("tool_call_id"), steps)
			}
		}
	}
	return states
}

// checkCalls asserts that each call was made once at most, that just those are
// unknown which were under way when a process died, and that the API says so.
func (x *experiment) checkCalls(s scenario, end *history, states map[string]string) {
	x.t.Helper()
	atRisk := map[string]bool{}
	for _, h := range x.atDeath {
		maps.Copy(atRisk, h.openCalls())
	}
	doubtful := unknown(end)
	if !maps.Equal(atRisk, doubtful) && !x.leaseWasLost() {
		x.t.Errorf("under way at a death: %v; unknown: %v", atRisk, doubtful)
	}
	intended, settled, made := map[string]int{}, map[string]int{}, x.made()
	var order []string
	outcomes := map[string]string{}
	for _, f := range end.of("tool.dispatch.intended") {
		intended[f.ToolCall]++
	}
	for _, f := range end.of("tool.dispatch.settled") {
		settled[f.ToolCall]++
		order = append(order, f.ToolCall)
		outcomes[f.ToolCall] = f.Outcome
	}
	if len(settled) != len(s.calls) || s.calls[0] != "shell" && !slices.Equal(order, s.calls) {
		x.t.Errorf("settled are %v, want %v", order, s.calls)
	}
	for call := range settled {
		if intended[call] != 1 || settled[call] != 1 || made[call] > 1 {
			x.t.Errorf("%s was intended %d times, made %d times, settled %d times", call, intended[call], made[call], settled[call])
		}
		want := "finished"
		if doubtful[call] {
			want = "unknown"
		}
		if states[call] != want {
			x.t.Errorf("the API shows %s as %s, want %s", call, states[call], want)
		}
		x.checkEffect(s, call, outcomes[call])
	}
}

// checkEffect asserts that a call had the effect that its outcome says.
func (x *experiment) checkEffect(s scenario, call, outcome string) {
	x.t.Helper()
	if s.calls[0] == "shell" {
		call = "shell"
	}
	raw, err := os.ReadFile(x.driver.effect(call))
	if err != nil && !os.IsNotExist(err) {
		x.t.Fatal(err)
	}
	n := bytes.Count(raw, []byte("\n"))
	shell := call != "a3" && call != "a4" // those that leave a line
	if n > 1 || shell && outcome == "completed" && n != 1 {
		x.t.Errorf("%s is %s and happened %d times", call, outcome, n)
	}
}

// made counts how often each call was handed to its tool, by all processes.
func (x *experiment) made() map[string]int {
	x.t.Helper()
	made := map[string]int{}
	for _, r := range x.trace() {
		if strings.HasPrefix(r.point, "tool.before ") {
			_, call, _ := strings.Cut(r.about, " ")
			made[call]++
		}
	}
	return made
}

// trace is everything that the processes have reached.
func (x *experiment) trace() (all []reached) {
	x.t.Helper()
	for _, n := range x.nodes {
		for _, path := range n.traces {
			reached, err := readTrace(path)
			if err != nil {
				x.t.Fatal(err)
			}
			all = append(all, reached...)
		}
	}
	return all
}

// leaseWasLost reports whether a process lost its lease without dying: on a machine
// that is too busy to renew one in time. Then more may be unknown.
func (x *experiment) leaseWasLost() bool {
	return slices.ContainsFunc(x.trace(), func(r reached) bool { return r.point == "register.before #2" })
}

// checkModel asserts that the model was never asked before the log knew, that it was
// told of each call once and in order, and of the unknown ones as such.
func (x *experiment) checkModel(s scenario, end *history) {
	x.t.Helper()
	requests := x.model.Requests()
	if started := len(end.of("model.call.started")); len(requests) > started {
		x.t.Errorf("%d requests of %d recorded model calls", len(requests), started)
	}
	cut := map[string]bool{}
	for _, h := range x.atDeath {
		maps.Copy(cut, h.openModelCalls())
	}
	if gone := len(end.of("model.call.abandoned")); gone != len(cut) && !x.leaseWasLost() {
		x.t.Errorf("%d model calls are given up, %d were under way at a death", gone, len(cut))
	}
	if s.reply == nil {
		return
	}
	var last struct {
		Messages []struct {
			Role    string
			Content string
			Call    string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(requests[len(requests)-1].Body, &last); err != nil {
		x.t.Fatal(err)
	}
	var told []string
	for _, m := range last.Messages {
		if m.Role != "tool" {
			continue
		}
		told = append(told, m.Call)
		if doubt := strings.Contains(m.Content, "outcome unknown"); doubt != unknown(end)[m.Call] {
			x.t.Errorf("the model is told of %s: %s", m.Call, m.Content)
		}
	}
	if !slices.Equal(told, s.calls) {
		x.t.Errorf("the model is told of %v, want %v", told, s.calls)
	}
}

// checkEnd asserts that each run has one end, and the one that the design gives it.
func (x *experiment) checkEnd(s scenario, end *history) {
	x.t.Helper()
	want := map[string]string{}
	for _, run := range x.driver.runs {
		want[run] = "run.cancelled"
	}
	want[x.driver.runs[len(x.driver.runs)-1]] = "run.finished"
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
