package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/api/auth"
	"hecate/projections"
)

// asking is a run that asks, and where it is answered.
type asking struct {
	*apitest.Server
	task, run, approval string
}

func askOn(t *testing.T, o apitest.Options) asking {
	s := apitest.Start(t, o)
	a := asking{Server: s, task: s.Task(t, nil)}
	a.run = s.StartRun(t, a.task)
	a.approval = s.Ask(t, a.run)
	return a
}

func (a asking) path() string { return base + "/tasks/" + a.task + "/approvals/" + a.approval }

func (a asking) answer(t *testing.T, body any, headers ...string) apitest.Answer {
	t.Helper()
	return a.Do(t, "POST", a.path()+"/resolve", body, headers...)
}

func (a asking) get(t *testing.T) (p projections.Approval) {
	t.Helper()
	a.Do(t, "GET", a.path(), nil).Data(t, &p)
	return p
}

// answers are what was answered to the calls, in order.
func answers(p projections.Approval) (out []string) {
	for _, c := range p.Calls {
		out = append(out, strings.TrimSpace(c.ToolCallID+" "+c.Answer+" "+c.Scope))
	}
	return out
}

func TestAPendingApprovalSaysWhatAsks(t *testing.T) {
	p := askOn(t, apitest.Options{})
	got := p.get(t)
	if got.Digest == "" || got.RememberIn != "/p/.hecate/config.toml" || len(got.Calls) != 3 || got.ResolvedVerified != nil {
		t.Fatalf("%+v", got)
	}
	want := projections.ApprovalCall{
		ToolCallID: "c1", ToolName: "exec", Level: 2, Decision: "ask", Reason: got.Calls[0].Reason, Gates: []string{"level-2"},
		Offer:   &projections.ApprovalOffer{Scope: "exec(cargo) args(*)", Covers: got.Calls[0].Offer.Covers, List: "permissions.promoted"},
		Answers: []string{"y", "a", "A", "e", "n", "N"}, Locks: []string{"build-output"},
	}
	if diff := cmp.Diff(want, got.Calls[0]); diff != "" || want.Reason == "" || want.Offer.Covers == "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if c := got.Calls[2]; c.Decision != "allow" || c.Offer != nil || c.Answers != nil {
		t.Errorf("a call that needs no yes: %+v", c)
	}
}

// Each call can have its own answer. The answer is the same from the read models and
// from the log, and says who gave it and whether that is certain.
func TestCallsAreAnsweredOneByOne(t *testing.T) {
	for name, o := range map[string]apitest.Options{"read": {}, "folded": {Slow: true, Patience: time.Nanosecond}} {
		for who, c := range map[string]struct {
			headers  []string
			name     string
			verified bool
		}{
			"an operator": {[]string{auth.OperatorHeader, janes}, "jane", true},
			"a claim":     {[]string{auth.ActorHeader, "joe"}, "joe", false},
			"nobody":      {},
		} {
			o.Operators = holders{janes: "jane"}
			p := askOn(t, o)
			var got projections.Approval
			p.answer(t, map[string]any{"decision": "Approve", "note": "fine", "calls": []any{
				map[string]any{"tool_call_id": "c1", "decision": "approve", "scope": "project"},
				map[string]any{"tool_call_id": "c2", "decision": "deny", "note": "use cargo"},
			}}, c.headers...).Data(t, &got)
			if got.Status != "approved" || got.ResolvedBy != "operator" || got.ResolutionNote != "fine" || got.ResolvedByName != c.name || got.ResolvedVerified == nil || *got.ResolvedVerified != c.verified {
				t.Errorf("%s, %s: %+v", name, who, got)
			}
			if diff := cmp.Diff([]string{"c1 approved project", "c2 denied", "c3"}, answers(got)); diff != "" {
				t.Errorf("%s, %s: -want +got:\n%s", name, who, diff)
			}
			s, err := p.X.LoadRun(t.Context(), p.run)
			if err != nil || s.Status != "queued" || len(s.Session) != 1 || len(s.Unsaved) != 1 || s.Granted.Refused["c2"] == "" {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
	}
}

// A no after which the run goes on refuses what asks.
func TestRejectAndGoOn(t *testing.T) {
	p := askOn(t, apitest.Options{})
	var got projections.Approval
	p.answer(t, map[string]any{"decision": "reject", "continue": true, "note": "not here"}).Data(t, &got)
	if diff := cmp.Diff([]string{"c1 denied", "c2 denied", "c3"}, answers(got)); diff != "" || got.Status != "rejected" {
		t.Errorf("%s -want +got:\n%s", got.Status, diff)
	}
	var r projections.Run
	p.Do(t, "GET", base+"/tasks/"+p.task+"/runs/"+p.run, nil).Data(t, &r)
	var steps []projections.Step
	p.Do(t, "GET", base+"/tasks/"+p.task+"/runs/"+p.run+"/steps", nil).Data(t, &steps)
	if last := steps[len(steps)-1]; r.Status != "queued" || last.Kind != "approval" || last.Status != "completed" || last.Result != "denied" || last.ErrorKind != "" {
		t.Errorf("run %s, step %+v", r.Status, last)
	}
	var task projections.Task
	p.Do(t, "GET", base+"/tasks/"+p.task, nil).Data(t, &task)
	if task.PendingApprovalCount != 0 || task.Status != "queued" {
		t.Errorf("%+v", task)
	}
	if again := p.answer(t, map[string]any{"decision": "approve"}); again.Status != http.StatusConflict {
		t.Errorf("a second answer: %d", again.Status)
	}
}

// A no without more ends the run, as it always did.
func TestRejectEndsTheRun(t *testing.T) {
	p := askOn(t, apitest.Options{})
	var got projections.Approval
	p.answer(t, map[string]any{"decision": "deny"}).Data(t, &got)
	var r projections.Run
	p.Do(t, "GET", base+"/tasks/"+p.task+"/runs/"+p.run, nil).Data(t, &r)
	if got.Status != "rejected" || r.Status != "cancelled" || r.LastError != "approval rejected" {
		t.Errorf("%+v, %+v", got, r)
	}
}

// What makes no sense is refused, and the question stays open.
func TestBadAnswersToCalls(t *testing.T) {
	p := askOn(t, apitest.Options{})
	one := func(members string) string {
		return `{"decision":"approve","calls":[{"tool_call_id":"c1","decision":"approve"` + members + `}]}`
	}
	many := `{"decision":"approve","calls":[` + strings.Repeat(`{"tool_call_id":"c1","decision":"approve"},`, 16) + `{"tool_call_id":"c1","decision":"approve"}]}`
	for body, want := range map[string]int{
		`{"decision":"maybe","calls":[{"tool_call_id":"c9"}],"digest":"no"}`:                                               400,
		`{"decision":"approve","calls":{}}`:                                                                                400,
		`{"decision":"approve","continue":"yes"}`:                                                                          400,
		`{"decision":"approve","calls":[{"tool_call_id":"c1"}]}`:                                                           400,
		`{"decision":"approve","calls":[{"tool_call_id":"c9","decision":"deny"}]}`:                                         400,
		`{"decision":"reject","calls":[{"tool_call_id":"c1","decision":"deny"}]}`:                                          400,
		`{"decision":"approve","calls":[{"tool_call_id":"c3","decision":"approve","scope":"session"}]}`:                    400,
		`{"decision":"approve","calls":[{"tool_call_id":"c1","decision":"deny"},{"tool_call_id":"c1","decision":"deny"}]}`: 400,
		one(`,"scope":"forever"`):                                               400,
		one(`,"scope":"session","pattern":"exec(make) args("`):                  400,
		one(`,"scope":"session","pattern":"shell(ls)"`):                         400,
		one(`,"scope":"session","pattern":"` + strings.Repeat("x", 5000) + `"`): 400,
		one(`,"note":"` + strings.Repeat("x", 5000) + `"`):                      400,
		strings.Replace(one(""), "c1", strings.Repeat("c", 300), 1):             400,
		many:                                  400,
		`{"decision":"approve","digest":"x"}`: 409,
	} {
		if a := p.answer(t, body); a.Status != want || a.ErrorType() != "invalid_request" {
			t.Errorf("%.90s: %d %s", body, a.Status, a.Body)
		}
	}
	unknown := p.Do(t, "POST", base+"/tasks/"+p.task+"/approvals/approval_none/resolve", `{"decision":"maybe"}`)
	if unknown.Status != http.StatusBadRequest {
		t.Errorf("an unknown decision about an unknown approval: %d", unknown.Status)
	}
	if got := p.get(t); got.Status != "pending" {
		t.Errorf("the question is %s", got.Status)
	}
	if a := p.answer(t, one(`,"scope":"session","pattern":"exec(cargo) args(build *)"`)); a.Status != http.StatusOK {
		t.Errorf("an edited offer: %s", a.Body)
	}
}
