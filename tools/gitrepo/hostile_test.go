package gitrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/tools/gitrepo"
)

// repository makes one with a committed file that has been changed since.
func repository(t *testing.T, dir, text string) {
	t.Helper()
	git(t, dir, "init", "-q", "-b", "trunk")
	write(t, dir, "f", text+" 1\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	write(t, dir, "f", text+" 2\n")
}

// A directory cannot claim a repository that does not know of it: that one's files may be
// nobody's to read here.
func TestRepositoriesElsewhereAreNotRead(t *testing.T) {
	private := t.TempDir()
	repository(t, private, "secret")
	for name, claim := range map[string]func(dir string) error{
		"link":       func(dir string) error { return os.Symlink(private+"/.git", dir+"/.git") },
		"file":       func(dir string) error { return os.WriteFile(dir+"/.git", []byte("gitdir: "+private+"/.git\n"), 0o644) },
		"gone":       func(dir string) error { return os.WriteFile(dir+"/.git", []byte("gitdir: "+private+"/none\n"), 0o644) },
		"common dir": func(dir string) error { return own(dir, map[string]string{"commondir": private + "/.git"}) },
		"objects": func(dir string) error {
			return errors.Join(own(dir, nil), os.Remove(dir+"/.git/objects"), os.Symlink(private+"/.git/objects", dir+"/.git/objects"))
		},
		"index": func(dir string) error {
			return errors.Join(own(dir, nil), os.Symlink(private+"/.git/index", dir+"/.git/index"))
		},
		"reference": func(dir string) error {
			return errors.Join(own(dir, nil), os.Symlink(private+"/.git/refs/heads/trunk", dir+"/.git/refs/heads/trunk"))
		},
		"references": func(dir string) error {
			return errors.Join(own(dir, nil), os.Remove(dir+"/.git/refs/heads"), os.Symlink(private+"/.git/refs/heads", dir+"/.git/refs/heads"))
		},
		"head": func(dir string) error { return own(dir, map[string]string{"HEAD": "ref: refs/../../../x\n"}) },
		"a work tree": func(dir string) error {
			tree := filepath.Join(dir, "..", "claim", ".git", "worktrees", "w")
			return errors.Join(os.MkdirAll(tree, 0o755), os.WriteFile(tree+"/commondir", []byte(private+"/.git\n"), 0o644), os.WriteFile(tree+"/HEAD", []byte("ref: refs/heads/trunk\n"), 0o644),
				os.WriteFile(tree+"/gitdir", []byte(dir+"/.git\n"), 0o644), os.WriteFile(dir+"/.git", []byte("gitdir: "+tree+"\n"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "w")
			if err := errors.Join(os.Mkdir(dir, 0o755), claim(dir)); err != nil {
				t.Fatal(err)
			}
			diff, err := gitrepo.Diff(t.Context(), dir, ".", true)
			if err == nil || strings.Contains(diff+err.Error(), "secret") {
				t.Errorf("%q, %v", diff, err)
			}
			if sum, err := gitrepo.Changes(t.Context(), dir); err == nil {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// own makes a repository by hand, with these files in it.
func own(dir string, files map[string]string) error {
	err := errors.Join(os.MkdirAll(dir+"/.git/refs/heads", 0o755), os.WriteFile(dir+"/.git/HEAD", []byte("ref: refs/heads/trunk\n"), 0o644))
	if files["commondir"] == "" {
		err = errors.Join(err, os.Mkdir(dir+"/.git/objects", 0o755))
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, ".git", name), []byte(text), 0o644))
	}
	return err
}

// Everybody can put a repository into a directory that everybody can write to.
func TestNobodyElsesRepositoryAbove(t *testing.T) {
	top := t.TempDir()
	repository(t, top, "x")
	dir := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !gitrepo.Inside(dir) {
		t.Error("the repository is not found")
	}
	if err := os.Chmod(top, 0o777); err != nil {
		t.Fatal(err)
	}
	if gitrepo.Inside(dir) || !gitrepo.Inside(top) {
		t.Error("a repository is found above a directory that everybody can write to, or not in it")
	}
}

// Linked work trees and submodules are looked at like any other.
func TestWorkTreesAndSubmodules(t *testing.T) {
	top := t.TempDir()
	repository(t, top, "x")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, top, "worktree", "add", "-q", "-b", "other", tree)
	write(t, tree, "f", "in the tree\n")
	other := t.TempDir()
	repository(t, other, "y")
	git(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	write(t, filepath.Join(top, "sub"), "f", "in the submodule\n")
	for dir, want := range map[string]string{tree: "other", filepath.Join(top, "sub"): "trunk"} {
		st, err := gitrepo.ReadStatus(t.Context(), dir)
		if err != nil || st.Branch != want || len(st.Entries) != 1 || st.Entries[0].Line() != " M f" {
			t.Errorf("%s: %+v, %v", dir, st, err)
		}
		if diff, err := gitrepo.Diff(t.Context(), dir, ".", false); err != nil || !strings.Contains(diff, "+in the ") {
			t.Errorf("%s: %q, %v", dir, diff, err)
		}
	}
}

// Nothing that the server's environment or the repository's configuration says about
// programs and places counts.
func TestRedirectionsDoNotCount(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	repository(t, dir, "x")
	repository(t, elsewhere, "secret")
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "core.worktree", elsewhere)
	git(t, dir, "config", "core.excludesFile", filepath.Join(elsewhere, "f"))
	git(t, dir, "config", "include.path", filepath.Join(elsewhere, "f")) // no configuration
	for name, value := range map[string]string{
		"GIT_DIR": elsewhere + "/.git", "GIT_WORK_TREE": elsewhere, "GIT_INDEX_FILE": elsewhere + "/.git/index", "GIT_EXTERNAL_DIFF": evil,
		"GIT_SSH_COMMAND": evil, "GIT_PAGER": evil, "PAGER": evil, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": evil,
	} {
		t.Setenv(name, value)
	}
	st, err := gitrepo.ReadStatus(t.Context(), dir)
	if err != nil || len(st.Entries) != 1 || st.Branch != "trunk" {
		t.Errorf("%+v, %v", st, err)
	}
	diff, err := gitrepo.Diff(t.Context(), dir, ".", false)
	if err != nil || !strings.Contains(diff, "+x 2") || strings.Contains(diff, "secret") {
		t.Errorf("%q, %v", diff, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program ran")
	}
}

// Looking changes nothing in the repository, and a change that leaves a file's size and
// the second of its time alone is seen all the same.
func TestLookingChangesNothing(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir, "x")
	git(t, dir, "add", "f")
	write(t, dir, "f", "x 3\n") // as long as what is staged, and written right after
	git(t, dir, "update-index", "--split-index")
	before := listing(t, filepath.Join(dir, ".git"))
	st, err := gitrepo.ReadStatus(t.Context(), dir)
	if err != nil || len(st.Entries) != 1 || st.Entries[0].Code != "MM" {
		t.Errorf("%+v, %v", st, err)
	}
	if _, err := gitrepo.Changes(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if after := listing(t, filepath.Join(dir, ".git")); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// listing names all that is in a directory, with sizes and times.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Names of objects can be longer, and references packed.
func TestLongNamesAndPackedReferences(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk", "--object-format=sha256")
	write(t, dir, "f", "1\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	git(t, dir, "tag", "-am", "a tag", "v1")
	git(t, dir, "pack-refs", "--all")
	write(t, dir, "f", "2\n")
	if st, err := gitrepo.ReadStatus(t.Context(), dir); err != nil || len(st.Entries) != 1 || st.Unborn || st.Branch != "trunk" {
		t.Errorf("%+v, %v", st, err)
	}
	repo, err := gitrepo.At(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := repo.CopyTo(t.Context(), filepath.Join(copied, ".git"), true); err != nil {
		t.Fatal(err)
	}
	git(t, copied, "cat-file", "-e", "v1^{commit}")
	git(t, copied, "fsck", "--strict")
	write(t, copied, "f", "2\n")
	if st, err := gitrepo.ReadStatus(t.Context(), copied); err != nil || len(st.Entries) != 1 || st.Unborn {
		t.Errorf("the copy: %+v, %v", st, err)
	}
}

// How a repository has lines ended is part of how its files are read.
func TestLineEndsOfTheRepository(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk")
	git(t, dir, "config", "core.autocrlf", "true")
	write(t, dir, "f", "a\r\nb\r\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "f"), later, later); err != nil {
		t.Fatal(err)
	}
	if st, err := gitrepo.ReadStatus(t.Context(), dir); err != nil || len(st.Entries) != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
