package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"hecate/cmd/hecate/internal/client"
)

// Of the one call of a direct run, it is said who let it run as of those that a model asks for.
func TestWhoOfDirectRun(t *testing.T) {
	p := pastCalls{grants: map[string]string{}}
	for _, e := range []struct{ kind, data string }{
		{"approval.requested", `{"approval_id":"approval_1","kind":"shell_command","policy_reason":"shell commands need approval"}`},
		{"approval.resolved", `{"approval_id":"approval_1","decision":"approved","by":"operator"}`},
		{"tool.dispatch.intended", `{"tool_call_id":"step_1","tool_name":"shell","approval_id":"approval_1","ruling":{"decision":"ask","level":2,"layer":"gate","rule":"runtime-policy","posture":"runtime"}}`},
		{"tool.dispatch.settled", `{"tool_call_id":"step_1","tool_name":"shell","approval_id":"approval_1","outcome":"completed"}`},
		{"tool.dispatch.intended", `{"tool_call_id":"call_1","tool_name":"exec","source_run_id":"run_0"}`},
	} {
		p.add(client.Event{Type: e.kind, Data: json.RawMessage(e.data)})
	}
	p.complete(map[string]client.AnsweredBy{"approval_1": {By: "operator", Name: "ada", Verified: true}}, "")
	var out bytes.Buffer
	for _, c := range p.calls {
		c.show(&out)
	}
	check(t, out.String(), []string{
		"shell (step_1, direct): ask", "decided by gate (runtime-policy)", "asked in approval_1: shell commands need approval\n",
		"approved, scope once, by ada", "exec (call_1, inherited from run_0)",
	})
}
