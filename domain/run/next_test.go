package run_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
)

// history builds a run's events the way a runtime does: it asks Next, lets a
// random world answer and appends what came of it.
type history struct {
	t      *rapid.T
	rules  run.Rules
	s      run.State
	events []event.Event
	// dispatched counts how often each call was handed to the world.
	dispatched map[string]int
	calls      int
}

func rules(policies ...permission.Policy) run.Rules {
	return run.Rules{
		Posture: permission.Posture{Policies: policies},
		Facts:   func(c run.ToolCall) permission.Call { return permission.Call{Tool: c.Name} },
	}
}

func begin(t *rapid.T) *history {
	h := &history{t: t, s: run.New("run_1"), dispatched: map[string]int{}}
	h.rules = rules(rapid.SampledFrom([][]permission.Policy{nil, {permission.PolicyShell}, {permission.PolicyAll}}).Draw(t, "policies")...)
	h.rules.Posture.ReadOnly = rapid.Bool().Draw(t, "read_only")
	created := run.Created{
		TaskID: "task_1", Number: 1, Status: run.StatusQueued, ModelCallsMax: 4, BudgetMicroUSD: rapid.SampledFrom([]int64{0, 25}).Draw(t, "budget"),
		Spec: run.Spec{ExecutionKind: run.KindAgentLoop, Posture: rapid.SampledFrom([]string{"", permission.PostureLevels}).Draw(t, "posture")},
	}
	if rapid.IntRange(0, 5).Draw(t, "unattended") == 0 {
		created.Ahead.OnAsk = permission.OnAskRefuse
	}
	if rapid.Bool().Draw(t, "guarded") {
		limits := repetition.Default
		limits.Reads, limits.Commands, limits.Hard = 1, 1, 2
		h.rules.Limits = &limits
		h.rules.Repeat = func(c run.ToolCall) run.Repeat {
			return run.Repeat{Kind: repetition.KindOf(c.Name, false), Call: c.Name, Result: "same"}
		}
	}
	h.add(created, run.Queued{})
	return h
}

// now are the rules as they hold for the run at this moment.
func (h *history) now() run.Rules {
	r := h.rules
	r.Posture = h.s.Posture(r.Posture)
	return r
}

// changePolicy is what an operator does while a run goes on.
func (h *history) changePolicy() {
	if rapid.IntRange(0, 9).Draw(h.t, "policy_changes") > 0 {
		return
	}
	h.rules.Posture.Policies = rapid.SampledFrom([][]permission.Policy{nil, {permission.PolicyShell}, {permission.PolicyAll}}).Draw(h.t, "policies")
	deny := rapid.SampledFrom([][]permission.Text{nil, {{Text: "edit"}}, {{Text: "shell"}}}).Draw(h.t, "deny")
	h.rules.Posture.Config, _ = permission.Load(permission.Source{Layer: permission.LayerUser, Accepted: true, Deny: deny})
}

// decide answers the question that waits, in one of the ways that there are.
func (h *history) decide() {
	asked := *h.s.Approval
	r := run.Resolution{ApprovalID: asked.ApprovalID, Decision: rapid.SampledFrom([]string{"approve", "approve", "reject"}).Draw(h.t, "decision"), Digest: asked.Digest}
	r.Continue = rapid.IntRange(0, 2).Draw(h.t, "go_on") > 0
	if r.Decision == "approve" || r.Continue {
		for _, c := range asked.Calls {
			choice := run.CallChoice{ToolCallID: c.ToolCallID, Decision: "approve"}
			switch rapid.IntRange(0, 5).Draw(h.t, "call") {
			case 0:
				choice.Decision, choice.Note = "deny", "no"
			case 1:
				if c.Offer == nil || len(c.Answers) < 4 {
					continue
				}
				choice.Scope = run.ScopeSession
			default:
				continue
			}
			r.Calls = append(r.Calls, choice)
		}
	}
	p, err := run.Resolve(&h.s, r)
	if err != nil {
		h.t.Fatalf("resolve %+v: %v", r, err)
	}
	h.add(p...)
}

func (h *history) add(payloads ...event.Payload) {
	for _, p := range payloads {
		e := event.Event{Version: int64(len(h.events)) + 1, Payload: p}
		h.events = append(h.events, e)
		h.s.Apply(e)
	}
}

// step does what is next; false when nothing is.
func (h *history) step() bool {
	h.changePolicy()
	switch e := run.Next(&h.s, h.now()).(type) {
	case run.Done:
		return false
	case run.Park:
		h.decide()
	case run.Begin:
		h.add(run.Started{Resume: e.Resume, WorkspacePath: "/ws"})
		if !h.s.Seeded {
			h.add(run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("go")}}})
		}
	case run.Abandon:
		h.add(run.ModelCallAbandoned{ModelCallIndex: e.Call.Index, StepID: e.Call.StepID})
	case run.Tell:
		h.add(run.ConversationSeeded(e))
	case run.Warn:
		h.add(run.Warned(e))
	case run.CallModel:
		h.add(run.ModelCallStarted{ModelCallIndex: e.Index, StepID: h.s.NextStepID()})
		h.answer()
	case run.Ask:
		h.add(h.s.RequestApproval(e, run.Question{})...)
	case run.Refuse:
		h.add(run.DispatchSettled{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, Outcome: run.OutcomeRefused, ToolError: true})
	case run.Block:
		h.add(run.DispatchSettled{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, Outcome: run.OutcomeBlocked, ToolError: true, Repeat: h.repeat(e.Call)})
	case run.Decline:
		h.add(run.DispatchSettled{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, Outcome: run.OutcomeBlocked, ToolError: true, Repeat: h.repeat(e.Call)})
	case run.Check:
		h.add(run.ProgressCheckStarted{ToolCallID: e.Call.ID, ToolName: e.Call.Name})
		h.add(run.ProgressCheckCompleted{
			ToolCallID: e.Call.ID, Assessment: rapid.SampledFrom([]repetition.Assessment{repetition.Progress, repetition.Loop, repetition.TimedOut}).Draw(h.t, "assessment"),
			Asked: true, CostKnown: true, CostPicoUSD: 1_000_000,
		})
	case run.AbandonCheck:
		h.add(run.ProgressCheckCompleted{ToolCallID: e.Check.ToolCallID, Assessment: repetition.Unavailable, Asked: true})
	case run.Dispatch:
		h.add(run.DispatchIntended{
			ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, StepID: h.s.NextStepID(), Ruling: run.RulingOf(e.Verdict), ApprovalID: e.ApprovalID,
		})
		h.dispatched[e.Call.ID]++
		h.add(run.DispatchSettled{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, Outcome: run.OutcomeCompleted, Repeat: h.repeat(e.Call)})
	case run.SettleUnknown:
		h.add(run.DispatchSettled{ModelCallIndex: e.Intent.ModelCallIndex, ToolCallID: e.Intent.ToolCallID, Outcome: run.OutcomeUnknown, ToolError: true})
	case run.Answer:
		h.add(h.s.Conclude(e.Batch)...)
	case run.Fail:
		h.add(h.s.Failing(e)...)
	default:
		h.t.Fatalf("no idea how to do %T", e)
	}
	return true
}

func (h *history) repeat(c run.ToolCall) *run.Repeat {
	if h.rules.Repeat == nil {
		return nil
	}
	r := h.rules.Repeat(c)
	return &r
}

// answer lets the model say something, or fail.
func (h *history) answer() {
	if rapid.IntRange(0, 9).Draw(h.t, "model_fails") == 0 {
		h.add(run.ModelCallFailed{ModelCallIndex: h.s.InFlight.Index, Kind: "overloaded", Message: "busy"})
		return
	}
	m := run.Message{Role: run.RoleAssistant, Content: event.NewText(rapid.SampledFrom([]string{"", " ", "done"}).Draw(h.t, "text"))}
	for range rapid.IntRange(0, 3).Draw(h.t, "calls") {
		h.calls++
		m.ToolCalls = append(m.ToolCalls, run.ToolCall{
			ID: fmt.Sprintf("c%d", h.calls), Name: rapid.SampledFrom([]string{"read_file", "shell_exec", "file_edit", "nonsense"}).Draw(h.t, "tool"),
		})
	}
	if len(m.ToolCalls) > 1 && rapid.IntRange(0, 7).Draw(h.t, "twins") == 0 {
		m.ToolCalls[1].ID = m.ToolCalls[0].ID
	}
	reason := rapid.SampledFrom([]string{"stop", "tool_calls", "length"}).Draw(h.t, "finish")
	h.add(h.s.Respond(run.Answered{Message: m, FinishReason: reason, CostPicoUSD: 10_000_000, CostKnown: true})...)
}

// expected reads the table of the design off the raw events, without the fold.
func expected(events []event.Event) []string {
	var parked, ended, queued bool
	open, checking, settled, intents := false, false, map[string]bool{}, map[string]bool{}
	var last *run.ModelResponseRecorded
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.Queued:
			queued, parked = true, false
		case run.Started:
			queued = false
		case run.AwaitingApproval:
			parked = true
		case run.ModelCallStarted:
			open = true
		case run.ModelCallFailed, run.ModelCallAbandoned:
			open = false
		case run.ProgressCheckStarted:
			checking = true
		case run.ProgressCheckCompleted:
			checking = false
		case run.ModelResponseRecorded:
			open, last = false, &p
			settled, intents = map[string]bool{}, map[string]bool{}
		case run.DispatchIntended:
			intents[p.ToolCallID] = true
		case run.DispatchSettled:
			settled[p.ToolCallID] = true
		case run.Finished, run.Failed, run.Cancelled:
			ended = true
		}
	}
	switch {
	case ended:
		return []string{"Done"}
	case parked:
		return []string{"Park"}
	case queued:
		return []string{"Begin"}
	case open:
		return []string{"Abandon"}
	case checking:
		return []string{"AbandonCheck"}
	}
	if _, failed := events[len(events)-1].Payload.(run.ModelCallFailed); failed {
		return []string{"Fail"}
	}
	if last == nil {
		return []string{"CallModel"}
	}
	for id := range intents {
		if !settled[id] {
			return []string{"SettleUnknown", "Fail"} // Fail: the ceiling was reached, which is checked first
		}
	}
	if len(last.Message.ToolCalls) == 0 {
		return []string{"Answer", "Fail"}
	}
	for _, c := range last.Message.ToolCalls {
		if !settled[c.ID] {
			return []string{"Ask", "Dispatch", "Block", "Refuse", "Decline", "Check", "Fail"}
		}
	}
	return []string{"CallModel", "Fail"}
}

func TestNextFollowsTheTableAtEveryPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := begin(t)
		for range 60 {
			if !h.step() {
				break
			}
		}
		for n := 2; n <= len(h.events); n++ {
			s := run.Fold("run_1", h.events[:n])
			rules := h.rules
			rules.Posture = s.Posture(rules.Posture)
			got := strings.TrimPrefix(fmt.Sprintf("%T", run.Next(&s, rules)), "run.")
			want := expected(h.events[:n])
			if got == "Warn" && !s.CostKnown && s.BudgetMicroUSD > 0 {
				continue
			}
			if !contains(want, got) {
				t.Fatalf("after %d events (last %s): Next is %s, the table says %v", n, h.events[n-1].Payload.EventType(), got, want)
			}
		}
	})
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// A crash may cut the log after any event. Whatever the cut, going on from the
// fold never hands a call to the world a second time, and leaves every call of
// every answer with exactly one result, in call order.
func TestNoCallRunsTwiceWhereverTheLogIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := begin(t)
		crashes := rapid.IntRange(0, 4).Draw(t, "crashes")
		for range 80 {
			if !h.step() {
				break
			}
			if crashes > 0 && rapid.IntRange(0, 3).Draw(t, "crash") == 0 {
				crashes--
				crash(h)
			}
		}
		for id, n := range h.dispatched {
			if n > 1 {
				t.Fatalf("call %s was dispatched %d times", id, n)
			}
		}
		checkResults(t, h)
	})
}

// crash cuts the last events off, as if they had not become durable, but never an
// intent whose effect has happened, and marks the gap.
func crash(h *history) {
	cut := len(h.events)
	for cut > 2 && rapid.Bool().Draw(h.t, "lose") {
		switch h.events[cut-1].Payload.(type) {
		case run.DispatchSettled:
			cut--
			continue
		case run.ModelCallCompleted, run.ModelResponseRecorded, run.AssistantText, run.ToolCallProposed, run.ModelCallFailed:
			cut--
			continue
		}
		break
	}
	// An answer and its account are one append: both or neither.
	if _, half := h.events[cut-1].Payload.(run.ModelResponseRecorded); half {
		cut--
	}
	h.events = h.events[:cut]
	h.s = run.Fold(h.s.ID, h.events)
	if h.s.Status == run.StatusRunning {
		h.add(run.Disconnected{Reason: "boot_reconcile"})
	}
}

func checkResults(t *rapid.T, h *history) {
	results := map[string]int{}
	for _, m := range h.s.Conversation {
		if m.Role == run.RoleTool {
			results[m.ToolCallID]++
		}
	}
	for id, n := range results {
		if n != 1 {
			t.Fatalf("call %s has %d results", id, n)
		}
	}
	// Between two answers stand the results of the first one's calls, in call order.
	for i, m := range h.s.Conversation {
		if m.Role != run.RoleAssistant || h.s.Batch != nil && i >= lastAssistant(h.s.Conversation) {
			continue
		}
		for k, c := range m.ToolCalls {
			if got := h.s.Conversation[i+1+k]; got.ToolCallID != c.ID {
				t.Fatalf("result %d after an answer is for %q, not %q", k, got.ToolCallID, c.ID)
			}
		}
	}
}

func lastAssistant(c []run.Message) int {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].Role == run.RoleAssistant {
			return i
		}
	}
	return -1
}

// Folding event by event and folding all at once give the same state.
func TestFoldDoesNotDependOnHowEventsArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := begin(t)
		for range 40 {
			if !h.step() {
				break
			}
		}
		whole := run.Fold("run_1", h.events)
		if a, b := fmt.Sprintf("%+v", whole.Conversation), fmt.Sprintf("%+v", h.s.Conversation); a != b {
			t.Fatalf("conversations differ:\n%s\n%s", a, b)
		}
		if whole.Steps != h.s.Steps || whole.Status != h.s.Status || whole.SpentPicoUSD != h.s.SpentPicoUSD || whole.Version != h.s.Version {
			t.Fatalf("states differ: %+v and %+v", whole, h.s)
		}
	})
}
