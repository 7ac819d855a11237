package worker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/commands"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/assess"
	"hecate/runtime/model"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// checkMarker stands in requests about progress, and in no other.
const checkMarker = "untrusted data in JSON"

// repeating is a node whose model repeats itself and is watched.
type repeating struct{ *governed }

// newRepeating makes one whose model follows the turns, and whose checks get the replies in order.
func newRepeating(t *testing.T, checks, turns []scripted.Reply) *repeating {
	t.Helper()
	g := newGoverned(t, scripted.Script{Marker: checkMarker, Replies: checks}, scripted.Script{ByTurn: true, Replies: turns})
	g.executor.ModelCallsMax = 50
	g.write(g.source+"/notes", "the same as ever\n")
	return &repeating{g}
}

// reading reads the same file so often, then is done.
func reading(times int) (turns []scripted.Reply) {
	for i := range times {
		turns = append(turns, calls(scripted.ToolCall(fmt.Sprint("r", i+1), "read_file", map[string]string{"path": "notes"})))
	}
	return append(turns, text("done"))
}

// commanding runs the same command so often.
func commanding(times int) (turns []scripted.Reply) {
	for i := range times {
		turns = append(turns, calls(shellCall(fmt.Sprint("s", i+1), "true")))
	}
	return append(turns, text("done"))
}

// open opens a run that is watched.
func (x *repeating) open(d task.Definition, ahead run.Ahead) commands.RunResult {
	x.t.Helper()
	d.Prompt, d.Posture = event("go"), permission.PostureLevels
	return x.must(x.executor.StartRun(x.t.Context(), commands.Meta{}, x.create(d), ahead))
}

// assessing has the node's own model asked, with that patience.
func (x *repeating) assessing(patience time.Duration) func(*worker.Config) {
	return func(c *worker.Config) {
		x.obey(c)
		c.Assessor = assess.New(assess.Config{Router: x, Timeout: patience})
	}
}

// work starts a pool that stops with the test.
func (x *repeating) work() {
	x.t.Helper()
	x.t.Cleanup(x.run(x.executor, x.assessing(patience)))
}

// asks is what the model was asked: about progress, and otherwise.
func (x *repeating) asks() (checks, others []string) {
	for _, r := range x.model.Requests() {
		if r.Script == checkMarker {
			checks = append(checks, string(r.Body))
		} else {
			others = append(others, string(r.Body))
		}
	}
	return checks, others
}

// checked are the outcomes of the run's checks.
func (x *repeating) checked(id string) []run.ProgressCheckCompleted {
	return payloads[run.ProgressCheckCompleted](x.node, id)
}

// dispatched are the calls that were carried out.
func (x *repeating) dispatched(id string) (out []string) {
	for _, i := range payloads[run.DispatchIntended](x.node, id) {
		out = append(out, i.ToolCallID)
	}
	return out
}

// answer answers what the run asks.
func (x *repeating) answer(id string, a run.Resolution) {
	x.t.Helper()
	s := x.state(id)
	a.ApprovalID = s.Approval.ApprovalID
	x.must(x.executor.ResolveApproval(x.t.Context(), commands.Meta{}, s.TaskID, a))
}

// asked waits for a question about the call that the guard asks.
func (x *repeating) asked(id, call string, because ...string) {
	x.t.Helper()
	s := x.parked(id)
	if len(s.Approval.Calls) != 1 {
		x.t.Fatalf("asked is %+v", s.Approval.Calls)
	}
	c := s.Approval.Calls[0]
	if c.ToolCallID != call || c.Ruling.Rule != string(permission.GateRepetition) || !slices.Contains(c.Gates, permission.GateRepetition) || c.Offer != nil || strings.Join(c.Answers, " ") != "y n N" {
		x.t.Errorf("asked is %+v", c)
	}
	for _, want := range because {
		if !strings.Contains(c.Reason, want) {
			x.t.Errorf("it asks because %q, without %q", c.Reason, want)
		}
	}
	if slices.Contains(x.dispatched(id), call) {
		x.t.Errorf("%s ran before the answer", call)
	}
}

// progressing sees progress in a round.
func progressing(round int) scripted.Reply {
	return text(fmt.Sprintf(`{"assessment":"progress","observations":[{"round":%d,"text":"zebra crossing"}]}`, round))
}

var looping = text(`{"assessment":"loop","observations":[{"round":1,"text":"zebra crossing"}]}`)

// A model that sees progress lets the third read of an unchanged file pass, and is not
// part of the run's own conversation.
func TestProgressLetsARepeatedCallPass(t *testing.T) {
	t.Parallel()
	x := newRepeating(t, []scripted.Reply{costing(600, progressing(2))}, reading(3))
	r := x.open(task.Definition{}, run.Ahead{})
	x.work()
	if s := x.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, x.types(r.RunID))
	}
	checks, others := x.asks()
	if len(checks) != 1 || len(others) != 4 {
		t.Fatalf("%d checks, %d other calls", len(checks), len(others))
	}
	if strings.Contains(checks[0], `"tools"`) || !strings.Contains(checks[0], repetition.NotExecuted) || !strings.Contains(checks[0], "the same as ever") {
		t.Errorf("the check is %s", checks[0])
	}
	for _, body := range others {
		if strings.Contains(body, "zebra") || strings.Contains(body, "assessment") {
			t.Errorf("the check is told to the working model: %s", body)
		}
	}
	started, done := payloads[run.ProgressCheckStarted](x.node, r.RunID), x.checked(r.RunID)
	if len(started) != 1 || started[0].ToolCallID != "r3" || started[0].Trigger != repetition.Unchanged || started[0].Count != 2 || started[0].Model != scripted.ModelName {
		t.Errorf("started %+v", started)
	}
	if len(done) != 1 || done[0].Assessment != repetition.Progress || !slices.Equal(done[0].Observations, []string{"round 2: zebra crossing"}) ||
		!done[0].Asked || !done[0].CostKnown || done[0].CostPicoUSD != 600_000_000 || done[0].Route.Provider != "scripted" {
		t.Errorf("completed %+v", done)
	}
}

// Whatever else comes of the check brings a person in, whose yes lets the call pass and
// begins the turn anew.
func TestAnythingButProgressAsksAPerson(t *testing.T) {
	t.Parallel()
	for want, reply := range map[repetition.Assessment]scripted.Reply{
		repetition.Loop:        looping,
		repetition.Uncertain:   text(`{"assessment":"uncertain","observations":[]}`),
		repetition.TimedOut:    {Hang: true},
		repetition.Invalid:     text("Certainly! It makes progress."),
		repetition.Unavailable: {HTTP: 429},
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			x := newRepeating(t, []scripted.Reply{reply}, reading(4))
			r := x.open(task.Definition{}, run.Ahead{Yes: true, YesReally: true, AllowTools: []string{"view"}})
			x.own("[permissions]\napprove = [\"view(**)\"]\n")
			limit := patience
			if want == repetition.TimedOut {
				limit = time.Second // in which the request gets to the model
			}
			defer x.run(x.executor, x.assessing(limit))()
			x.asked(r.RunID, "r3", "2 attempts", string(want))
			if g := x.state(r.RunID).Approval.Calls[0].Gates; len(g) != 1 {
				t.Errorf("a read stands before %v", g)
			}
			x.answer(r.RunID, run.Resolution{Decision: "approve"})
			if s := x.end(r.RunID); s.Status != run.StatusCompleted {
				t.Errorf("the run is %s: %s", s.Status, x.types(r.RunID))
			}
			done := x.checked(r.RunID)
			if len(done) != 1 || done[0].Assessment != want || done[0].Asked == (want == repetition.Unavailable) || (done[0].Problem == "") != (want == repetition.Loop || want == repetition.Uncertain) {
				t.Errorf("completed %+v", done)
			}
			if got := strings.Join(x.dispatched(r.RunID), " "); got != "r1 r2 r3 r4" {
				t.Errorf("dispatched %s", got)
			}
		})
	}
}

// A no is an answer to the model, and the run goes on.
func TestARepeatedCallThatIsRefused(t *testing.T) {
	t.Parallel()
	x := newRepeating(t, []scripted.Reply{looping}, reading(3))
	r := x.open(task.Definition{}, run.Ahead{})
	x.work()
	x.asked(r.RunID, "r3")
	x.answer(r.RunID, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "r3", Decision: "deny", Note: "You know what it says."}}})
	if s := x.end(r.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the run is %s: %s", s.Status, x.types(r.RunID))
	}
	x.told(r.RunID, "r3", "blocked", "You know what it says.")
}

// Where nobody can answer, the call is refused, whatever was allowed ahead.
func TestARepeatedCallWithoutAPerson(t *testing.T) {
	t.Parallel()
	x := newRepeating(t, []scripted.Reply{looping}, reading(3))
	r := x.open(task.Definition{}, run.Ahead{OnAsk: permission.OnAskRefuse, YesReally: true})
	x.work()
	if s := x.end(r.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the run is %s: %s", s.Status, x.types(r.RunID))
	}
	x.told(r.RunID, "r3", "blocked")
	if got := strings.Join(x.dispatched(r.RunID), " "); got != "r1 r2" {
		t.Errorf("dispatched %s", got)
	}
}

// A process that ends while a check is under way, or just before it, leaves no answer.
// The next process does not ask again: a person looks.
func TestACheckThatVanishesAsksAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		atStart, dies bool // the process dies before the request; else while it waits, or is told to stop
	}{
		"dead before the request": {atStart: true},
		"dead before the answer":  {dies: true},
		"stopped":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newRepeating(t, []scripted.Reply{{Hang: true}, progressing(2)}, reading(3))
			r := x.open(task.Definition{}, run.Ahead{})
			d := newDying(x.store, after(1000))
			if c.atStart {
				d.last = appends[run.ProgressCheckStarted]()
			}
			stop, asks := x.run(x.on(d), x.assessing(patience)), 0
			if c.atStart {
				await(t, "the crash", d.dead)
			} else {
				asks = 1
				eventually(t, "the check", func() bool { checks, _ := x.asks(); return len(checks) == 1 })
			}
			if c.dies {
				d.die()
			}
			stop()
			if got := x.checked(r.RunID); len(got) != 0 || len(payloads[run.ProgressCheckStarted](x.node, r.RunID)) != 1 {
				t.Fatalf("the first process leaves %+v", got)
			}
			x.work()
			x.asked(r.RunID, "r3", "2 attempts", "unavailable")
			done := x.checked(r.RunID)
			if len(done) != 1 || done[0].Assessment != repetition.Unavailable || !done[0].Asked || done[0].CostKnown || done[0].Problem == "" {
				t.Errorf("completed %+v", done)
			}
			if checks, _ := x.asks(); len(checks) != asks {
				t.Errorf("%d checks", len(checks))
			}
		})
	}
}

// A check is paid for by the task, also one that is no use.
func TestACheckCostsWhatItCosts(t *testing.T) {
	t.Parallel()
	turns := reading(3)
	for i := range turns {
		turns[i] = costing(100, turns[i])
	}
	for name, c := range map[string]struct {
		check  scripted.Reply
		budget int64
		asks   bool
		failed bool
	}{
		"within the ceiling":          {costing(600, progressing(2)), 2000, false, false},
		"without a ceiling":           {costing(600, progressing(2)), 0, false, false},
		"the ceiling is reached":      {costing(700, progressing(2)), 1000, false, true},
		"reached by an invalid check": {costing(700, text("?")), 1000, false, true},
		"an invalid check":            {costing(600, text("?")), 2000, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newRepeating(t, []scripted.Reply{c.check}, turns)
			r := x.open(task.Definition{BudgetMicroUSD: c.budget}, run.Ahead{})
			x.work()
			if c.asks {
				x.asked(r.RunID, "r3", "invalid")
				x.answer(r.RunID, run.Resolution{Decision: "approve"})
			}
			s := x.end(r.RunID)
			spent := int64(400 + 600)
			if c.failed {
				spent = 300 + 700
			}
			if s.SpentPicoUSD != spent*1_000_000 || !s.CostKnown {
				t.Errorf("spent %d", s.SpentPicoUSD)
			}
			if !c.failed {
				all := payloads[run.ModelCallCompleted](x.node, r.RunID)
				if s.Status != run.StatusCompleted || len(all) != 4 || all[2].RunCumulativeMicroUSD != 300 || all[3].RunCumulativeMicroUSD != 1000 || all[3].TaskCumulativeMicro != 1000 {
					t.Errorf("the run is %s: %+v", s.Status, all)
				}
				return
			}
			why := payloads[run.Failed](x.node, r.RunID)
			if len(why) != 1 || why[0].Reason != run.ReasonCeiling || slices.Contains(x.dispatched(r.RunID), "r3") {
				t.Errorf("the run is %s: %+v", s.Status, why)
			}
		})
	}
}

// fixed prices every call the same.
type fixed int64

func (f fixed) Cost(model.Route, model.Usage) (int64, bool)      { return int64(f), true }
func (f fixed) Estimate(model.Route, int64, int64) (int64, bool) { return int64(f), true }

// Where calls are reserved for, a check that gets no answer counts for the most that it
// may have cost: the ceiling holds.
func TestACheckWithoutAnAnswerKeepsItsReservation(t *testing.T) {
	t.Parallel()
	turns := reading(3)
	for i := range turns {
		turns[i] = costing(100, turns[i])
	}
	x := newRepeating(t, []scripted.Reply{{Hang: true}}, turns)
	r := x.open(task.Definition{BudgetMicroUSD: 1000}, run.Ahead{})
	defer x.run(x.executor, x.assessing(time.Second), func(c *worker.Config) {
		c.Reserve, c.OutputMax, c.Prices = true, 1000, fixed(400_000_000)
	})()
	x.asked(r.RunID, "r3", "timeout")
	x.answer(r.RunID, run.Resolution{Decision: "approve"})
	s := x.end(r.RunID)
	why := payloads[run.Failed](x.node, r.RunID)
	if s.Status != run.StatusFailed || len(why) != 1 || why[0].Reason != run.ReasonCeiling || s.HeldPicoUSD != 400_000_000 || s.SpentPicoUSD != 300_000_000 {
		t.Errorf("the run is %s, spent %d, holds %d: %+v", s.Status, s.SpentPicoUSD, s.HeldPicoUSD, why)
	}
}

// Twelve commands without anything new bring a person in, whatever checks said before;
// about the next one no model is asked. No flag and no grant stands in for the person.
func TestSustainedRepetitionAsksAPersonWithoutACheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits string
		checks string // calls that were checked
	}{
		"after checks":    {"", "s4 s7 s10"},
		"without a check": {"[repetition]\ncommands = 32\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newRepeating(t, []scripted.Reply{progressing(3), progressing(6), progressing(9)}, commanding(14))
			x.own(c.limits + "[permissions]\napprove = [\"shell(true)\"]\n")
			r := x.open(task.Definition{}, run.Ahead{Yes: true, YesReally: true, AllowTools: []string{"shell(true)"}})
			x.work()
			x.asked(r.RunID, "s13", "12 attempts")
			var checked []string
			for _, p := range x.checked(r.RunID) {
				checked = append(checked, p.ToolCallID)
			}
			if got := strings.Join(checked, " "); got != c.checks {
				t.Errorf("checked are %s", got)
			}
			before, _ := x.asks()
			x.answer(r.RunID, run.Resolution{Decision: "approve"})
			if s := x.end(r.RunID); s.Status != run.StatusCompleted {
				t.Errorf("the run is %s: %s", s.Status, x.types(r.RunID))
			}
			if checks, _ := x.asks(); len(checks) != len(before) || len(x.dispatched(r.RunID)) != 14 {
				t.Errorf("%d checks, dispatched %v", len(checks), x.dispatched(r.RunID))
			}
		})
	}
}

// A deny entry is not asked about again and again, and no check speaks for what it refuses.
func TestADenyEntryStandsBeforeTheGuard(t *testing.T) {
	t.Parallel()
	x := newRepeating(t, []scripted.Reply{progressing(2)}, commanding(5))
	x.own("[permissions]\ndeny = [\"shell(true)\"]\n")
	r := x.open(task.Definition{}, run.Ahead{})
	x.work()
	if s := x.end(r.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the run is %s: %s", s.Status, x.types(r.RunID))
	}
	x.told(r.RunID, "s5", "blocked", "shell(true)")
	if checks, _ := x.asks(); len(checks) != 0 {
		t.Errorf("%d checks", len(checks))
	}
}

// Progress opens the guard's gate and no other one.
func TestProgressApprovesNothing(t *testing.T) {
	t.Parallel()
	x := newRepeating(t, []scripted.Reply{progressing(2)}, commanding(4))
	r := x.open(task.Definition{}, run.Ahead{})
	x.work()
	for i := range 4 {
		s := x.parked(r.RunID)
		if c := s.Approval.Calls[0]; c.ToolCallID != fmt.Sprint("s", i+1) || !slices.Equal(c.Gates, []permission.Gate{permission.GateLevel}) || c.Offer == nil {
			t.Fatalf("asked is %+v", c)
		}
		x.answer(r.RunID, run.Resolution{Decision: "approve"})
		x.until(r.RunID, func(now *run.State) bool {
			return now.Status.Terminal() || now.Approval != nil && now.Approval.ApprovalID != s.Approval.ApprovalID
		})
	}
	if done := x.checked(r.RunID); len(done) != 1 || done[0].ToolCallID != "s4" || x.end(r.RunID).Status != run.StatusCompleted {
		t.Errorf("completed %+v: %s", done, x.types(r.RunID))
	}
}

// A run that goes by the server's policies is not watched.
func TestTheGuardBelongsToTheLevels(t *testing.T) {
	t.Parallel()
	x := newRepeating(t, nil, reading(20))
	r := x.start(task.Definition{Prompt: event("go")})
	x.work()
	if s := x.end(r.RunID); s.Status != run.StatusCompleted || len(payloads[run.ProgressCheckStarted](x.node, r.RunID)) != 0 {
		t.Errorf("the run is %s: %s", s.Status, x.types(r.RunID))
	}
}
