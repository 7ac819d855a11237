package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/run"
	"hecate/runtime/workspace"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func state(sp run.Spec) *run.State {
	s := run.New("run_1")
	s.TaskID, s.Spec = "task_1", sp
	return &s
}

func prepare(t *testing.T, sp run.Spec) string {
	t.Helper()
	dir, err := workspace.NewManager(t.TempDir()).Prepare(t.Context(), state(sp))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Everything that is not committed yet comes along, and the source stays as it was.
func TestACopyCarriesUncommittedWork(t *testing.T) {
	src := t.TempDir()
	git(t, src, "init", "-q", "-b", "trunk")
	for name, text := range map[string]string{"kept": "1\n", "changed": "1\n", "staged": "1\n", "gone": "1\n", ".gitignore": "ignored\n"} {
		write(t, filepath.Join(src, name), text)
	}
	git(t, src, "add", ".")
	git(t, src, "commit", "-qm", "first")
	write(t, filepath.Join(src, "changed"), "2\n")
	write(t, filepath.Join(src, "staged"), "2\n")
	git(t, src, "add", "staged")
	write(t, filepath.Join(src, "sub/new file"), "new\n")
	write(t, filepath.Join(src, "ignored"), "big\n")
	if err := os.Remove(filepath.Join(src, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(src, "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := git(t, src, "status", "--porcelain")

	dst := prepare(t, run.Spec{WorkingDirectory: src})
	if got := git(t, dst, "status", "--porcelain"); got != before {
		t.Errorf("status in the workspace:\n%s\nin the source:\n%s", got, before)
	}
	if _, err := os.Stat(filepath.Join(dst, "ignored")); err == nil {
		t.Error("an ignored file was copied")
	}
	git(t, dst, "commit", "-qam", "in the workspace")
	if got := git(t, src, "log", "--format=%s"); got != "first\n" {
		t.Errorf("the source's history is now %q", got)
	}
	if got := git(t, src, "status", "--porcelain"); got != before {
		t.Errorf("the source's status is now %q", got)
	}
	if got := strings.TrimSpace(git(t, dst, "branch", "--show-current")); got != "trunk" {
		t.Errorf("branch %q", got)
	}
}

func TestARepositoryWithoutCommits(t *testing.T) {
	src := t.TempDir()
	git(t, src, "init", "-q", "-b", "trunk")
	write(t, filepath.Join(src, "n.txt"), "n\n")
	dst := prepare(t, run.Spec{WorkingDirectory: src})
	if read(t, filepath.Join(dst, "n.txt")) != "n\n" {
		t.Error("the untracked file is missing")
	}
	if got := git(t, dst, "status", "--porcelain", "--branch"); !strings.Contains(got, "No commits yet on trunk") {
		t.Errorf("status is %q", got)
	}
}

func TestAPlainDirectoryIsCopiedWithItsLinks(t *testing.T) {
	src := t.TempDir()
	write(t, filepath.Join(src, "a/b.txt"), "b")
	if err := os.Symlink("/etc/hostname", filepath.Join(src, "out")); err != nil {
		t.Fatal(err)
	}
	dst := prepare(t, run.Spec{WorkingDirectory: src})
	if read(t, filepath.Join(dst, "a/b.txt")) != "b" {
		t.Error("the file is missing")
	}
	if target, err := os.Readlink(filepath.Join(dst, "out")); err != nil || target != "/etc/hostname" {
		t.Errorf("the link is %q, %v", target, err)
	}
}

// What is the server's own gets into no copy, be the source a repository or not.
func TestPrivateDirectoriesAreNotCopied(t *testing.T) {
	for _, repository := range []bool{false, true} {
		src := t.TempDir()
		write(t, filepath.Join(src, "a.txt"), "a")
		write(t, filepath.Join(src, ".data", "operator.token"), "secret")
		write(t, filepath.Join(src, ".database"), "b")
		if repository {
			git(t, src, "init", "-q")
		}
		link := filepath.Join(t.TempDir(), "link") // to the source, which the private directory is not named by
		if err := os.Symlink(src, link); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{src, link} {
			dst, err := workspace.NewManager(t.TempDir(), filepath.Join(src, ".data")).Prepare(t.Context(), state(run.Spec{WorkingDirectory: from}))
			if err != nil {
				t.Fatal(err)
			}
			if read(t, filepath.Join(dst, "a.txt")) != "a" || read(t, filepath.Join(dst, ".database")) != "b" {
				t.Error("a file is missing")
			}
			if _, err := os.Stat(filepath.Join(dst, ".data")); err == nil {
				t.Errorf("repository %v: the copy of %s has the server's data", repository, from)
			}
		}
	}
}

func TestInPlace(t *testing.T) {
	dir := t.TempDir()
	other := t.TempDir()
	m := workspace.NewManager(t.TempDir())
	for name, c := range map[string]struct {
		sp   run.Spec
		want string
	}{
		"existing":         {run.Spec{WorkingDirectory: dir}, ""},
		"inside its root":  {run.Spec{WorkingDirectory: dir, AllowedRoot: filepath.Dir(dir)}, ""},
		"missing":          {run.Spec{WorkingDirectory: filepath.Join(dir, "no")}, "does not exist"},
		"relative":         {run.Spec{WorkingDirectory: "x"}, "absolute"},
		"none":             {run.Spec{}, "absolute"},
		"outside its root": {run.Spec{WorkingDirectory: dir, AllowedRoot: other}, "outside"},
	} {
		c.sp.WorkspaceMode = "in_place"
		got, err := m.Prepare(t.Context(), state(c.sp))
		if c.want == "" && (err != nil || got == "") {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestRemovingATaskRemovesOnlyIts(t *testing.T) {
	base := t.TempDir()
	m := workspace.NewManager(base)
	dir, err := m.Prepare(t.Context(), state(run.Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "..", "a/b"} {
		if err := m.RemoveTask(bad); err == nil {
			t.Errorf("%q was taken for a task", bad)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("removing nothing removed the workspace: %v", err)
	}
	if err := m.RemoveTask("task_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the workspace is still there")
	}
}

// What is ignored and what is only looked at is no change; files, links, permissions and
// commits are.
func TestChanges(t *testing.T) {
	src := t.TempDir()
	committed(t, src, map[string]string{"a": "1\n", ".gitignore": "out/\n"})
	write(t, filepath.Join(src, "dirty"), "d\n")
	plain := t.TempDir()
	write(t, filepath.Join(plain, "a"), "1\n")
	for name, c := range map[string]struct {
		source  string
		act     func(dir string)
		changed bool
	}{
		"nothing":      {src, func(string) {}, false},
		"a look":       {src, func(dir string) { git(t, dir, "status") }, false},
		"ignored":      {src, func(dir string) { write(t, filepath.Join(dir, "out", "o"), "o") }, false},
		"a file":       {src, func(dir string) { write(t, filepath.Join(dir, "a"), "2\n") }, true},
		"a new file":   {src, func(dir string) { write(t, filepath.Join(dir, "n"), "n") }, true},
		"a lost file":  {src, func(dir string) { _ = os.Remove(filepath.Join(dir, "dirty")) }, true},
		"a permission": {src, func(dir string) { _ = os.Chmod(filepath.Join(dir, "a"), 0o755) }, true},
		"a link":       {src, func(dir string) { _ = os.Symlink("a", filepath.Join(dir, "l")) }, true},
		"a commit":     {src, func(dir string) { git(t, dir, "commit", "--allow-empty", "-qm", "x") }, true},
		"a branch":     {src, func(dir string) { git(t, dir, "branch", "x") }, true},
		"what is ignored": {src, func(dir string) {
			write(t, filepath.Join(dir, ".git", "info", "exclude"), "n\n")
			write(t, filepath.Join(dir, "n"), "n")
		}, true},
		"no repository": {src, func(dir string) { _ = os.RemoveAll(filepath.Join(dir, ".git")) }, true},
		"plain":         {plain, func(string) {}, false},
		"plain, a file": {plain, func(dir string) { write(t, filepath.Join(dir, "sub", "n"), "n") }, true},
		"empty":         {"", func(string) {}, false},
	} {
		m := workspace.NewManager(t.TempDir())
		dir, err := m.Prepare(t.Context(), state(run.Spec{WorkingDirectory: c.source}))
		if err != nil {
			t.Fatal(err)
		}
		c.act(dir)
		all, err := m.List()
		if err != nil || len(all) != 1 || all[0] != (workspace.Workspace{TaskID: "task_1", RunID: "run_1", Path: dir}) {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		if changed, err := m.Changed(t.Context(), all[0]); changed != c.changed || err != nil {
			t.Errorf("%s: %t, %v", name, changed, err)
		}
		if err := m.Remove(all[0]); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
		if changed, err := m.Changed(t.Context(), all[0]); !changed || err == nil {
			t.Errorf("%s: of a workspace that nothing is known of: %t, %v", name, changed, err)
		}
	}
}
