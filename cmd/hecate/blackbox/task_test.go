//go:build linux

package blackbox_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A task is only what is wanted: it can be made, read and deleted without ever running.
func TestTaskIsMadeReadAndDeleted(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.ask(t, "POST", api+"/tasks", sh("true", args{"prompt": "  look around  ", "status": "completed", "id": "mine"})).ok(t)
	made := a.envelope(t)
	equal(t, "object", made.str("object"), "task")
	task := made.obj("data")
	want{
		"status": "not_started", "title": "look around", "prompt": "look around", "execution_kind": "shell", "shell_command": "true",
		"workspace_mode": "ephemeral", "priority": "normal", "timeout_ms": 60000, "created_at": present,
		"latest_run_id": absent, "last_error": absent, "started_at": absent, "finished_at": absent, "budget_micros_usd": absent,
		"sandbox_network": absent, "mcp_servers": absent, "git_command": absent,
	}.check(t, "a new task", task)
	if !regexp.MustCompile(`^task_[0-9a-f]{24}$`).MatchString(task.str("id")) {
		t.Errorf("id %q", task.str("id"))
	}
	isTime(t, task.str("created_at"))

	path := api + "/tasks/" + task.str("id")
	equal(t, "the task as it is read", s.get(t, path).String(), task.String())
	equal(t, "runs", len(s.list(t, path+"/runs")), 0)

	gone := s.ask(t, "DELETE", path, nil)
	if gone.status != http.StatusNoContent || len(gone.body) > 0 {
		t.Errorf("delete: %d %q", gone.status, gone.body)
	}
	s.ask(t, "GET", path, nil).refused(t, 404, "not_found")
	s.ask(t, "DELETE", path, nil).refused(t, 404, "not_found")
}

func isTime(t *testing.T, text string) {
	t.Helper()
	if at, err := time.Parse(time.RFC3339Nano, text); err != nil || !strings.HasSuffix(text, "Z") || time.Since(at).Abs() > time.Minute {
		t.Errorf("%q is no recent time in UTC", text)
	}
}

func TestTitleComesFromThePrompt(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range []struct{ name, prompt, want string }{
		{"no prompt", "", "New task"},
		{"short", "hello", "hello"},
		{"80 bytes", strings.Repeat("x", 80), strings.Repeat("x", 80)},
		{"longer", strings.Repeat("x", 81), strings.Repeat("x", 80) + "..."},
	} {
		equal(t, c.name, s.create(t, sh("true", args{"prompt": c.prompt})).str("title"), c.want)
	}
	equal(t, "its own title", s.create(t, sh("true", args{"prompt": "p", "title": " mine "})).str("title"), "mine")
	cut := s.create(t, sh("true", args{"prompt": strings.Repeat("é", 41)[1:] + strings.Repeat("é", 50)})).str("title")
	if !utf8.ValidString(cut) || strings.ContainsRune(cut, utf8.RuneError) && !strings.HasPrefix(cut, "\uFFFD") {
		t.Errorf("a character is cut in two: %q", cut)
	}
}

// What cannot become a sensible task is refused, with a reason, before anything is stored.
func TestBadTasksAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	mcp := func(servers ...args) args { return agentArgs(args{"mcp_servers": servers}) }
	many := make([]args, 17)
	for i := range many {
		many[i] = args{"name": fmt.Sprint("m", i), "command": "true"}
	}
	for name, body := range map[string]any{
		"no body":                    nil,
		"empty body":                 "",
		"no JSON":                    "{",
		"a list":                     "[]",
		"wrong type":                 `{"prompt": 5}`,
		"two values":                 `{"prompt":"x","execution_kind":"agent_loop"} {}`,
		"no prompt":                  args{"execution_kind": "agent_loop"},
		"blank prompt":               args{"execution_kind": "agent_loop", "prompt": " \n"},
		"nothing at all":             args{},
		"unknown kind":               args{"execution_kind": "magic", "prompt": "x"},
		"shell without a command":    args{"execution_kind": "shell", "prompt": "x"},
		"git without a command":      args{"execution_kind": "git", "prompt": "x"},
		"file without a path":        args{"execution_kind": "file", "file_content": "x"},
		"negative timeout":           sh("true", args{"timeout_ms": -1}),
		"negative budget":            agentArgs(args{"budget_micros_usd": -1}),
		"unknown workspace mode":     sh("true", args{"workspace_mode": "nowhere"}),
		"unknown workflow":           agentArgs(args{"workflow_mode": "magic"}),
		"unknown project":            agentArgs(args{"project_id": "proj_none"}),
		"MCP with both transports":   mcp(args{"name": "a", "command": "true", "url": "http://127.0.0.1:1/"}),
		"MCP without a transport":    mcp(args{"name": "a"}),
		"MCP without a name":         mcp(args{"command": "true"}),
		"two MCP servers of a name":  mcp(args{"name": "a", "command": "true"}, args{"name": "a", "command": "true"}),
		"unknown MCP policy":         mcp(args{"name": "a", "command": "true", "approval_policy": "maybe"}),
		"more MCP servers than many": mcp(many...),
	} {
		t.Run(name, func(t *testing.T) {
			s.ask(t, "POST", api+"/tasks", body).refused(t, 400, "invalid_request")
		})
	}
	equal(t, "unknown members are passed over", s.ask(t, "POST", api+"/tasks", sh("true", args{"flavour": "sweet"})).status, 200)
}

func agentArgs(more args) args {
	return fields(args{"execution_kind": "agent_loop", "prompt": "p"}, more)
}

// A body of any size must not fill the memory.
func TestHugeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, err := s.send("POST", api+"/tasks", args{"execution_kind": "shell", "shell_command": "true", "prompt": strings.Repeat("x", 40<<20)})
	if err == nil && a.status != 413 && a.status != 400 {
		t.Errorf("status %d for 40 MB", a.status)
	}
	equal(t, "the server is well", s.ask(t, "GET", "/healthz", nil).status, 200)
}

func TestListsOfTasks(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory")
	equal(t, "tasks of a new server", len(s.list(t, api+"/tasks")), 0)
	var ids []string
	for range 205 {
		ids = append(ids, s.create(t, sh("true")).str("id"))
	}
	run{s, ids[0], s.post(t, api+"/tasks/"+ids[0]+"/start", nil).str("id")}.becomes(t, "completed")
	for query, n := range map[string]int{"": 50, "?limit=3": 3, "?limit=0": 205, "?limit=500": 200, "?limit=200": 200, "?project_id=": 50} {
		list := s.list(t, api+"/tasks"+query)
		equal(t, "length of "+query, len(list), n)
		for i, d := range list {
			if d.str("id") != ids[len(ids)-1-i] {
				t.Fatalf("%s: place %d is not the newest that is left", query, i)
			}
		}
	}
	done := s.list(t, api+"/tasks?status=completed")
	if len(done) != 1 || done[0].str("id") != ids[0] {
		t.Errorf("completed tasks: %v", done)
	}
	equal(t, "of another status", len(s.list(t, api+"/tasks?status=failed")), 0)
	equal(t, "of a project", len(s.list(t, api+"/tasks?project_id=none")), 0)
	for _, bad := range []string{"-1", "x", "1.5"} {
		s.ask(t, "GET", api+"/tasks?limit="+bad, nil).refused(t, 400, "invalid_request")
	}
}

// Whatever does not exist is a JSON 404, for every kind of thing.
func TestMissingThingsAre404(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	other := s.begin(t, sh("true"))
	other.becomes(t, "completed")
	artifact := part(t, other.artifacts(t), 0, 1)[0].str("id")
	for _, c := range []struct{ method, path string }{
		{"GET", "/tasks/task_none"},
		{"POST", "/tasks/task_none/start"},
		{"GET", "/tasks/task_none/runs"},
		{"GET", "/tasks/task_none/artifacts"},
		{"GET", "/tasks/task_none/approvals"},
		{"GET", "/tasks/task_none/runs/" + r.id},
		{"GET", "/tasks/task_none/runs/" + r.id + "/stream"},
		{"GET", "/tasks/" + r.task + "/runs/run_none"},
		{"POST", "/tasks/" + r.task + "/runs/run_none/cancel"},
		{"GET", "/tasks/" + r.task + "/runs/run_none/steps"},
		{"GET", "/tasks/" + r.task + "/runs/run_none/artifacts"},
		{"GET", "/tasks/" + r.task + "/runs/run_none/events"},
		{"GET", "/tasks/" + r.task + "/runs/run_none/stream"},
		{"GET", "/tasks/" + r.task + "/runs/run_none/patches"},
		{"GET", "/tasks/" + r.task + "/runs/" + other.id},
		{"GET", "/tasks/" + r.task + "/runs/" + other.id + "/events"},
		{"GET", "/tasks/" + r.task + "/runs/" + r.id + "/steps/step_none"},
		{"GET", "/tasks/" + r.task + "/runs/" + r.id + "/artifacts/artifact_none"},
		{"GET", "/tasks/" + r.task + "/runs/" + r.id + "/artifacts/" + artifact},
		{"GET", "/tasks/" + r.task + "/runs/" + r.id + "/patches/artifact_none"},
		{"GET", "/tasks/" + r.task + "/approvals/approval_none"},
	} {
		s.ask(t, c.method, api+c.path, nil).refused(t, 404, "not_found")
	}
	s.ask(t, "POST", api+"/tasks/"+r.task+"/approvals/approval_none/resolve", args{"decision": "approve"}).refused(t, 404, "not_found")
	s.ask(t, "POST", api+"/tasks/"+r.task+"/runs/run_none/events", args{}).refused(t, 404, "not_found")
	for _, c := range []struct{ method, path string }{{"GET", api + "/nothing"}, {"GET", "/v1/nothing"}, {"PUT", api + "/tasks"}, {"PATCH", api + "/tasks/" + r.task}} {
		if got := s.ask(t, c.method, c.path, nil).status; got != 404 && got != 405 {
			t.Errorf("%s %s: %d", c.method, c.path, got)
		}
	}
}

func TestEveryAnswerHasARequestID(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.ask(t, "GET", api+"/tasks", nil)
	b := s.ask(t, "GET", api+"/tasks", nil)
	if x := a.header.Get("X-Request-Id"); x == "" || x == b.header.Get("X-Request-Id") {
		t.Errorf("made ids: %q, %q", x, b.header.Get("X-Request-Id"))
	}
	equal(t, "the caller's own", s.ask(t, "GET", api+"/tasks", nil, "X-Request-Id", "mine-1").header.Get("X-Request-Id"), "mine-1")

	task := s.create(t, sh("true")).str("id")
	started := s.ask(t, "POST", api+"/tasks/"+task+"/start", nil, "X-Request-Id", "mine-2").ok(t)
	if started.header.Get("X-Trace-Id") == "" || started.header.Get("X-Span-Id") == "" {
		t.Errorf("a start without trace headers: %v", started.header)
	}
	r := run{s, task, started.envelope(t).str("data", "id")}
	equal(t, "the run's request id", r.becomes(t, "completed").str("request_id"), "mine-2")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	a := open(t).ask(t, "GET", "/healthz", nil).ok(t).envelope(t)
	want{"status": "ok", "time": present, "version": present, "sandbox/os_isolation/kind": present}.check(t, "health", a)
}
