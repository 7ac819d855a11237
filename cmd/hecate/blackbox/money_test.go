//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"testing"
)

// prices makes the scripted model cost a micro-USD for each token in and ten for each one out.
const prices = `HECATE_MODEL_PRICES={"fake/scripted-model":{"input":"1","output":"10"}}`

// Running totals of usage are not added up, and one price gives one cost everywhere.
func TestPricesOfRunningTotals(t *testing.T) {
	t.Parallel()
	s := serve(t, prices)
	stream, err := os.ReadFile("../../../runtime/model/testdata/streams/fc-ps-11.sse")
	if err != nil {
		t.Fatal(err)
	}
	r, _ := s.agentRun(t, []reply{{Stream: stream}}, args{"budget_micros_usd": 100_000})
	want{"total_cost_micros_usd": 1030, "cost_known": true}.check(t, "run", r.becomes(t, "completed"))
	want{"cost_micros_usd": 1030, "run_cumulative_cost_micros_usd": 1030}.check(t, "step", r.step(t, 0).obj("output_summary"))
	want{"cost_micros_usd": 1030, "task_cumulative_cost_micros_usd": 1030}.check(t, "event", first(t, r.events(t), "model.call.completed"))
	summary := want{"key": "global", "scope": "global", "used_micros_usd": 1030, "used_usd": "0.001030", "cost_known": true, "unknown_cost_calls": 0}
	summary.check(t, "usage", s.get(t, api+"/usage/summary"))
	want{
		"type": "usage", "provider": "fake", "model": modelName, "task_id": r.task, "run_id": r.id, "amount_micros_usd": 1030, "amount_usd": "0.001030",
		"cost_known": true, "prompt_tokens": 1000, "completion_tokens": 3, "total_tokens": 1003, "timestamp": present,
	}.check(t, "usage event", part(t, s.list(t, api+"/usage/events"), 0, 1)[0])
	s.crash(t)
	summary.check(t, "usage after a crash", s.get(t, api+"/usage/summary"))
}

// The account holds what was spent, whatever became of the task, and says what it
// does not know.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := serve(t, append(provider("other", "m"), "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=20")...)
	r, _ := s.agentRun(t, []reply{costing(asks(call("c1", "list_dir", args{"path": "."})), 70), costing(says("done"), 30)})
	r.becomes(t, "completed")
	other, _ := s.agentRun(t, []reply{costing(says("done"), 5)}, args{"requested_provider": "other", "requested_model": "m"})
	other.becomes(t, "completed")
	unknown, _ := s.agentRun(t, []reply{{Text: "done", Usage: &[2]int64{100, 10}}})
	unknown.becomes(t, "completed")
	equal(t, "delete", s.ask(t, "DELETE", r.taskPath(), nil).status, 204)
	want{"used_micros_usd": 105, "used_usd": "0.000105", "cost_known": false, "unknown_cost_calls": 1, "provider": absent}.check(t, "all", s.get(t, api+"/usage/summary"))
	want{"used_micros_usd": 5, "scope": "provider", "provider": "other", "key": "global:provider:other", "cost_known": true}.check(t, "one", s.get(t, api+"/usage/summary?scope=provider&provider=other"))
	want{"used_micros_usd": 100, "scope": "custom", "unknown_cost_calls": 1}.check(t, "by key", s.get(t, api+"/usage/summary?key=global:provider:fake"))
	want{"used_micros_usd": 0, "cost_known": true}.check(t, "nobody's", s.get(t, api+"/usage/summary?scope=provider&provider=nobody"))
	want{"used_micros_usd": 105, "scope": "global"}.check(t, "a scope that there is not", s.get(t, api+"/usage/summary?scope=galaxy"))
	equal(t, "newest first", shape(s.list(t, api+"/usage/events"), "amount_micros_usd", "cost_known"), "0/false 5/true 30/true 70/true")
	equal(t, "two", len(s.list(t, api+"/usage/events?limit=2")), 2)
	equal(t, "none", len(s.list(t, api+"/usage/events?limit=0")), 0)
	for _, limit := range []string{"-1", "x"} {
		s.ask(t, "GET", api+"/usage/events?limit="+limit, nil).refused(t, 400, "invalid_request")
	}
}

// Going on again and again does not get round the ceiling; raising it does.
func TestCeilingOfAChain(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := s.model.script()
	c.each = func(n int) reply {
		if n == 3 {
			return costing(says("done"), 600)
		}
		return costing(asks(call(fmt.Sprint("c", n), "list_dir", args{"path": "."})), 600)
	}
	r := s.begin(t, agent(c, args{"budget_micros_usd": 1000}))
	want{"total_cost_micros_usd": 1200, "model_call_count": 2}.check(t, "run", r.becomes(t, "failed"))
	for range 5 {
		r = r.again(t, "resume", args{})
		failed := r.becomes(t, "failed")
		want{"prior_cost_micros_usd": 1200, "total_cost_micros_usd": absent, "model_call_count": 0, "otel_status_message": "cost_ceiling_exceeded"}.check(t, "resumed", failed)
		contains(t, "reason", failed.str("last_error"), "per-task cost ceiling")
	}
	r.again(t, "continue", args{"prompt": "go on"}).becomes(t, "failed")
	equal(t, "requests", c.count(), 2)
	r = r.again(t, "resume", args{"budget_micros_usd": 3000})
	want{"prior_cost_micros_usd": 1200, "total_cost_micros_usd": 1200, "model_call_count": 2}.check(t, "with more money", r.becomes(t, "completed"))
	accounts := objects(ofType(r.events(t), "model.call.completed"))
	equal(t, "accounts", shape(accounts, "run_cumulative_cost_micros_usd", "task_cumulative_cost_micros_usd"), "600/1800 1200/2400")
	// A retry starts a new account.
	fresh := r.again(t, "retry", nil)
	want{"prior_cost_micros_usd": absent}.check(t, "retry", fresh.ends(t))
}

// An operator who sets a ceiling is told when nothing can be held to it.
func TestUnenforceableCeiling(t *testing.T) {
	t.Parallel()
	s := open(t)
	r, _ := s.agentRun(t, []reply{asks(call("c1", "list_dir", args{"path": "."})), says("done")}, args{"budget_micros_usd": 1000})
	want{"cost_known": false}.check(t, "run", r.becomes(t, "completed"))
	want{"code": "cost_ceiling_unenforceable", "message": present}.check(t, "warning", only(t, r, "run.warning"))
	free, _ := s.agentRun(t, []reply{says("done")})
	free.becomes(t, "completed")
	equal(t, "warnings without a ceiling", len(ofType(free.events(t), "run.warning")), 0)
}

// With reservation a call is made only if the most that it can cost is left.
func TestReservation(t *testing.T) {
	t.Parallel()
	s := serve(t, prices, "HECATE_TASK_COST_RESERVATION=true", "HECATE_TASK_MAX_OUTPUT_TOKENS=100")
	poor, c := s.agentRun(t, []reply{says("never")}, args{"budget_micros_usd": 1100})
	failed := poor.becomes(t, "failed")
	want{"otel_status_message": "cost_ceiling_exceeded", "model_call_count": 0, "total_cost_micros_usd": absent}.check(t, "run", failed)
	contains(t, "reason", failed.str("last_error"), "may cost up to", "per-task cost ceiling")
	equal(t, "requests", c.count(), 0)

	rich, c := s.agentRun(t, []reply{{Text: "done", Usage: &[2]int64{200, 10}}}, args{"budget_micros_usd": 100_000})
	want{"total_cost_micros_usd": 300}.check(t, "run", rich.becomes(t, "completed"))
	request := c.request(t, 0)
	if request.num("max_tokens") != 100 && request.num("max_completion_tokens") != 100 {
		t.Errorf("the request does not say how long the answer may be: %s", request.raw)
	}
	free, _ := s.agentRun(t, []reply{{Text: "done", Usage: &[2]int64{200, 10}}})
	free.becomes(t, "completed")

	unpriced, c := s.agentRun(t, []reply{says("never")}, args{"budget_micros_usd": 100_000, "requested_model": "another"})
	failed = unpriced.becomes(t, "failed")
	contains(t, "reason", failed.str("last_error"), "HECATE_MODEL_PRICES", "another")
	equal(t, "requests", c.count(), 0)
}

// A reserved call whose answer never came counts as spent, over any number of runs.
func TestReservationOfALostCall(t *testing.T) {
	t.Parallel()
	s := serve(t, prices, "HECATE_TASK_COST_RESERVATION=true", "HECATE_TASK_MAX_OUTPUT_TOKENS=100")
	probe, c := s.agentRun(t, []reply{{Hang: true}, says("never")}, args{"budget_micros_usd": 100_000})
	c.awaitRequests(t, 1)
	probe.cancel(t)
	held := first(t, probe.events(t), "model.call.started").num("reserved_pico_usd") / 1_000_000
	if held < 1000 {
		t.Fatalf("%d micro-USD were reserved for a call that can cost 1000", held)
	}
	r, c := s.agentRun(t, []reply{{Hang: true}, says("never")}, args{"budget_micros_usd": held + held/2})
	c.awaitRequests(t, 1)
	s.crash(t)
	failed := r.becomes(t, "failed") // the same call again would be too much
	contains(t, "reason", failed.str("last_error"), "ceiling", "not known")
	equal(t, "requests", c.count(), 1)
	again := r.again(t, "resume", args{})
	again.becomes(t, "failed")
	equal(t, "requests", c.count(), 1)
}

func TestBrokenPrices(t *testing.T) {
	t.Parallel()
	refuses(t, []string{`HECATE_MODEL_PRICES={"fake":{"input":"1"}}`}, "HECATE_MODEL_PRICES", "fake")
}
