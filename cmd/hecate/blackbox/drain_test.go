//go:build linux

package blackbox_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that is asked to end gives its model calls up at once and hands the runs
// back: the next start goes on with them as if nothing had happened.
func TestDrainOfAModelCall(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, c := s.agentRun(t, []reply{asks(call("c1", "list_dir", args{"path": "."})), {Text: "half an answer", HangAfterText: true}, says("done")})
	c.awaitRequests(t, 2)
	began := time.Now()
	equal(t, "exit code", s.terminate(t), 0)
	if took := time.Since(began); took > 30*time.Second { // commands would have 58
		t.Errorf("it took %v", took)
	}
	contains(t, "log", s.printed(), `"msg":"gateway shutting down"`, `"trigger":"terminated"`)
	s.start(t)
	want{"model_call_count": 2, "cost_known": false}.check(t, "run", r.becomes(t, "completed"))
	equal(t, "requests", c.count(), 3)
	equal(t, "history", withoutAccounts(r.history(t)), "run.created run.queued run.started "+
		"model.call.started assistant.tool_call_proposed model.call.started run.queued "+
		"run.started model.call.started assistant.text_complete assistant.final_answer run.finished")
	equal(t, "calls given up", len(ofType(r.events(t), "model.call.abandoned")), 1)
	if strings.Contains(c.request(t, 2).raw, "half an answer") {
		t.Error("the given up answer is sent back")
	}
}

// A command that is under way may end while the server stops, and what follows it
// is left to the next start.
func TestDrainOfACommand(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	marker := filepath.Join(dir, "marker")
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker; while [ ! -e go ]; do sleep 0.02; done; echo y >> marker; echo ended"), shell("c2", "echo z >> marker")), says("done")}, in(dir))
	direct := s.begin(t, sh("while [ ! -e go ]; do sleep 0.02; done; echo direct >> marker; echo ended"), in(dir))
	eventually(t, "the commands run", func() bool { return fileLines(marker) == 1 && direct.now(t).str("status") == "running" })
	signal(t, s, syscall.SIGTERM)
	eventually(t, "no requests are served any more", func() bool { _, err := s.send("GET", "/healthz", nil); return err != nil })
	equal(t, "what happened meanwhile", read(t, marker), "x\n")
	write(t, filepath.Join(dir, "go"), "")
	code, err := s.wait(patience)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "exit code", code, 0)
	equal(t, "lines", fileLines(marker), 3)
	s.start(t)
	r.becomes(t, "completed")
	direct.becomes(t, "completed")
	equal(t, "lines", fileLines(marker), 4)
	texts := c.request(t, 1).answered(t, "c1", "c2")
	contains(t, "result", texts[0], "status=completed", "ended")
	equal(t, "direct stdout", direct.artifact(t, "stdout").str("content_text"), "ended\n")
	for _, run := range []run{r, direct} {
		equal(t, "gaps", len(ofType(run.events(t), "gap.run_disconnected")), 0)
	}
}

func signal(t *testing.T, s *server, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// A command that takes longer than a server has to end is ended with it. It is
// never run again: its result says what came of it.
func TestDrainOfALongCommand(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_SHUTDOWN_TIMEOUT=4s")
	dir := t.TempDir()
	sleep := nap(60)
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker; "+sleep), shell("c2", "echo y >> marker")), says("done")}, in(dir))
	eventually(t, "the command runs", func() bool { return runs(sleep) })
	equal(t, "exit code", s.terminate(t), 0)
	goneSoon(t, sleep)
	s.start(t)
	r.becomes(t, "completed")
	equal(t, "side effects", read(t, filepath.Join(dir, "marker")), "x\ny\n")
	texts := c.request(t, 1).answered(t, "c1", "c2")
	contains(t, "result", texts[0], "status=failed", "the server stopped", "may have had part of its effect")
}

// The server can be ended over HTTP, from its own machine only.
func TestShutdownByRequest(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, c := s.agentRun(t, []reply{{Hang: true}, says("done")})
	c.awaitRequests(t, 1)
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded"} {
		s.ask(t, "POST", api+"/system/shutdown", nil, name, "for=127.0.0.1").refused(t, 403, "forbidden")
	}
	a := s.ask(t, "POST", api+"/system/shutdown", nil)
	equal(t, "status", a.status, 202)
	equal(t, "body", strings.TrimSpace(string(a.body)), `{"object":"system_shutdown"}`)
	code, err := s.wait(patience)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "exit code", code, 0)
	contains(t, "log", s.printed(), `"msg":"gateway shutting down"`, `"trigger":"system_shutdown_endpoint"`)
	s.start(t)
	r.becomes(t, "completed")
	equal(t, "gaps", len(ofType(r.events(t), "gap.run_disconnected")), 0)
}

// The server tells how busy it is.
func TestStats(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_APPROVAL_POLICIES=git_exec", "HECATE_TASK_QUEUE_WORKERS=1")
	idle := s.get(t, api+"/system/stats")
	want{
		"queue_depth": 0, "queue_capacity": 0, "queue_backend": "sqlite", "store_backend": "sqlite", "worker_count": 1, "in_flight_jobs": 0,
		"queued_runs": 0, "running_runs": 0, "awaiting_approval_runs": 0, "oldest_queued_age_seconds": 0, "oldest_running_age_seconds": 0,
		"checked_at": present,
	}.check(t, "idle", idle)
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	s.begin(t, args{"execution_kind": "git", "git_command": "status"}, in(dir)).parked(t)
	busy, c := s.agentRun(t, []reply{{Hang: true}})
	c.awaitRequests(t, 1)
	queued := s.begin(t, sh("true"))
	eventually(t, "a second has passed", func() bool { return s.get(t, api+"/system/stats").num("oldest_queued_age_seconds") >= 1 })
	d := s.get(t, api+"/system/stats")
	want{"queue_depth": 1, "in_flight_jobs": 1, "queued_runs": 1, "running_runs": 1, "awaiting_approval_runs": 1}.check(t, "busy", d)
	if age := d.num("oldest_running_age_seconds"); age < 1 {
		t.Errorf("the running run is %d s old", age)
	}
	want{"claims": 1, "node": s.id(t), "instance": present}.check(t, "worker", part(t, d.list("workers"), 0, 1)[0])
	busy.cancel(t)
	queued.becomes(t, "completed")
	want{"queue_depth": 0, "in_flight_jobs": 0, "queued_runs": 0, "running_runs": 0, "awaiting_approval_runs": 1}.check(t, "after", s.get(t, api+"/system/stats"))
}
