package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/tooltest"
)

func TestGitExecRunsGitThroughTheShell(t *testing.T) {
	w := tooltest.New(t)
	r := w.Call(tool(t, "git_exec"), args{"command": "init -q -b trunk && git status --porcelain=v1 --branch; echo note >&2"})
	if want := "status=completed\n--- stdout ---\n## No commits yet on trunk\n--- stderr ---\nnote\n"; r.Text != want || r.Title != "git_exec (completed)" {
		t.Errorf("got %q, %s", r.Text, r.Title)
	}
	want := []event.Payload{
		run.ArtifactRecorded{ArtifactID: w.Env.ArtifactID("stdout"), StepID: "step_1", Kind: "stdout", Name: "git-stdout.txt", MIMEType: "text/plain", Status: "ready", Content: event.NewText("## No commits yet on trunk\n")},
		run.ArtifactRecorded{ArtifactID: w.Env.ArtifactID("stderr"), StepID: "step_1", Kind: "stderr", Name: "git-stderr.txt", MIMEType: "text/plain", Status: "ready", Content: event.NewText("note\n")},
	}
	if d := cmp.Diff(want, r.Facts, cmp.AllowUnexported(event.Text{})); d != "" {
		t.Error(d)
	}
	if r = w.Call(tool(t, "git_exec"), args{"command": "push origin main"}); r.ErrorText != "sandbox policy denied: network access is disabled" || len(r.Facts) != 2 {
		t.Errorf("push: %+v", r)
	}
	if r = w.Call(tool(t, "git"), args{"command": "rev-parse HEAD"}); r.Title != "Git command" || r.ErrorKind != "git_command_failed" || r.ExitCode != 128 || r.Output["exit_code"] != 128 {
		t.Errorf("direct: %+v", r)
	}
	w.Env.Timeout = 100 * time.Millisecond
	if r = w.Call(tool(t, "git"), args{"command": "--version; sleep 300"}); r.ErrorKind != "git_timeout" || r.ErrorText != "context deadline exceeded" {
		t.Errorf("timeout: %+v", r)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	begun := filepath.Join(w.Dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(begun) // ends when the command has written to it
		cancel(tools.ErrRunEnded)
	}()
	w.Env.Timeout = 4 * time.Minute
	if r = w.CallContext(ctx, tool(t, "git"), args{"command": "--version; echo >begun; sleep 300"}); r.Facts[0].(run.ArtifactRecorded).Status != "cancelled" {
		t.Errorf("cancel: %+v", r)
	}
}

func TestGitLinesShowOnlyWhatIsHarmless(t *testing.T) {
	for command, want := range map[string]string{
		"status --short":         "git_exec git status --short",
		"rev-parse --short HEAD": "git_exec git rev-parse --short HEAD",
		"status; rm -rf x":       "git_exec command details withheld (command_bytes=16)",
		"branch -D main":         "git_exec command details withheld (command_bytes=14)",
		"status\n-s":             "git_exec command details withheld (command_bytes=9)",
		"commit -m secret":       "git_exec command details withheld (command_bytes=16)",
	} {
		raw, err := json.Marshal(args{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		p, err := tool(t, "git_exec").Prepare(raw)
		if err != nil || p.Line != want || p.Complete != !strings.Contains(want, "withheld") {
			t.Errorf("%s: got %q %t %v", command, p.Line, p.Complete, err)
		}
	}
}

// repo is a workspace that is a git repository.
func repo(t *testing.T, w *tooltest.Workspace, commands ...string) {
	t.Helper()
	for _, c := range append([]string{"init -q -b trunk", "config user.name T", "config user.email t@example.org"}, commands...) {
		if r := w.Call(tool(t, "git_exec"), args{"command": c}); r.Error {
			t.Fatalf("git %s: %s", c, r.Text)
		}
	}
}

func TestGitReadingOfARepositoryWithoutCommits(t *testing.T) {
	w := tooltest.New(t)
	repo(t, w)
	w.Write("n.txt", "n\n")
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"git_status", args{}, "branch=trunk entries=1 truncated=false\nno commits yet\n?? n.txt"},
		{"git_diff", args{}, "path=. staged=false bytes=0 truncated=false\n"},
		{"git_diff", args{"staged": true, "path": "n.txt"}, "path=n.txt staged=true bytes=0 truncated=false\n"},
		{"git_diff", args{"path": "../x"}, `git_diff: unsafe relative workspace path "../x"`},
	} {
		if r := w.Call(tool(t, c.tool), c.args); r.Text != c.want {
			t.Errorf("%s %v: got %q, want %q", c.tool, c.args, r.Text, c.want)
		}
	}
}

// Every path in a status can be read back and given to read_file as it is.
func TestGitStatusPathsAreUsable(t *testing.T) {
	w := tooltest.New(t)
	names := []string{"café.txt", "文档.md", "a b.txt", `q"uote.txt`, "tab\tx", "line\nbreak", "x -> y.txt", "cr\r", "-dash", ":(top)x"}
	for _, n := range names {
		w.Write(n, "one\n")
	}
	repo(t, w, "add -A", "commit -qm first")
	for _, n := range names {
		w.Write(n, "two\n")
	}
	lines := strings.Split(w.Call(tool(t, "git_status"), args{}).Text, "\n")
	if want := "branch=trunk entries=10 truncated=false"; lines[0] != want || len(lines) != 11 {
		t.Fatalf("got %q", lines)
	}
	seen := map[string]bool{}
	for _, l := range lines[1:] {
		name := strings.TrimPrefix(l, " M ")
		if name[0] == '"' {
			if err := json.Unmarshal([]byte(name), &name); err != nil {
				t.Errorf("%s: %v", l, err)
			}
		}
		seen[name] = true
		if r := w.Call(tool(t, "read_file"), args{"path": name}); !strings.HasSuffix(r.Text, "\ntwo\n") {
			t.Errorf("read_file %q: %s", name, r.Text)
		}
		if r := w.Call(tool(t, "git_diff"), args{"path": name}); strings.Count(r.Text, "\n+two\n") != 1 {
			t.Errorf("git_diff %q: %s", name, r.Text)
		}
	}
	for _, n := range names {
		if !seen[n] {
			t.Errorf("%q is missing in %q", n, lines)
		}
	}
}

func TestGitReadingOutsideOfARepository(t *testing.T) {
	w := tooltest.New(t)
	for _, name := range []string{"git_status", "git_diff"} {
		if r := w.Call(tool(t, name), args{}); r.Text != name+": the workspace is not a git repository" || !r.Error {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
