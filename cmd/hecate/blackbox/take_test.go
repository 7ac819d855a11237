//go:build linux

package blackbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a run has changed in a copy is shown, taken and put back, over HTTP and on the
// command line, also by shell commands and with what the source was changed to meanwhile.
func TestTakeAndRestore(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_APPROVAL_POLICIES=")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "poem.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
	put(t, filepath.Join(dir, "gone.txt"), "was here\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	put(t, filepath.Join(dir, "dirty.txt"), "not committed\n")
	r, _ := s.agentRun(t, []reply{
		asks(call("c1", "file_edit", args{"path": "poem.txt", "old_text": "two", "new_text": "TWO"})),
		asks(call("c2", "read_file", args{"path": "poem.txt"}), call("c3", "shell_exec", args{"command": "rm gone.txt; mkdir -p .github/workflows; echo on > .github/workflows/x.yml; echo new > new.txt"})),
		says("done"),
	}, args{"working_directory": dir})
	workspace := r.becomes(t, "completed").str("workspace_path")

	var points []string
	for _, p := range r.list(t, r.path()+"/restore-points") {
		points = append(points, p.str("tool_call_id")+" "+p.str("tool_name"))
		if p["available"] != true {
			t.Errorf("no snapshot: %v", p)
		}
	}
	equal(t, "restore points", strings.Join(points, ", "), "c1 file_edit, c2 read_file, c3 shell_exec")

	put(t, filepath.Join(dir, "poem.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n")
	r.ask(t, "POST", r.path()+"/take", args{}).refused(t, 400, "invalid_request")
	r.ask(t, "POST", r.path()+"/take", args{"preview": true, "paths": []string{strings.Repeat("x", 200_000)}}).refused(t, 400, "invalid_request")
	r.ask(t, "POST", r.path()+"/take", args{"preview": true, "paths": []string{"../poem.txt"}}).refused(t, 400, "path_unchanged")
	shown := r.post(t, r.path()+"/take", args{"preview": true})
	want{"kind": "take", "status": "done", "preview": true, "result/target": dir, "result/files_count": 4, "result/withheld": 1}.check(t, "preview", shown)
	if diff := shown.obj("result").str("diff"); !strings.Contains(diff, "-two\n+TWO\n") {
		t.Errorf("the diff:\n%s", diff)
	}
	equal(t, "poem.txt", held(t, dir, "poem.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n")
	r.ask(t, "POST", r.path()+"/take", args{"digest": "another"}).refused(t, 409, "preview_outdated")

	out := s.hecate(t, "take", r.id, "--yes")
	for _, line := range []string{"merge      poem.txt", "delete     gone.txt", "write      new.txt", "withheld   .github/workflows/x.yml  (ci)", "--sensitive", "3 files written in " + dir} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	equal(t, "poem.txt", held(t, dir, "poem.txt"), "one\nTWO\nthree\nfour\nfive\nsix\nSEVEN\n")
	equal(t, "gone.txt", held(t, dir, "gone.txt"), "(absent)")
	equal(t, "new.txt", held(t, dir, "new.txt"), "new\n")
	equal(t, "dirty.txt", held(t, dir, "dirty.txt"), "not committed\n")
	equal(t, "workflow", held(t, dir, ".github/workflows/x.yml"), "(absent)")

	out = s.hecate(t, "take", "--branch", "agent/work", "--sensitive", "--yes", r.id)
	if !strings.Contains(out, "on the new branch agent/work") {
		t.Errorf("it prints\n%s", out)
	}
	equal(t, "branch", output(t, dir, "git", "diff", "--name-status", "HEAD", "agent/work"), "A\t.github/workflows/x.yml\nD\tgone.txt\nA\tnew.txt\nM\tpoem.txt\n")

	out = s.hecate(t, "restore", r.id)
	if !strings.Contains(out, "shell_exec") || !strings.Contains(out, "nothing changed") {
		t.Errorf("it prints\n%s", out)
	}
	s.hecate(t, "restore", r.id, "--before", "c3", "--yes", "--stat")
	equal(t, "gone.txt", held(t, workspace, "gone.txt"), "was here\n")
	equal(t, "poem.txt", held(t, workspace, "poem.txt"), "one\nTWO\nthree\nfour\nfive\nsix\nseven\n")
	if _, err := os.Stat(filepath.Join(workspace, ".github")); !os.IsNotExist(err) {
		t.Errorf("a directory stays that is empty: %v", err)
	}
	if out := s.hecate(t, "restore", r.id, "--before", "c3", "--yes"); !strings.Contains(out, "already") {
		t.Errorf("it prints\n%s", out)
	}
	taken := ofType(r.events(t), "workspace.taken")
	if len(taken) != 2 {
		t.Fatalf("%d events say that something was taken", len(taken))
	}
	want{"target": dir, "files_count": 3}.check(t, "event", taken[0].obj("data"))
	want{"target": dir, "branch": "agent/work", "files_count": 4}.check(t, "event", taken[1].obj("data"))
	changed := ofType(r.events(t), "workspace.changed")
	want{"tool_call_id": "c1", "files_count": 1}.check(t, "event", changed[0].obj("data"))
	want{"tool_call_id": "c3", "files_count": 3}.check(t, "event", changed[1].obj("data"))
}

// A run in place has nothing to take, and goes back all the same.
func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_APPROVAL_POLICIES=")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.txt"), "mine\n")
	r, _ := s.agentRun(t, []reply{asks(call("c1", "shell_exec", args{"command": "rm a.txt"})), says("done")}, in(dir))
	r.becomes(t, "completed")
	r.ask(t, "POST", r.path()+"/take", args{"preview": true}).refused(t, 409, "conflict")
	shown := r.post(t, r.path()+"/restore", args{"preview": true, "before": "c1"})
	r.post(t, r.path()+"/restore", args{"before": "c1", "digest": shown.obj("result").str("digest")})
	equal(t, "a.txt", held(t, dir, "a.txt"), "mine\n")
}

// output is what a program prints in a directory.
func output(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, out)
	}
	return string(out)
}
