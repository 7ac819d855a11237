package gitrepo_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hecate/tools/gitrepo"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever a file is called, its name comes out as it is.
func TestOddNames(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk")
	names := []string{"café.txt", "文档.md", "a b.txt", `q"uote.txt`, "tab\tx", "line\nbreak", "x -> y.txt", "cr\r", "-dash", ":(top)x"}
	for _, n := range names {
		write(t, dir, n, "one\n")
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	for _, n := range names[1:] {
		write(t, dir, n, "two\n")
	}
	if err := os.Rename(filepath.Join(dir, "café.txt"), filepath.Join(dir, "naïve.txt")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A", "--", "café.txt", "naïve.txt")
	write(t, dir, "新.txt", "new\n")

	st, err := gitrepo.ReadStatus(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]gitrepo.Entry{}
	for _, e := range st.Entries {
		got[e.Path] = e
	}
	for _, n := range names[1:] {
		if got[n].Code != " M" {
			t.Errorf("%q has the code %q", n, got[n].Code)
		}
		if strings.ContainsAny(got[n].Line(), "\n\r\t") {
			t.Errorf("the line of %q is %q", n, got[n].Line())
		}
	}
	if e := got["naïve.txt"]; e.Code != "R " || e.From != "café.txt" || e.Line() != "R  café.txt -> naïve.txt" {
		t.Errorf("the rename is %+v", e)
	}
	if e := got["x -> y.txt"]; e.Line() != ` M "x -> y.txt"` {
		t.Errorf("line %q", e.Line())
	}
	if got["新.txt"].Code != "??" || st.Branch != "trunk" {
		t.Errorf("status is %+v", st)
	}
	for _, n := range []string{"-dash", ":(top)x", "文档.md"} {
		diff, err := gitrepo.Diff(t.Context(), dir, n, false)
		if err != nil || strings.Count(diff, "+two") != 1 {
			t.Errorf("diff of %q: %v\n%s", n, err, diff)
		}
	}
	sum, err := gitrepo.Changes(t.Context(), dir)
	if err != nil || len(sum.Files) != len(st.Entries) || !strings.Contains(sum.DiffStat, "changed") {
		t.Errorf("summary: %+v, %v", sum, err)
	}
}

func TestARepositoryWithoutCommits(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk")
	write(t, dir, "n.txt", "n\n")
	st, err := gitrepo.ReadStatus(t.Context(), dir)
	if err != nil || st.Branch != "trunk" || !st.Unborn || len(st.Entries) != 1 {
		t.Errorf("status: %+v, %v", st, err)
	}
	if diff, err := gitrepo.Diff(t.Context(), dir, ".", false); err != nil || diff != "" {
		t.Errorf("diff: %q, %v", diff, err)
	}
	if sum, err := gitrepo.Changes(t.Context(), dir); err != nil || sum.Files[0].Path != "n.txt" {
		t.Errorf("summary: %+v, %v", sum, err)
	}
}

// Looking at a repository runs nothing that it configures.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(t.TempDir(), "ran")
	git(t, dir, "init", "-q")
	write(t, dir, "a", "one\n")
	write(t, dir, ".gitattributes", "a diff=evil\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	write(t, dir, "a", "two\n")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager"} {
		git(t, dir, "config", key, evil)
	}
	if _, err := gitrepo.Changes(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if diff, err := gitrepo.Diff(t.Context(), dir, ".", false); err != nil || !strings.Contains(diff, "+two") {
		t.Errorf("diff: %q, %v", diff, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository's program ran")
	}
	for _, key := range []string{"filter.evil.clean", "filter.evil.process"} {
		git(t, dir, "config", key, evil)
	}
	if st, err := gitrepo.ReadStatus(t.Context(), dir); err != nil || len(st.Entries) != 1 {
		t.Errorf("with a filter for nothing: %+v, %v", st, err)
	}
	write(t, dir, ".gitattributes", "a filter=evil\n")
	_, err := gitrepo.ReadStatus(t.Context(), dir)
	_, inDiff := gitrepo.Diff(t.Context(), dir, ".", false)
	_, inOther := gitrepo.Diff(t.Context(), dir, ".gitattributes", false)
	if !errors.Is(err, gitrepo.ErrFilters) || !errors.Is(inDiff, gitrepo.ErrFilters) || inOther != nil {
		t.Errorf("with a filter: %v; %v; of another file %v", err, inDiff, inOther)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository's filter ran")
	}
}

// Wherever a filter is named, it is found.
func TestWhereFiltersAreNamed(t *testing.T) {
	for _, place := range []string{".gitattributes", "sub/.gitattributes", "sub/deep/.gitattributes", ".git/info/attributes", "removed"} {
		dir := t.TempDir()
		git(t, dir, "init", "-q", "-b", "trunk")
		if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "sub/deep/f", "one\n")
		git(t, dir, "add", "-A")
		if place == "removed" {
			write(t, dir, ".gitattributes", "f filter=x\n")
			git(t, dir, "add", "-A")
			if err := os.Remove(filepath.Join(dir, ".gitattributes")); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, dir, place, "f filter=x\n")
		}
		for _, look := range []string{dir, filepath.Join(dir, "sub")} {
			if _, err := gitrepo.ReadStatus(t.Context(), look); !errors.Is(err, gitrepo.ErrFilters) {
				t.Errorf("%s, seen from %s: %v", place, look, err)
			}
		}
	}
}

func TestNoRepository(t *testing.T) {
	dir := t.TempDir()
	if _, err := gitrepo.ReadStatus(t.Context(), dir); !errors.Is(err, gitrepo.ErrNoRepo) {
		t.Errorf("%v", err)
	}
	if gitrepo.Inside(dir) {
		t.Error("an empty directory is a repository")
	}
}

// A workspace may be a directory inside a repository: names count from there.
func TestNamesCountFromTheWorkspace(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q", "-b", "trunk")
	dir := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, top, "outside", "one\n")
	write(t, dir, "inside", "one\n")
	write(t, dir, "old", "some text\nof a file\nto be renamed\n")
	git(t, top, "add", "-A")
	git(t, top, "commit", "-qm", "first")
	write(t, top, "outside", "two\n")
	write(t, dir, "inside", "two\n")
	git(t, top, "mv", "a/b/old", "a/b/new")
	sum, err := gitrepo.Changes(t.Context(), dir)
	if err != nil || len(sum.Files) != 2 || sum.Files[0].Path != "inside" || sum.Files[1].Raw != "R  old -> new" || strings.Contains(sum.DiffStat, "a/b") {
		t.Errorf("%+v, %v", sum, err)
	}
	diff, err := gitrepo.Diff(t.Context(), dir, ".", false)
	if err != nil || !strings.Contains(diff, "+++ b/inside") || strings.Contains(diff, "outside") {
		t.Errorf("%s, %v", diff, err)
	}
}

// A server often runs as another user than the owner of a workspace.
func TestARepositoryOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk")
	write(t, dir, "n.txt", "n\n")
	err := filepath.Walk(dir, func(p string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, 65534, 65534)
	})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := gitrepo.ReadStatus(t.Context(), dir); err != nil || len(st.Entries) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// Content that a partial clone lacks is not fetched: the transport is the
// repository's to configure, and so is the program that carries it.
func TestNothingIsFetched(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	write(t, dir, "a", "one\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	objects, err := filepath.Glob(filepath.Join(dir, ".git/objects/5[0-9a-f]/*")) // blob "one\n" is 5626abf0…
	if err != nil || len(objects) == 0 {
		t.Fatal("the blob is not where it was expected", err)
	}
	for _, o := range objects {
		if err := os.Remove(o); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "a", "two\n")
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
		"remote.origin.url": "ssh://example.invalid/x", "core.sshCommand": evil, "protocol.ssh.allow": "always",
	} {
		git(t, dir, "config", key, value)
	}
	_, _ = gitrepo.Diff(t.Context(), dir, ".", false)
	_, _ = gitrepo.Changes(t.Context(), dir)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository's transport ran")
	}
}
