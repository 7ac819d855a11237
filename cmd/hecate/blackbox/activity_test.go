//go:build linux

package blackbox_test

import (
	"strings"
	"testing"
)

// The activity in the last frame of a stream tells the whole run in the words of
// a timeline.
func TestActivity(t *testing.T) {
	t.Parallel()
	s := gated(t)
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "echo "+longText)), says("It is done.")})
	approval := r.parked(t)
	feed := s.follow(t, patience, r.path()+"/stream")
	for waiting := false; !waiting; {
		f, err := feed.event()
		if err != nil {
			t.Fatal(err)
		}
		if a := item(f.body(t), "approval:"+approval.str("id")); a != nil {
			want{
				"type": "approval", "status": "pending", "needs_action": true, "terminal": absent, "kind": "agent_loop_tool_call",
				"title": "agent_loop_tool_call", "summary/reason": approval.str("reason"), "summary/action_summary": present,
			}.check(t, "while it waits", a)
			waiting = true
		}
	}
	r.resolve(t, approval.str("id"), "approve").ok(t)
	r.becomes(t, "completed")
	frames := feed.rest(t)
	last := frames[len(frames)-1].body(t)
	steps, out, answer := last.list("steps"), r.artifact(t, "stdout"), r.artifact(t, "summary")
	for id, w := range map[string]want{
		"approval:" + approval.str("id"):                             {"type": "approval", "status": "approved", "needs_action": absent, "terminal": true},
		"step:" + part(t, steps, 0, 1)[0].str("id"):                  {"type": "thinking", "status": "completed", "title": "Model call 1", "kind": "model", "terminal": true},
		"step:" + approval.str("step_id"):                            {"type": "approval", "approval_id": approval.str("id"), "status": "approved"},
		"step:" + r.stepOf(t, "builtin.agent_loop_resume").str("id"): {"type": "step", "status": "completed"},
		"step:" + r.stepOf(t, "shell_exec").str("id"):                {"type": "tool_call", "tool_name": "shell_exec", "status": "completed", "kind": "tool", "terminal": true},
		"artifact:" + out.str("id"):                                  {"type": "artifact", "kind": "stdout", "title": "stdout.txt", "summary/content_preview": longText[:2000] + "\n...[truncated]", "terminal": true},
		"artifact:" + answer.str("id"):                               {"type": "final_answer", "kind": "summary", "status": "ready", "terminal": true},
		"run:" + r.id + ":terminal":                                  {"type": "run_result", "status": "completed", "terminal": true, "title": present},
	} {
		a := item(last, id)
		if a == nil {
			t.Errorf("no activity %s in %s", id, shape(last.list("activity"), "id", "type"))
			continue
		}
		w.check(t, id, a)
	}
	before := ""
	for _, a := range last.list("activity") {
		if at := a.str("occurred_at"); at < before {
			t.Errorf("%s is before the item above it", a)
		} else {
			before = at
		}
	}
}

// longText is more than a preview shows.
var longText = strings.Repeat("0123456789", 250)

// item returns the activity with the id.
func item(frame doc, id string) doc {
	for _, a := range frame.list("activity") {
		if a.str("id") == id {
			return a
		}
	}
	return nil
}
