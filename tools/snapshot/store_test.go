package snapshot_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hecate/tools/snapshot"
)

func TestOpen(t *testing.T) {
	gitDir := filepath.Join(t.TempDir(), "a", "store")
	var wg sync.WaitGroup
	for range 4 { // all at once
		wg.Go(func() {
			if _, err := snapshot.Open(gitDir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(gitDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if beside, err := os.ReadDir(filepath.Dir(gitDir)); err != nil || len(beside) != 1 {
		t.Errorf("%v %v", beside, err)
	}
}

// What the store writes is what git reads.
func TestStoreIsARepository(t *testing.T) {
	gitDir := filepath.Join(t.TempDir(), "store")
	s, err := snapshot.Open(gitDir)
	if err != nil {
		t.Fatal(err)
	}
	f := files{"a": "1", "a.b": "1", "a-": "x:1", "d/x": strings.Repeat("large\x00", 1<<18), "d/l": "l:a", "d.x/y": "", "z\nz": "1", "\xff": "1"}
	tree := treeOf(t, s, f)
	if err := s.Name(t.Context(), "it", tree); err != nil {
		t.Fatal(err)
	}
	gitIn(t, gitDir, "", "fsck", "--strict", "--full", "--no-dangling")
	if out := gitIn(t, gitDir, "", "ls-tree", "-r", "-z", "--name-only", string(tree)); strings.Count(out, "\x00") != len(f) {
		t.Errorf("%q", out)
	}
}

func TestNames(t *testing.T) {
	s, root := newStore(t), dirOf(t, files{"a": "1"})
	a := take(t, s, root)
	put(t, filepath.Join(root, "a"), "2")
	b := take(t, s, root)
	for _, tree := range []snapshot.Tree{a, b} {
		if err := s.Name(t.Context(), "n", tree); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Named("n"); got != b || err != nil {
		t.Errorf("n is %q, %v", got, err)
	}
	if got, err := s.Named("m"); got != "" || err != nil {
		t.Errorf("m is %q, %v", got, err)
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b", `a\b`} {
		if got, err := s.Named(bad); s.Name(t.Context(), bad, a) == nil || got != "" || err != nil {
			t.Errorf("%q is a name: %q, %v", bad, got, err)
		}
	}
	for _, bad := range []snapshot.Tree{"", "HEAD", "../../x", "--all", snapshot.Tree(strings.Repeat("A", 64))} {
		if s.Name(t.Context(), "bad", bad) == nil || s.Has(bad) {
			t.Errorf("%q is a snapshot", bad)
		}
	}
	if !s.Has(a) || s.Has(snapshot.Tree(strings.Repeat("a", 64))) {
		t.Error("the store does not know what it has")
	}
}

func TestDiffReadPatch(t *testing.T) {
	s := newStore(t)
	a := treeOf(t, s, files{"gone": "12", "mode": "1", "same": "1", "text": "1\n", "type": "1", "d": "1", "dir/x": "1"})
	b := treeOf(t, s, files{"mode": "x:1", "same": "1", "text": "2\n", "type": "l:same", "d/f": "1", "dir": "1", "bin": "\x00", "line\nbreak": ""})
	changes, err := s.Diff(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, c := range changes {
		old, now := "-", "-"
		for _, side := range []struct {
			blob string
			text *string
		}{{c.OldBlob, &old}, {c.NewBlob, &now}} {
			if side.blob == "" {
				continue
			}
			data, err := s.Read(t.Context(), side.blob)
			if err != nil {
				t.Fatal(err)
			}
			*side.text = string(data)
		}
		got.WriteString(strings.Join([]string{quoted(c.Path), c.Kind, quoted(old), quoted(now)}, " "))
		if c.Binary {
			got.WriteString(" binary")
		}
		got.WriteString("\n")
	}
	want := `"bin" add "-" "\x00" binary
"d" delete "1" "-"
"d/f" add "-" "1"
"dir" add "-" "1"
"dir/x" delete "1" "-"
"gone" delete "12" "-"
"line\nbreak" add "-" ""
"mode" update "1" "1"
"text" update "1\n" "2\n"
"type" update "1" "same"
`
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
	patch, err := s.Patch(t.Context(), a, b, "text", "mode")
	if err != nil || !bytes.Contains(patch, []byte("+2\n")) || !bytes.Contains(patch, []byte("new mode 100755")) || bytes.Contains(patch, []byte("gone")) {
		t.Errorf("%v\n%s", err, patch)
	}
	if _, err := s.Patch(t.Context(), "--output=/tmp/x", b); err == nil {
		t.Error("an option is taken for a snapshot")
	}
	if _, err := s.Read(t.Context(), string(a)); err == nil {
		t.Error("a tree is read like a file")
	}
}

// What is damaged in the store gets into no file.
func TestDamagedObjects(t *testing.T) {
	gitDir := filepath.Join(t.TempDir(), "store")
	s, err := snapshot.Open(gitDir)
	if err != nil {
		t.Fatal(err)
	}
	a, b := treeOf(t, s, files{"a": "1"}), treeOf(t, s, files{"a": "2"})
	changes, err := s.Diff(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	object := func(blob string) string { return filepath.Join(gitDir, "objects", blob[:2], blob[2:]) }
	other, err := os.ReadFile(object(changes[0].OldBlob))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(object(changes[0].NewBlob)); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{"", "nonsense", string(other[:len(other)-2]), string(other)} {
		put(t, object(changes[0].NewBlob), damage)
		dir := dirOf(t, files{"a": "1"})
		if _, err := s.Land(t.Context(), snapshot.Plan{Target: dir, Base: a, Result: b}); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %v", damage, err)
		}
		same(t, "damaged", read(t, dir), files{"a": "1"})
	}
}
