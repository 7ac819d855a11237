package history_test

import (
	"strings"
	"testing"

	"hecate/cmd/hecate/blackbox/history"
)

// permitted is a log in which every call was allowed to do what it did: one refused by
// itself, one by policy, the same calls inherited and rejected with a single exception,
// and runs of two tasks that take turns at a lock.
const permitted = `
task-1 operator task.created {}
task-1 operator task.run.opened {"run_id":"1","number":1}
run-1 operator run.created {"task_id":"1","number":1,"status":"queued"}
run-1 operator run.queued {}
run-1 w1 run.claimed {"node_id":"w1","epoch":1}
run-1 w1 run.started {}
run-1 w1 model.call.started {"model_call_index":1}
run-1 w1 model.response.recorded {"model_call_index":1,"message":{"tool_calls":[$C1,$C2]}}
run-1 w1 approval.requested {"approval_id":"a1","model_call_index":1,"digest":"$D1","calls":[{"tool_call_id":"c1","ruling":$ASK},{"tool_call_id":"c2","ruling":$ASK}]}
run-1 w1 run.awaiting_approval {}
run-1 operator approval.resolved {"approval_id":"a1","decision":"approved","digest":"$D1","calls":[{"tool_call_id":"c2","decision":"denied"}]}
run-1 operator run.queued {"resume":true}
run-1 w1 run.claimed {"node_id":"w1","epoch":2}
run-1 w1 run.started {}
run-1 w1 tool.dispatch.intended {"model_call_index":1,"tool_call_id":"c1","tool_call_digest":"$S1","approval_id":"a1","ruling":$ASK,"locks":["build"]}
run-1 w1 tool.dispatch.settled {"model_call_index":1,"tool_call_id":"c1","outcome":"completed"}
run-1 operator run.cancelled {}
task-1 operator task.run.closed {"run_id":"1","status":"cancelled"}
task-2 operator task.run.opened {"run_id":"3","number":1}
run-3 operator run.created {"task_id":"2","number":1,"status":"queued"}
run-3 operator run.queued {}
run-3 w2 run.claimed {"node_id":"w2","epoch":3}
run-3 w2 run.started {}
run-3 w2 tool.dispatch.intended {"tool_call_id":"d1","ruling":$ALLOW,"locks":["build"]}
task-1 operator task.run.opened {"run_id":"2","number":2}
run-2 operator run.created {"task_id":"1","number":2,"status":"queued","source":{"kind":"resume","run_id":"1"}}
run-2 operator conversation.inherited {"from_run_id":"1","pending":{"calls":[$C1,$C2]}}
run-2 operator run.queued {}
run-2 w1 run.claimed {"node_id":"w1","epoch":4}
run-2 w1 run.started {}
run-2 w1 approval.requested {"approval_id":"a2","digest":"$D2","calls":[{"tool_call_id":"c1","ruling":$DENY},{"tool_call_id":"c2","ruling":$ASK}]}
run-2 w1 run.awaiting_approval {}
run-3 w3 gap.run_disconnected {"action":"requeued"}
run-3 w3 run.claimed {"node_id":"w3","epoch":5}
run-2 operator approval.resolved {"approval_id":"a2","decision":"rejected","continue":true,"digest":"$D2","calls":[{"tool_call_id":"c2","decision":"approved"}]}
run-2 operator run.queued {"resume":true}
run-2 w1 run.claimed {"node_id":"w1","epoch":6}
run-2 w1 run.started {}
run-2 w1 policy.tool_blocked {"tool_call_id":"c1","ruling":$DENY}
run-2 w1 tool.dispatch.settled {"tool_call_id":"c1","outcome":"blocked","ruling":$DENY}
run-2 w1 tool.dispatch.intended {"tool_call_id":"c2","tool_call_digest":"$S2","source_run_id":"1","source_model_call_index":1,"approval_id":"a2","ruling":$ASK,"locks":["build","other"]}
run-3 w3 run.started {}
run-3 w3 tool.dispatch.settled {"tool_call_id":"d1","outcome":"unknown"}
run-2 w1 tool.dispatch.settled {"tool_call_id":"c2","outcome":"failed"}
run-2 w1 run.finished {}
task-1 w1 task.run.closed {"run_id":"2","status":"completed"}
run-3 w3 run.failed {}
task-2 w3 task.run.closed {"run_id":"3","status":"failed"}
`

func TestPermittedLog(t *testing.T) {
	if found := history.Check(read(permitted)); len(found) > 0 {
		t.Error(strings.Join(found, "\n"))
	}
}

// Each change makes a call run that was not allowed, or two that were to take turns.
func TestForbiddenCallsAreFound(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"without a ruling":               {`"approval_id":"a1","ruling":$ASK`, `"approval_id":"a1"`, "call c1 is dispatched after the ruling <nil>"},
		"after a no of the policy":       {`"approval_id":"a1","ruling":$ASK`, `"approval_id":"a1","ruling":$DENY`, "call c1 is dispatched after the ruling"},
		"a ruling without a level":       {`"tool_call_id":"d1","ruling":$ALLOW`, `"tool_call_id":"d1","ruling":{"decision":"allow","layer":"default","rule":"r","posture":"p"}`, "call d1 is dispatched after the ruling"},
		"a ruling without a posture":     {`"tool_call_id":"d1","ruling":$ALLOW`, `"tool_call_id":"d1","ruling":{"decision":"allow","level":1,"layer":"default","rule":"r"}`, "call d1 is dispatched after the ruling"},
		"asked without a ruling":         {`[{"tool_call_id":"c1","ruling":$ASK}`, `[{"tool_call_id":"c1"}`, "call c1 has no whole ruling"},
		"blocked without a ruling":       {`policy.tool_blocked {"tool_call_id":"c1","ruling":$DENY}`, `policy.tool_blocked {"tool_call_id":"c1"}`, "call c1 is blocked after the ruling"},
		"blocked and allowed":            {`policy.tool_blocked {"tool_call_id":"c1","ruling":$DENY}`, `policy.tool_blocked {"tool_call_id":"c1","ruling":$ALLOW}`, "call c1 is blocked after the ruling"},
		"asked without a question":       {`"calls":[{"tool_call_id":"c1","ruling":$ASK},{"tool_call_id":"c2","ruling":$ASK}]`, `"calls":[{"tool_call_id":"c1","ruling":$ALLOW},{"tool_call_id":"c2","ruling":$ALLOW}]`, "approval a1 asks about nothing"},
		"other calls than the model's":   {`"message":{"tool_calls":[$C1,$C2]}`, `"message":{"tool_calls":[$C2,$C1]}`, "asked was for b2aba83f"},
		"a call more":                    {`"message":{"tool_calls":[$C1,$C2]}`, `"message":{"tool_calls":[$C1,$C2,{"id":"c3","name":"exec","arguments":"{}"}]}`, "approval a1 is about other calls"},
		"a call that no model asked for": {`[{"tool_call_id":"c1","ruling":$ASK}`, `[{"tool_call_id":"c9","ruling":$ASK}`, "the model did not ask for call c9"},
		"other arguments":                {`"tool_call_digest":"$S1"`, `"tool_call_digest":"$S2"`, "call c1 is not what the model asked for"},
		"an answer about no call":        {`"calls":[{"tool_call_id":"c2","decision":"denied"}]`, `"calls":[{"tool_call_id":"c9","decision":"denied"}]`, "call c9 was answered and not asked about"},
		"refused by itself":              {`"calls":[{"tool_call_id":"c2","decision":"denied"}]`, `"calls":[{"tool_call_id":"c1","decision":"denied"}]`, "call c1 was refused by a person"},
		"refused, and allowed meanwhile": {
			"run-1 operator run.cancelled",
			`run-1 w1 tool.dispatch.intended {"model_call_index":1,"tool_call_id":"c2","tool_call_digest":"$S2","ruling":$ALLOW}` + "\nrun-1 operator run.cancelled", "call c2 was refused by a person",
		},
		"rejected with the others":       {`,"calls":[{"tool_call_id":"c2","decision":"approved"}]`, "", "call c2 was not approved"},
		"allowed without having asked":   {`{"tool_call_id":"c2","ruling":$ASK}]}` + "\nrun-2", `{"tool_call_id":"c2","ruling":$ALLOW}]}` + "\nrun-2", "call c2 was not approved"},
		"the approval of another run":    {`"approval_id":"a2","ruling":$ASK,"locks"`, `"approval_id":"a1","ruling":$ASK,"locks"`, "call c2 was not approved"},
		"the approval of another digest": {`{"approval_id":"a2","digest":"$D2","calls"`, `{"approval_id":"a2","digest":"$D1","calls"`, "approval a2 is about other calls"},
		"two at a lock":                  {`"tool_call_id":"d1","outcome":"unknown"`, `"tool_call_id":"d1","outcome":"completed"`, "call d1 held lock build, and so did call c2 of run 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(permitted, c.old) != 1 {
				t.Fatalf("%q occurs %d times", c.old, strings.Count(permitted, c.old))
			}
			_, records := read(strings.Replace(permitted, c.old, c.new, 1))
			found := strings.Join(history.Check(nil, records), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("want %q in\n%s", c.want, found)
			}
		})
	}
}

// Arguments that stand outside their event, or are no text, stand in no checker's way.
func TestUnusualArguments(t *testing.T) {
	for name, arguments := range map[string]string{
		"in a blob": `{"blob":"ab12","size":20000}`,
		"no text":   `{"base64":"eyJwcm9ncmFtIjoiYzEifQ=="}`,
	} {
		log := strings.Replace(permitted, `"message":{"tool_calls":[$C1,$C2]}`, `"message":{"tool_calls":[{"id":"c1","name":"exec","arguments":`+arguments+`},$C2]}`, 1)
		if found := history.Check(read(log)); len(found) > 0 {
			t.Errorf("%s: %s", name, strings.Join(found, "\n"))
		}
	}
}
