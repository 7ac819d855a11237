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

// sh runs a command line in dir with nothing of the machine's git settings.
func sh(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// A commit on a new branch changes nothing else, whatever the repository configures, and
// holds the files byte for byte.
func TestDraft(t *testing.T) {
	repo, draftDir := t.TempDir(), t.TempDir()
	sh(t, repo, `git init -q; git config user.name O; git config user.email o@x; mkdir -p sub/d
printf 'one\r\n' > sub/a; echo 2 > sub/gone; echo 3 > sub/d/x; echo top > top; ln -s a sub/l
git add .; git commit -qm first; echo dirty > sub/a
printf '#!/bin/sh\ntouch ../hooked\n' > .git/hooks/reference-transaction; chmod +x .git/hooks/reference-transaction
git config core.autocrlf true`)
	before := sh(t, repo, "git -c core.hooksPath=/dev/null status --porcelain; git rev-parse HEAD; cksum .git/index")
	d, err := gitrepo.NewDraft(t.Context(), filepath.Join(repo, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	paths := []string{"a", "gone", "d/x", "new/f", "l", "d"}
	if err := d.Extract(t.Context(), paths, draftDir); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, draftDir, "cat a gone d/x; readlink l"); got != "one\r\n2\n3\na\n" {
		t.Errorf("extracted %q", got)
	}
	sh(t, draftDir, `printf 'two\r\n' > a; chmod +x a; rm gone l; rm -r d; echo file > d; mkdir new; printf '\000\377' > new/f; ln -s new/f l`)
	if err := d.CheckBranch(t.Context(), "hecate/x"); err != nil {
		t.Error(err)
	}
	commit, err := d.Commit(t.Context(), draftDir, paths, "hecate/x", "title\n\nbody\n")
	if err != nil {
		t.Fatal(err)
	}
	got := sh(t, repo, `git -c core.hooksPath=/dev/null log -1 --format='%H %an %ce %s|%b|%P' hecate/x; git ls-tree -r hecate/x | cut -c1-6,53-; git cat-file blob hecate/x:sub/a; git cat-file blob hecate/x:sub/new/f | od -An -tx1`)
	want := commit + " O o@x title|body\n|" + d.Base() + "\n100755 sub/a\n100644 sub/d\n120000 sub/l\n100644 sub/new/f\n100644 top\ntwo\r\n 00 ff\n"
	if strings.ReplaceAll(got, "\t", " ") != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if after := sh(t, repo, "git -c core.hooksPath=/dev/null status --porcelain; git rev-parse HEAD; cksum .git/index"); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	if _, err := os.Stat(filepath.Join(repo, "hooked")); err == nil {
		t.Error("a hook has run")
	}
	if err := d.CheckBranch(t.Context(), "hecate/x"); !errors.Is(err, gitrepo.ErrBranchExists) {
		t.Errorf("the branch again: %v", err)
	}
	if _, err := d.Commit(t.Context(), draftDir, paths, "hecate/x", "again"); err == nil {
		t.Error("the branch was moved")
	}
	for _, taken := range []string{"hecate", "hecate/x/y"} {
		if err := d.CheckBranch(t.Context(), taken); !errors.Is(err, gitrepo.ErrBranchExists) {
			t.Errorf("%s beside hecate/x: %v", taken, err)
		}
	}
	for _, bad := range []string{"refs/heads/x", "", "-x", "a..b", "@{-1}", "a b", "x.lock", "/x"} {
		if d.CheckBranch(t.Context(), bad) == nil {
			t.Errorf("%q can be a branch", bad)
		}
	}
}

func TestDraftNeedsACommit(t *testing.T) {
	repo := t.TempDir()
	if _, err := gitrepo.NewDraft(t.Context(), repo); !errors.Is(err, gitrepo.ErrNoRepo) {
		t.Errorf("%v", err)
	}
	sh(t, repo, "git init -q")
	if _, err := gitrepo.NewDraft(t.Context(), repo); !errors.Is(err, gitrepo.ErrUnborn) {
		t.Errorf("%v", err)
	}
}

func TestTrackedIgnored(t *testing.T) {
	repo := t.TempDir()
	sh(t, repo, `git init -q; git config user.name O; git config user.email o@x; mkdir d; echo 1 > d/kept.log; echo 1 > other.log; echo '*.log' > .gitignore
git add -f d/kept.log .gitignore; git commit -qm first`)
	if got, err := gitrepo.TrackedIgnored(t.Context(), repo); err != nil || len(got) != 1 || got[0] != "d/kept.log" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := gitrepo.TrackedIgnored(t.Context(), filepath.Join(repo, "d")); err != nil || len(got) != 1 || got[0] != "kept.log" {
		t.Errorf("%q, %v", got, err)
	}
}
