package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
)

func apply(s *run.State, payloads ...event.Payload) {
	for _, p := range payloads {
		s.Apply(event.Event{Version: s.Version + 1, Payload: p})
	}
}

// resolved is s after the answer, at work again.
func resolved(t *testing.T, s *run.State, r run.Resolution) {
	t.Helper()
	r.ApprovalID = s.Approval.ApprovalID
	p, err := run.Resolve(s, r)
	if err != nil {
		t.Fatal(err)
	}
	apply(s, append(p, run.Started{})...)
}

// What ran in a history was allowed: by default, by an answer given before, or by an
// approval of exactly the bundle that it stands in, which did not refuse the call and
// was about every gate.
func TestWhateverRanWasAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := begin(t)
		for range 80 {
			if !h.step() {
				break
			}
		}
		asked, answers := map[string]run.ApprovalRequested{}, map[string]run.ApprovalResolved{}
		var bundle []run.ToolCall
		for _, e := range h.events {
			switch p := e.Payload.(type) {
			case run.ModelResponseRecorded:
				bundle = p.Message.ToolCalls
			case run.ApprovalRequested:
				asked[p.ApprovalID] = p
			case run.ApprovalResolved:
				answers[p.ApprovalID] = p
			case run.DispatchIntended:
				if p.Ruling.Decision == string(permission.Deny) {
					t.Fatalf("a denied call ran: %+v", p)
				}
				if p.Ruling.Decision == string(permission.Ask) {
					allowed(t, p, bundle, asked[p.ApprovalID], answers[p.ApprovalID])
				}
			}
		}
	})
}

func allowed(t *rapid.T, ran run.DispatchIntended, bundle []run.ToolCall, asked run.ApprovalRequested, answer run.ApprovalResolved) {
	if want := run.BundleDigest("run_1", ran.ModelCallIndex, bundle); asked.Digest != want || answer.Digest != want {
		t.Fatalf("%s ran under an approval of other calls: %+v", ran.ToolCallID, asked)
	}
	yes := answer.Decision == run.DecisionApproved
	for _, c := range answer.Calls {
		if c.ToolCallID == ran.ToolCallID {
			yes = c.Decision == run.DecisionApproved
		}
	}
	i := slices.IndexFunc(asked.Calls, func(c run.ApprovalCall) bool { return c.ToolCallID == ran.ToolCallID })
	if !yes || i < 0 || !slices.Contains(asked.Calls[i].Gates, permission.Gate(ran.Ruling.Rule)) {
		t.Fatalf("nobody allowed %s (%s): %+v, answered %+v", ran.ToolCallID, ran.Ruling.Rule, asked, answer)
	}
}

func TestCallsAreAnsweredOneByOne(t *testing.T) {
	s, _ := parked(t, shell("a", "ls"), shell("b", "id"), shell("c", "pwd"))
	resolved(t, s, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "b", Decision: "deny", Note: "use whoami"}}})
	r := rules(permission.PolicyShell)
	if d, ok := run.Next(s, r).(run.Dispatch); !ok || d.Call.ID != "a" {
		t.Fatalf("first comes %+v", run.Next(s, r))
	}
	apply(s, run.DispatchSettled{ToolCallID: "a", Outcome: run.OutcomeCompleted})
	d, ok := run.Next(s, r).(run.Decline)
	if !ok || d.Call.ID != "b" || d.Reason != "denied by the user: use whoami" || d.ApprovalID == "" {
		t.Fatalf("then comes %+v", run.Next(s, r))
	}
	apply(s, run.DispatchSettled{ToolCallID: "b", Outcome: run.OutcomeBlocked})
	if d, ok := run.Next(s, r).(run.Dispatch); !ok || d.Call.ID != "c" {
		t.Fatalf("at last comes %+v", run.Next(s, r))
	}
}

func TestARejectionCanLetTheRunGoOn(t *testing.T) {
	read := run.ToolCall{ID: "r", Name: "read_file"}
	s, _ := parked(t, shell("a", "ls"), read)
	resolved(t, s, run.Resolution{Decision: "reject", Continue: true, Note: "not here"})
	r := rules(permission.PolicyShell)
	if d, ok := run.Next(s, r).(run.Decline); !ok || d.Reason != "denied by the user: not here" {
		t.Fatalf("first comes %+v", run.Next(s, r))
	}
	apply(s, run.DispatchSettled{ToolCallID: "a", Outcome: run.OutcomeBlocked})
	if d, ok := run.Next(s, r).(run.Dispatch); !ok || d.Call.ID != "r" {
		t.Fatalf("what asks nobody does not run: %+v", run.Next(s, r))
	}
}

// What asks for another reason than the one that was answered asks again, for the
// calls that are left, and what was refused stays refused.
func TestAChangedPolicyAsksAgain(t *testing.T) {
	read := run.ToolCall{ID: "r", Name: "read_file"}
	s, _ := parked(t, shell("a", "ls"), read, shell("b", "id"))
	resolved(t, s, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "b", Decision: "deny"}}})
	apply(s, run.DispatchSettled{ToolCallID: "a", Outcome: run.OutcomeCompleted})
	stricter := rules(permission.PolicyShell, permission.PolicyRead)
	ask, ok := run.Next(s, stricter).(run.Ask)
	if !ok || len(ask.Calls) != 1 || ask.Calls[0].ID != "r" {
		t.Fatalf("Next is %+v", run.Next(s, stricter))
	}
	first := s.Granted.ApprovalID
	apply(s, s.RequestApproval(ask, run.Question{})...)
	if n := s.Approval.Calls[0].Notes; len(n) != 0 {
		t.Errorf("a call that was never asked about is said to have been: %q", n)
	}
	if s.Approval.ApprovalID == first {
		t.Fatal("the second question has the id of the first")
	}
	resolved(t, s, run.Resolution{Decision: "approve"})
	if d, ok := run.Next(s, stricter).(run.Dispatch); !ok || d.Call.ID != "r" {
		t.Fatalf("after a second yes comes %+v", run.Next(s, stricter))
	}
	apply(s, run.DispatchSettled{ToolCallID: "r", Outcome: run.OutcomeCompleted})
	if d, ok := run.Next(s, stricter).(run.Decline); !ok || d.Call.ID != "b" {
		t.Fatalf("what was refused comes to %+v", run.Next(s, stricter))
	}
}

func TestAnswersThatCannotBe(t *testing.T) {
	for name, r := range map[string]run.Resolution{
		"unknown call":           {Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "z", Decision: "approve"}}},
		"twice":                  {Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve"}, {ToolCallID: "a", Decision: "deny"}}},
		"unknown decision":       {Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "perhaps"}}},
		"unknown scope":          {Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: "for ever"}}},
		"no project":             {Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeProject}}},
		"nothing to remember":    {Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeSession}}},
		"calls of an end":        {Decision: "reject", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "deny"}}},
		"calls of nobody's kind": {Decision: "maybe"},
	} {
		s, _ := parked(t, shell("a", "ls"))
		r.ApprovalID = s.Approval.ApprovalID
		if _, err := run.Resolve(s, r); kind(err) != fault.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// facts are those of tests: the shell's command as it is written.
func withFacts(r run.Rules) run.Rules {
	r.Facts = func(c run.ToolCall) permission.Call {
		text := strings.TrimSuffix(strings.TrimPrefix(c.Arguments.String(), `{"command":"`), `"}`)
		return permission.Call{Tool: c.Name, Facts: permission.Facts{Principal: text}}
	}
	return r
}

// levels is a run of the levels posture that waits for an answer about ls.
func levels(t *testing.T) (*run.State, run.Rules) {
	t.Helper()
	s := run.New("run_1")
	apply(&s, run.Created{TaskID: "task_1", Status: run.StatusQueued, ModelCallsMax: 8, Spec: run.Spec{ExecutionKind: run.KindAgentLoop, Posture: permission.PostureLevels}},
		run.Queued{}, run.Started{}, run.ConversationSeeded{})
	r := withFacts(rules())
	r.Posture = s.Posture(permission.Posture{Project: true})
	says(t, &s, shell("a", "ls"))
	ask, ok := run.Next(&s, r).(run.Ask)
	if !ok {
		t.Fatalf("Next is %T", run.Next(&s, r))
	}
	apply(&s, s.RequestApproval(ask, run.Question{RememberIn: "/p/.hecate/config.toml"})...)
	return &s, r
}

func says(t *testing.T, s *run.State, calls ...run.ToolCall) {
	t.Helper()
	apply(s, run.ModelCallStarted{ModelCallIndex: s.CallsDone + 1, StepID: s.NextStepID()})
	apply(s, s.Respond(run.Answered{Message: run.Message{Role: run.RoleAssistant, ToolCalls: calls}, FinishReason: "tool_calls"})...)
}

func TestAGrantHoldsForTheSession(t *testing.T) {
	s, r := levels(t)
	c := s.Approval.Calls[0]
	if c.Offer == nil || c.Offer.Scope != "shell(ls)" || strings.Join(c.Answers, "") != "yaAenN" {
		t.Fatalf("asked is %+v", c)
	}
	resolved(t, s, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeProject}}})
	remember, ok := run.Next(s, r).(run.Remember)
	if !ok || remember.Grant.Change().Text != "shell(ls)" || remember.Grant.Change().List != permission.ListPromoted {
		t.Fatalf("Next is %+v", run.Next(s, r))
	}
	apply(s, run.PermissionChanged{Change: remember.Grant.Change(), GrantID: remember.Grant.ID, Problem: "no space left"})
	if _, ok := run.Next(s, r).(run.Dispatch); !ok {
		t.Fatalf("a grant that could not be saved comes to %+v", run.Next(s, r))
	}
	apply(s, run.DispatchSettled{ToolCallID: "a", Outcome: run.OutcomeCompleted})
	says(t, s, shell("b", "ls"), shell("c", "ls"))
	r.Posture = s.Posture(permission.Posture{})
	d, ok := run.Next(s, r).(run.Dispatch)
	if !ok || d.ApprovalID != "" || d.Verdict.Grant == nil || d.Verdict.Grant.ID != remember.Grant.ID {
		t.Fatalf("the same again comes to %+v", run.Next(s, r))
	}
	apply(s, run.DispatchSettled{ToolCallID: "b", Outcome: run.OutcomeCompleted}, run.PermissionRevoked{GrantID: remember.Grant.ID})
	r.Posture = s.Posture(permission.Posture{})
	if _, ok := run.Next(s, r).(run.Ask); !ok {
		t.Fatalf("what was revoked still opens: %+v", run.Next(s, r))
	}
}

func TestAnEditedPatternIsOfTheSameTool(t *testing.T) {
	for text, ok := range map[string]bool{"shell(ls -l)": true, "shell_exec(ls)": true, "exec(ls) args(*)": false, "shell(": false, "edit(*)": false} {
		s, _ := levels(t)
		p, err := run.Resolve(s, run.Resolution{
			ApprovalID: s.Approval.ApprovalID, Decision: "approve",
			Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeSession, Pattern: text}},
		})
		if (err == nil) != ok {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
}

// A host can be edited into another one, never into many.
func TestAnEditedHostIsOneHost(t *testing.T) {
	for text, want := range map[string]string{"b.example": "b.example", "A.example.": "a.example", "*.example": "", "https://b.example/": ""} {
		s, _ := levels(t)
		s.Approval.Calls[0].Offer = &permission.Offer{Scope: "a.example", IsHost: true}
		p, err := run.Resolve(s, run.Resolution{
			ApprovalID: s.Approval.ApprovalID, Decision: "approve",
			Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeSession, Pattern: text}},
		})
		got := ""
		if err == nil {
			got = p[0].(run.ApprovalResolved).Calls[0].Grant.Scope
		}
		if got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// guarded are rules under which the third time of the same is looked at.
func guarded(r run.Rules) run.Rules {
	limits := repetition.Default
	r.Limits = &limits
	r.Repeat = func(c run.ToolCall) run.Repeat {
		return run.Repeat{Kind: repetition.KindOf(c.Name, false), Call: c.Name + c.Arguments.String()}
	}
	return r
}

// reads is a run that has read the same file n times and is about to do it again.
func reads(t *testing.T, n int) (*run.State, run.Rules) {
	t.Helper()
	s := run.New("run_1")
	apply(&s, run.Created{TaskID: "task_1", Status: run.StatusQueued, ModelCallsMax: 50, Spec: run.Spec{ExecutionKind: run.KindAgentLoop, Posture: permission.PostureLevels}},
		run.Queued{}, run.Started{}, run.ConversationSeeded{})
	r := guarded(rules())
	r.Posture = s.Posture(permission.Posture{})
	for range n {
		c := run.ToolCall{ID: "r", Name: "read_file"}
		says(t, &s, c)
		x := r.Repeat(c)
		x.Result = "the same"
		apply(&s, run.DispatchIntended{ToolCallID: "r", StepID: s.NextStepID()}, run.DispatchSettled{ToolCallID: "r", ToolName: "read_file", Outcome: run.OutcomeCompleted, Repeat: &x})
	}
	says(t, &s, run.ToolCall{ID: "r", Name: "read_file"})
	return &s, r
}

func TestARepeatedCallIsLookedAt(t *testing.T) {
	for assessment, asks := range map[repetition.Assessment]bool{
		repetition.Progress: false, repetition.Loop: true, repetition.Uncertain: true, repetition.TimedOut: true, repetition.Invalid: true, repetition.Unavailable: true,
	} {
		s, r := reads(t, 2)
		check, ok := run.Next(s, r).(run.Check)
		if !ok || check.Finding.Trigger != repetition.Unchanged {
			t.Fatalf("Next is %+v", run.Next(s, r))
		}
		apply(s, run.ProgressCheckStarted{ToolCallID: "r"})
		if _, ok := run.Next(s, r).(run.AbandonCheck); !ok {
			t.Fatalf("a check without a result comes to %T", run.Next(s, r))
		}
		apply(s, run.ProgressCheckCompleted{ToolCallID: "r", Assessment: assessment, Asked: true, CostPicoUSD: 7, CostKnown: true})
		if s.SpentPicoUSD != 7 {
			t.Errorf("the check is not on the bill: %d", s.SpentPicoUSD)
		}
		ask, isAsk := run.Next(s, r).(run.Ask)
		if isAsk != asks {
			t.Errorf("%s comes to %+v", assessment, run.Next(s, r))
		}
		if isAsk && (ask.Verdicts[0].Offer != nil || strings.Join(ask.Verdicts[0].Answers, "") != "ynN" || ask.Verdicts[0].Level != 0) {
			t.Errorf("it is asked as %+v", ask.Verdicts[0])
		}
	}
}

func TestAYesClearsTheHistoryAndANoDoesNot(t *testing.T) {
	for decision, again := range map[string]string{"approve": "Dispatch", "reject": "Decline"} {
		s, r := reads(t, 2)
		apply(s, run.ProgressCheckCompleted{ToolCallID: "r", Assessment: repetition.Loop})
		apply(s, s.RequestApproval(run.Next(s, r).(run.Ask), run.Question{})...)
		resolved(t, s, run.Resolution{Decision: decision, Continue: decision == "reject"})
		if got := strings.TrimPrefix(typeName(run.Next(s, r)), "run."); got != again {
			t.Errorf("after %s comes %s", decision, got)
		}
		x := r.Repeat(run.ToolCall{ID: "r", Name: "read_file"})
		x.Result = "the same"
		apply(s, run.DispatchSettled{ToolCallID: "r", Outcome: run.OutcomeCompleted, Repeat: &x})
		says(t, s, run.ToolCall{ID: "r", Name: "read_file"})
		_, looked := run.Next(s, r).(run.Check)
		if looked != (decision == "reject") {
			t.Errorf("after %s the next one comes to %+v", decision, run.Next(s, r))
		}
	}
}

// Who is asked about a repeated call sees what the check has seen; the model does not.
func TestTheQuestionSaysWhatTheCheckSaw(t *testing.T) {
	for _, c := range []struct {
		done run.ProgressCheckCompleted
		want string
	}{
		{run.ProgressCheckCompleted{Assessment: repetition.Loop, Observations: []string{"round 1: the same bytes", "round 2: again"}}, "the check for progress: round 1: the same bytes|the check for progress: round 2: again"},
		{run.ProgressCheckCompleted{Assessment: repetition.Unavailable, Problem: "no model is configured for the check"}, "the check for progress: no model is configured for the check"},
	} {
		s, r := reads(t, 2)
		c.done.ToolCallID = "r"
		apply(s, c.done)
		ask, ok := run.Next(s, r).(run.Ask)
		if !ok || strings.Join(ask.Verdicts[0].Notes, "|") != c.want || strings.Contains(ask.Verdicts[0].Reason, "round 1") {
			t.Errorf("it comes to %+v", run.Next(s, r))
		}
	}
}

func TestNobodyThereMeansNo(t *testing.T) {
	s, r := reads(t, 2)
	apply(s, run.ProgressCheckCompleted{ToolCallID: "r", Assessment: repetition.Loop})
	r.Posture.OnAsk, r.Posture.Flags.YesReally = permission.OnAskRefuse, true
	b, ok := run.Next(s, r).(run.Block)
	if !ok || b.Verdict.Layer != permission.LayerUnattended {
		t.Errorf("it comes to %+v", run.Next(s, r))
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }

func TestACallThatIsAskedAgainSaysSo(t *testing.T) {
	read := run.ToolCall{ID: "r", Name: "read_file"}
	s, _ := parked(t, read, shell("a", "ls"))
	resolved(t, s, run.Resolution{Decision: "approve"})
	stricter := rules(permission.PolicyShell, permission.PolicyRead)
	apply(s, s.RequestApproval(run.Next(s, stricter).(run.Ask), run.Question{})...)
	for _, c := range s.Approval.Calls {
		if again := len(c.Notes) == 1 && strings.Contains(c.Notes[0], "was allowed before"); again != (c.ToolCallID == "a") {
			t.Errorf("of %s it says %q", c.ToolCallID, c.Notes)
		}
	}
}
