package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
)

// waiting is a server whose run waits for an approval.
func waiting(t *testing.T) *contractServer {
	s := newContractServer(t, offering(gated("runtime-policy")))
	s.play()
	return s
}

func succeed(t *testing.T, args ...string) string {
	t.Helper()
	a, out, errs := testApp(t)
	if code := a.run(args); code != 0 {
		t.Fatalf("hecate %q: exit code %d: %s", args, code, errs)
	}
	return out.String()
}

func TestApprovals(t *testing.T) {
	s := waiting(t)
	out := succeed(t, "approvals", "--server", s.URL)
	check(t, out, []string{
		"approval needed", "    │ go test ./...\n", "why: Now the tests.", "task task_1 · run run_1",
		"    can be kept:  shell(go test ./...)\n      = shell with exactly this command",
		"  answer with\n    hecate approve approval_1             yes, this time\n    hecate approve approval_1 --session   yes, and keep it",
		"    hecate approve approval_1 --remember  the same, written to /project/.hecate/config.toml",
		"    hecate reject approval_1 --continue   no, and the run goes on\n    hecate reject approval_1              no, which ends the run\n    hecate attach run_1  ",
	})
	if strings.Contains(out, "y  this call only") {
		t.Errorf("it names keys, and reads none:\n%s", out)
	}
	if again := succeed(t, "approvals", "task_1", "--server", s.URL); again != out {
		t.Errorf("of one task:\n%s", again)
	}
	s.happen()
	check(t, succeed(t, "approvals", "--server", s.URL), []string{"nothing waits for you"})
}

// What asks before a run begins is about no call of a model, but it is shown in full, too.
func TestApprovalsBeforeARun(t *testing.T) {
	for kind, c := range map[string]struct {
		task obj
		want []string
	}{
		"shell_command": {obj{"execution_kind": "shell", "shell_command": "make\nrm -rf /\x1b[2K"}, []string{"before the run begins\n    shell", "    │ make\n    │ rm -rf /\\x1b[2K\n"}},
		"git_exec":      {obj{"execution_kind": "git", "git_command": "commit -m 'x'"}, []string{"    git_exec (git)\n", "git │ commit -m 'x'"}},
		"file_write": {
			obj{"execution_kind": "file", "file_operation": "append", "file_path": "a.txt", "file_content": "one\ntwo\n", "working_directory": "/project"},
			[]string{"operation │ append", "path      │ a.txt", "directory │ /project", "content   │ one\n              │ two\n"},
		},
		"network_egress": {obj{"execution_kind": "agent_loop"}, []string{"prompt │ Repair it"}},
	} {
		t.Run(kind, func(t *testing.T) {
			s := newContractServer(t, []scriptedEvent{ev("run.created", obj{}), ev("approval.requested", obj{"approval_id": "approval_1", "kind": kind, "digest": "of the run"})})
			s.direct = c.task
			s.play()
			check(t, succeed(t, "approvals", "--server", s.URL), c.want)
			check(t, succeed(t, "approve", "approval_1", "--server", s.URL), c.want)
			var shown client.Task
			raw, _ := json.Marshal(s.task())
			if err := json.Unmarshal(raw, &shown); err != nil {
				t.Fatal(err)
			}
			check(t, s.requests(), []string{`POST resolve {"decision":"approve","digest":"` + show.StartOf(shown).Digest("run_1") + `"}`})
		})
	}
}

func TestApproveAndReject(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		request string
		out     string
	}{
		"by approval":          {[]string{"approve", "approval_1"}, `{"decision":"approve"}`, "✓ approved"},
		"by its beginning":     {[]string{"approve", "approval"}, `{"decision":"approve"}`, "✓ approved"},
		"by task and approval": {[]string{"approve", "task_1", "approval_1", "--note", "read it"}, `{"decision":"approve","note":"read it"}`, "✓ approved"},
		"reject":               {[]string{"reject", "approval_1"}, `{"decision":"reject"}`, "✗ rejected"},
		"for the session":      {[]string{"approve", "approval_1", "--session"}, `{"decision":"approve","calls":[{"tool_call_id":"c1","decision":"approve","scope":"session"}]}`, "✓ approved"},
		"for good, edited": {
			[]string{"approve", "approval_1", "--remember", "--pattern", "shell_exec(go test ./...)"},
			`{"decision":"approve","calls":[{"tool_call_id":"c1","decision":"approve","scope":"project","pattern":"shell(go test ./...)"}]}`, "✓ approved",
		},
		"one call":            {[]string{"approve", "approval_1", "--call", "c1", "--only"}, `{"decision":"approve","calls":[{"tool_call_id":"c1","decision":"approve","scope":"once"}]}`, "✓ approved"},
		"let it go on":        {[]string{"reject", "approval_1", "--continue"}, `{"decision":"reject","continue":true}`, "✗ rejected"},
		"with a reason to it": {[]string{"reject", "approval_1", "--continue", "--reason", "use make"}, `{"decision":"reject","note":"use make","continue":true}`, "✗ rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			s := waiting(t)
			check(t, succeed(t, append(c.args, "--server", s.URL)...), []string{"go test ./...", c.out, "hecate log --follow run_1"})
			check(t, s.requests(), []string{"POST resolve " + c.request})
		})
	}
	t.Run("what cannot be", func(t *testing.T) {
		for _, args := range [][]string{{"--call", "c9"}, {"--session", "--pattern", "shell"}, {"--session", "--pattern", "shell(go *"}} {
			s := waiting(t)
			a, _, errs := testApp(t)
			if code := a.run(append([]string{"approve", "approval_1", "--server", s.URL}, args...)); code != exitUsage || errs.Len() == 0 || strings.Contains(s.requests(), "resolve") {
				t.Errorf("%q: exit code %d, %s", args, code, s.requests())
			}
		}
	})
	t.Run("unknown", func(t *testing.T) {
		s := waiting(t)
		a, _, errs := testApp(t)
		if code := a.run([]string{"approve", "approval_2", "--server", s.URL}); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		check(t, errs.String(), []string{"no approval approval_2 waits", "hecate approvals"})
		a, _, errs = testApp(t)
		if code := a.run([]string{"reject", "task_2", "approval_1", "--server", s.URL}); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		check(t, errs.String(), []string{"there is no task task_2"})
	})
}

func TestLog(t *testing.T) {
	s := waiting(t)
	out := succeed(t, "log", "--server", s.URL)
	check(t, out, []string{"2026-01-02 (UTC)", "     6  03:04:05.600  run.created", "approval.requested", "shell_exec go test ./..."})
	for _, id := range []string{"run_1", "task_1"} {
		if again := succeed(t, "log", id, "--server", s.URL); again != out {
			t.Errorf("log %s differs:\n%s", id, again)
		}
	}
	raw := succeed(t, "log", "--json", "--server", s.URL)
	if got := strings.Count(raw, "\n"); got != len(s.events) {
		t.Errorf("%d lines for %d events", got, len(s.events))
	}

	a, _, errs := testApp(t)
	if code := a.run([]string{"log", "run_2", "--server", s.URL}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	check(t, errs.String(), []string{"there is no run run_2", "hecate tasks"})
}

// Following goes on where the history ended, without a gap and without a repetition.
func TestLogFollow(t *testing.T) {
	s := waiting(t)
	a, out, errs := testApp(t)
	seen := make(chan struct{})
	a.out = onFirst(out, seen)
	done := make(chan int)
	go func() { done <- a.run([]string{"log", "--follow", "--json", "--server", s.URL}) }()
	<-seen
	s.happen(ev("approval.resolved", obj{"status": "approved"}))
	s.play()
	if code := <-done; code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var want []string
	for _, e := range s.events {
		want = append(want, string(e))
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %d lines for %d events", len(got), len(want))
	}
}

// onFirst closes seen when something is written to out.
func onFirst(out *bytes.Buffer, seen chan struct{}) writerFunc {
	first := true
	return func(p []byte) (int, error) {
		if first {
			first = false
			close(seen)
		}
		return out.Write(p)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestTasks(t *testing.T) {
	s := waiting(t)
	check(t, succeed(t, "tasks", "--server", s.URL), []string{"TASK", `task_1  awaiting_approval  2026-01-02 03:04  Repair \x1b[31mit  (waits for your approval)`})
	check(t, succeed(t, "tasks", "task_1", "--server", s.URL), []string{`Repair \x1b[31mit  awaiting_approval`, "1  run_1  awaiting_approval  2            $0.0030", "hecate approvals task_1"})
	check(t, succeed(t, "tasks", "--json", "--server", s.URL), []string{`"id": "task_1"`})
	check(t, succeed(t, "tasks", "task_1", "--json", "--server", s.URL), []string{`"prompt": "Repair it"`})
	check(t, succeed(t, "tasks", "--limit", "1", "--search", "it's", "--server", s.URL), []string{"Repair", `older: hecate tasks --search 'it'\''s' --limit 1 --before 42`})
	if out := succeed(t, "tasks", "--limit", "1", "--search", "it's", "--before", "42", "--server", s.URL); out != "no task matches\n" {
		t.Errorf("behind the last one: %q", out)
	}
	a, _, errs := testApp(t)
	if code := a.run([]string{"tasks", "task_2", "--server", s.URL}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	check(t, errs.String(), []string{"hecate tasks: there is no task task_2\n  see: hecate tasks"})
}

func TestProjections(t *testing.T) {
	s := newContractServer(t, nil)
	check(t, succeed(t, "projections", "status", "--server", s.URL), []string{"NAME", "runs  7         9     2    0       catching up"})
	succeed(t, "projections", "rebuild", "--server", s.URL)
	succeed(t, "projections", "rebuild", "runs", "--server", s.URL)
	check(t, s.requests(), []string{"POST /system/projections/rebuild {}\n", `POST /system/projections/rebuild {"name":"runs"}`})
	a, _, errs := testApp(t)
	if code := a.run([]string{"projections", "status"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	check(t, errs.String(), []string{"hecate projections status: no Hecate server"})
}

// A server of this machine is found through the file that it leaves in its data
// directory. A file that names another machine is not believed: it would get the token.
func TestRunningServerIsFound(t *testing.T) {
	s := newContractServer(t, nil)
	for _, base := range []string{s.URL, "http://203.0.113.7:8765", "https://127.0.0.1:1", "http://127.0.0.1.example.com"} {
		a, out, _ := testApp(t)
		dir := a.getenv("HECATE_DATA_DIR")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hecate.runtime.json"), []byte(`{"base_url":"`+base+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		code := a.run([]string{"tasks"})
		if found := code == 0 && strings.Contains(out.String(), "task_1"); found != (base == s.URL) {
			t.Errorf("%s: exit code %d, %s", base, code, out)
		}
		if base != s.URL && slices.Contains(a.localServers(), base) {
			t.Errorf("%s is asked", base)
		}
	}
}

// Where no server runs, the places are named where one was looked for.
func TestNoServer(t *testing.T) {
	a, _, errs := testApp(t)
	a.usualServer = "http://127.0.0.1:1"
	if code := a.run([]string{"approvals"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	check(t, errs.String(), []string{"no Hecate server is running", filepath.Join(a.getenv("HECATE_DATA_DIR"), "hecate.runtime.json") + ", http://127.0.0.1:1\n", "hecate serve"})
}

func TestVersionAndHelp(t *testing.T) {
	version := succeed(t, "version")
	if strings.Count(version, "\n") != 1 || !strings.HasPrefix(version, "hecate ") {
		t.Errorf("version %q", version)
	}
	for _, args := range [][]string{{"--version"}, {"-v"}} {
		if got := succeed(t, args...); got != version {
			t.Errorf("%q prints %q", args, got)
		}
	}
	help := succeed(t)
	check(t, help, []string{"Exit codes", "hecate demo", "serve", "approvals", "projections"})
	if again := succeed(t, "--help"); again != help {
		t.Error("no arguments are not --help")
	}
	for _, command := range []string{
		"run", "attach", "demo", "tasks", "log", "approvals", "approve", "reject", "serve", "projections",
		"retry", "resume", "continue", "branch", "calls", "settle", "usage", "providers", "provider check", "system stats", "stop",
	} {
		check(t, succeed(t, append(strings.Fields(command), "--help")...), []string{"Usage: hecate " + command})
	}
}

// A line that was begun under one question never answers the next one.
func TestStaleLine(t *testing.T) {
	p := newPrompter(strings.NewReader("y\nn\n"), nil)
	var out bytes.Buffer
	p.ask(&out, "first? ")
	p.ask(&out, "second? ")
	if got := p.take(<-p.lines); !got.stale || got.text != "y" {
		t.Errorf("a yes to the first question counts as %+v for the second", got)
	}
	p.ask(&out, "again? ")
	if got := p.take(<-p.lines); got.stale || got.text != "n" {
		t.Errorf("the next line counts as %+v", got)
	}
}
