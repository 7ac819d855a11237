package main

import (
	"strings"
	"testing"
)

// ended is a server whose run has ended, and that plays script when it is to go on.
func ended(t *testing.T, script []scriptedEvent) *contractServer {
	s := newContractServer(t, script)
	s.happen(ev("run.created", obj{"number": 1, "status": "queued"}), ev("run.failed", obj{"message": "out of order"}))
	return s
}

// again is a run that goes on from another one and ends well.
func again() []scriptedEvent {
	out := []scriptedEvent{ev("run.created", obj{"number": 2, "status": "queued"}), ev("run.resumed_from_event", obj{"from_run_id": "run_0", "prior_cost_micros_usd": 2000})}
	return append(append(out, callEvents(1, "All is well.")...), ev("run.finished", obj{"final_status": "completed", "model_call_count": 1}))
}

// Each way to go on sends what was said, and follows the run like hecate run does.
func TestGoOnFromARun(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		request string
	}{
		"retry":    {[]string{"retry", "run_1"}, `POST /tasks/task_1/runs/run_1/retry {"permissions":{"on_ask":"refuse"}}`},
		"reason":   {[]string{"retry", "run_1", "--reason", "flaky"}, `/retry {"reason":"flaky","permissions":{"on_ask":"refuse"}}`},
		"resume":   {[]string{"resume", "task_1", "--budget", "1.5", "--reason", "more money", "--yes"}, `/runs/run_1/resume {"reason":"more money","budget_micros_usd":1500000,"permissions":{"on_ask":"refuse","yes":true}}`},
		"continue": {[]string{"continue", "run_1", "now", "the", "docs"}, `/runs/run_1/continue {"prompt":"now the docs","permissions":{"on_ask":"refuse"}}`},
		"branch":   {[]string{"branch", "run_1", "--call", "3", "--allow-tools", "view"}, `/runs/run_1/retry-from-model-call {"model_call_index":3,"permissions":{"on_ask":"refuse","allow_tools":["view"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := ended(t, again())
			check(t, succeed(t, append(c.args, "--server", s.URL)...), []string{
				"· task task_1 · run run_1", "· goes on from run_0; spent before: $0.0020", "All is well.",
				"✓ completed", "cost $0.0015, after $0.0020 before it", `hecate continue run_1 "…"`,
			})
			check(t, s.requests(), []string{c.request})
		})
		t.Run(name+", detached", func(t *testing.T) {
			s := ended(t, []scriptedEvent{ev("run.created", obj{"status": "queued"}), ev("hang", nil)})
			out := succeed(t, append(c.args, "--server", s.URL, "--detach")...)
			check(t, out, []string{"run_1 of task_1 is running", "hecate log --follow run_1"})
			check(t, succeed(t, append(c.args, "--server", s.URL, "--detach", "--json")...), []string{`"id": "run_1"`})
			if strings.Contains(s.requests(), "on_ask") {
				t.Errorf("a run that is left to the server does not wait: %s", s.requests())
			}
		})
	}
}

// The prompt can come from standard input, as that of a run.
func TestContinueFromStandardInput(t *testing.T) {
	s := ended(t, again())
	a, _, errs := testApp(t)
	a.in = strings.NewReader("now the docs\n")
	if code := a.run([]string{"continue", "run_1", "-", "--server", s.URL}); code != exitCompleted {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	check(t, s.requests(), []string{`{"prompt":"now the docs\n","permissions":{"on_ask":"refuse"}}`})
}

// What the server refuses is said, with the way to look at it.
func TestGoOnIsRefused(t *testing.T) {
	s := ended(t, nil)
	for _, c := range []struct {
		args []string
		err  []string
	}{
		{[]string{"resume", "run_2"}, []string{"there is no run run_2", "hecate tasks"}},
		{[]string{"resume", "task_2"}, []string{"there is no task task_2"}},
	} {
		a, _, errs := testApp(t)
		if code := a.run(append(c.args, "--server", s.URL)); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		check(t, errs.String(), c.err)
	}
	for _, args := range [][]string{{"resume", "run_1"}, {"resume", "run_1", "--detach"}} {
		a, _, errs := testApp(t)
		if code := a.run(args); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		check(t, errs.String(), []string{"running on this machine", "hecate serve"})
	}
}

// Calls that a run took over are shown before they are answered for, and the answer
// is bound to them.
func TestInheritedCallsAreShown(t *testing.T) {
	script := []scriptedEvent{ev("run.created", obj{"number": 2, "status": "queued"}), ev("approval.requested", obj{
		"approval_id": "approval_1", "kind": "agent_loop_tool_call", "digest": "of the run", "source_run_id": "run_1", "source_model_call_index": 1,
		"calls": []any{obj{"tool_call_id": "c1", "tool_name": "shell_exec", "ruling": obj{"decision": "ask", "rule": "runtime-policy"}}},
	})}
	s := newContractServer(t, append(script, ev("run.finished", obj{})))
	settled := obj{"tool_call_id": "c0", "tool_name": "read_file", "input": obj{"path": "a.go"}}
	s.happen(append(callEvents(1, "", settled, shellCall), ev("run.cancelled", obj{"by": "operator"}))...)
	a, out, errs := testApp(t)
	onTerminal(a, strings.NewReader("y\n"))
	if code := a.run([]string{"resume", "run_1", "--server", s.URL}); code != exitCompleted {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	check(t, out.String(), []string{"1  read_file a.go · was decided before\n", "call 2 of 2", "    │ go test ./...\n"})
	check(t, s.requests(), []string{`"digest":"` + digestOf("run_1", 0, settled, shellCall) + `"`})
}

// The verdict names what it leaves open, and the way on.
func TestVerdict(t *testing.T) {
	s := ended(t, []scriptedEvent{
		ev("run.created", obj{"status": "queued"}),
		ev("run.warning", obj{"code": "cost_ceiling_unenforceable", "message": "the ceiling cannot be held"}),
		ev("assistant.tool_call_proposed", shellCall),
		ev("tool.dispatch.intended", obj{"model_call_index": 1, "tool_call_id": "c1", "tool_name": "shell_exec", "step_id": "step_7"}),
		ev("gap.run_disconnected", obj{"reason": "worker_lease_expired", "action": "requeued", "message": "taken over from node n1"}),
		ev("tool.dispatch.settled", obj{"model_call_index": 1, "tool_call_id": "c1", "tool_name": "shell_exec", "step_id": "step_7", "outcome": "unknown"}),
		ev("model.call.completed", obj{"model_call_index": 2, "cost_known": false}),
		ev("run.failed", obj{"message": "at the ceiling", "reason": "cost_ceiling_exceeded"}),
	})
	a, out, _ := testApp(t)
	if code := a.run([]string{"retry", "run_1", "--server", s.URL}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	verdict := out.String()[strings.Index(out.String(), "✗ failed"):]
	check(t, verdict, []string{
		"cost unknown", "  ! the ceiling cannot be held\n",
		"nobody knows whether this took effect: shell_exec go test ./...\n", "hecate settle run_1 step_7 --done",
		"go on     hecate resume --budget USD run_1",
	})
	s = ended(t, s.script)
	s.script = []scriptedEvent{ev("run.warning", obj{"code": "c", "message": "m"}), ev("run.failed", obj{"reason": "r"})}
	a, out, _ = testApp(t)
	a.run([]string{"retry", "run_1", "--json", "--server", s.URL})
	check(t, out.String(), []string{`"warnings":[{"code":"c","message":"m"}]`, `"reason":"r"`})
}

// Runs of a task say which one they follow, and what there is to know about them.
func TestTaskShowsTheChain(t *testing.T) {
	s := ended(t, nil)
	s.follows = obj{
		"resumed_from_run_id": "run_0", "resume_kind": "branch", "source_model_call_index": 2, "cost_known": false,
		"warnings": []any{obj{"code": "c", "message": "the ceiling cannot be held"}}, "waiting_reason": "workspace_unreachable",
	}
	s.answers = obj{"/tasks/task_1/runs/run_1/tool-calls": []any{obj{"tool_call_id": "c1", "state": "unknown", "step_id": "step_7"}}}
	check(t, succeed(t, "tasks", "task_1", "--server", s.URL), []string{
		"branch at model call 2", "unknown (at least $0.0030)", "! run 1: the ceiling cannot be held\n", "! run 1 waits: no running worker reaches its workspace",
		"! nobody knows whether 1 call of run_1 took effect: hecate calls run_1\n",
	})
	check(t, succeed(t, "log", "run_1", "--server", s.URL), []string{"run_1: a branch at model call 2 of run_0\n"})
	if strings.Contains(succeed(t, "log", "run_1", "--json", "--server", s.URL), "a branch") {
		t.Error("JSON lines have a line that is none")
	}
}

func toolCalls() obj {
	return obj{"/tasks/task_1/runs/run_1/tool-calls": []any{
		obj{"tool_call_id": "c0", "tool_name": "read_file", "source_run_id": "run_1", "source_model_call_index": 1, "state": "finished", "outcome": "completed", "step_id": "step_1", "step_run_id": "run_0"},
		obj{"tool_call_id": "c1", "tool_name": "shell_exec", "model_call_index": 1, "state": "unknown", "outcome": "unknown", "step_id": "step_2"},
		obj{"tool_call_id": "c1", "tool_name": "shell_exec", "model_call_index": 2, "state": "not_started"},
		obj{"tool_call_id": "c3", "tool_name": "git_exec\x1b[2J", "model_call_index": 2, "state": "unknown", "outcome": "unknown", "step_id": "step_4", "operator_outcome": "done"},
		obj{"tool_call_id": "c4", "tool_name": "shell_exec", "source_run_id": "run_1", "source_model_call_index": 9, "state": "unknown"},
	}}
}

func TestCalls(t *testing.T) {
	s := newContractServer(t, nil)
	s.happen(append(callEvents(1, "", obj{"tool_call_id": "c0", "tool_name": "read_file", "input": obj{"path": "a.go"}}, shellCall), ev("run.finished", obj{}))...)
	s.answers = toolCalls()
	check(t, succeed(t, "calls", "run_1", "--server", s.URL), []string{
		"1 of run_1  finished     completed                       step_1  c0  read_file a.go\n",
		"1           unknown      unknown                         step_2  c1  shell_exec go test ./...\n",
		"2           not started                                          c1  shell_exec\n",
		`2           unknown      took effect, says the operator  step_4  c3  git_exec\x1b[2J`,
		"took effect: shell_exec go test ./...\n", "hecate settle run_1 step_2 --done",
	})
	check(t, succeed(t, "calls", "--json", "--server", s.URL), []string{`"operator_outcome": "done"`})
	s.answers = obj{"/tasks/task_1/runs/run_1/tool-calls": []any{}}
	check(t, succeed(t, "calls", "--server", s.URL), []string{"run_1 has called no tool"})
}

func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		args         []string
		code         int
		request, say string
	}{
		"by step":       {[]string{"step_2", "--done"}, 0, `POST /tasks/task_1/runs/run_1/steps/step_2/settle {"outcome":"done"}`, "✓ shell_exec took effect"},
		"by call":       {[]string{"c1", "--not-done", "--note", "no tag"}, 0, `/steps/step_2/settle {"outcome":"not_done","note":"no tag"}`, "hecate resume run_1"},
		"nothing":       {[]string{"c9", "--done"}, 1, "", "run_1 has no call c9"},
		"too short":     {[]string{"step", "--done"}, 0, "/steps/step_2/settle", "✓"}, // the only one that is open
		"known":         {[]string{"c0", "--done"}, 1, "", "c0 is finished; only a call whose outcome is unknown"},
		"said already":  {[]string{"step_4", "--done"}, 1, "", "was said already: it took effect"},
		"not yet here":  {[]string{"c4", "--done"}, 1, "", "has not come to this call yet"},
		"several known": {[]string{"c", "--done"}, 1, "", "c means 2 calls"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, nil)
			s.happen(ev("run.created", obj{}), ev("run.finished", obj{}))
			s.answers = toolCalls()
			s.answers["/tasks/task_1/runs/run_1/steps/step_2/settle"] = obj{}
			a, out, errs := testApp(t)
			if code := a.run(append([]string{"settle", "run_1", "--server", s.URL}, c.args...)); code != c.code {
				t.Errorf("exit code %d: %s", code, errs)
			}
			check(t, s.requests(), []string{c.request})
			check(t, out.String()+errs.String(), []string{c.say})
		})
	}
}
