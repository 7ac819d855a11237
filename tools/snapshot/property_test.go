package snapshot_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/tools/snapshot"
)

// names are of the kinds that break programs.
var names = []string{"a", "b", "c.txt", "-n", "--", " ", "a b", "line\nbreak", "\xff\xfe", "é", "*", "\"q\"", "\\", ":(top)", "tab\t", "con", ".x", "#", "!", "~", "@"}

// trees draws directories in which no path is below a file.
func trees(names []string, contents *rapid.Generator[string]) *rapid.Generator[files] {
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "path"), "/")
	})
	return rapid.Custom(func(t *rapid.T) files {
		f := files{}
		for _, p := range rapid.SliceOfN(path, 0, 12).Draw(t, "paths") {
			if !f.clashes(p) {
				f[p] = contents.Draw(t, "content")
			}
		}
		return f
	})
}

// clashes reports whether p is below a file or a file is below p.
func (f files) clashes(p string) bool {
	for q := range f {
		if q != p && (strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/")) {
			return true
		}
	}
	return false
}

func anyContent() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "x:", "a\n", "x:a\n", "no end", "a\r\nb\r\n", "\xef\xbb\xbfbom\n", "l:a", "l:../../..", "l:/etc/passwd", "l:\xff", "\x00\x01"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return "_" + string(b) }),
	)
}

// become makes a directory hold exactly f.
func become(t tester, root string, f files) {
	t.Helper()
	all, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	f.write(t, root)
}

// Whatever becomes of a directory, it comes back as it was, and equal directories have
// equal snapshots.
func TestRestoreIsExact(t *testing.T) {
	s, root := newStore(t), t.TempDir()
	gen := trees(names, anyContent())
	rapid.Check(t, func(rt *rapid.T) {
		before, after := gen.Draw(rt, "before"), gen.Draw(rt, "after")
		become(rt, root, before)
		a := take(t, s, root)
		become(rt, root, after)
		b := take(t, s, root)
		if (a == b) != maps.Equal(before, after) {
			rt.Fatal("snapshots are equal exactly if the directories are")
		}
		l, err := s.Restore(t.Context(), root, b, a, false)
		if err != nil || !l.Applied {
			rt.Fatalf("%v %s", err, outcomes(l))
		}
		same(rt, "restored", read(rt, root), before)
		if take(t, s, root) != a {
			rt.Fatal("the snapshot of what was restored is another one")
		}
	})
}

// landed is what a landing has to come to; false if something conflicts. Contents are
// such that no two of them can be merged.
func landed(base, result, target files) (files, bool) {
	out := maps.Clone(target)
	for p := range union(base, result) {
		b, inBase := base[p]
		r, inResult := result[p]
		now, here := target[p]
		switch {
		case b == r && inBase == inResult, now == r && here == inResult:
		case now != b || here != inBase:
			return nil, false
		case inResult:
			out[p] = r
		default:
			delete(out, p)
		}
	}
	for p := range out {
		if out.clashes(p) {
			return nil, false
		}
	}
	return out, true
}

func union(a, b files) files {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// Landing does what the model says, or nothing at all.
func TestLandIsAsTheModelSays(t *testing.T) {
	s, baseDir, resultDir, targetDir := newStore(t), t.TempDir(), t.TempDir(), t.TempDir()
	few := []string{"a", "b", "-n", "\xff"}
	gen := trees(few, rapid.SampledFrom([]string{"1", "2\x00", "x:3\x00", "l:a", ""}))
	rapid.Check(t, func(rt *rapid.T) {
		base := gen.Draw(rt, "base")
		result, target := gen.Draw(rt, "result"), maps.Clone(base)
		if rapid.Bool().Draw(rt, "near") {
			result = mutate(rt, base, "result")
		}
		if rapid.Bool().Draw(rt, "moved") {
			target = mutate(rt, base, "target")
		}
		become(rt, baseDir, base)
		become(rt, resultDir, result)
		become(rt, targetDir, target)
		l, err := s.Land(t.Context(), snapshot.Plan{Target: targetDir, Base: take(t, s, baseDir), Result: take(t, s, resultDir), Sensitive: true})
		if err != nil {
			rt.Fatal(err)
		}
		want, ok := landed(base, result, target)
		if !ok {
			want = target
		}
		if l.Applied != ok || ok != (len(l.Conflicts()) == 0) {
			rt.Fatalf("applied %t, want %t:\n%s\nbase\n%s\nresult\n%s\ntarget\n%s", l.Applied, ok, outcomes(l), base, result, target)
		}
		same(rt, "landed", read(rt, targetDir), want)
	})
}

// mutate changes a few paths.
func mutate(t *rapid.T, f files, label string) files {
	out := maps.Clone(f)
	for p, c := range trees([]string{"a", "b", "-n"}, rapid.SampledFrom([]string{"5", "x:1", "l:b", "6\x00"})).Draw(t, label) {
		if !out.clashes(p) {
			out[p] = c
		}
	}
	for _, p := range slices.Sorted(maps.Keys(f)) {
		if rapid.IntRange(0, 3).Draw(t, label+" drops") == 0 {
			delete(out, p)
		}
	}
	return out
}
