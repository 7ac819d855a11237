//go:build linux

package blackbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A shell task: what the run, its step, its artifacts and its task say afterwards.
func TestShellTask(t *testing.T) {
	t.Parallel()
	s := open(t)
	task := s.create(t, sh("echo out; echo err >&2; pwd")).str("id")
	started := s.ask(t, "POST", api+"/tasks/"+task+"/start", nil).ok(t).envelope(t)
	equal(t, "object", started.str("object"), "task_run")
	want{
		"task_id": task, "number": 1, "status": "queued", "orchestrator": "builtin", "model_call_count": 0, "started_at": present,
		"finished_at": absent, "last_error": absent,
	}.check(t, "the run at its start", started.obj("data"))

	r := run{s, task, started.str("data", "id")}
	done := r.becomes(t, "completed")
	want{
		"id": r.id, "task_id": task, "number": 1, "step_count": 1, "artifact_count": 2, "approval_count": absent, "model_call_count": 0,
		"workspace_id": "workspace_" + task, "workspace_path": present, "finished_at": present, "request_id": present, "trace_id": present,
		"root_span_id": present, "otel_status_code": "ok", "last_error": absent, "total_cost_micros_usd": absent, "model": absent,
	}.check(t, "the run", done)
	want{
		"status": "completed", "latest_run_id": r.id, "latest_run_step_count": 1, "latest_run_artifact_count": 2, "started_at": present,
		"finished_at": present, "pending_approval_count": absent, "last_error": absent, "latest_trace_id": done.str("trace_id"),
	}.check(t, "the task", s.get(t, r.taskPath()))

	steps := r.steps(t)
	if len(steps) != 1 {
		t.Fatalf("steps: %v", steps)
	}
	want{
		"index": 1, "kind": "shell", "tool_name": "shell", "status": "completed", "phase": "execution", "result": "success", "title": present,
		"exit_code": absent, "error": absent, "run_id": r.id, "task_id": task, "started_at": present, "finished_at": present,
		"input/command": "echo out; echo err >&2; pwd", "input/timeout_ms": 60000, "input/working_directory": done.str("workspace_path"),
		"input/hecate.sandbox.network.enabled": false, "input/hecate.sandbox.read_only": false, "input/hecate.sandbox.wrapper.kind": present,
		"output_summary/exit_code": 0, "output_summary/stderr_bytes": 4, "output_summary/hecate.tool.timed_out": false,
		"output_summary/hecate.tool.cancelled": false, "output_summary/hecate.tool.output_truncated": false,
	}.check(t, "the step", steps[0])
	equal(t, "the step alone", s.get(t, r.path()+"/steps/"+steps[0].str("id")).String(), steps[0].String())

	out := r.artifact(t, "stdout")
	text := "out\n" + done.str("workspace_path") + "\n"
	want{
		"name": "stdout.txt", "mime_type": "text/plain", "status": "ready", "storage_kind": "inline", "content_text": text, "size_bytes": len(text),
		"created_at": present, "task_id": task, "run_id": r.id, "step_id": steps[0].str("id"),
	}.check(t, "stdout", out)
	want{"name": "stderr.txt", "content_text": "err\n", "status": "ready"}.check(t, "stderr", r.artifact(t, "stderr"))
	equal(t, "the artifact alone", s.get(t, r.path()+"/artifacts/"+out.str("id")).String(), out.String())
	equal(t, "artifacts of the task", len(s.list(t, r.taskPath()+"/artifacts")), 2)
	equal(t, "history", r.history(t), "run.created run.queued run.started tool.invoked tool.started tool.shell.command "+
		"tool.shell.output_chunk tool.shell.exited tool.completed run.finished")
}

// Every envelope has the documented members, and each type its data.
func TestEnvelopesOfAShellTask(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("printf abc; exit 7"))
	r.becomes(t, "failed")
	step := r.step(t, 0).str("id")
	events := r.events(t)
	last := int64(0)
	for _, e := range events {
		want{"schema_version": "1", "run_id": r.id, "task_id": r.task}.check(t, e.str("type"), e)
		isTime(t, e.str("occurred_at"))
		if !strings.HasPrefix(e.str("event_id"), "evt_") || len(e.str("event_id")) != 30 || e.obj("data") == nil || e.num("sequence") <= last {
			t.Errorf("envelope: %s", e)
		}
		for _, private := range []string{"run", "steps", "artifacts", "snapshot"} {
			equal(t, private+" in "+e.str("type"), e.has("data", private), false)
		}
		last = e.num("sequence")
	}
	for kind, w := range map[string]want{
		"run.created":             {"status": "queued", "kind": "builtin"},
		"run.queued":              {"kind": "builtin"},
		"run.started":             {"kind": "builtin", "workspace_path": present},
		"tool.invoked":            {"tool_call_id": step, "tool_name": "shell", "kind": "shell", "hecate.sandbox.wrapper.kind": present},
		"tool.started":            {"tool_call_id": step, "tool_name": "shell", "kind": "shell"},
		"tool.shell.command":      {"command_string": "printf abc; exit 7", "cwd": present, "timeout_ms": 60000, "sandbox_layer": present},
		"tool.shell.output_chunk": {"stream": "stdout", "data": "abc", "byte_offset": 0, "tool_call_id": step},
		"tool.shell.exited":       {"exit_code": 7, "stdout_bytes": 3, "stderr_bytes": 0, "truncated": false, "tool_call_id": step},
		"tool.failed":             {"tool_call_id": step, "tool_name": "shell", "kind": "shell", "duration_ms": present},
		"run.failed":              {"code": "run_failed", "message": "exit status 7", "retriable": false, "model_call_count": 0},
	} {
		found := ofType(events, kind)
		if len(found) != 1 {
			t.Errorf("%d events of type %s", len(found), kind)
			continue
		}
		w.check(t, kind, found[0].obj("data"))
	}
	want{"last_error": "exit status 7", "otel_status_code": "error", "otel_status_message": "exit status 7"}.check(t, "run", r.now(t))
	want{"status": "failed", "last_error": "exit status 7"}.check(t, "task", s.get(t, r.taskPath()))
	want{"status": "failed", "result": "error", "exit_code": 7, "error_kind": "shell_command_failed"}.check(t, "step", r.step(t, 0))
}

func TestGitTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk")
	write(t, filepath.Join(dir, "new.txt"), "n\n")
	r := open(t).begin(t, args{"execution_kind": "git", "git_command": "status --short", "timeout_ms": 60_000}, in(dir))
	want{"step_count": 1, "artifact_count": 3, "workspace_path": dir}.check(t, "run", r.becomes(t, "completed"))
	want{"kind": "git", "tool_name": "git", "status": "completed", "input/command": "status --short"}.check(t, "step", r.step(t, 0))
	want{"name": "git-stdout.txt", "content_text": "?? new.txt\n"}.check(t, "stdout", r.artifact(t, "stdout"))
	want{"name": "git-stderr.txt"}.check(t, "stderr", r.artifact(t, "stderr"))
	summary := r.artifact(t, "git_summary")
	want{"name": "git-changes.json", "mime_type": "application/json", "status": "ready"}.check(t, "summary", summary)
	d, err := parse([]byte(summary.str("content_text")))
	if err != nil || shape(d.list("files"), "path", "status") != "new.txt/??" {
		t.Errorf("summary: %v %s", err, summary)
	}
	equal(t, "history", r.history(t), "run.created run.queued run.started run.finished")
}

func git(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, arguments...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestFileTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "a.txt")
	r := open(t).begin(t, args{"execution_kind": "file", "file_path": "sub/a.txt", "file_content": "one\n"}, in(dir))
	want{"step_count": 1, "artifact_count": 2}.check(t, "run", r.becomes(t, "completed"))
	equal(t, "the file", read(t, path), "one\n")
	want{
		"kind": "file", "tool_name": "file", "status": "completed", "output_summary/bytes": 4, "output_summary/path": path,
		"input/operation": "write", "input/content_chars": 4,
	}.check(t, "step", r.step(t, 0))
	want{"name": "a.txt", "content_text": "one\n", "path": path, "status": "ready"}.check(t, "file artifact", r.artifact(t, "file"))
	patch := r.artifact(t, "patch")
	want{"name": "a.txt.patch", "mime_type": "text/x-diff", "status": "applied", "path": path, "sha256": present}.check(t, "patch artifact", patch)
	contains(t, "diff", patch.str("content_text"), "--- /dev/null\n", "+++ b/sub/a.txt\n", "\n+one\n")
	equal(t, "history", r.history(t), "run.created run.queued run.started tool.file.patch run.finished")
	want{
		"artifact_id": patch.str("id"), "artifact_status": "applied", "path": path, "operation": "write", "bytes_written": 4,
		"before_existed": false, "kind": "file", "tool_name": "file", "diff_bytes": len(patch.str("content_text")),
	}.check(t, "event", first(t, r.events(t), "tool.file.patch"))
	patches := r.list(t, r.path()+"/patches")
	if len(patches) != 1 {
		t.Fatalf("patches: %v", patches)
	}
	want{"status": "applied", "path": path, "before_existed": false, "diff": patch.str("content_text"), "artifact/id": patch.str("id")}.check(t, "patch", patches[0])

	again := r.begin(t, args{"execution_kind": "file", "file_operation": "append", "file_path": "sub/a.txt", "file_content": "two\n"}, in(dir))
	again.becomes(t, "completed")
	equal(t, "the file after an append", read(t, path), "one\ntwo\n")
	want{"operation": "append", "before_existed": true, "bytes_written": 4}.check(t, "event", first(t, again.events(t), "tool.file.patch"))
}

func TestFileTaskThatCannotBeDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		task args
		kind string
	}{
		"unknown operation": {args{"file_operation": "shred", "file_path": "a"}, "file_operation_unsupported"},
		"outside":           {args{"file_path": "../outside.txt"}, "sandbox_policy_denied"},
		"read only":         {args{"file_path": "a", "sandbox_read_only": true}, "sandbox_policy_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t).begin(t, args{"execution_kind": "file", "file_content": "x"}, in(dir), c.task)
			failed := r.becomes(t, "failed")
			want{"status": "failed", "error_kind": c.kind}.check(t, "step", r.step(t, 0))
			if c.kind == "sandbox_policy_denied" {
				contains(t, "error", failed.str("last_error"), "sandbox policy denied:")
			}
		})
	}
	left, _ := os.ReadDir(dir)
	equal(t, "files in the workspace", len(left), 0)
}

// A run of its own copy never touches its source, and two runs share nothing.
func TestIsolatedWorkspaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "source\n")
	s := open(t)
	r := s.begin(t, sh("cat a.txt; echo changed > a.txt; echo new > b.txt", args{"working_directory": dir}))
	done := r.becomes(t, "completed")
	equal(t, "output", r.artifact(t, "stdout").str("content_text"), "source\n")
	equal(t, "the source", read(t, filepath.Join(dir, "a.txt")), "source\n")
	contains(t, "workspace", done.str("workspace_path"), "hecate-workspaces", r.task, r.id)
	second := run{s, r.task, s.post(t, r.taskPath()+"/start", nil).str("id")}
	want{"number": 2}.check(t, "second run", second.becomes(t, "completed"))
	equal(t, "output of the second run", second.artifact(t, "stdout").str("content_text"), "source\n")
	equal(t, "runs, newest first", shape(s.list(t, r.taskPath()+"/runs"), "number"), "2 1")
}

// Nothing is started where it cannot run.
func TestStartsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh(nap(30)))
	s.ask(t, "POST", r.taskPath()+"/start", nil).refused(t, 409, "invalid_request")
	s.ask(t, "DELETE", r.taskPath(), nil).refused(t, 409, "invalid_request")
	r.cancel(t)

	half := s.create(t, args{"execution_kind": "agent_loop", "prompt": "p", "requested_provider": "fake"}).str("id")
	s.ask(t, "POST", api+"/tasks/"+half+"/start", nil).refused(t, 422, "model_not_configured")
	equal(t, "runs after the refusal", len(s.list(t, api+"/tasks/"+half+"/runs")), 0)
}

// A run in a directory that is not there fails at once; it does not run elsewhere.
func TestWorkspaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := open(t)
	missing := filepath.Join(t.TempDir(), "missing")
	task := s.create(t, sh("echo ran", in(missing))).str("id")
	a := s.ask(t, "POST", api+"/tasks/"+task+"/start", nil)
	if a.status >= 400 && a.status < 500 {
		return // refused: as good
	}
	r := run{s, task, a.ok(t).envelope(t).str("data", "id")}
	contains(t, "error", r.becomes(t, "failed").str("last_error"), missing)
	equal(t, "events of a command", len(ofType(r.events(t), "tool.invoked")), 0)
}

// Of many starts at the same moment one wins.
func TestOneStartWins(t *testing.T) {
	t.Parallel()
	s := open(t)
	task := s.create(t, sh(nap(30))).str("id")
	statuses := atOnce(8, func(int) int {
		a, err := s.send("POST", api+"/tasks/"+task+"/start", args{})
		if err != nil {
			return 0
		}
		return a.status
	})
	equal(t, "successes", count(statuses, 200), 1)
	equal(t, "conflicts", count(statuses, 409), 7)
	runs := part(t, s.list(t, api+"/tasks/"+task+"/runs"), 0, 1)
	run{s, task, runs[0].str("id")}.cancel(t)
}
