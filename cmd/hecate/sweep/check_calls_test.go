//go:build linux

package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
)

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
	cut := end.cancelledModelCalls()
	for _, h := range x.atDeath {
		maps.Copy(cut, h.openModelCalls())
	}
	if gone := len(end.of("model.call.abandoned")); gone != len(cut) && !x.leaseWasLost() {
		x.t.Errorf("%d model calls are given up, %d were under way at a death or a cancel", gone, len(cut))
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

// checkBill asserts that every answer in the log is paid for, and that the calls that
// a death or a cancel cut off are said to have an unknown cost. The answer to one that a cancel
// cut off may still arrive.
func (x *experiment) checkBill(end *history, bill doc) {
	x.t.Helper()
	answered, abandoned := len(end.of("model.call.completed")), len(end.of("model.call.abandoned"))
	open, unknown := len(end.of("model.call.started"))-answered, int(bill.num("unknown_cost_calls"))
	if bill.num("used_micros_usd") != int64(answered)*answerMicroUSD || unknown != abandoned || open > abandoned {
		x.t.Errorf("%d calls were answered, %d given up and %d left open, and the bill is %v", answered, abandoned, open-abandoned, bill)
	}
}
