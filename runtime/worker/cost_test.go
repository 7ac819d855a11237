package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/commands"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// costing is a reply that the provider names the price of, in micro-USD.
func costing(micro int64, r scripted.Reply) scripted.Reply {
	r.Cost, r.Usage = &micro, &[2]int64{100, 10}
	return r
}

// The answer with which a run reaches its ceiling is kept and paid for, and nothing of
// it is carried out.
func TestNothingIsDoneAtTheCeiling(t *testing.T) {
	for name, c := range map[string]struct {
		reply    scripted.Reply
		policies []permission.Policy
	}{
		"a call":                     {calls(scripted.ToolCall("c1", "shell_exec", map[string]string{"command": "touch pwned"})), nil},
		"a call that needs a person": {calls(scripted.ToolCall("c1", "shell_exec", map[string]string{"command": "touch pwned"})), permission.Default},
		"an answer":                  {text("done"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, replies(costing(1000, c.reply)))
			n.executor.Policies = c.policies
			r := n.start(task.Definition{Prompt: event("go"), BudgetMicroUSD: 1000})
			defer n.run(n.executor)()
			s := n.end(r.RunID)
			why := payloads[run.Failed](n, r.RunID)
			if s.Status != run.StatusFailed || why[0].Reason != run.ReasonCeiling || !strings.Contains(why[0].Message, "per-task cost ceiling") {
				t.Errorf("the run is %s: %+v", s.Status, why)
			}
			if s.SpentPicoUSD != 1000_000_000 || s.CallsDone != 1 || s.Conversation[len(s.Conversation)-1].Role != run.RoleAssistant {
				t.Errorf("spent %d, %d calls", s.SpentPicoUSD, s.CallsDone)
			}
			if got := n.types(r.RunID); strings.Contains(got, "approval") || strings.Contains(got, "dispatch") || strings.Contains(got, "final_answer") {
				t.Errorf("events %s", got)
			}
			if _, err := os.Stat(filepath.Join(n.source, "pwned")); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

// Resuming does not lead round the ceiling: without more money nothing is asked and
// nothing done. With it the calls that were left open are made, and the bill goes on.
func TestResumingDoesNotLeadRoundTheCeiling(t *testing.T) {
	n := newNode(t, scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply {
		if k == 3 {
			return costing(600, text("done"))
		}
		return costing(600, calls(call(fmt.Sprint("k", k), "count")))
	}})
	e := newEffects(n)
	r := n.start(task.Definition{Prompt: event("go"), BudgetMicroUSD: 1000})
	defer n.run(n.executor)()
	if s := n.end(r.RunID); s.Status != run.StatusFailed || n.model.Count() != 2 || s.SpentPicoUSD != 1200_000_000 || e.of("k0") != 1 || e.of("k1") != 0 {
		t.Fatalf("the first run is %s, has spent %d in %d calls", s.Status, s.SpentPicoUSD, n.model.Count())
	}
	for range 5 {
		r = n.resume(r)
		s := n.end(r.RunID)
		if why := payloads[run.Failed](n, r.RunID); s.Status != run.StatusFailed || why[0].Reason != run.ReasonCeiling || s.PriorPicoUSD != 1200_000_000 || s.SpentPicoUSD != 0 || s.CallsStarted != 0 {
			t.Fatalf("a resumed run is %s: %+v, prior %d", s.Status, why, s.PriorPicoUSD)
		}
	}
	if n.model.Count() != 2 || e.of("k1") != 0 {
		t.Fatalf("%d requests, k1 ran %d times", n.model.Count(), e.of("k1"))
	}
	last := n.must(n.executor.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: r.State.TaskID, RunID: r.RunID, BudgetMicro: 3000}))
	s := n.end(last.RunID)
	if s.Status != run.StatusCompleted || s.PriorPicoUSD != 1200_000_000 || s.SpentPicoUSD != 1200_000_000 || e.of("k1") != 1 || e.of("k2") != 1 {
		t.Fatalf("the last run is %s, has spent %d after %d: %s", s.Status, s.SpentPicoUSD, s.PriorPicoUSD, n.types(last.RunID))
	}
	if got := n.asked()[2]; got != "user:go k0< k0> k1< k1>" {
		t.Errorf("it asks %s", got)
	}
	done := payloads[run.ModelCallCompleted](n, last.RunID)
	for i, want := range []int64{600, 1200} {
		if d := done[i]; d.CostMicroUSD != 600 || d.RunCumulativeMicroUSD != want || d.TaskCumulativeMicro != 1200+want {
			t.Errorf("account %d: %+v", i, d)
		}
	}
}

// The sum goes on over the pause for an approval, also in another process.
func TestTheBillGoesOnAfterAnApproval(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		n := newNode(t, replies(costing(900, calls(scripted.ToolCall("c1", "shell_exec", map[string]string{"command": "true"}))), costing(900, text("done"))))
		n.executor.Policies = permission.Default
		r := n.start(task.Definition{Prompt: event("go"), BudgetMicroUSD: 2000})
		stop := n.run(n.executor)
		n.parked(r.RunID)
		if restarts {
			stop()
			stop = n.run(n.executor)
		}
		n.approve(r.RunID)
		s := n.end(r.RunID)
		stop()
		done := payloads[run.ModelCallCompleted](n, r.RunID)
		if s.Status != run.StatusCompleted || s.SpentPicoUSD != 1800_000_000 || len(done) != 2 || done[0].RunCumulativeMicroUSD != 900 || done[1].RunCumulativeMicroUSD != 1800 {
			t.Errorf("the run is %s, has spent %d: %+v", s.Status, s.SpentPicoUSD, done)
		}
	}
}

// Where nobody knows what calls cost, the operator hears once that the ceiling cannot
// be held; the run goes on and its other limits hold.
func TestACeilingThatCannotBeHeldIsSaidOnce(t *testing.T) {
	p := newProviders(t, scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply { return calls(call(fmt.Sprint("k", k), "count")) }})
	newEffects(p.node)
	p.executor.ModelCallsMax = 4
	id, s := p.execute(task.Definition{BudgetMicroUSD: 1000})
	w := payloads[run.Warned](p.node, id)
	if len(w) != 1 || w[0].Code != run.WarnCeilingUnenforceable || s.CallsDone != 4 || s.CostKnown || s.Status != run.StatusFailed {
		t.Errorf("the run is %s after %d calls: %+v", s.Status, s.CallsDone, w)
	}
	for _, d := range payloads[run.ModelCallCompleted](p.node, id) {
		if d.CostKnown {
			t.Errorf("account %+v", d)
		}
	}
	id, s = p.execute(task.Definition{})
	if w := payloads[run.Warned](p.node, id); len(w) != 0 || s.CostKnown {
		t.Errorf("without a ceiling: %+v", w)
	}
}

// reserving makes calls only if the most that they can cost is left.
func reserving(c *worker.Config) { c.Reserve, c.OutputMax = true, 1000 }

// expensive makes an answer of 1000 tokens cost a million micro-USD; a request costs nothing.
var expensive = map[string]string{"input": "0", "output": "1000"}

// With a reservation no request leaves that could cost more than is left.
func TestACallThatCouldCostTooMuchIsNotMade(t *testing.T) {
	const most = 1_000_000 // micro-USD for one answer
	for budget, wantRequests := range map[int64]int{most - 1: 0, most: 1, 2 * most: 2} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			p := newProviders(t, scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply {
				r := calls(call(fmt.Sprint("k", k), "count"))
				r.Usage = &[2]int64{0, 1000}
				return r
			}})
			newEffects(p.node)
			p.priced(map[string]map[string]string{"a/*": expensive})
			id, s := p.execute(task.Definition{BudgetMicroUSD: budget}, reserving)
			why := payloads[run.Failed](p.node, id)
			if s.Status != run.StatusFailed || why[0].Reason != run.ReasonCeiling || p.servers[0].Count() != wantRequests || int64(wantRequests)*most*1_000_000 != s.SpentPicoUSD {
				t.Errorf("the run is %s after %d requests: %+v", s.Status, p.servers[0].Count(), why)
			}
			for _, c := range payloads[run.ModelCallStarted](p.node, id) {
				if c.ReservedPicoUSD != most*1_000_000 {
					t.Errorf("reserved %d", c.ReservedPicoUSD)
				}
			}
		})
	}
}

// What was reserved for a call that vanished counts as spent, in this run and in those
// that follow it.
func TestAVanishedCallKeepsItsReservation(t *testing.T) {
	const most = 1_000_000
	p := newProviders(t, replies(scripted.Reply{Hang: true}, text("never"), text("never")))
	p.priced(map[string]map[string]string{"a/*": expensive})
	r := p.start(task.Definition{Prompt: event("go"), BudgetMicroUSD: 2*most - 1})
	d := newDying(p.store, appends[run.ModelCallStarted]())
	stop := p.run(p.on(d), p.settings, reserving)
	await(t, "the crash", d.dead)
	stop()
	before := p.servers[0].Count()
	defer p.run(p.executor, p.settings, reserving)()
	s := p.end(r.RunID)
	why := payloads[run.Failed](p.node, r.RunID)
	if s.Status != run.StatusFailed || why[0].Reason != run.ReasonCeiling || s.HeldPicoUSD != most*1_000_000 || p.servers[0].Count() != before {
		t.Errorf("the run is %s, holds %d: %+v", s.Status, s.HeldPicoUSD, why)
	}
	second := p.resume(r)
	if s := p.end(second.RunID); s.Status != run.StatusFailed || s.HeldPicoUSD != most*1_000_000 || p.servers[0].Count() != before {
		t.Errorf("the next run is %s, holds %d", s.Status, s.HeldPicoUSD)
	}
	if w := payloads[run.Warned](p.node, r.RunID); len(w) != 0 {
		t.Errorf("warned of a ceiling that is held: %+v", w)
	}
}

// An answer whose cost nobody can tell counts as much as was reserved for it.
func TestAnAnswerOfUnknownCostKeepsItsReservation(t *testing.T) {
	const most = 1_000_000
	p := newProviders(t, scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply {
		return calls(call(fmt.Sprint("k", k), "count")) // without usage
	}})
	newEffects(p.node)
	p.priced(map[string]map[string]string{"a/*": expensive})
	id, s := p.execute(task.Definition{BudgetMicroUSD: 2 * most}, reserving)
	why := payloads[run.Failed](p.node, id)
	if s.Status != run.StatusFailed || why[0].Reason != run.ReasonCeiling || p.servers[0].Count() != 2 || s.HeldPicoUSD != 2*most*1_000_000 || s.SpentPicoUSD != 0 {
		t.Errorf("the run is %s after %d requests, holds %d: %+v", s.Status, p.servers[0].Count(), s.HeldPicoUSD, why)
	}
	if w := payloads[run.Warned](p.node, id); len(w) != 0 {
		t.Errorf("warned of a ceiling that is held: %+v", w)
	}
}

// A price that nobody knows cannot be reserved: with a ceiling the call is refused.
func TestAnUnknownPriceCannotBeReserved(t *testing.T) {
	p := newProviders(t, replies(text("done")))
	id, s := p.execute(task.Definition{BudgetMicroUSD: 1000}, reserving)
	why := payloads[run.Failed](p.node, id)
	if s.Status != run.StatusFailed || why[0].Reason != "cost_unknown" || !strings.Contains(why[0].Message, "HECATE_MODEL_PRICES") || p.servers[0].Count() != 0 {
		t.Errorf("the run is %s after %d requests: %+v", s.Status, p.servers[0].Count(), why)
	}
	if _, s = p.execute(task.Definition{}, reserving); s.Status != run.StatusCompleted {
		t.Errorf("without a ceiling the run is %s", s.Status)
	}
}

// A call that fails at a cheap provider does not go to one where it could cost more
// than is left, or nobody knows how much.
func TestAReservationHoldsWhereverTheCallGoes(t *testing.T) {
	const most = 1_000_000
	down := scripted.Reply{HTTP: 500}
	for name, c := range map[string]struct {
		second    map[string]string // price at b
		budget    int64
		elsewhere int // requests at b
	}{
		"too dear":         {expensive, most - 1, 0},
		"not known":        {nil, most, 0},
		"within the limit": {expensive, most, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProviders(t, replies(down, down), replies(scripted.Reply{Text: "done", Usage: &[2]int64{0, 1}}))
			prices := map[string]map[string]string{"a/*": {"input": "0", "output": "1"}}
			if c.second != nil {
				prices["b/*"] = c.second
			}
			p.priced(prices)
			id, s := p.execute(task.Definition{BudgetMicroUSD: c.budget}, reserving)
			if p.servers[1].Count() != c.elsewhere || (s.Status == run.StatusCompleted) != (c.elsewhere > 0) {
				t.Errorf("the run is %s after %d requests elsewhere: %s", s.Status, p.servers[1].Count(), p.types(id))
			}
		})
	}
	t.Run("what is held is the most of all", func(t *testing.T) {
		p := newProviders(t, replies(down, down), replies(scripted.Reply{Text: "half", CloseAfterText: true}))
		p.priced(map[string]map[string]string{"a/*": {"input": "0", "output": "1"}, "b/*": expensive})
		if _, s := p.execute(task.Definition{BudgetMicroUSD: most}, reserving); s.HeldPicoUSD != most*1_000_000 {
			t.Errorf("held %d", s.HeldPicoUSD)
		}
	})
}
