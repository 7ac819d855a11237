package worker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
)

// gitIn runs git as somebody who has no settings of their own.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// results are what the run's calls came to.
func results(n *node, id string) map[string]string {
	n.t.Helper()
	out := map[string]string{}
	for _, p := range payloads[run.DispatchSettled](n, id) {
		out[p.ToolCallID] = p.Result.String()
	}
	return out
}

// summary names the files of the run's last git summary with their status.
func summary(n *node, id string) map[string]string {
	n.t.Helper()
	var content struct {
		WorkspacePath string `json:"workspace_path"`
		Files         []struct{ Path, Status string }
	}
	for _, a := range payloads[run.ArtifactRecorded](n, id) {
		if a.Kind != "git_summary" {
			continue
		}
		if a.Name != "git-changes.json" || a.MIMEType != "application/json" || a.Status != "ready" {
			n.t.Errorf("%+v", a)
		}
		if err := json.Unmarshal([]byte(a.Content.String()), &content); err != nil || content.WorkspacePath != n.state(id).WorkspacePath {
			n.t.Errorf("%s: %v", a.Content.String(), err)
		}
	}
	out := map[string]string{}
	for _, f := range content.Files {
		out[f.Path] = f.Status
	}
	return out
}

// A repository without a commit is one: in a copy and in place, from the first look to the
// summary at the end.
func TestARepositoryWithoutCommits(t *testing.T) {
	for _, mode := range []string{"ephemeral", "in_place"} {
		t.Run(mode, func(t *testing.T) {
			n := newNode(t, scripted.Script{Replies: []scripted.Reply{
				calls(call("s", "git_status"), call("d", "git_diff"), scripted.ToolCall("w", "file_write", map[string]string{"path": "n.txt", "content": "n\n"})), text("done"),
			}})
			n.executor.Policies = []permission.Policy{}
			gitIn(t, n.source, "init", "-q", "-b", "trunk")
			if err := os.WriteFile(filepath.Join(n.source, "old.txt"), []byte("o\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			defer n.run(n.executor)()
			r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: mode})
			if s := n.end(r.RunID); s.Status != run.StatusCompleted {
				t.Fatalf("the run is %s", s.Status)
			}
			got := results(n, r.RunID)
			if want := "branch=trunk entries=1 truncated=false\nno commits yet\n?? old.txt"; got["s"] != want {
				t.Errorf("status %q", got["s"])
			}
			if !strings.HasSuffix(got["d"], " bytes=0 truncated=false\n") {
				t.Errorf("diff %q", got["d"])
			}
			if files := summary(n, r.RunID); len(files) != 2 || files["n.txt"] != "??" || files["old.txt"] != "??" {
				t.Errorf("summary %v", files)
			}
		})
	}
}

// Names that git quotes reach the summary as they are, and agree with the patches.
func TestNamesInTheSummary(t *testing.T) {
	names := []string{"café.txt", "文档.md", "a b.txt", `q"uote.txt`, "tab\tx", "line\nbreak", "x -> y.txt", "cr\r", "-dash", ":(top)x"}
	var writes []scripted.Call
	n := newNode(t)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(n.source, name), []byte("one\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		writes = append(writes, scripted.ToolCall("c"+name, "file_write", map[string]string{"path": name, "content": "two\n"}))
	}
	gitIn(t, n.source, "init", "-q", "-b", "trunk")
	gitIn(t, n.source, "add", "-A")
	gitIn(t, n.source, "commit", "-qm", "first")
	n = withSource(t, n.source, scripted.Script{Replies: []scripted.Reply{calls(writes...), text("done")}})
	defer n.run(n.executor)()
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	s := n.end(r.RunID)
	files := summary(n, r.RunID)
	for _, name := range names {
		if files[name] != "M" {
			t.Errorf("%q is %q", name, files[name])
		}
	}
	patched := payloads[run.FilePatch](n, r.RunID)
	if len(files) != len(names) || len(patched) != len(names) {
		t.Errorf("%d files, %d patches", len(files), len(patched))
	}
	for _, p := range patched {
		if rel, err := filepath.Rel(s.WorkspacePath, p.Path); err != nil || files[rel] != "M" {
			t.Errorf("the patch of %q is not in the summary", p.Path)
		}
	}
}

// withSource is a node that works on a directory, and asks nobody.
func withSource(t *testing.T, dir string, scripts ...scripted.Script) *node {
	t.Helper()
	n := newNode(t, scripts...)
	n.source, n.executor.Policies = dir, []permission.Policy{}
	return n
}

// A run that fails leaves a summary of what it has done until then.
func TestSummaryOfARunThatFails(t *testing.T) {
	n := withSource(t, t.TempDir(), scripted.Script{Replies: []scripted.Reply{
		calls(scripted.ToolCall("w", "file_write", map[string]string{"path": "n.txt", "content": "n\n"})), text(" "),
	}})
	gitIn(t, n.source, "init", "-q")
	defer n.run(n.executor)()
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	if s := n.end(r.RunID); s.Status != run.StatusFailed || summary(n, r.RunID)["n.txt"] != "??" {
		t.Errorf("the run is %s, the summary %v", s.Status, summary(n, r.RunID))
	}
	if _, err := os.Stat(filepath.Join(n.source, "n.txt")); err == nil {
		t.Error("the source was changed")
	}
}
