//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The response that reaches the ceiling is kept and counts for nothing: no answer,
// no question, no tool.
func TestCostCeiling(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]reply{
		"calls":  {Text: "I shall.", Calls: asks(shell("c1", "touch pwned")).Calls},
		"answer": {Text: "I am done."},
	} {
		for _, s := range []*server{open(t), gated(t)} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				run, c := s.agentRun(t, []reply{costing(r, 1000)}, in(dir), args{"budget_micros_usd": 1000})
				failed := run.becomes(t, "failed")
				want{"total_cost_micros_usd": 1000, "otel_status_message": "cost_ceiling_exceeded", "model_call_count": 1}.check(t, "run", failed)
				contains(t, "reason", failed.str("last_error"), "agent loop hit per-task cost ceiling: spent")
				equal(t, "requests", c.count(), 1)
				equal(t, "approvals", len(run.approvals(t)), 0)
				equal(t, "said", fmt.Sprint(run.said(t)), "["+r.Text+"]")
				if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
					t.Error("the tool ran")
				}
				if strings.Contains(run.history(t), "assistant.final_answer") || run.artifact(t, "summary") != nil {
					t.Errorf("a final answer: %s", run.history(t))
				}
				equal(t, "steps", shape(run.steps(t), "kind", "tool_name", "status"), "model/builtin.agent_loop_llm/completed model/builtin.agent_loop/failed")
				want{
					"cost_micros_usd": 1000, "run_cumulative_cost_micros_usd": 1000, "task_cumulative_cost_micros_usd": 1000,
				}.check(t, "account", first(t, run.events(t), "model.call.completed"))
				want{"output_summary/cost_micros_usd": 1000}.check(t, "model step", run.step(t, 0))
			})
		}
	}
}

// Below the ceiling everything goes on.
func TestCostBelowTheCeiling(t *testing.T) {
	t.Parallel()
	r, _ := open(t).agentRun(t, []reply{costing(says("done"), 999)}, args{"budget_micros_usd": 1000})
	want{"total_cost_micros_usd": 999}.check(t, "run", r.becomes(t, "completed"))
}

// A cost that nobody reported is unknown, and the run, its step and its event say so.
func TestUnknownCostIsNotZero(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, r := range map[string]reply{
		"usage without a price": {Text: "done", Usage: &[2]int64{100, 10}},
		"no usage":              {Text: "done"},
	} {
		run, _ := s.agentRun(t, []reply{r}, args{"budget_micros_usd": 1000})
		done := run.becomes(t, "completed")
		for where, d := range map[string]doc{
			"run": done, "step": run.step(t, 0).obj("output_summary"), "event": first(t, run.events(t), "model.call.completed"),
		} {
			want{"cost_known": false}.check(t, name+": "+where, d)
		}
	}
	run, _ := s.agentRun(t, []reply{costing(says("done"), 5)})
	if known := run.becomes(t, "completed").at("cost_known"); known == false {
		t.Error("a reported cost is not known")
	}
}

// The total goes on over an approval, and over a crash while it waits.
func TestCostGoesOnAfterAnApproval(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"approve": false, "restart, then approve": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gated(t)
			if restart {
				s = serve(t, "HECATE_TASK_APPROVAL_POLICIES=UNSET")
			}
			r, _ := s.agentRun(t, []reply{costing(asks(shell("c1", "true")), 900), costing(says("done"), 900)}, args{"budget_micros_usd": 2000})
			approval := r.parked(t).str("id")
			want{"total_cost_micros_usd": 900}.check(t, "parked run", r.now(t))
			if restart {
				s.crash(t)
			}
			r.resolve(t, approval, "approve").ok(t)
			want{"total_cost_micros_usd": 1800, "prior_cost_micros_usd": absent}.check(t, "run", r.becomes(t, "completed"))
			equal(t, "accounts", shape(objects(ofType(r.events(t), "model.call.completed")), "model_call_index", "run_cumulative_cost_micros_usd"), "1/900 2/1800")
		})
	}
}
