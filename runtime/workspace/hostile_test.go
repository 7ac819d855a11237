package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/run"
	"hecate/runtime/workspace"
)

// committed makes a repository with one commit.
func committed(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	git(t, dir, "init", "-q", "-b", "trunk")
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
}

// script makes a program that leaves a mark.
func script(t *testing.T) (program, mark string) {
	t.Helper()
	dir := t.TempDir()
	program, mark = filepath.Join(dir, "evil"), filepath.Join(dir, "ran")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, mark
}

// Copying a repository runs nothing that it configures, and the copy configures none of it.
func TestACopyRunsNothingOfItsSource(t *testing.T) {
	program, mark := script(t)
	for _, ref := range []string{"", "trunk"} {
		src := t.TempDir()
		committed(t, src, map[string]string{"a": "1\n", ".gitattributes": "a filter=evil diff=evil\n"})
		for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit"} {
			if err := os.Symlink(program, filepath.Join(src, ".git", "hooks", hook)); err != nil {
				t.Fatal(err)
			}
		}
		for key, value := range map[string]string{
			"core.fsmonitor": program, "filter.evil.smudge": program, "filter.evil.clean": program, "filter.evil.process": program, "filter.evil.required": "true",
			"uploadpack.packObjectsHook": program, "core.sshCommand": program, "core.alternateRefsCommand": program, "core.pager": program,
			"extensions.partialClone": "origin", "core.repositoryFormatVersion": "1", "remote.origin.promisor": "true", "remote.origin.url": "ssh://user:word@example.invalid/x",
			"credential.helper": program, "init.templateDir": filepath.Dir(program), "user.name": `A "B" \C`,
		} {
			git(t, src, "config", key, value)
		}
		if err := os.RemoveAll(mark); err != nil {
			t.Fatal(err)
		}
		dst := prepare(t, run.Spec{WorkingDirectory: src, BaseBranch: ref})
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("ref %q: a program of the source ran", ref)
		}
		if got := read(t, filepath.Join(dst, "a")); got != "1\n" {
			t.Errorf("a is %q", got)
		}
		config := read(t, filepath.Join(dst, ".git", "config"))
		if strings.Contains(config, program) || strings.Contains(config, "word") {
			t.Errorf("the copy's configuration:\n%s", config)
		}
		if _, err := os.Stat(filepath.Join(dst, ".git", "hooks")); err == nil {
			t.Error("the copy has hooks")
		}
		git(t, dst, "status") // it can be used
		if !strings.Contains(config, `name = "A \"B\" \\C"`) {
			t.Errorf("who commits is lost:\n%s", config)
		}
	}
}

// What is below a link is not in the source, however the index calls it.
func TestACopyFollowsNoLinks(t *testing.T) {
	private := t.TempDir()
	write(t, filepath.Join(private, "secret"), "TOP\n")
	src := t.TempDir()
	committed(t, src, map[string]string{"a/secret": "1\n", "b": "1\n"})
	if err := errors.Join(os.RemoveAll(filepath.Join(src, "a")), os.Symlink(private, filepath.Join(src, "a"))); err != nil {
		t.Fatal(err)
	}
	dst := prepare(t, run.Spec{WorkingDirectory: src})
	if target, err := os.Readlink(filepath.Join(dst, "a")); err != nil || target != private {
		t.Errorf("the link is %q, %v", target, err)
	}
	none(t, dst, "TOP")
	if got, want := git(t, dst, "status", "--porcelain"), git(t, src, "status", "--porcelain"); got != want {
		t.Errorf("status in the workspace:\n%s\nin the source:\n%s", got, want)
	}
}

// none checks that a text stands in no file below dir.
func none(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.Contains(read(t, path), text) {
			t.Errorf("%s has %q", path, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A directory that claims somebody else's repository gets nothing of it, nor does its copy
// lead there.
func TestACopyOfAClaimedRepository(t *testing.T) {
	private := t.TempDir()
	committed(t, private, map[string]string{"secret": "TOP\n"})
	for name, claim := range map[string]func(dir string) error{
		"link": func(dir string) error { return os.Symlink(private+"/.git", dir+"/.git") },
		"file": func(dir string) error { return os.WriteFile(dir+"/.git", []byte("gitdir: "+private+"/.git\n"), 0o644) },
	} {
		for _, below := range []string{"", "sub"} {
			src := t.TempDir()
			write(t, filepath.Join(src, below, "f"), "1\n")
			if err := claim(filepath.Join(src, below)); err != nil {
				t.Fatal(err)
			}
			dst := prepare(t, run.Spec{WorkingDirectory: src})
			if _, err := os.Lstat(filepath.Join(dst, below, ".git")); err == nil || read(t, filepath.Join(dst, below, "f")) != "1\n" {
				t.Errorf("%s in %q: %v", name, below, err)
			}
		}
	}
}

// A linked work tree becomes a repository of its own: what is committed in the copy does
// not reach the source's.
func TestACopyOfALinkedWorkTree(t *testing.T) {
	src := t.TempDir()
	committed(t, src, map[string]string{"a": "1\n"})
	git(t, src, "tag", "v1")
	git(t, src, "pack-refs", "--all")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, src, "worktree", "add", "-q", "-b", "other", tree)
	write(t, filepath.Join(tree, "a"), "2\n")
	write(t, filepath.Join(tree, "new"), "n\n")
	dst := prepare(t, run.Spec{WorkingDirectory: tree})
	if got := git(t, dst, "status", "--porcelain", "--branch"); got != "## other\n M a\n?? new\n" {
		t.Errorf("status %q", got)
	}
	git(t, dst, "commit", "-qam", "in the copy")
	if got := git(t, tree, "log", "--format=%s") + git(t, tree, "status", "--porcelain"); got != "first\n M a\n?? new\n" {
		t.Errorf("the source: %q", got)
	}
	if got := git(t, dst, "rev-parse", "v1", "trunk"); strings.Count(got, "\n") != 2 {
		t.Errorf("references: %q", got)
	}
}

// Submodules and repositories inside of others come along, with what is uncommitted.
func TestACopyHasWhatIsNested(t *testing.T) {
	lib, src := t.TempDir(), t.TempDir()
	committed(t, lib, map[string]string{"l": "1\n"})
	committed(t, src, map[string]string{"a": "1\n"})
	git(t, src, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	git(t, src, "commit", "-qam", "a submodule")
	write(t, filepath.Join(src, "sub", "l"), "2\n")
	nested := filepath.Join(src, "nested")
	if err := os.Mkdir(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	committed(t, nested, map[string]string{"n": "1\n"})
	write(t, filepath.Join(nested, "n"), "2\n")
	dst := prepare(t, run.Spec{WorkingDirectory: src})
	for _, name := range []string{"sub/l", "nested/n"} {
		if got := read(t, filepath.Join(dst, name)); got != "2\n" {
			t.Errorf("%s is %q", name, got)
		}
		if got := git(t, filepath.Dir(filepath.Join(dst, name)), "status", "--porcelain"); got != " M "+filepath.Base(name)+"\n" {
			t.Errorf("status of %s: %q", name, got)
		}
	}
	plain := t.TempDir() // a directory with repositories in it is none itself
	if err := os.Rename(nested, filepath.Join(plain, "nested")); err != nil {
		t.Fatal(err)
	}
	dst = prepare(t, run.Spec{WorkingDirectory: plain})
	if got := git(t, filepath.Join(dst, "nested"), "status", "--porcelain"); got != " M n\n" {
		t.Errorf("status %q", got)
	}
}

// The server's own data is nobody's working directory.
func TestTheServersDataIsNoSource(t *testing.T) {
	data := t.TempDir()
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "hecate-workspaces", "task_2", "run_2"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "keys", "k"), "TOP\n")
	m := workspace.NewManager(base, data)
	for name, sp := range map[string]run.Spec{
		"itself":            {WorkingDirectory: data},
		"a part":            {WorkingDirectory: filepath.Join(data, "keys")},
		"as a repository":   {Repo: "file://" + filepath.Join(data, "keys")},
		"in place":          {WorkingDirectory: filepath.Join(data, "keys"), WorkspaceMode: "in_place"},
		"another workspace": {WorkingDirectory: filepath.Join(base, "hecate-workspaces", "task_2", "run_2"), WorkspaceMode: "in_place"},
	} {
		if dir, err := m.Prepare(t.Context(), state(sp)); err == nil {
			t.Errorf("%s: %s", name, dir)
		}
	}
	if left, err := os.ReadDir(filepath.Join(base, "hecate-workspaces", "task_1")); err == nil && len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An address is no way around the allowed root, and no way to run a program.
func TestAddresses(t *testing.T) {
	src, other := t.TempDir(), t.TempDir()
	committed(t, src, map[string]string{"a": "1\n"})
	program, mark := script(t)
	m := workspace.NewManager(t.TempDir())
	for name, c := range map[string]struct {
		sp   run.Spec
		want string
	}{
		"file":         {run.Spec{Repo: "file://" + src}, ""},
		"path":         {run.Spec{Repo: src, WorkingDirectory: "."}, ""},
		"outside":      {run.Spec{Repo: "file://" + src, AllowedRoot: other}, "outside"},
		"a helper":     {run.Spec{Repo: "ext::" + program + " ://x"}, "not allowed"},
		"an option":    {run.Spec{Repo: "--upload-pack=" + program}, "does not exist"},
		"ssh option":   {run.Spec{Repo: "ssh://-oProxyCommand=" + program + "/x"}, "strange hostname"},
		"with a token": {run.Spec{Repo: "https://user:word@127.0.0.1:1/x"}, "127.0.0.1"},
	} {
		dir, err := m.Prepare(t.Context(), state(c.sp))
		if c.want == "" && (err != nil || read(t, filepath.Join(dir, "a")) != "1\n") {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "word")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program ran")
	}
}

// A branch, a tag or a commit can be asked for instead of the files as they stand.
func TestTheFilesOfABranch(t *testing.T) {
	src := t.TempDir()
	committed(t, src, map[string]string{"a": "1\n", "sub/b": "1\n"})
	git(t, src, "tag", "-am", "a tag", "v1")
	git(t, src, "checkout", "-q", "-b", "topic/x")
	write(t, filepath.Join(src, "a"), "2\n")
	git(t, src, "commit", "-qam", "second")
	git(t, src, "update-ref", "refs/remotes/origin/far", "HEAD")
	git(t, src, "checkout", "-q", "trunk")
	write(t, filepath.Join(src, "a"), "dirty\n")
	write(t, filepath.Join(src, "new"), "n\n")
	before := git(t, src, "status", "--porcelain", "--branch")
	for ref, want := range map[string]string{"topic/x": "2\n## topic/x\n", "far": "2\n## far\n", "v1": "1\n## HEAD (no branch)\n", "trunk": "1\n## trunk\n", "trunk~0": "1\n## HEAD (no branch)\n"} {
		dst := prepare(t, run.Spec{WorkingDirectory: src, BaseBranch: ref})
		if got := read(t, filepath.Join(dst, "a")) + git(t, dst, "status", "--porcelain", "--branch"); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
	for _, ref := range []string{"none", "-q", "--all", ""} {
		sp := run.Spec{WorkingDirectory: src, BaseBranch: ref}
		if _, err := workspace.NewManager(t.TempDir()).Prepare(t.Context(), state(sp)); (err == nil) != (ref == "") || err != nil && !strings.Contains(err.Error(), "no branch, tag or commit") {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if after := git(t, src, "status", "--porcelain", "--branch"); after != before {
		t.Errorf("the source is now %q", after)
	}
}

// Nobody finds a workspace that is not whole, nor what is left of one that failed.
func TestAWorkspaceIsWholeOrNotThere(t *testing.T) {
	src := t.TempDir()
	committed(t, src, map[string]string{"a": "1\n"})
	base := t.TempDir()
	m := workspace.NewManager(base)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx context.Context
		sp  run.Spec
	}{
		"cancelled": {ctx, run.Spec{WorkingDirectory: src}},
		"missing":   {t.Context(), run.Spec{WorkingDirectory: src + "/none"}},
		"no branch": {t.Context(), run.Spec{WorkingDirectory: src, BaseBranch: "none"}},
	} {
		if dir, err := m.Prepare(c.ctx, state(c.sp)); err == nil {
			t.Errorf("%s: %s", name, dir)
		}
		if left, err := os.ReadDir(filepath.Join(base, "hecate-workspaces", "task_1")); err != nil || len(left) != 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
	}
}

// What an agent has made unwritable for itself can be removed all the same.
func TestRemovingWhatIsLocked(t *testing.T) {
	base := t.TempDir()
	m := workspace.NewManager(base)
	dir, err := m.Prepare(t.Context(), state(run.Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cache", "deep", "f"), "1")
	for _, name := range []string{"cache/deep", "cache", "."} {
		if err := os.Chmod(filepath.Join(dir, name), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	unprivileged(t, filepath.Join(base, "hecate-workspaces"))
	if err := m.RemoveTask("task_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is still there")
	}
}
