//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An agent that looks once and answers: everything that clients read of such a run.
func TestAgentRun(t *testing.T) {
	t.Parallel()
	s := open(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "hello\n")
	r, c := s.agentRun(t, []reply{
		{Text: "Let me see.", Calls: asks(call("c1", "read_file", args{"path": "a.txt"})).Calls, Usage: &[2]int64{20, 5}},
		{Text: "It says hello.", Usage: &[2]int64{40, 5}},
	}, in(dir), args{"system_prompt": "Be brief."})
	want{
		"model_call_count": 2, "step_count": 3, "artifact_count": 2, "model": modelName, "provider": "fake", "provider_kind": "local",
		"otel_status_code": "ok", "workspace_path": dir, "last_error": absent,
	}.check(t, "run", r.becomes(t, "completed"))
	want{"latest_model": modelName, "latest_provider": "fake", "latest_run_step_count": 3}.check(t, "task", s.get(t, r.taskPath()))
	equal(t, "history", withoutAccounts(r.history(t)), "run.created run.queued run.started "+
		"model.call.started assistant.text_complete assistant.tool_call_proposed "+
		"model.call.started assistant.text_complete assistant.final_answer run.finished")
	checkAgentSteps(t, r)
	checkAgentArtifacts(t, r)
	checkAgentEvents(t, r)
	checkAgentRequests(t, c, dir)
}

// withoutAccounts leaves model.call.completed out: its place among the assistant
// events of its call is not fixed.
func withoutAccounts(history string) string {
	return strings.ReplaceAll(history, "model.call.completed ", "")
}

func checkAgentSteps(t *testing.T, r run) {
	t.Helper()
	steps := r.steps(t)
	equal(t, "steps", shape(part(t, steps, 0, 3), "index", "kind", "tool_name", "status"),
		"1/model/builtin.agent_loop_llm/completed 2/tool/read_file/completed 3/model/builtin.agent_loop_llm/completed")
	want{
		"title": "Model call 1", "phase": "thinking", "result": "success", "input/model": modelName, "input/model_call_index": 1,
		"output_summary/content_chars": 11, "output_summary/cost_micros_usd": 0, "output_summary/run_cumulative_cost_micros_usd": 0,
		"output_summary/finish_reason": "tool_calls", "output_summary/tool_calls": present,
	}.check(t, "model step", steps[0])
	want{
		"phase": "execution", "result": "success", "input/tool": "read_file", "input/tool_call_id": "c1", "input/tool_call_digest": present,
		"input/model_call_index": 1, "input/dispatch_intent_version": 1, "input/path": "a.txt",
		"output_summary/dispatch_intent_settled": true, "output_summary/bytes_read": 6,
	}.check(t, "tool step", steps[1])
	want{"output_summary/finish_reason": "stop", "input/model_call_index": 2}.check(t, "last step", steps[2])
}

func checkAgentArtifacts(t *testing.T, r run) {
	t.Helper()
	want{
		"id": "final-answer-" + r.id, "name": "agent-final-answer.txt", "mime_type": "text/plain", "content_text": "It says hello.", "status": "ready",
	}.check(t, "answer", r.artifact(t, "summary"))
	want{
		"id": "convo-" + r.id, "name": "agent-conversation.json", "mime_type": "application/json", "status": "ready",
	}.check(t, "conversation", r.artifact(t, "agent_conversation"))
	messages := part(t, r.conversation(t), 0, 6)
	equal(t, "roles", shape(messages, "role"), "system system user assistant tool assistant")
	contains(t, "first message", messages[0].str("content"), r.now(t).str("workspace_path"))
	contains(t, "second message", messages[1].str("content"), "Be brief.")
	want{"content": "Let me see."}.check(t, "assistant", messages[3])
	call := part(t, messages[3].list("tool_calls"), 0, 1)[0]
	want{"id": "c1", "type": "function", "function/name": "read_file", "function/arguments": `{"path":"a.txt"}`}.check(t, "call", call)
	want{"tool_call_id": "c1", "tool_error": absent}.check(t, "result", messages[4])
	contains(t, "result", messages[4].str("content"), "--- content ---\nhello")
}

func checkAgentEvents(t *testing.T, r run) {
	t.Helper()
	events := r.events(t)
	model := r.step(t, 0).str("id")
	for kind, w := range map[string]want{
		"model.call.started":           {"model_call_index": 1, "model": modelName, "provider": "fake", "input_tokens_estimate": present},
		"assistant.text_complete":      {"model_call_index": 1, "block_index": 0, "text": "Let me see."},
		"assistant.tool_call_proposed": {"model_call_index": 1, "tool_call_id": "c1", "tool_name": "read_file", "input/path": "a.txt"},
		"assistant.final_answer":       {"model_call_index": 2, "summary": "It says hello."},
		"model.call.completed": {
			"model_call_index": 1, "step_id": model, "cost_micros_usd": 0, "run_cumulative_cost_micros_usd": 0,
			"task_cumulative_cost_micros_usd": 0, "tool_calls": 1,
		},
		"run.finished": {"final_status": "completed", "model_call_count": 2},
	} {
		w.check(t, kind, first(t, events, kind))
	}
	equal(t, "accounts", shape(objects(ofType(events, "model.call.completed")), "model_call_index", "tool_calls"), "1/1 2/0")
}

// objects are the data of events.
func objects(events []doc) (out []doc) {
	for _, e := range events {
		out = append(out, e.obj("data"))
	}
	return out
}

func checkAgentRequests(t *testing.T, c *conversation, dir string) {
	t.Helper()
	equal(t, "requests", c.count(), 2)
	asked := c.request(t, 0)
	want{"model": modelName, "stream": true, "messages": present}.check(t, "request", asked.doc)
	contains(t, "catalogue", asked.tools(), "shell_exec", "file_write", "file_edit", "read_file", "grep", "glob", "list_dir", "git_status", "git_diff", "artifact_read", "apply_patch")
	contains(t, "first message", asked.list("messages")[0].str("content"), dir)
	contains(t, "result", c.request(t, 1).answered(t, "c1")[0], "hello")
}

// Broken argument JSON is an answer to the model; the provider never gets it back,
// so that the conversation can go on.
func TestBrokenArguments(t *testing.T) {
	t.Parallel()
	r, c := open(t).agentRun(t, []reply{
		asks(call("c1", "read_file", `{"path": "a.txt`), call("c2", "list_dir", args{"path": "."})), says("done"),
	})
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, "c1", "c2")
	contains(t, "result of c1", texts[0], "invalid arguments for read_file")
	contains(t, "result of c2", texts[1], "entries=0")
	equal(t, "tool steps", shape(part(t, r.steps(t), 1, 3), "tool_name", "status"), "read_file/failed list_dir/completed")
	contains(t, "proposed input", first(t, r.events(t), "assistant.tool_call_proposed").String(), `"raw"`)
}

// A bundle that cannot be handled by identity runs in no part, and asks nobody.
func TestInvalidBundles(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_APPROVAL_POLICIES=read_file")
	reads := func(ids ...string) reply {
		var r reply
		for _, id := range ids {
			r.Calls = append(r.Calls, call(id, "read_file", args{"path": "a"}))
		}
		return r
	}
	numbered := func(n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint("c", i))
		}
		return ids
	}
	for name, c := range map[string]struct {
		bundle reply
		why    string
	}{
		"too many":   {reads(numbered(17)...), "16"},
		"same id":    {reads("x", "x"), "x"},
		"empty id":   {reads(""), "id"},
		"long id":    {reads(strings.Repeat("i", 257)), "256"},
		"long, last": {reads("a", strings.Repeat("é", 128)+"!"), "256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, model := s.agentRun(t, []reply{c.bundle, says("done")})
			failed := r.becomes(t, "failed")
			contains(t, "reason", failed.str("last_error"), "model call 1 returned an invalid tool-call bundle", c.why)
			equal(t, "requests", model.count(), 1)
			equal(t, "model calls", failed.num("model_call_count"), 1)
			equal(t, "approvals", len(r.approvals(t)), 0)
			equal(t, "steps", shape(r.steps(t), "kind", "tool_name"), "model/builtin.agent_loop_llm model/builtin.agent_loop")
			want{
				"output_summary/invalid_tool_call_bundle": true, "output_summary/tool_call_count": len(c.bundle.Calls), "output_summary/tool_calls": absent,
			}.check(t, "model step", r.step(t, 0))
			equal(t, "history", r.history(t), "run.created run.queued run.started model.call.started model.call.completed run.failed")
		})
	}
	most := append([]string{strings.Repeat("é", 128)}, numbered(15)...)
	r, _ := s.agentRun(t, []reply{reads(most...), says("done")})
	contains(t, "the largest bundle asks", strings.Join(lines(r.parked(t)), "\n"), "read_file")
	r.cancel(t)
}

// lines are the action summary of an approval.
func lines(approval doc) (out []string) {
	items, _ := approval.at("action_summary").([]any)
	for _, i := range items {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// White space is no answer.
func TestBlankAnswer(t *testing.T) {
	t.Parallel()
	r, c := open(t).agentRun(t, []reply{{Text: " \n\t  \n", Usage: &[2]int64{900, 3}}})
	failed := r.becomes(t, "failed")
	contains(t, "reason", failed.str("last_error"), "model call 1 returned no assistant content or tool calls")
	want{"model_call_count": 1, "provider": "fake", "model": modelName}.check(t, "run", failed)
	equal(t, "requests", c.count(), 1)
	equal(t, "steps", shape(r.steps(t), "kind", "tool_name", "status"), "model/builtin.agent_loop_llm/completed model/builtin.agent_loop/failed")
	want{"title": present, "input": absent}.check(t, "last step", r.step(t, 1))
	equal(t, "said", fmt.Sprintf("%q", r.said(t)), `[" \n\t  \n"]`)
	equal(t, "history", r.history(t), "run.created run.queued run.started model.call.started model.call.completed run.failed")
	if a := r.artifact(t, "summary"); a != nil {
		t.Errorf("a final answer: %s", a)
	}
}

// A tool that does not exist is answered, and nothing like it runs instead.
func TestUnknownTools(t *testing.T) {
	t.Parallel()
	r, c := open(t).agentRun(t, []reply{
		asks(call("c1", "read_fileread_file", args{"path": "a"}), call("c2", "functions.list_dir", args{"path": "."}), call("c3", "list_dir", args{"path": "."})),
		says("done"),
	})
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, "c1", "c2", "c3")
	contains(t, "c1", texts[0], "unknown tool: read_fileread_file")
	contains(t, "c2", texts[1], "unknown tool: functions.list_dir")
	contains(t, "c3", texts[2], "entries=")
	equal(t, "tool steps", shape(part(t, r.steps(t), 1, 4), "tool_name", "status"), "read_fileread_file/failed functions.list_dir/failed list_dir/completed")
	equal(t, "errors in the conversation", shape(part(t, r.conversation(t), 3, 7), "role", "tool_error"), "tool/true tool/true tool/<nil> assistant/<nil>")
}

// A command is over when its own process is, whatever it left in the background.
func TestBackgroundProcessesHoldNobodyUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ format, want string }{
		"child":  {"%s & echo started", "started"},
		"daemon": {"setsid %s >/dev/null & echo started", "started"},
		"late":   {"(%s; echo late) & exit 3", "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			background := nap(300)
			r, model := open(t).agentRun(t, []reply{asks(shell("c1", fmt.Sprintf(c.format, background))), says("done")})
			r.becomes(t, "completed") // while what it left has minutes to go
			texts := model.request(t, 1).answered(t, "c1")
			contains(t, "result", texts[0], c.want)
			if strings.Contains(texts[0], "late") {
				t.Errorf("output of the background: %s", texts[0])
			}
			goneSoon(t, background)
		})
	}
}

// Calls of a response that was cut off are not run, even if they can be read.
func TestCallsOfACutResponse(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"half":  `{"path":"README.md","content":"# Title\n\nFirst par`,
		"whole": `{"path":"README.md","content":"half"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "README.md"), "old\n")
			cut := asks(call("c1", "file_write", arguments))
			cut.FinishReason = "length"
			r, model := open(t).agentRun(t, []reply{cut, says("I will split it.")}, in(dir))
			r.ends(t)
			equal(t, "the file", read(t, filepath.Join(dir, "README.md")), "old\n")
			if a := r.artifact(t, "patch"); a != nil {
				t.Errorf("a patch: %s", a)
			}
			if strings.Contains(r.history(t), "tool.file.patch") {
				t.Error(r.history(t))
			}
			if model.count() == 2 {
				texts := model.request(t, 1).answered(t, "c1")
				contains(t, "result", texts[0], "cut off")
			} else {
				contains(t, "error", r.now(t).str("last_error"), "cut off")
			}
			equal(t, "finish reason", r.step(t, 0).str("output_summary", "finish_reason"), "length")
		})
	}
}

// A model that never comes to an end is stopped after the allowed number of calls.
func TestMaximumOfModelCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=3")
	c := s.model.script()
	c.each = func(n int) reply { return asks(call(fmt.Sprint("k", n), "read_file", args{"path": "a"})) }
	r := s.begin(t, agent(c))
	failed := r.becomes(t, "failed")
	want{
		"model_call_count": 3, "otel_status_message": "max_model_calls_exceeded",
		"last_error": "agent loop reached the maximum of 3 model calls without producing a final answer",
	}.check(t, "run", failed)
	equal(t, "requests", c.count(), 3)
	results := 0
	for _, m := range r.conversation(t) {
		if m.str("role") == "tool" {
			results++
		}
	}
	equal(t, "results in the conversation", results, 3)
}

// A tool that fails is something to tell the model, not the end of the run.
func TestToolErrorsGoBackToTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, c := open(t).agentRun(t, []reply{
		asks(call("c1", "read_file", args{"path": "missing.txt"}), shell("c2", "echo broken >&2; exit 9"),
			call("c3", "file_write", args{"path": "../escape.txt", "content": "x"}), call("c4", "file_write", args{"path": "ok.txt", "content": "fine"})),
		says("done"),
	}, in(dir))
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4")
	contains(t, "c2", texts[1], "status=failed", "exit status 9", "broken")
	contains(t, "c4", texts[3], "ok.txt")
	equal(t, "steps", shape(part(t, r.steps(t), 1, 5), "tool_name", "status"), "read_file/failed shell_exec/failed file_write/completed file_write/completed")
	want{"phase": "policy", "result": "denied", "error_kind": "sandbox_policy_denied"}.check(t, "a path outside", r.step(t, 3))
	equal(t, "the file", read(t, filepath.Join(dir, "ok.txt")), "fine")
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "escape.txt")); err == nil {
		t.Error("a file outside the workspace was written")
	}
}
