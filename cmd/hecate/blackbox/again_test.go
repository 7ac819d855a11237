//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// again opens a run that follows this one: by retry, resume, continue or retry-from-model-call.
func (r run) again(t *testing.T, way string, body any) run {
	t.Helper()
	d := r.post(t, r.path()+"/"+way, body)
	return run{r.server, r.task, d.str("id")}
}

// refusesAgain asserts how a way to go on is refused.
func (r run) refusesAgain(t *testing.T, way string, body any, status int) {
	t.Helper()
	r.ask(t, "POST", r.path()+"/"+way, body).refused(t, status, "invalid_request")
}

// A retry does the task again from the beginning, whatever became of the run.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := s.model.script(costing(asks(shell("c1", "ls -A; echo x > left-behind")), 70), says("one"), says("two"), says("three"))
	source := s.begin(t, agent(c))
	source.becomes(t, "completed")
	answer := source.ask(t, "POST", source.path()+"/retry", "no JSON at all", "Idempotency-Key", "retry-"+source.id).ok(t)
	opened := answer.envelope(t).obj("data")
	want{"number": 2, "status": "queued", "task_id": source.task, "model_call_count": 0, "prior_cost_micros_usd": absent, "last_error": absent}.check(t, "run", opened)
	second := run{s, source.task, opened.str("id")}
	done := second.becomes(t, "completed")
	if done.str("workspace_path") == source.now(t).str("workspace_path") {
		t.Errorf("the same workspace: %s", done)
	}
	equal(t, "messages of the retry", len(c.request(t, 2).list("messages")), len(c.request(t, 0).list("messages")))
	history := second.history(t)
	if strings.Contains(history, "run.resumed_from_event") || !strings.HasPrefix(history, "run.created run.queued run.started model.call.started") {
		t.Error(history)
	}
	want{"resume_from_run_id": absent}.check(t, "started", only(t, second, "run.started"))
	// The same request again is the same run.
	same := source.ask(t, "POST", source.path()+"/retry", nil, "Idempotency-Key", "retry-"+source.id).ok(t).envelope(t).obj("data")
	equal(t, "the same request", same.str("id"), second.id)
	equal(t, "the task's run", s.get(t, source.taskPath()).str("latest_run_id"), second.id)

	failed := s.begin(t, sh("exit 1"))
	failed.becomes(t, "failed")
	cancelled := failed.again(t, "retry", args{"reason": "flaky"})
	cancelled.cancel(t)
	third := failed.again(t, "retry", nil) // of a run that is not the last
	third.becomes(t, "failed")
	equal(t, "numbers", shape(s.list(t, failed.taskPath()+"/runs"), "number"), "3 2 1")
	s.ask(t, "POST", failed.taskPath()+"/runs/"+source.id+"/retry", nil).refused(t, 404, "not_found")
	s.ask(t, "POST", api+"/tasks/"+source.task+"x/runs/"+source.id+"/retry", nil).refused(t, 404, "not_found")
}

// While a run of the task is open nothing is opened beside it.
func TestNothingBesideAnOpenRun(t *testing.T) {
	t.Parallel()
	s := open(t)
	source, c := s.agentRun(t, []reply{asks(call("c1", "list_dir", args{"path": "."})), says("done"), {Hang: true}})
	source.becomes(t, "completed")
	busy := source.again(t, "continue", args{"prompt": "more"})
	c.awaitRequests(t, 3)
	for _, r := range []run{source, busy} {
		r.refusesAgain(t, "retry", nil, 409)
		r.refusesAgain(t, "resume", args{}, 409)
		r.refusesAgain(t, "continue", args{"prompt": "more"}, 409)
	}
	source.refusesAgain(t, "retry-from-model-call", args{"model_call_index": 1}, 409)
	busy.refusesAgain(t, "retry-from-model-call", args{"model_call_index": 1}, 400)
	s.ask(t, "POST", source.taskPath()+"/start", nil).refused(t, 409, "invalid_request")
	equal(t, "runs", len(s.list(t, source.taskPath()+"/runs")), 2)
	busy.cancel(t)
}

// A resume goes on in the same workspace with the same conversation and bill, and
// does nothing again.
func TestResume(t *testing.T) {
	t.Parallel()
	s := open(t)
	source, c := s.agentRun(t, []reply{
		costing(asks(shell("c1", "echo x >> marker"), call("c2", "read_file", args{"path": "marker"})), 70), refusal("out of order"), costing(says("done"), 30),
	})
	failed := source.becomes(t, "failed")
	answer := s.ask(t, "POST", source.path()+"/resume", args{"reason": "it is mended"}).ok(t)
	if answer.header.Get("X-Trace-Id") == "" || answer.header.Get("X-Span-Id") == "" {
		t.Error("an answer without its trace")
	}
	opened := answer.envelope(t).obj("data")
	want{"number": 2, "status": "queued", "prior_cost_micros_usd": 70, "workspace_path": failed.str("workspace_path"), "model_call_count": 0}.check(t, "opened", opened)
	second := run{s, source.task, opened.str("id")}
	want{
		"total_cost_micros_usd": 30, "prior_cost_micros_usd": 70, "model_call_count": 1, "workspace_path": failed.str("workspace_path"),
	}.check(t, "run", second.becomes(t, "completed"))
	equal(t, "lines", fileLines(filepath.Join(failed.str("workspace_path"), "marker")), 1)
	texts := c.request(t, 2).answered(t, "c1", "c2")
	contains(t, "result", texts[1], "x")
	equal(t, "conversation sent", strings.Join(roles(c.request(t, 2)), " "), strings.Join(roles(c.request(t, 1)), " "))

	events := second.events(t)
	contains(t, "history", second.history(t), "run.created run.resumed_from_event run.queued run.started model.call.started")
	last := source.events(t)
	sequence := int(last[len(last)-1].num("sequence"))
	want{"from_run_id": source.id, "reason": "it is mended", "from_sequence": sequence, "prior_cost_micros_usd": 70}.check(t, "event", first(t, events, "run.resumed_from_event"))
	want{"resume_from_run_id": source.id, "resume_from_step_id": present, "resume_from_event_sequence": sequence}.check(t, "started", first(t, events, "run.started"))
	want{"model_call_index": 1, "run_cumulative_cost_micros_usd": 30, "task_cumulative_cost_micros_usd": 100}.check(t, "account", first(t, events, "model.call.completed"))
	equal(t, "said", fmt.Sprint(second.said(t)), "[ done]")
	equal(t, "the source", source.now(t).String(), failed.String())
}

func roles(r modelRequest) (out []string) {
	for _, m := range r.list("messages") {
		out = append(out, m.str("role"))
	}
	return out
}

func TestRefusedResumes(t *testing.T) {
	t.Parallel()
	s := open(t)
	completed := s.begin(t, sh("true"))
	completed.becomes(t, "completed")
	completed.refusesAgain(t, "resume", args{}, 409)
	failed := s.begin(t, sh("exit 1", args{"budget_micros_usd": 500}))
	failed.becomes(t, "failed")
	for _, body := range []any{nil, "", "{", "[]", args{"budget_micros_usd": 499}, args{"budget_micros_usd": -1}, args{"budget_micros_usd": "more"}, args{"reason": 7}} {
		failed.refusesAgain(t, "resume", body, 400)
	}
	want{"budget_micros_usd": 500}.check(t, "task", s.get(t, failed.taskPath()))
	failed.again(t, "resume", args{"budget_micros_usd": 500}).becomes(t, "failed")
	failed.again(t, "resume", args{"budget_micros_usd": 777}).becomes(t, "failed")
	want{"budget_micros_usd": 777}.check(t, "task", s.get(t, failed.taskPath()))
	free := s.begin(t, sh("exit 1"))
	free.becomes(t, "failed")
	free.again(t, "resume", args{"budget_micros_usd": 777}).becomes(t, "failed")
	want{"budget_micros_usd": 777}.check(t, "task without a ceiling", s.get(t, free.taskPath()))
}

// A resumed command runs again in the same place, and its step says what it follows.
func TestResumeOfACommand(t *testing.T) {
	t.Parallel()
	s := open(t)
	source := s.begin(t, sh("echo x >> marker; [ $(wc -l < marker) -gt 1 ]"))
	failed := source.becomes(t, "failed")
	second := source.again(t, "resume", args{"reason": "once more"})
	want{"workspace_path": failed.str("workspace_path")}.check(t, "run", second.becomes(t, "completed"))
	events := source.events(t)
	want{
		"input/resume_from_run_id": source.id, "input/resume_from_step_id": source.step(t, 0).str("id"),
		"input/resume_from_event_sequence": int(events[len(events)-1].num("sequence")), "input/reason": "once more", "index": 1,
	}.check(t, "step", second.step(t, 0))
}

// A new prompt takes a conversation further; what was open in it is told to be off.
func TestContinue(t *testing.T) {
	t.Parallel()
	s := open(t)
	source, c := s.agentRun(t, []reply{
		costing(asks(shell("c1", "echo one > file")), 10), costing(says("Written."), 10),
		costing(asks(call("c2", "read_file", args{"path": "file"})), 10), costing(says("It says one."), 10), costing(says("Bye."), 10),
	})
	source.becomes(t, "completed")
	second := source.again(t, "continue", args{"prompt": "And what does it say?"})
	want{"number": 2, "prior_cost_micros_usd": 20, "total_cost_micros_usd": 20, "workspace_path": source.now(t).str("workspace_path")}.check(t, "run", second.becomes(t, "completed"))
	want{"from_run_id": source.id, "reason": "session_prompt", "prior_cost_micros_usd": 20}.check(t, "event", first(t, second.events(t), "run.resumed_from_event"))
	messages := c.request(t, 2).list("messages")
	equal(t, "conversation sent", strings.Join(roles(c.request(t, 2)), " "), "system user assistant tool assistant user")
	want{"content": "And what does it say?"}.check(t, "prompt", messages[len(messages)-1])
	contains(t, "read", c.request(t, 3).answered(t, "c1", "c2")[1], "one")
	equal(t, "said", fmt.Sprint(second.said(t)), "[ Written.  It says one.]")
	third := second.again(t, "continue", args{"prompt": "Thanks."})
	want{"prior_cost_micros_usd": 40, "total_cost_micros_usd": 10}.check(t, "third", third.becomes(t, "completed"))
	equal(t, "steps of the third", shape(third.steps(t), "index", "kind"), "1/model")

	for _, body := range []any{nil, "", "{", args{}, args{"prompt": " \n\t"}, args{"prompt": 7}} {
		third.refusesAgain(t, "continue", body, 400)
	}
	direct := s.begin(t, sh("true"))
	direct.becomes(t, "completed")
	direct.refusesAgain(t, "continue", args{"prompt": "go on"}, 400)
	direct.refusesAgain(t, "retry-from-model-call", args{"model_call_index": 1}, 400)
}

// One answer of the model is asked for again; everything before it stands.
func TestRetryFromModelCall(t *testing.T) {
	t.Parallel()
	s := open(t)
	source, c := s.agentRun(t, []reply{
		costing(asks(shell("c1", "echo one >> file")), 10), costing(asks(shell("c2", "echo two >> file")), 10), costing(says("Both written."), 10),
		costing(asks(shell("c3", "echo three >> file")), 10), costing(says("Done otherwise."), 10),
	})
	source.becomes(t, "completed")
	for _, index := range []int{0, -1, 4} {
		source.refusesAgain(t, "retry-from-model-call", args{"model_call_index": index}, 400)
	}
	for _, body := range []any{nil, "{", args{}, args{"model_call_index": "2"}} {
		source.refusesAgain(t, "retry-from-model-call", body, 400)
	}
	second := source.again(t, "retry-from-model-call", args{"model_call_index": 2, "reason": "not like that"})
	done := second.becomes(t, "completed")
	want{"number": 2, "model_call_count": 2, "prior_cost_micros_usd": 30, "total_cost_micros_usd": 20, "workspace_path": source.now(t).str("workspace_path")}.check(t, "run", done)
	c.request(t, 3).answered(t, "c1")
	c.request(t, 4).answered(t, "c1", "c3")
	equal(t, "the request again", fmt.Sprint(roles(c.request(t, 3))), fmt.Sprint(roles(c.request(t, 1))))
	want{"from_run_id": source.id, "reason": "not like that", "source_model_call_index": 2}.check(t, "event", first(t, second.events(t), "run.resumed_from_event"))
	equal(t, "steps", shape(second.steps(t), "index", "kind"), "1/model 2/tool 3/model")
	want{"title": "Model call 1", "input/model_call_index": 1}.check(t, "step", second.step(t, 0))
	equal(t, "file", read(t, filepath.Join(done.str("workspace_path"), "file")), "one\ntwo\nthree\n")

	none, _ := s.agentRun(t, []reply{refusal("no")})
	none.becomes(t, "failed")
	none.refusesAgain(t, "retry-from-model-call", args{"model_call_index": 1}, 400)
}

// A yes is for one run: what was rejected, or approved but not done, is asked for
// again in the run that goes on.
func TestAuthorityNeverCrossesRuns(t *testing.T) {
	t.Parallel()
	s := gated(t)
	dir := t.TempDir()
	source, c := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	before := source.parked(t)
	source.resolve(t, before.str("id"), "reject").ok(t)
	source.becomes(t, "cancelled")
	second := source.again(t, "resume", args{})
	approval := second.parked(t)
	if approval.str("id") == before.str("id") {
		t.Error("the same approval")
	}
	equal(t, "requests", c.count(), 1)
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
	want{"input/source_run_id": source.id, "input/source_model_call_index": 1}.check(t, "gate", second.stepOf(t, "builtin.agent_loop_approval"))
	second.resolve(t, approval.str("id"), "approve").ok(t)
	second.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	c.request(t, 1).answered(t, "c1")

	third, c := s.agentRun(t, []reply{asks(shell("c1", "echo y >> marker"), shell("c2", nap(60))), says("done")}, in(dir))
	third.resolve(t, third.parked(t).str("id"), "approve").ok(t)
	eventually(t, "the first call is done", func() bool { return fileLines(filepath.Join(dir, "marker")) == 2 })
	eventually(t, "the second call goes on", func() bool { return len(kinds(third.steps(t), "tool")) == 2 })
	third.cancel(t)
	fourth := third.again(t, "resume", args{})
	fourth.ends(t) // the cancelled call has its result: nothing is left to ask for
	want{"status": "completed"}.check(t, "run", fourth.now(t))
	texts := c.request(t, 1).answered(t, "c1", "c2")
	contains(t, "results", texts[0], "status=completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 2)
}

// At the limit of model calls the last calls are still answered, so that a resume
// can go on, with a count of its own.
func TestResumeAfterTheLastModelCall(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=3")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "A\n")
	look := func(id string) reply { return asks(call(id, "read_file", args{"path": "a"})) }
	source, c := s.agentRun(t, []reply{look("k1"), look("k2"), look("k3"), look("k4"), says("finally")}, in(dir))
	failed := source.becomes(t, "failed")
	want{"model_call_count": 3, "otel_status_message": "max_model_calls_exceeded"}.check(t, "run", failed)
	contains(t, "reason", failed.str("last_error"), "maximum of 3 model calls")
	equal(t, "requests", c.count(), 3)
	second := source.again(t, "resume", args{})
	want{"model_call_count": 2}.check(t, "run", second.becomes(t, "completed"))
	c.request(t, 3).answered(t, "k1", "k2", "k3")
	c.request(t, 4).answered(t, "k1", "k2", "k3", "k4")
}

// Arguments that are no JSON are answered with an error and do no harm later: the
// conversation can be continued.
func TestContinueAfterBrokenArguments(t *testing.T) {
	t.Parallel()
	s := open(t)
	source, c := s.agentRun(t, []reply{asks(call("c1", "read_file", `{"path": "a.txt`), call("c2", "list_dir", args{"path": "."})), says("done"), says("ok")})
	source.becomes(t, "completed")
	second := source.again(t, "continue", args{"prompt": "again"})
	second.becomes(t, "completed")
	texts := c.request(t, 2).answered(t, "c1", "c2")
	contains(t, "c1", texts[0], "invalid arguments for read_file")
	equal(t, "requests", c.count(), 3)
}

// What is nearly the end of a chain: a run goes on from one that goes on from another,
// and every call keeps its one result.
func TestChains(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := s.model.script()
	c.each = func(n int) reply {
		switch n % 3 {
		case 0:
			return costing(asks(shell(fmt.Sprint("c", n), "echo x >> marker")), 5)
		case 1:
			return refusal("not now")
		}
		return costing(says(fmt.Sprint("answer ", n)), 5)
	}
	r := s.begin(t, agent(c))
	spent := 0
	for round := range 4 {
		failed := r.becomes(t, "failed")
		if spent += 5; round > 0 {
			want{"prior_cost_micros_usd": spent - 5}.check(t, "failed", failed)
		}
		r = r.again(t, "resume", args{})
		want{"prior_cost_micros_usd": spent}.check(t, "resumed", r.becomes(t, "completed"))
		spent += 5
		r = r.again(t, "continue", args{"prompt": "go on"})
	}
	r.cancel(t)
	r.ends(t)
	requests := c.asked()
	ids, _ := requests[len(requests)-1].results()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("two results of %s: %v", id, ids)
		}
		seen[id] = true
	}
	if len(ids) < 4 {
		t.Errorf("results: %v", ids)
	}
}
