//go:build linux

package blackbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a parked run shows, and what becomes of it when somebody says yes.
func TestApproval(t *testing.T) {
	t.Parallel()
	s := gated(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "A\n")
	r, c := s.agentRun(t, []reply{
		asks(call("r1", "read_file", args{"path": "a"}), call("w1", "file_write", args{"path": "out", "content": "1"}), call("r2", "read_file", args{"path": "out"})),
		says("done"),
	}, in(dir))
	a := r.parked(t)
	want{
		"task_id": r.task, "run_id": r.id, "kind": "agent_loop_tool_call", "status": "pending", "created_at": present, "step_id": present,
		"resolved_at": absent, "resolved_by": absent, "resolution_note": absent,
	}.check(t, "approval", a)
	contains(t, "reason", a.str("reason"), "file_write")
	equal(t, "approval alone", s.get(t, r.taskPath()+"/approvals/"+a.str("id")).String(), a.String())
	summary := lines(a)
	if len(summary) != 3 {
		t.Fatalf("action summary: %q", summary)
	}
	contains(t, "summary", summary[0], "read_file", "path=a")
	contains(t, "summary", summary[1], "file_write", "out", "1")
	contains(t, "summary", summary[2], "read_file", "path=out")
	equal(t, "steps before the answer", shape(r.steps(t), "kind", "tool_name", "status"),
		"model/builtin.agent_loop_llm/completed approval/builtin.agent_loop_approval/awaiting_approval")
	want{"approval_id": a.str("id"), "phase": "approval", "input/model_call_index": 1, "input/tool_call_bundle_digest": present}.check(t, "gate", r.step(t, 1))
	want{"pending_approval_count": 1, "status": "awaiting_approval"}.check(t, "task", s.get(t, r.taskPath()))
	want{"finished_at": absent}.check(t, "run", r.now(t))
	contains(t, "history", r.history(t), "approval.requested run.awaiting_approval")

	resolved := s.ask(t, "POST", r.taskPath()+"/approvals/"+a.str("id")+"/resolve", args{"decision": " Approved ", "note": "go on"}).ok(t)
	if resolved.header.Get("X-Trace-Id") == "" {
		t.Error("an answer without X-Trace-Id")
	}
	want{"status": "approved", "resolved_by": "operator", "resolution_note": "go on", "resolved_at": present}.check(t, "approval", resolved.envelope(t).obj("data"))
	r.becomes(t, "completed")
	equal(t, "steps", shape(r.steps(t), "kind", "tool_name", "status"),
		"model/builtin.agent_loop_llm/completed approval/builtin.agent_loop_approval/completed control/builtin.agent_loop_resume/completed "+
			"tool/read_file/completed tool/file_write/completed tool/read_file/completed model/builtin.agent_loop_llm/completed")
	want{"input/resumed": true, "input/model_call_index": 1, "input/approved_tools": present, "input/tool_calls": present}.check(t, "control step", r.step(t, 2))
	equal(t, "requests", c.count(), 2)
	texts := c.request(t, 1).answered(t, "r1", "w1", "r2")
	contains(t, "r2", texts[2], "--- content ---\n1")
	contains(t, "history", r.history(t), "run.awaiting_approval approval.resolved run.queued run.started tool.file.patch model.call.started")
	events := r.events(t)
	want{"approval_id": a.str("id"), "kind": "agent_loop_tool_call", "status": "pending", "step_id": a.str("step_id")}.check(t, "requested", first(t, events, "approval.requested"))
	want{
		"approval_id": a.str("id"), "decision": "approved", "status": "approved", "by": "operator", "comment": "go on", "scope": "once",
	}.check(t, "resolved", first(t, events, "approval.resolved"))
	want{"resume": true}.check(t, "queued again", part(t, objects(ofType(events, "run.queued")), 0, 2)[1])
	want{"pending_approval_count": absent}.check(t, "task", s.get(t, r.taskPath()))
}

// Of twenty answers at once one counts, and the tool runs once.
func TestApprovalIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := gated(t)
	dir := t.TempDir()
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	id := r.parked(t).str("id")
	statuses := atOnce(20, func(int) int {
		a, err := s.send("POST", r.taskPath()+"/approvals/"+id+"/resolve", args{"decision": "approve"})
		if err != nil {
			return 0
		}
		return a.status
	})
	equal(t, "successes", count(statuses, 200), 1)
	equal(t, "conflicts", count(statuses, 409), 19)
	r.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	equal(t, "requests", c.count(), 2)
	equal(t, "answers", len(ofType(r.events(t), "approval.resolved")), 1)
	equal(t, "queued", len(ofType(r.events(t), "run.queued")), 2)
}

func TestRejection(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"reject", "rejected", "deny", " DENIED "} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r, c := gated(t).agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
			id := r.parked(t).str("id")
			want{"status": "rejected", "resolved_by": "operator"}.check(t, "approval", r.resolve(t, id, word).ok(t).envelope(t).obj("data"))
			want{"last_error": "approval rejected"}.check(t, "run", r.becomes(t, "cancelled"))
			want{"status": "cancelled", "last_error": "approval rejected"}.check(t, "task", r.get(t, r.taskPath()))
			want{"status": "cancelled", "result": "error"}.check(t, "gate", r.step(t, 1))
			r.resolve(t, id, "approve").refused(t, 409, "invalid_request")
			equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
			equal(t, "requests", c.count(), 1)
			for _, kind := range []string{"approval.resolved", "run.cancelled", "task.updated"} {
				equal(t, kind, len(ofType(r.events(t), kind)), 1)
			}
		})
	}
}

// A cancelled run stays cancelled, whoever approves it afterwards.
func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, _ := gated(t).agentRun(t, []reply{asks(shell("c1", "echo x >> marker"))}, in(dir))
	id := r.parked(t).str("id")
	want{"status": "cancelled", "last_error": "run cancelled: enough"}.check(t, "answer", r.cancel(t))
	r.resolve(t, id, "approve").refused(t, 409, "invalid_request")
	want{"status": "cancelled", "resolved_by": "system"}.check(t, "approval", part(t, r.approvals(t), 0, 1)[0])
	want{"status": "cancelled", "result": "error"}.check(t, "gate", r.step(t, 1))
	want{"status": "cancelled", "pending_approval_count": absent}.check(t, "task", r.get(t, r.taskPath()))
	events := r.events(t)
	want{"decision": "cancelled", "status": "cancelled", "by": "system"}.check(t, "event", first(t, events, "approval.resolved"))
	want{"by": "operator", "reason": "run cancelled: enough"}.check(t, "event", first(t, events, "run.cancelled"))
	if h := r.history(t); !strings.HasSuffix(h, "run.awaiting_approval approval.resolved run.cancelled task.updated") {
		t.Error(h)
	}
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
}

// However a yes and a cancel meet, the end is one of the two, never a mixture.
func TestApproveAndCancelAtOnce(t *testing.T) {
	t.Parallel()
	s := gated(t)
	const rounds, lanes = 40, 4
	atOnce(lanes, func(lane int) int {
		for round := lane; round < rounds && !t.Failed(); round += lanes {
			approveAndCancel(t, s)
		}
		return 0
	})
}

func approveAndCancel(t *testing.T, s *server) {
	dir := t.TempDir()
	c := s.model.script(asks(shell("c1", "echo x >> marker")), says("done"))
	task := s.mustPost(t, api+"/tasks", agent(c, in(dir))).str("id")
	r := run{s, task, s.mustPost(t, api+"/tasks/"+task+"/start", nil).str("id")}
	var id string
	if !soon(func() bool {
		a, err := s.send("GET", r.taskPath()+"/approvals", nil)
		d, _ := parse(a.body)
		if err == nil && len(d.list("data")) == 1 {
			id = d.list("data")[0].str("id")
		}
		return id != ""
	}) {
		t.Error("no approval")
		return
	}
	answers := atOnce(2, func(i int) answer {
		a, _ := s.send("POST", []string{r.taskPath() + "/approvals/" + id + "/resolve", r.path() + "/cancel"}[i], args{"decision": "approve"})
		return a
	})
	var now, approval doc
	soon(func() bool {
		now, approval = s.mustGet(t, r.path()), s.mustGet(t, r.taskPath()+"/approvals/"+id)
		return terminal(now.str("status"))
	})
	status, decided, written := now.str("status"), approval.str("status"), fileLines(filepath.Join(dir, "marker"))
	approved := answers[0].status == 200
	fine := answers[1].status == 200 && written <= 1 &&
		(approved && decided == "approved" || answers[0].status == 409 && decided == "cancelled" && written == 0) &&
		(status == "cancelled" || status == "completed" && approved && written == 1)
	if !fine {
		t.Errorf("resolve %d, cancel %d: run %s, approval %s, written %d", answers[0].status, answers[1].status, status, decided, written)
	}
}

// mustPost, mustGet and soon are for goroutines, which may not end the test.
func (c *client) mustPost(t *testing.T, path string, body any) doc {
	return c.must(t, "POST", path, body)
}

func (c *client) mustGet(t *testing.T, path string) doc { return c.must(t, "GET", path, nil) }

func (c *client) must(t *testing.T, method, path string, body any) doc {
	a, err := c.send(method, path, body)
	if err != nil || a.status != 200 {
		t.Errorf("%s %s: %v %d %s", method, path, err, a.status, a.body)
		return doc{}
	}
	d, err := parse(a.body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return d.obj("data")
}

// An approval is found under its own task only, and only a clear word decides it.
func TestApprovalsAreResolvedByTheirOwnPath(t *testing.T) {
	t.Parallel()
	s := gated(t)
	a, _ := s.agentRun(t, []reply{asks(shell("c1", "true")), says("done")})
	b, _ := s.agentRun(t, []reply{asks(shell("c1", "true")), says("done")})
	ofA, ofB := a.parked(t).str("id"), b.parked(t).str("id")
	a.resolve(t, ofB, "approve").refused(t, 404, "not_found")
	for _, body := range []any{args{"decision": "maybe"}, args{}, args{"verdict": "approve"}, args{"decision": ""}, "", "{", `{"decision":true}`} {
		s.ask(t, "POST", b.taskPath()+"/approvals/"+ofB+"/resolve", body).refused(t, 400, "invalid_request")
	}
	equal(t, "a", a.now(t).str("status"), "awaiting_approval")
	equal(t, "b", b.now(t).str("status"), "awaiting_approval")
	b.resolve(t, ofB, "approve").ok(t)
	b.becomes(t, "completed")
	equal(t, "a", a.now(t).str("status"), "awaiting_approval")
	b.resolve(t, ofB, "maybe").refused(t, 400, "invalid_request") // the word is judged first
	b.resolve(t, ofB, "approve").refused(t, 409, "invalid_request")
	a.resolve(t, ofA, "reject").ok(t)
}

// Tasks without a model wait before they run, if their kind is gated.
func TestGatesBeforeExecution(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_APPROVAL_POLICIES=shell_exec,git_exec,file_write,network_egress")
	for name, c := range map[string]struct {
		task args
		kind string
	}{
		"shell":            {args{"execution_kind": "shell", "shell_command": "echo x >> marker"}, "shell_command"},
		"shell, network":   {args{"execution_kind": "shell", "shell_command": "echo x >> marker", "sandbox_network": true}, "shell_command"},
		"git":              {args{"execution_kind": "git", "git_command": "init -q marker"}, "git_exec"},
		"file":             {args{"execution_kind": "file", "file_path": "marker", "file_content": "x"}, "file_write"},
		"agent on the net": {args{"execution_kind": "agent_loop", "prompt": "p", "sandbox_network": true}, "network_egress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.kind == "network_egress" {
				c.task["prompt"] = "p " + s.model.script(says("done")).mark
			}
			r := s.begin(t, c.task, in(dir))
			a := r.parked(t)
			want{"kind": c.kind, "requested_by": "operator", "reason": present, "step_id": absent}.check(t, "approval", a)
			want{"approval_count": 1, "step_count": absent}.check(t, "run", r.now(t))
			equal(t, "history", r.history(t), "run.created approval.requested run.awaiting_approval")
			want{"status": "awaiting_approval"}.check(t, "created", first(t, r.events(t), "run.created"))
			left, _ := os.ReadDir(dir)
			equal(t, "files before the answer", len(left), 0)
			r.resolve(t, a.str("id"), "approve").ok(t)
			r.becomes(t, "completed")
			contains(t, "history", r.history(t), "run.created approval.requested run.awaiting_approval approval.resolved run.queued run.started")
			if _, err := os.Stat(filepath.Join(dir, "marker")); err != nil && c.kind != "network_egress" {
				t.Error("nothing was done after the yes")
			}
		})
	}
	r := s.begin(t, sh("echo x >> marker"), in(t.TempDir()))
	r.resolve(t, r.parked(t).str("id"), "reject").ok(t)
	r.becomes(t, "cancelled")
	equal(t, "steps of a rejected run", len(r.steps(t)), 0)
}

// Policies that are set and empty gate nothing.
func TestEmptyPoliciesGateNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.begin(t, sh("true", args{"sandbox_network": true})).becomes(t, "completed")
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "true"), call("c2", "file_write", args{"path": "a", "content": "x"})), says("done")})
	r.becomes(t, "completed")
	equal(t, "approvals", len(r.approvals(t)), 0)
}

// all_tools gates what nothing else does.
func TestAllToolsAreGated(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_APPROVAL_POLICIES=all_tools")
	r, _ := s.agentRun(t, []reply{asks(call("c1", "list_dir", args{"path": "."})), says("done")})
	r.resolve(t, r.parked(t).str("id"), "approve").ok(t)
	r.becomes(t, "completed")
}

// A secret in a command is not shown to everybody who may list approvals.
func TestSummariesWithholdDetails(t *testing.T) {
	t.Parallel()
	r, _ := gated(t).agentRun(t, []reply{asks(shell("c1", "curl -H 'Authorization: hunter2' x")), says("done")})
	a := r.parked(t)
	want{"action_summary_incomplete": true}.check(t, "approval", a)
	contains(t, "summary", strings.Join(lines(a), "\n"), "shell_exec", "command_bytes=34")
	if strings.Contains(a.String(), "hunter2") {
		t.Errorf("the secret is shown: %s", a)
	}
	r.cancel(t)
}

// The gate of a cancelled run says why it closed, like every other open step.
func TestCancelledGateSaysWhy(t *testing.T) {
	t.Parallel()
	r, _ := gated(t).agentRun(t, []reply{asks(shell("c1", "true"))})
	r.parked(t)
	r.cancel(t)
	want{"status": "cancelled", "result": "error", "error_kind": "run_cancelled"}.check(t, "gate", r.step(t, 1))
}
