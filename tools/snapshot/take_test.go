package snapshot_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hecate/tools/snapshot"
)

// What a snapshot holds is what is in the files, whatever the workspace configures.
func TestTakeOfAHostileRepository(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "ran")
	run := "touch " + proof
	f := files{
		".gitattributes": "[attr]evil filter=evil\n* text eol=crlf ident working-tree-encoding=UTF-16 filter=evil diff=evil merge=evil evil\n",
		"crlf":           "a\r\nb\n$Id$\n", "utf8": "é\n", "hook/.gitattributes": "* -text !filter\n", "hook/x": "$Id: 1$\r\n",
		".gitmodules": "[submodule \"x\"]\n\tpath = sub\n\turl = ext::sh -c \"" + run + "\"\n\tupdate = !" + run + "\n",
	}
	root := dirOf(t, f)
	git(t, root, "init", "--quiet")
	for _, set := range [][2]string{
		{"filter.evil.clean", run},
		{"filter.evil.smudge", run},
		{"filter.evil.process", run},
		{"filter.evil.required", "true"},
		{"core.fsmonitor", run},
		{"core.hooksPath", "hook"},
		{"core.autocrlf", "true"},
		{"core.excludesFile", "/dev/stdin"},
		{"include.path", "../evil"},
		{"diff.external", run},
		{"diff.evil.textconv", run},
		{"diff.evil.command", run},
		{"merge.evil.driver", run},
		{"core.worktree", "/"},
		{"core.sshCommand", run},
	} {
		git(t, root, "config", set[0], set[1])
	}
	put(t, filepath.Join(root, ".git/objects/info/alternates"), "/nowhere\n")
	put(t, filepath.Join(root, ".git/info/attributes"), "* filter=evil\n")
	put(t, filepath.Join(root, "evil"), "[core]\n\tfsmonitor = "+run+"\n")
	for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout", "reference-transaction"} {
		put(t, filepath.Join(root, "hook", hook), "x:#!/bin/sh\n"+run+"\n")
		put(t, filepath.Join(root, ".git/hooks", hook), "x:#!/bin/sh\n"+run+"\n")
	}
	before := read(t, root)
	s := newStore(t)
	a := take(t, s, root)
	put(t, filepath.Join(root, "crlf"), "c\r\n$Id$\n")
	put(t, filepath.Join(root, "utf8"), "è\n")
	b := take(t, s, root)
	patch, err := s.Patch(t.Context(), a, b)
	if err != nil || !strings.Contains(string(patch), "\n-a\r\n-b\n+c\r\n $Id$\n") {
		t.Errorf("%v\n%s", err, patch)
	}
	if l, err := s.Restore(t.Context(), root, b, a, false); err != nil || !l.Applied {
		t.Error(err)
	}
	same(t, "restored", read(t, root), before)
	if _, err := os.Lstat(proof); err == nil {
		t.Error("something of the workspace ran")
	}
}

// Nested repositories and submodules are plain directories, without what is git's own.
func TestTakeOfNestedRepositories(t *testing.T) {
	sub := dirOf(t, files{"s": "1"})
	git(t, sub, "init", "--quiet")
	git(t, sub, "add", ".")
	git(t, sub, "commit", "--quiet", "-m", "x")
	root := dirOf(t, files{"a": "1", "nested/n": "1", "nested/.gitignore": "*.log\n", "nested/x.log": "1", "worktree/.git": "gitdir: /etc", "worktree/w": "1", ".GIT/x": "1"})
	git(t, root, "init", "--quiet")
	git(t, filepath.Join(root, "nested"), "init", "--quiet")
	git(t, root, "submodule", "--quiet", "add", sub, "deep/sub")
	s := newStore(t)
	var skipped []snapshot.Skip
	tree, err := s.Take(t.Context(), root, snapshot.Options{Skipped: &skipped})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".gitmodules", "a", "deep/sub/s", "nested/.gitignore", "nested/n", "worktree/w"}
	if got := held(t, s, tree); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(skipped) != 1 || skipped[0].Path != ".GIT" {
		t.Error(skipped)
	}
}

// A path that a snapshot has does not go with an ignore rule, nor when it cannot be read.
func TestTakeHoldsOnToWhatItHas(t *testing.T) {
	s, root := newStore(t), dirOf(t, files{"a": "1", "d/x": "1", "p": "1"})
	a := take(t, s, root)
	put(t, filepath.Join(root, ".gitignore"), "*\n")
	put(t, filepath.Join(root, "a"), "2")
	put(t, filepath.Join(root, "d/new"), "1")
	if err := os.Remove(filepath.Join(root, "p")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "p"), 0o600); err != nil {
		t.Fatal(err)
	}
	var skipped []snapshot.Skip
	b, err := s.Take(t.Context(), root, snapshot.Options{Skipped: &skipped})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Diff(t.Context(), a, b)
	if err != nil || len(changes) != 1 || changes[0].Path != "a" || changes[0].Kind != snapshot.Update || changes[0].Size != 1 {
		t.Errorf("%v %v", changes, err)
	}
	if len(skipped) != 1 || skipped[0] != (snapshot.Skip{Path: "p", Reason: "is no file, directory or link"}) {
		t.Error(skipped)
	}
}

// An index that is lost or damaged costs time, and nothing else.
func TestTakeWithoutItsIndex(t *testing.T) {
	gitDir := filepath.Join(t.TempDir(), "store")
	s, err := snapshot.Open(gitDir)
	if err != nil {
		t.Fatal(err)
	}
	root := dirOf(t, files{"a": "1", "d/x": "1"})
	a := take(t, s, root)
	put(t, filepath.Join(root, ".gitignore"), "/d\n.gitignore\n")
	indexes, err := filepath.Glob(filepath.Join(gitDir, "seen", "*"))
	if err != nil || len(indexes) != 1 {
		t.Fatal(indexes, err)
	}
	put(t, indexes[0], "damaged")
	if b := take(t, s, root); a != b {
		t.Error("another snapshot")
	}
	if err := os.Remove(indexes[0]); err != nil {
		t.Fatal(err)
	}
	if b := take(t, s, root); a != b {
		t.Error("another snapshot")
	}
}

// Snapshots of one directory that are taken at once, or an index of another snapshot than
// the last one, leave nothing in a later one that is not in the store.
func TestTakeAtOnce(t *testing.T) {
	gitDir := filepath.Join(t.TempDir(), "store")
	s, err := snapshot.Open(gitDir)
	if err != nil {
		t.Fatal(err)
	}
	root, stale := dirOf(t, files{"a": "0", "b": "0"}), []byte(nil)
	for i := range 10 {
		put(t, filepath.Join(root, "a"), strings.Repeat("a", i))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := s.Take(t.Context(), root, snapshot.Options{}); err != nil {
					t.Error(err)
				}
			})
		}
		put(t, filepath.Join(root, "b"), strings.Repeat("b", i))
		wg.Wait()
		seen, err := filepath.Glob(filepath.Join(gitDir, "seen", "*"))
		if err != nil || len(seen) != 1 {
			t.Fatal(seen, err)
		}
		if len(stale) > 0 {
			put(t, seen[0], string(stale))
		}
		tree := take(t, s, root)
		if stale, err = os.ReadFile(seen[0]); err != nil {
			t.Fatal(err)
		}
		dir := dirOf(t, files{})
		if l, err := s.Land(t.Context(), snapshot.Plan{Target: dir, Base: treeOf(t, s, nil), Result: tree}); err != nil || !l.Applied {
			t.Fatal(err, outcomes(l))
		}
		same(t, "landed", read(t, dir), read(t, root))
	}
}

// A change is noticed also in the same tick, of the same size, with its time set back.
func TestTakeNoticesEveryChange(t *testing.T) {
	s, root := newStore(t), dirOf(t, files{"a": "0"})
	name, then := filepath.Join(root, "a"), time.Unix(1_000_000, 0)
	seen := map[snapshot.Tree]bool{}
	for i := range 20 {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(string(rune('a' + i))); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := os.Chtimes(name, then, then); err != nil {
			t.Fatal(err)
		}
		seen[take(t, s, root)] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d of 20 changes were noticed", len(seen))
	}
}

func TestTakeIgnoredFiles(t *testing.T) {
	s, root := newStore(t), dirOf(t, files{".gitignore": "*.log\nout/\n", "a": "1", "b.log": "1", "out/big": strings.Repeat("x", 100), "tracked.log": "1"})
	if got := held(t, s, take(t, s, root)); !slices.Equal(got, []string{".gitignore", "a"}) {
		t.Errorf("%q", got)
	}
	var skipped []snapshot.Skip
	tree, err := s.Take(t.Context(), root, snapshot.Options{Ignored: true, IgnoredBytes: 50, Skipped: &skipped})
	if err != nil {
		t.Fatal(err)
	}
	if got := held(t, s, tree); !slices.Equal(got, []string{".gitignore", "a", "b.log", "tracked.log"}) || len(skipped) != 1 || skipped[0].Path != "out/big" {
		t.Errorf("%q %v", got, skipped)
	}
	if tree, err = s.Take(t.Context(), root, snapshot.Options{Include: []string{"tracked.log"}}); err != nil {
		t.Fatal(err)
	}
	if got := held(t, s, tree); !slices.Equal(got, []string{".gitignore", "a", "tracked.log"}) || tree != take(t, s, root) {
		t.Errorf("%q", got)
	}
}

// Links are not followed, not even those that take a directory's place, and a workspace
// that is one is looked at where it is.
func TestTakeFollowsNoLinks(t *testing.T) {
	outside := dirOf(t, files{"secret": "s", ".gitignore": "*\n"})
	s, root := newStore(t), dirOf(t, files{"d/x": "1", "to": "l:" + outside, "f": "l:" + filepath.Join(outside, "secret"), ".gitignore": "l:" + filepath.Join(outside, ".gitignore")})
	a := take(t, s, root)
	if got := held(t, s, a); !slices.Equal(got, []string{".gitignore", "d/x", "f", "to"}) {
		t.Errorf("%q", got)
	}
	if err := os.RemoveAll(filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "d"), "l:"+outside)
	if got := held(t, s, take(t, s, root)); !slices.Equal(got, []string{".gitignore", "d", "f", "to"}) {
		t.Errorf("%q", got)
	}
	if l, err := s.Restore(t.Context(), root, take(t, s, root), a, false); err != nil || !l.Applied {
		t.Error(err, outcomes(l))
	}
	same(t, "outside", read(t, outside), files{"secret": "s", ".gitignore": "*\n"})
	link := filepath.Join(t.TempDir(), "link")
	put(t, link, "l:"+root)
	if take(t, s, link) != a {
		t.Error("another snapshot through a link")
	}
}

// Directories without end are left out.
func TestTakeOfDeepDirectories(t *testing.T) {
	s, root := newStore(t), t.TempDir()
	put(t, filepath.Join(root, strings.Repeat("d/", 250), "x"), "1")
	put(t, filepath.Join(root, "y"), "1")
	var skipped []snapshot.Skip
	tree, err := s.Take(t.Context(), root, snapshot.Options{Skipped: &skipped})
	if err != nil || !slices.Equal(held(t, s, tree), []string{"y"}) || len(skipped) != 1 || skipped[0].Reason != "lies too deep" {
		t.Error(err, skipped)
	}
}

func TestTakeOfNothing(t *testing.T) {
	s := newStore(t)
	if a := take(t, s, t.TempDir()); a != take(t, s, t.TempDir()) {
		t.Error("two empty directories differ")
	}
	if _, err := s.Take(t.Context(), filepath.Join(t.TempDir(), "none"), snapshot.Options{}); err == nil {
		t.Error("a snapshot of nothing")
	}
}

// What is excluded stays out, also of what is known and what must not be ignored.
func TestTakeExcludes(t *testing.T) {
	s := newStore(t)
	root := dirOf(t, files{"a": "1", "data/log": "1", "data/b/c": "1", "sub/data": "1"})
	if last, err := s.Last(root); last != "" || err != nil {
		t.Errorf("the last one before the first: %q, %v", last, err)
	}
	all, err := s.Take(t.Context(), root, snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := s.Take(t.Context(), root, snapshot.Options{Exclude: []string{"data"}, Include: []string{"data/log"}})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Changed(t.Context(), all, some)
	var gone []string
	for _, c := range changes {
		gone = append(gone, c.Kind+" "+c.Path)
	}
	if want := []string{"delete data/b/c", "delete data/log"}; err != nil || !slices.Equal(gone, want) {
		t.Errorf("%v, %v; want %v", gone, err, want)
	}
	if last, err := s.Last(root); last != some || err != nil {
		t.Errorf("the last one is %q, %v; want %q", last, err, some)
	}
}
