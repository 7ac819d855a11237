package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/event"
	"hecate/domain/run"
)

// chain is several runs of one task, each of which may go on from an earlier one.
type chain struct {
	t    *rapid.T
	runs []*history
}

// hydrate is the conversation that a run's model is sent.
func (c *chain) hydrate(h *history) []run.Message {
	var out []run.Message
	for _, seg := range h.s.Inherited {
		i := slices.IndexFunc(c.runs, func(r *history) bool { return r.s.ID == seg.RunID })
		for _, v := range seg.Versions {
			out = append(out, run.MessagesOf(c.runs[i].events[v-1].Payload)...)
		}
	}
	return append(out, h.s.Conversation...)
}

// play takes the last run further; before each model call the conversation must be
// one that a provider takes.
func (c *chain) play() {
	h := c.runs[len(c.runs)-1]
	crashes, patience := rapid.IntRange(0, 2).Draw(c.t, "crashes"), rapid.IntRange(0, 40).Draw(c.t, "patience")
	for range patience {
		if _, asks := run.Next(&h.s, h.rules).(run.CallModel); asks {
			c.checkTalk(c.hydrate(h))
		}
		if !h.step() {
			return
		}
		if crashes > 0 && rapid.IntRange(0, 5).Draw(c.t, "crash") == 0 {
			crashes--
			crash(h)
		}
	}
	h.add(run.Cancel(&h.s, "enough")...)
	if n := len(h.events); n > 2 && rapid.Bool().Draw(c.t, "late") {
		if i := open(h); i != nil {
			h.add(run.DispatchSettled{ModelCallIndex: i.ModelCallIndex, ToolCallID: i.ToolCallID, StepID: i.StepID, Outcome: run.OutcomeCancelled})
		}
	}
}

// open returns an intent of the run without a settlement.
func open(h *history) *run.DispatchIntended {
	if h.s.Batch == nil {
		return nil
	}
	for id, i := range h.s.Batch.Intents {
		if _, settled := h.s.Batch.Settled[id]; !settled && i.StepID != "" {
			return &i
		}
	}
	return nil
}

// follow begins a run that goes on from a random earlier one; false if that cannot be.
func (c *chain) follow() bool {
	source := &c.runs[rapid.IntRange(0, len(c.runs)-1).Draw(c.t, "source")].s
	var inherited *run.ConversationInherited
	var err error
	kind := rapid.SampledFrom([]run.SourceKind{run.SourceResume, run.SourceContinue, run.SourceBranch}).Draw(c.t, "kind")
	switch kind {
	case run.SourceResume:
		if source.Status != run.StatusCompleted {
			inherited = source.Resume()
		}
	case run.SourceContinue:
		inherited, err = source.Continue("and now?")
	default:
		inherited, err = source.Branch(rapid.Int64Range(1, max(1, source.CallsDone)).Draw(c.t, "index"))
	}
	if inherited == nil || err != nil {
		return false
	}
	h := &history{t: c.t, s: run.New(fmt.Sprintf("run_%d", len(c.runs)+1)), rules: c.runs[0].rules, dispatched: c.runs[0].dispatched, calls: c.runs[len(c.runs)-1].calls}
	h.add(run.Created{
		TaskID: "task_1", Number: int64(len(c.runs) + 1), Status: run.StatusQueued, ModelCallsMax: 4, Spec: run.Spec{ExecutionKind: run.KindAgentLoop},
		Source: &run.Source{Kind: kind, RunID: source.ID}, PriorPicoUSD: source.PriorPicoUSD + source.SpentPicoUSD,
	}, *inherited, run.Queued{})
	c.runs = append(c.runs, h)
	return true
}

// checkTalk demands what every provider demands: each call is answered, once, in
// order, before anybody else speaks, and the model is not the one who spoke last.
func (c *chain) checkTalk(talk []run.Message) {
	for i := 0; i < len(talk); i++ {
		m := talk[i]
		if m.Role == run.RoleTool {
			c.t.Fatalf("message %d answers a call that nobody made: %v", i, roles(talk))
		}
		if m.Role != run.RoleAssistant {
			continue
		}
		if m.Blank() {
			c.t.Fatalf("message %d says nothing: %v", i, roles(talk))
		}
		for _, call := range m.ToolCalls {
			if i++; i >= len(talk) || talk[i].ToolCallID != call.ID {
				c.t.Fatalf("call %s is not answered in its place: %v", call.ID, roles(talk))
			}
		}
	}
	if n := len(talk); n == 0 || talk[n-1].Role == run.RoleAssistant {
		c.t.Fatalf("the model spoke last: %v", roles(talk))
	}
}

func roles(talk []run.Message) (out []string) {
	for _, m := range talk {
		s := string(m.Role)
		for _, call := range m.ToolCalls {
			s += " calls " + call.ID
		}
		out = append(out, s+" "+m.ToolCallID)
	}
	return out
}

// Whatever way runs follow each other, crash and are cancelled: no call is
// dispatched twice in the whole chain, unless a model call was made again or the
// conversation went on beside it, and every conversation can be sent to a provider.
func TestAChainOfRunsNeverRepeatsACall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chain{t: t, runs: []*history{begin(t)}}
		c.play()
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			if c.follow() {
				c.play()
			}
		}
		source := map[string]int{}
		for _, h := range c.runs {
			for _, e := range h.events {
				if i, ok := e.Payload.(run.ConversationInherited); ok && i.Pending != nil {
					for _, call := range i.Pending.Calls {
						source[call.ID]++
					}
				}
			}
		}
		for id, n := range c.runs[0].dispatched {
			if n > 1+max(0, source[id]) {
				t.Fatalf("call %s was dispatched %d times, inherited %d times", id, n, source[id])
			}
		}
	})
}

// A line of resumes, each from the run before, dispatches no call twice at all.
func TestResumingAgainAndAgainRepeatsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chain{t: t, runs: []*history{begin(t)}}
		c.play()
		for range rapid.IntRange(1, 5).Draw(t, "runs") {
			last := c.runs[len(c.runs)-1]
			inherited := last.s.Resume()
			if last.s.Status == run.StatusCompleted || inherited == nil {
				break
			}
			h := &history{t: t, s: run.New(fmt.Sprintf("run_%d", len(c.runs)+1)), rules: last.rules, dispatched: last.dispatched, calls: last.calls}
			h.add(run.Created{
				TaskID: "task_1", Number: int64(len(c.runs) + 1), Status: run.StatusQueued, ModelCallsMax: 4, Spec: run.Spec{ExecutionKind: run.KindAgentLoop},
				Source: &run.Source{Kind: run.SourceResume, RunID: last.s.ID},
			}, *inherited, run.Queued{})
			c.runs = append(c.runs, h)
			c.play()
		}
		for id, n := range c.runs[0].dispatched {
			if n > 1 {
				t.Fatalf("call %s was dispatched %d times", id, n)
			}
		}
	})
}

// An approval of one run is worth nothing in another, also for the same calls.
func TestAuthorityIsNotInherited(t *testing.T) {
	source := run.New("run_1")
	add := func(s *run.State, payloads ...event.Payload) {
		for _, p := range payloads {
			s.Apply(event.Event{Version: s.Version + 1, Payload: p})
		}
	}
	ask := rules("shell_exec")
	loop := run.Spec{ExecutionKind: run.KindAgentLoop}
	add(&source, run.Created{Spec: loop, ModelCallsMax: 8}, run.Queued{}, run.Started{}, run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("go")}}}, run.ModelCallStarted{ModelCallIndex: 1})
	add(&source, source.Respond(run.Answered{Message: run.Message{Role: run.RoleAssistant, ToolCalls: []run.ToolCall{{ID: "c1", Name: "shell_exec"}, {ID: "c2", Name: "shell_exec"}}}})...)
	add(&source, source.RequestApproval(run.Next(&source, ask).(run.Ask), run.Question{})...)
	yes, err := run.Resolve(&source, run.Resolution{ApprovalID: source.Approval.ApprovalID, Decision: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	add(&source, yes...)
	add(&source, run.Started{}, run.DispatchIntended{ToolCallID: "c1", StepID: "s"}) // the worker vanishes
	add(&source, run.Cancel(&source, "")...)

	next := run.New("run_2")
	add(&next, run.Created{Spec: loop, ModelCallsMax: 8, Source: &run.Source{Kind: run.SourceResume, RunID: "run_1"}}, *source.Resume(), run.Queued{})
	begin, ok := run.Next(&next, ask).(run.Begin)
	if !ok || begin.Resume.RunID != "run_1" || begin.Resume.ToolCalls != 0 {
		t.Fatalf("first: %+v", begin.Resume)
	}
	add(&next, run.Started{Resume: begin.Resume})
	unknown, ok := run.Next(&next, ask).(run.SettleUnknown)
	if !ok || unknown.Intent.ToolCallID != "c1" || unknown.Intent.SourceRunID != "run_1" || unknown.Intent.SourceIndex != 1 {
		t.Fatalf("then: %+v", unknown)
	}
	add(&next, run.DispatchSettled{ToolCallID: "c1", ToolName: "shell_exec", StepID: "s2", Outcome: run.OutcomeUnknown})
	asked, ok := run.Next(&next, ask).(run.Ask)
	if !ok || len(asked.Calls) != 1 || asked.Calls[0].ID != "c2" {
		t.Fatalf("then: %T", run.Next(&next, ask))
	}
	p := next.RequestApproval(asked, run.Question{})[0].(run.ApprovalRequested)
	if p.SourceRunID != "run_1" || p.SourceIndex != 1 || p.ModelCallIndex != 0 || next.CallsDone != 0 {
		t.Errorf("the approval names %+v", p)
	}

	// What an operator finds out reaches the model before its next call.
	if _, err := run.StateOutcome(&next, "s2", true, ""); err == nil {
		t.Error("settled while the run goes on")
	}
	add(&next, run.Cancel(&next, "")...)
	said, err := run.StateOutcome(&next, "s2", true, " it is there ")
	if err != nil {
		t.Fatal(err)
	}
	add(&next, said...)
	if _, err := run.StateOutcome(&next, "s2", false, ""); err == nil {
		t.Error("settled twice")
	}
	if notes := next.Resume().Notes; len(notes) != 1 || !strings.Contains(notes[0].Content.String(), "took effect. The operator's note: it is there") {
		t.Errorf("notes %+v", notes)
	}
}

// The ceiling counts what the chain spent and what it may have spent.
func TestReserve(t *testing.T) {
	s := run.State{BudgetMicroUSD: 1000, PriorPicoUSD: 400_000_000, SpentPicoUSD: 100_000_000, HeldPicoUSD: 100_000_000}
	if f := s.Reserve(400_000_000); f != nil {
		t.Errorf("exactly what is left: %v", f)
	}
	if f := s.Reserve(400_000_001); f == nil || f.Reason != run.ReasonCeiling {
		t.Errorf("more than is left: %v", f)
	}
	s.BudgetMicroUSD = 0
	if f := s.Reserve(1 << 62); f != nil {
		t.Errorf("without a ceiling: %v", f)
	}
}

// A model call that a cancel cuts off may be charged: its cost is not known, and what
// was reserved for it counts.
func TestCancellingAModelCall(t *testing.T) {
	s := run.New("run_1")
	add := func(payloads ...event.Payload) {
		for _, p := range payloads {
			s.Apply(event.Event{Version: s.Version + 1, Payload: p})
		}
	}
	add(run.Created{Spec: run.Spec{ExecutionKind: run.KindAgentLoop}, ModelCallsMax: 8}, run.Queued{}, run.Started{}, run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser}}})
	add(run.ModelCallStarted{ModelCallIndex: 1, ReservedPicoUSD: 7})
	add(run.Cancel(&s, "enough")...)
	if s.Status != run.StatusCancelled || s.CostKnown || s.Charged() != 7 {
		t.Errorf("%s, cost known %v, charged %d", s.Status, s.CostKnown, s.Charged())
	}
}

// A check whose cost nobody learns counts for what was reserved for it, in its run and in
// those that follow; one with a bill counts for that.
func TestWhatACheckMayHaveCost(t *testing.T) {
	started := run.ProgressCheckStarted{ToolCallID: "r", ReservedPicoUSD: 9}
	for name, c := range map[string]struct {
		ends    func(*run.State) []event.Payload
		charged int64
	}{
		"a bill": {func(*run.State) []event.Payload {
			return completed(run.ProgressCheckCompleted{Asked: true, CostPicoUSD: 2, CostKnown: true})
		}, 2},
		"no request":     {func(*run.State) []event.Payload { return completed(run.ProgressCheckCompleted{}) }, 0},
		"a timeout":      {func(*run.State) []event.Payload { return completed(run.ProgressCheckCompleted{Asked: true}) }, 9},
		"a lost worker":  {func(s *run.State) []event.Payload { return completed(s.AbandonedCheck(started, "gone")) }, 9},
		"a cancel":       {func(s *run.State) []event.Payload { return run.Cancel(s, "enough") }, 9},
		"no end, so far": {func(*run.State) []event.Payload { return nil }, 0},
	} {
		s, _ := reads(t, 2)
		apply(s, started)
		apply(s, c.ends(s)...)
		if s.Charged() != c.charged {
			t.Errorf("%s: charged %d", name, s.Charged())
		}
		if next := s.Charged() + s.Open(); next != max(c.charged, map[string]int64{"no end, so far": 9}[name]) {
			t.Errorf("%s: a run that follows begins at %d", name, next)
		}
	}
}

func completed(p run.ProgressCheckCompleted) []event.Payload {
	p.ToolCallID = "r"
	return []event.Payload{p}
}
