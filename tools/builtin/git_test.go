package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/run"
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
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	w.Env.Timeout = time.Minute
	if r = w.CallContext(ctx, tool(t, "git"), args{"command": "--version; sleep 300"}); r.Facts[0].(run.ArtifactRecorded).Status != "cancelled" {
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
