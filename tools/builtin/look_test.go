package builtin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hecate/tools/tooltest"
)

func TestStat(t *testing.T) {
	w := tooltest.New(t)
	w.Write("sub/f", "12345")
	w.Write("sub/g", "")
	w.Write("odd\nname", "")
	for link, target := range map[string]string{
		"inner": "sub/f", "dir": "sub", "outer": "/etc/passwd", "up": "../x", "gone": "sub/none", "loop": "loop", "full": filepath.Join(w.Dir, "sub"),
	} {
		w.Link(target, link)
	}
	if err := syscall.Mkfifo(filepath.Join(w.Dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"sub/f", "pipe", "odd\nname", "sub"} {
		if err := os.Chtimes(filepath.Join(w.Dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	varies := regexp.MustCompile(`type=link size=\d+ mode=\S+ modified=\S+`)
	for path, want := range map[string]string{
		"sub/f":          "path=sub/f type=file size=5 mode=-rw-r--r-- modified=2026-01-02T03:04:05Z",
		"./sub/../sub/f": "path=sub/f type=file size=5 mode=-rw-r--r-- modified=2026-01-02T03:04:05Z",
		"odd\nname":      `path="odd\nname" type=file size=0 mode=-rw-r--r-- modified=2026-01-02T03:04:05Z`,
		"pipe":           "path=pipe type=pipe size=0 mode=prw------- modified=2026-01-02T03:04:05Z",
		"inner":          "path=inner type=link target=sub/f leads=inside to=sub/f",
		"dir":            "path=dir type=link target=sub leads=inside to=sub",
		"full":           "path=full type=link target=" + w.Dir + "/sub leads=inside to=sub",
		"gone":           "path=gone type=link target=sub/none leads=inside exists=false to=sub/none",
		"outer":          "path=outer type=link target=/etc/passwd leads=outside",
		"up":             "path=up type=link target=../x leads=outside",
		"loop":           "path=loop type=link target=loop leads=outside",
		"dir/f":          `stat: workspace path uses a symlink component "dir", which points to "sub"; use the path it points to if that is in the workspace`,
		"nope":           `stat: "nope": not found`,
		"sub/f/x":        `stat: "sub/f/x": a parent is not a directory`,
		"/etc":           `stat: path must be relative to the workspace, got absolute: "/etc"`,
		"..":             `stat: unsafe relative workspace path ".."`,
	} {
		r := w.Call(tool(t, "stat"), args{"path": path})
		if got := varies.ReplaceAllString(r.Text, "type=link"); got != want || r.Error != strings.HasPrefix(want, "stat: ") {
			t.Errorf("%q:\ngot  %s\nwant %s", path, got, want)
		}
	}
	r := w.Call(tool(t, "stat"), args{"path": "sub"})
	if !strings.HasPrefix(r.Text, "path=sub type=directory size=") || !strings.HasSuffix(r.Text, " mode=drwxr-xr-x modified=2026-01-02T03:04:05Z entries=2") {
		t.Error(r.Text)
	}
	if r = w.Call(tool(t, "stat"), args{}); !strings.HasSuffix(r.Text, " entries=10") {
		t.Error(r.Text)
	}
}

func TestBlame(t *testing.T) {
	w := tooltest.New(t)
	w.Write("a file.txt", "one\ntwo\nthree\n")
	w.Write("empty", "")
	w.Write("bin", "a\x00b")
	repo(t, w, "add -A", "-c user.name='An Author' commit -qm first --date=2026-01-02T03:04:05Z")
	w.Write("a file.txt", "one\n2\nthree\n")
	w.Write("new.txt", "x\n")
	hash := regexp.MustCompile(`(?m)^[0-9a-f^]{9,12} `)
	blame := func(a args) string {
		r := w.Call(tool(t, "blame"), a)
		if r.Error != strings.HasPrefix(r.Text, "blame: ") {
			t.Errorf("%v: %+v", a, r)
		}
		return hash.ReplaceAllString(r.Text, "HASH ")
	}
	whole := regexp.MustCompile(`^path=a file.txt lines=3 bytes=\d+\n--- lines ---\n` +
		`HASH \(An Author +2026-01-02 1\) one\nHASH \(.* \d{4}-\d\d-\d\d 2\) 2\nHASH \(An Author +2026-01-02 3\) three\n$`)
	if got := blame(args{"path": "a file.txt"}); !whole.MatchString(got) {
		t.Errorf("got %q", got)
	}
	for want, a := range map[string]args{
		"HASH (An Author 2026-01-02 3) three\n": {"path": "a file.txt", "start_line": 3},
		"HASH (An Author 2026-01-02 1) one\n":   {"path": "a file.txt", "end_line": 1},
	} {
		if got := blame(a); !strings.HasSuffix(got, "--- lines ---\n"+want) {
			t.Errorf("%v: got %q", a, got)
		}
	}
	for want, a := range map[string]args{
		"blame: start_line (9) is beyond file line count (3)":                               {"path": "a file.txt", "start_line": 9},
		"blame: end_line (1) is before start_line (2)":                                      {"path": "a file.txt", "start_line": 2, "end_line": 1},
		"blame: the file is not in the last commit, so nobody is to be named for its lines": {"path": "new.txt"},
		`blame: "bin" is a binary file (3 bytes)`:                                           {"path": "bin"},
		`blame: "nope": not found`:                                                          {"path": "nope"},
		`blame: "." is a directory`:                                                         {"path": "."},
		"path=empty lines=0 bytes=0\n--- lines ---\n":                                       {"path": "empty"},
	} {
		if got := blame(a); got != want {
			t.Errorf("%v: got %q, want %q", a, got, want)
		}
	}
	w.Write("big.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 2000))
	repo(t, w, "add -A", "commit -qm second")
	if got := blame(args{"path": "big.txt"}); len(got) > 70<<10 || !strings.Contains(got, "truncated=true") || !strings.HasSuffix(got, "…(truncated); ask for fewer lines with start_line and end_line") {
		t.Errorf("%d bytes, %.100q", len(got), got)
	}
}

// A workspace may be a part of a repository, a linked work tree, or a clone without its
// whole history.
func TestBlameWhereverTheRepositoryIs(t *testing.T) {
	w := tooltest.New(t)
	w.Write("part/f", "one\n")
	repo(t, w, "add -A", "commit -qm first")
	w.Write("part/f", "one\ntwo\n")
	repo(t, w, "commit -qam second", "worktree add -q tree")
	if out, err := exec.Command("git", "clone", "-q", "--depth", "1", "file://"+w.Dir, filepath.Join(w.Dir, "shallow")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, dir := range []string{"part", "tree/part", "shallow/part"} {
		in := tooltest.New(t)
		root, err := os.OpenRoot(filepath.Join(w.Dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		in.Env.Root, in.Env.RootPath = root, filepath.Join(w.Dir, dir)
		r := in.Call(tool(t, "blame"), args{"path": "f", "start_line": 2})
		if r.Error || !strings.HasSuffix(r.Text, " 2) two\n") {
			t.Errorf("%s: %q", dir, r.Text)
		}
	}
}

func TestBlameWithoutHistory(t *testing.T) {
	w := tooltest.New(t)
	w.Write("f", "x\n")
	if r := w.Call(tool(t, "blame"), args{"path": "f"}); r.Text != "blame: the workspace is not a git repository" {
		t.Error(r.Text)
	}
	repo(t, w)
	if r := w.Call(tool(t, "blame"), args{"path": "f"}); r.Text != "blame: the repository has no commits yet" {
		t.Error(r.Text)
	}
}

// Nothing that a repository configures runs when lines are attributed.
func TestBlameRunsNothingOfTheRepository(t *testing.T) {
	w := tooltest.New(t)
	w.Write("f.txt", "x\n")
	w.Write(".gitattributes", "*.txt diff=evil\n")
	mark := filepath.Join(w.Dir, "ran")
	script := filepath.Join(w.Dir, "evil.sh")
	w.Write("evil.sh", fmt.Sprintf("#!/bin/sh\ntouch %s\ncat \"$1\"\n", mark))
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	repo(t, w, "add -A", "commit -qm first",
		"config diff.evil.textconv "+script, "config diff.external "+script, "config core.fsmonitor "+script, "config core.pager "+script,
		"config blame.ignoreRevsFile no-such-file", "config mailmap.file no-such-file", "config color.ui always", "config blame.coloring repeatedLines")
	r := w.Call(tool(t, "blame"), args{"path": "f.txt"})
	if _, err := os.Stat(mark); err == nil || r.Error || strings.Contains(r.Text, "\x1b") {
		t.Errorf("something ran, or %q", r.Text)
	}
	w.Write(".gitattributes", "*.txt diff=evil filter=evil\n")
	repo(t, w, "config filter.evil.clean "+script, "config blame.ignoreRevsFile /etc/passwd")
	r = w.Call(tool(t, "blame"), args{"path": "f.txt"})
	if _, err := os.Stat(mark); err == nil || r.Error {
		t.Errorf("a filter ran, or %q", r.Text)
	}
}
