package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hecate/domain/fault"
	"hecate/tools/snapshot"
)

// land makes base, result and target, and lands.
func land(t *testing.T, base, result, target files, edit func(*snapshot.Plan)) (snapshot.Landing, string) {
	t.Helper()
	s, dir := newStore(t), dirOf(t, target)
	p := snapshot.Plan{Target: dir, Base: treeOf(t, s, base), Result: treeOf(t, s, result)}
	if edit != nil {
		edit(&p)
	}
	l, err := s.Land(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

const poem = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

func TestLand(t *testing.T) {
	change := func(s, from, to string) string { return strings.Replace(s, from, to, 1) }
	windows := "\xef\xbb\xbf" + strings.ReplaceAll(poem, "\n", "\r\n")
	for name, c := range map[string]struct {
		base, result, target string // contents of one file; "-" is no file
		outcome              string
		want                 string // "": as before
	}{
		"written":                  {"a", "b", "a", "written", "b"},
		"already":                  {"a", "b", "b", "already", ""},
		"added":                    {"-", "b", "-", "written", "b"},
		"added empty":              {"-", "", "-", "written", ""},
		"added on both":            {"-", "b", "c", "conflicted: has been changed in the same places on both sides", ""},
		"added, one empty":         {"-", "", "c", "conflicted: is new on both sides, with different content", ""},
		"added alike":              {"-", "b", "b", "already", ""},
		"added, executable in one": {"-", "x:b", "b", "conflicted: is new on both sides, and may be executed on one only", ""},
		"deleted":                  {"a", "-", "a", "deleted", "-"},
		"deleted on both":          {"a", "-", "-", "already", "-"},
		"deleted, changed here":    {"a", "-", "b", "conflicted: is deleted in the result and changed here", ""},
		"changed, deleted here":    {"a", "b", "-", "conflicted: is changed in the result and deleted here", "-"},
		"merged":                   {poem, change(poem, "one", "1"), change(poem, "seven", "7"), "merged", change(change(poem, "one", "1"), "seven", "7")},
		"same place":               {poem, change(poem, "four", "4"), change(poem, "four", "vier"), "conflicted: has been changed in the same places on both sides", ""},
		"no final newline":         {poem + "end", change(poem, "one", "1") + "end", poem + "END", "merged", change(poem, "one", "1") + "END"},
		"windows":                  {windows, change(windows, "one", "1"), change(windows, "seven", "7"), "merged", change(change(windows, "one", "1"), "seven", "7")},
		"binary":                   {"\x00a", "\x00b", "\x00a", "written", "\x00b"},
		"binary on both":           {"\x00a", "\x00b", "\x00c", "conflicted: is binary, and has been changed on both sides", ""},
		"too large to merge":       {strings.Repeat("a\n", 3<<20), "b", "c" + strings.Repeat("a\n", 3<<20), "conflicted: has been changed on both sides, and is larger than 4194304 bytes", ""},
		"executable":               {"a", "x:a", "a", "written", "x:a"},
		"executable, text here":    {"a", "x:a", "b", "merged", "x:b"},
		"executable here":          {"a", "b", "x:a", "merged", "x:b"},
		"not executable":           {"x:a", "a", "x:a", "written", "a"},
		"link":                     {"l:a", "l:b", "l:a", "written", "l:b"},
		"link, moved here":         {"l:a", "l:b", "l:c", "conflicted: is a link on one side, or changed as a link on both", ""},
		"link for a file":          {"a", "l:b", "a", "written", "l:b"},
		"link for a changed file":  {"a", "l:b", "c", "conflicted: is a link on one side, or changed as a link on both", ""},
		"large":                    {strings.Repeat("abc\x00", 1<<19), strings.Repeat("abd\x00", 1<<19), strings.Repeat("abc\x00", 1<<19), "written", strings.Repeat("abd\x00", 1<<19)},
	} {
		t.Run(name, func(t *testing.T) {
			one := func(c string) files {
				f := files{"other": "stays"}
				if c != "-" {
					f["d/f"] = c
				}
				return f
			}
			l, dir := land(t, one(c.base), one(c.result), one(c.target), nil)
			if got := outcomes(l); got != "d/f "+c.outcome+"\n" {
				t.Errorf("got %s", got)
			}
			want := c.want
			if want == "" && !strings.HasPrefix(c.outcome, "written") {
				want = c.target
			}
			same(t, "target", read(t, dir), one(want))
			if l.Applied == strings.HasPrefix(c.outcome, "conflicted") {
				t.Errorf("applied: %t", l.Applied)
			}
		})
	}
}

// One conflict is enough for nothing to be written; with markers all but what cannot be
// shown with them is.
func TestLandWithConflicts(t *testing.T) {
	base := files{"text": poem, "bin": "\x00a", "fine": "a"}
	result := files{"text": strings.Replace(poem, "four", "4", 1), "bin": "\x00b", "fine": "b"}
	target := files{"text": strings.Replace(poem, "four", "vier", 1), "bin": "\x00c", "fine": "a"}
	l, dir := land(t, base, result, target, nil)
	if len(l.Conflicts()) != 2 || l.Applied {
		t.Error(outcomes(l))
	}
	same(t, "without markers", read(t, dir), target)

	marked := strings.Replace(poem, "four", "<<<<<<< here\nvier\n=======\n4\n>>>>>>> result", 1)
	if m := string(l.Conflicts()[1].Markers); m != marked {
		t.Errorf("markers %q", m)
	}
	l, dir = land(t, base, result, target, func(p *snapshot.Plan) { p.Markers = true })
	if len(l.Conflicts()) != 2 || !l.Applied {
		t.Error(outcomes(l))
	}
	same(t, "with markers", read(t, dir), files{"text": marked, "bin": "\x00c", "fine": "b"})
}

func TestLandDryRun(t *testing.T) {
	l, dir := land(t, files{"a": "1"}, files{"a": "2"}, files{"a": "1"}, func(p *snapshot.Plan) { p.DryRun = true })
	if outcomes(l) != "a written\n" || l.Applied {
		t.Error(outcomes(l))
	}
	same(t, "dry", read(t, dir), files{"a": "1"})
}

func TestLandSelected(t *testing.T) {
	base, result := files{"a": "1", "d/x": "1", "d/y": "1", "dd": "1"}, files{"a": "2", "d/x": "2", "d/y": "2", "dd": "2"}
	_, dir := land(t, base, result, base, func(p *snapshot.Plan) { p.Paths = []string{"d/", "d/x"} })
	same(t, "selected", read(t, dir), files{"a": "1", "d/x": "2", "d/y": "2", "dd": "1"})

	s := newStore(t)
	_, err := s.Land(t.Context(), snapshot.Plan{Target: dir, Base: treeOf(t, s, base), Result: treeOf(t, s, result), Paths: []string{"a", "nowhere"}})
	if f, ok := fault.Of(err); !ok || f.Code != "path_unchanged" {
		t.Error(err)
	}
}

// Files become directories and directories files, unless something is in the way.
func TestLandChangesOfType(t *testing.T) {
	l, dir := land(t, files{"a": "1", "d/x/y": "1"}, files{"a/b/c": "2", "d": "2"}, files{"a": "1", "d/x/y": "1"}, nil)
	same(t, outcomes(l), read(t, dir), files{"a/b/c": "2", "d": "2"})

	target := files{"a": "1", "d/x/y": "1", "d/x/mine": "m"}
	l, dir = land(t, files{"a": "1", "d/x/y": "1"}, files{"a/b/c": "2", "d": "2"}, target, nil)
	if l.Applied || l.Conflicts()[0].Reason != `is a directory here, in which "d/x/mine" stays` {
		t.Error(outcomes(l))
	}
	same(t, "in the way", read(t, dir), target)
}

// A file keeps its permissions, and other names of it their content.
func TestLandKeepsPermissions(t *testing.T) {
	s, dir, outside := newStore(t), dirOf(t, files{"a": "1", "b": "1"}), filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "a"), 0o640), os.Chmod(filepath.Join(dir, "b"), 0o640), os.Link(filepath.Join(dir, "a"), outside)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Land(t.Context(), snapshot.Plan{Target: dir, Base: treeOf(t, s, files{"a": "1", "b": "1"}), Result: treeOf(t, s, files{"a": "2", "b": "x:2"})}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"a": 0o640, "b": 0o750} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "1" {
		t.Errorf("the other name has %q, %v", b, err)
	}
}

// Nothing is written through links, or where something strange stands.
func TestLandFollowsNoLinks(t *testing.T) {
	outside := dirOf(t, files{"x": "1"})
	for name, target := range map[string]string{"out": "l:" + outside, "inside": "l:real", "git": "l:.git"} {
		t.Run(name, func(t *testing.T) {
			l, dir := land(t, files{"d/x": "1"}, files{"d/x": "2", "d/y": "2"}, files{"d": target, "real/x": "1", ".git/x": "1"}, nil)
			if l.Applied || len(l.Conflicts()) != 2 || l.Conflicts()[0].Reason != `lies below "d", which is no directory` {
				t.Error(outcomes(l))
			}
			for _, d := range []string{outside, filepath.Join(dir, "real"), filepath.Join(dir, ".git")} {
				same(t, d, read(t, d), files{"x": "1"})
			}
		})
	}
	s, dir := newStore(t), dirOf(t, files{"ok": "1"})
	if err := syscall.Mkfifo(filepath.Join(dir, "p"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := s.Land(t.Context(), snapshot.Plan{Target: dir, Base: treeOf(t, s, files{}), Result: treeOf(t, s, files{"p": "2"})})
	if err != nil || outcomes(l) != "p conflicted: is no file, directory or link\n" {
		t.Error(err, outcomes(l))
	}
}

// Names that are one on some file systems do not come to stand beside each other.
func TestLandRefusesNamesThatFold(t *testing.T) {
	for name, c := range map[string]struct{ base, result, target files }{
		"file":      {files{}, files{"readme": "1"}, files{"README": "1"}},
		"directory": {files{}, files{"src/x": "1"}, files{"Src/y": "1"}},
		"together":  {files{}, files{"a/x": "1", "A/y": "1"}, files{}},
		"unicode":   {files{}, files{"STRASSE\u212a": "1"}, files{"strassek": "1"}},
	} {
		l, dir := land(t, c.base, c.result, c.target, nil)
		if l.Applied || !strings.Contains(outcomes(l), "where case does not count") {
			t.Errorf("%s: %s", name, outcomes(l))
		}
		same(t, name, read(t, dir), c.target)
	}
	_, dir := land(t, files{"README": "1"}, files{"readme": "1"}, files{"README": "1"}, nil)
	same(t, "renamed", read(t, dir), files{"readme": "1"})
}

func TestLandWithholdsSensitiveFiles(t *testing.T) {
	result := files{".hecate/config.toml": "1", "src/a": "1", "evil": "l:../secret", "g": "l:.git/hooks", "fine": "l:src/a", ".claude": "l:src"}
	l, dir := land(t, files{}, result, files{}, nil)
	if got := outcomes(l); got != ".claude withheld: mcp\n.hecate/config.toml withheld: permissions\nevil withheld: leads-out\nfine written\ng withheld: leads-out\nsrc/a written\n" || !l.Applied {
		t.Error(got)
	}
	same(t, "withheld", read(t, dir), files{"src/a": "1", "fine": "l:src/a"})
	_, dir = land(t, files{}, result, files{}, func(p *snapshot.Plan) { p.Sensitive = true })
	same(t, "allowed", read(t, dir), result)
}

// Snapshots that were not made here can name anything.
func TestLandRefusesPathsThatLeadOut(t *testing.T) {
	parent := t.TempDir()
	gitDir := filepath.Join(parent, "store")
	s, err := snapshot.Open(gitDir)
	if err != nil {
		t.Fatal(err)
	}
	base := treeOf(t, s, files{})
	blob := held(t, s, treeOf(t, s, files{"a": "1"})) // the blob of "1" is in the store
	if len(blob) != 1 {
		t.Fatal(blob)
	}
	changes, err := s.Diff(t.Context(), base, treeOf(t, s, files{"a": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git", ".GIT", "git~1", ".git. ", ".g\u200cit", ".git::$INDEX_ALLOCATION"} {
		tree := strings.TrimSpace(gitIn(t, gitDir, "100644 blob "+changes[0].NewBlob+"\t"+name+"\x00", "mktree", "-z"))
		target := t.TempDir()
		if _, err := s.Land(t.Context(), snapshot.Plan{Target: target, Base: base, Result: snapshot.Tree(tree)}); err == nil {
			t.Errorf("%q was landed", name)
		}
		same(t, name, read(t, target), files{})
	}
}

// What moves between the decision and the writing is noticed, and nothing is written.
func TestLandNoticesThatTheTargetMoves(t *testing.T) {
	for _, point := range []string{"journal", "stage", "staged", "step"} {
		s, dir := newStore(t), dirOf(t, files{"a": "1", "b": "1", "d/x": "1"})
		p := snapshot.Plan{Target: dir, Base: treeOf(t, s, files{"a": "1", "b": "1", "d/x": "1"}), Result: treeOf(t, s, files{"a": "2", "b": "2", "n/n": "2"})}
		s.Probe(func(at string) {
			if at == point {
				put(t, filepath.Join(dir, "b"), "mine")
			}
		})
		_, err := s.Land(t.Context(), p)
		if f, ok := fault.Of(err); !ok || f.Code != "target_moved" || !strings.Contains(f.Message, `"b"`) {
			t.Errorf("%s: %v", point, err)
		}
		same(t, point, read(t, dir), files{"a": "1", "b": "mine", "d/x": "1"})
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 3 {
			t.Errorf("%s: left behind: %v, %v", point, left, err)
		}
	}
}

func TestLandStopsWhenCancelled(t *testing.T) {
	s, dir := newStore(t), dirOf(t, files{"a": "1"})
	p := snapshot.Plan{Target: dir, Base: treeOf(t, s, files{"a": "1"}), Result: treeOf(t, s, files{"a": "2"})}
	ctx, stop := context.WithCancel(t.Context())
	s.Probe(func(at string) {
		if at == "stage" {
			stop()
		}
	})
	if _, err := s.Land(ctx, p); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, "cancelled", read(t, dir), files{"a": "1"})
}

// New files get no permissions that they have not where they come from, and what is said
// to be a file of permissions counts as one.
func TestLandNewPermissions(t *testing.T) {
	s := newStore(t)
	from := dirOf(t, files{"key": "1", "run": "x:1", "rules.toml": "1", "plain": "1"})
	for name, perm := range map[string]os.FileMode{"key": 0o600, "run": 0o700} {
		if err := os.Chmod(filepath.Join(from, name), perm); err != nil {
			t.Fatal(err)
		}
	}
	target := dirOf(t, files{})
	l, err := s.Land(t.Context(), snapshot.Plan{Target: target, Base: treeOf(t, s, nil), Result: take(t, s, from), From: from, Permissions: []string{"rules.toml"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"key": 0o600, "run": 0o700, "plain": 0o644} {
		if info, err := os.Stat(filepath.Join(target, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %o", name, info, err, want)
		}
	}
	for _, f := range l.Files {
		if f.Path == "rules.toml" && (f.Outcome != snapshot.Withheld || f.Class != snapshot.Permissions) {
			t.Errorf("%+v", f)
		}
	}
}
