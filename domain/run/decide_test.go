package run_test

import (
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// parked is a run that waits for a yes to the given calls.
func parked(t *testing.T, calls ...run.ToolCall) (*run.State, []event.Event) {
	t.Helper()
	var events []event.Event
	s := run.New("run_1")
	add := func(payloads ...event.Payload) {
		for _, p := range payloads {
			e := event.Event{Version: s.Version + 1, Payload: p}
			events = append(events, e)
			s.Apply(e)
		}
	}
	add(run.Created{TaskID: "task_1", Status: run.StatusQueued, ModelCallsMax: 8, Spec: run.Spec{ExecutionKind: run.KindAgentLoop}}, run.Queued{}, run.Started{},
		run.ConversationSeeded{}, run.ModelCallStarted{ModelCallIndex: 1, StepID: s.NextStepID()})
	add(s.Respond(run.Answered{Message: run.Message{Role: run.RoleAssistant, ToolCalls: calls}, FinishReason: "tool_calls"})...)
	ask, ok := run.Next(&s, rules(permission.PolicyShell)).(run.Ask)
	if !ok {
		t.Fatalf("Next is %T, not Ask", run.Next(&s, rules(permission.PolicyShell)))
	}
	add(s.RequestApproval(ask, run.Question{Lines: []string{"line"}})...)
	return &s, events
}

func shell(id, command string) run.ToolCall {
	return run.ToolCall{ID: id, Name: "shell_exec", Arguments: event.NewText(`{"command":"` + command + `"}`)}
}

func TestTheWholeBundleWaitsForOneAnswer(t *testing.T) {
	read := run.ToolCall{ID: "r", Name: "read_file", Arguments: event.NewText(`{"path":"a"}`)}
	s, _ := parked(t, read, shell("w", "ls"))
	if _, ok := run.Next(s, rules(permission.PolicyShell)).(run.Park); !ok {
		t.Fatal("a run that waits must not go on")
	}
	p, err := run.Resolve(s, run.Resolution{ApprovalID: s.Approval.ApprovalID, Decision: " Approved "})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p {
		s.Apply(event.Event{Version: s.Version + 1, Payload: e})
	}
	s.Apply(event.Event{Version: s.Version + 1, Payload: run.Started{}})
	d, ok := run.Next(s, rules(permission.PolicyShell)).(run.Dispatch)
	if !ok || d.Call.ID != "r" || d.ApprovalID == "" {
		t.Fatalf("after a yes comes %+v, not the first call", d)
	}
}

// A yes names a digest. If the calls that the log holds are not the ones that the
// digest names, the yes is worth nothing and they are asked for again.
func TestAYesForOtherCallsIsNoYes(t *testing.T) {
	swap := func(e event.Event, calls []run.ToolCall) event.Event {
		if r, ok := e.Payload.(run.ModelResponseRecorded); ok {
			r.Message.ToolCalls = calls
			e.Payload = r
		}
		return e
	}
	for name, calls := range map[string][]run.ToolCall{
		"another command": {shell("a", "touch pwned"), shell("b", "ls")},
		"another order":   {shell("b", "ls"), shell("a", "id")},
		"one more":        {shell("a", "id"), shell("b", "ls"), shell("c", "ls")},
		"one less":        {shell("a", "id")},
	} {
		t.Run(name, func(t *testing.T) {
			s, events := parked(t, shell("a", "id"), shell("b", "ls"))
			p, err := run.Resolve(s, run.Resolution{ApprovalID: s.Approval.ApprovalID, Decision: "approve"})
			if err != nil {
				t.Fatal(err)
			}
			forged := run.New("run_1")
			for _, e := range events {
				forged.Apply(swap(e, calls))
			}
			for _, e := range append(p, run.Started{}) {
				forged.Apply(event.Event{Version: forged.Version + 1, Payload: e})
			}
			if e, ok := run.Next(&forged, rules(permission.PolicyShell)).(run.Ask); !ok {
				t.Fatalf("Next is %T, not Ask", e)
			}
		})
	}
}

func TestAnApprovalIsAnsweredOnce(t *testing.T) {
	s, _ := parked(t, shell("a", "ls"))
	id := s.Approval.ApprovalID
	if _, err := run.Resolve(s, run.Resolution{ApprovalID: id, Decision: "maybe"}); kind(err) != fault.KindInvalid {
		t.Fatalf("an unknown decision gives %v", err)
	}
	if _, err := run.Resolve(s, run.Resolution{ApprovalID: "approval_other", Decision: "approve"}); kind(err) != fault.KindNotFound {
		t.Fatalf("an unknown approval gives %v", err)
	}
	if _, err := run.Resolve(s, run.Resolution{ApprovalID: id, Decision: "approve", Digest: "00"}); kind(err) != fault.KindConflict {
		t.Fatalf("a digest of something else gives %v", err)
	}
	p, err := run.Resolve(s, run.Resolution{ApprovalID: id, Decision: "deny", Note: "no"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p {
		s.Apply(event.Event{Version: s.Version + 1, Payload: e})
	}
	if s.Status != run.StatusCancelled {
		t.Fatalf("a rejected run is %s", s.Status)
	}
	if _, err := run.Resolve(s, run.Resolution{ApprovalID: id, Decision: "approve"}); kind(err) != fault.KindConflict {
		t.Fatalf("a second answer gives %v", err)
	}
}

func TestCancellingAnswersWhatWasAsked(t *testing.T) {
	s, _ := parked(t, shell("a", "ls"))
	var types []string
	for _, p := range run.Cancel(s, "wrong branch") {
		types = append(types, p.EventType())
		s.Apply(event.Event{Version: s.Version + 1, Payload: p})
	}
	if got := strings.Join(types, " "); got != "approval.resolved run.cancelled task.updated" {
		t.Fatalf("events are %s", got)
	}
	if again := run.Cancel(s, ""); again != nil {
		t.Fatalf("cancelling twice adds %v", again)
	}
}

func TestBundlesThatCannotBeToldApart(t *testing.T) {
	long := strings.Repeat("é", 128)
	many := make([]run.ToolCall, 17)
	for i := range many {
		many[i] = shell(strings.Repeat("x", i+1), "ls")
	}
	for name, c := range map[string]struct {
		calls []run.ToolCall
		ok    bool
	}{
		"17 calls":         {many, false},
		"16 calls":         {many[:16], true},
		"twins":            {[]run.ToolCall{shell("x", "a"), shell("x", "b")}, false},
		"no id":            {[]run.ToolCall{shell("", "a")}, false},
		"257 bytes":        {[]run.ToolCall{shell(long+"x", "a")}, false},
		"256 bytes, UTF-8": {[]run.ToolCall{shell(long, "a")}, true},
	} {
		if got := run.InvalidBundle(c.calls); (got == "") != c.ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func kind(err error) fault.Kind {
	f, ok := fault.Of(err)
	if !ok {
		return ""
	}
	return f.Kind
}

// Takeovers count only as long as nothing new comes of them.
func TestARunThatGetsOnMayBeTakenOverAgainAndAgain(t *testing.T) {
	s := run.New("run_1")
	add := func(payloads ...event.Payload) {
		for _, p := range payloads {
			s.Apply(event.Event{Version: s.Version + 1, Payload: p})
		}
	}
	add(run.Created{TaskID: "task_1", Status: run.StatusQueued, ModelCallsMax: 100, Spec: run.Spec{ExecutionKind: run.KindAgentLoop}}, run.Queued{}, run.Started{}, run.ConversationSeeded{})
	for i := range int64(20) {
		add(run.Disconnected{}, run.Started{}, run.ModelCallStarted{ModelCallIndex: i + 1})
		add(s.Respond(run.Answered{Message: run.Message{ToolCalls: []run.ToolCall{{ID: "c", Name: "list_dir"}}}})...)
		add(run.DispatchIntended{ModelCallIndex: i + 1, ToolCallID: "c"}, run.DispatchSettled{ModelCallIndex: i + 1, ToolCallID: "c"})
	}
	if _, goesOn := run.Next(&s, rules()).(run.CallModel); !goesOn {
		t.Fatalf("Next is %T", run.Next(&s, rules()))
	}
	for range run.DisconnectsMax + 1 {
		add(run.Disconnected{}, run.Started{})
	}
	if f, fails := run.Next(&s, rules()).(run.Fail); !fails || f.Reason != "recovery_exhausted" {
		t.Fatalf("Next is %+v", run.Next(&s, rules()))
	}
}
