package rootfs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"hecate/tools/rootfs"
)

const limit = 1 << 20

func load(t *testing.T, root *os.Root, name string) rootfs.File {
	t.Helper()
	f, err := rootfs.Load(root, name, limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// workspace makes a root with files, given as name and content.
func workspace(t *testing.T, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// tree lists all that is in a directory, with modes and contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		line := path[len(dir):] + " " + info.Mode().String()
		if d.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			line += " " + string(content)
		}
		out = append(out, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func TestApplyChangesEverything(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a": "A", "b": "B"})
	err := rootfs.Apply(context.Background(), root, nil,
		rootfs.Change{From: load(t, root, "a"), Data: []byte("A2")},
		rootfs.Change{From: load(t, root, "b"), Delete: true},
		rootfs.Change{From: load(t, root, "x/y/z"), Data: nil},
		rootfs.Change{From: load(t, root, "x/w"), Data: []byte("W")})
	want := "/a -rw-r----- A2\n/x drwxr-xr-x\n/x/w -rw-r--r-- W\n/x/y drwxr-xr-x\n/x/y/z -rw-r--r-- "
	if got := tree(t, dir); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// A file that was taken away comes back with the permissions that it had.
func TestApplyGivesPermissions(t *testing.T) {
	root, dir := workspace(t, nil)
	for name, mode := range map[string]fs.FileMode{"run": 0o755, "key": 0o600, "plain": 0} {
		if err := rootfs.Apply(t.Context(), root, nil, rootfs.Change{From: load(t, root, name), Data: []byte("x"), Mode: mode}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "/key -rw------- x\n/plain -rw-r--r-- x\n/run -rwxr-xr-x x"; tree(t, dir) != want {
		t.Errorf("%s", tree(t, dir))
	}
	for name, mode := range map[string]fs.FileMode{"run": 0o755, "none": 0} {
		if got := load(t, root, name).Perm(); got != mode {
			t.Errorf("%s has %o", name, got)
		}
	}
}

// Whatever stops one change, the others leave no trace.
func TestApplyIsAllOrNothing(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, "last"), []byte("other"), 0o640) },
		"gone":    func(dir string) error { return os.Remove(filepath.Join(dir, "last")) },
		"now a link": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "last")), os.Symlink("a", filepath.Join(dir, "last")))
		},
		"now a folder": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "last")), os.Mkdir(filepath.Join(dir, "last"), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := workspace(t, map[string]string{"a": "A", "b": "B", "last": "L"})
			changes := []rootfs.Change{
				{From: load(t, root, "a"), Data: []byte("A2")},
				{From: load(t, root, "b"), Delete: true},
				{From: load(t, root, "x/y/z"), Data: []byte("Z")},
				{From: load(t, root, "last"), Data: []byte("L2")},
			}
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			err := rootfs.Apply(context.Background(), root, nil, changes...)
			if want := `"last" was changed by somebody else in the meantime; read it again`; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if after := tree(t, dir); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// A new file does not take the place of one that came in the meantime.
func TestApplyKeepsNewcomers(t *testing.T) {
	root, dir := workspace(t, nil)
	f := load(t, root, "n")
	if err := os.WriteFile(filepath.Join(dir, "n"), []byte("theirs"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := rootfs.Apply(context.Background(), root, nil, rootfs.Change{From: f, Data: []byte("ours")}); err == nil || tree(t, dir) != "/n -rw-r----- theirs" {
		t.Errorf("%v\n%s", err, tree(t, dir))
	}
}

// A directory that became a link after the check is not gone through, even though
// the link stays in the workspace.
func TestApplyGoesThroughNoLink(t *testing.T) {
	root, dir := workspace(t, map[string]string{".git/hooks/x": "X", "d/x": "D"})
	changes := []rootfs.Change{{From: load(t, root, "d/hooks/y"), Data: []byte("Y")}}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "d")), os.Symlink(".git", filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	err := rootfs.Apply(context.Background(), root, nil, changes...)
	if err == nil || err.Error() != `"d/hooks/y": a parent is not a directory` || tree(t, dir) != before {
		t.Errorf("%v\n%s", err, tree(t, dir))
	}
}

func TestApplyStopsWhenCancelled(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a": "A"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := rootfs.Apply(ctx, root, nil, rootfs.Change{From: load(t, root, "a"), Data: []byte("A2")})
	if !errors.Is(err, context.Canceled) || tree(t, dir) != "/a -rw-r----- A" {
		t.Errorf("%v\n%s", err, tree(t, dir))
	}
}

// What forbids the change while new contents are being written leaves no trace of them.
func TestApplyAsksRightBeforeTheChange(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a": "A"})
	over, asked := errors.New("over"), 0
	before := tree(t, dir)
	err := rootfs.Apply(t.Context(), root, func() error {
		if asked++; asked <= 2 {
			return nil
		}
		if tree(t, dir) == before {
			t.Error("nothing has been written yet")
		}
		return over
	}, rootfs.Change{From: load(t, root, "a"), Data: []byte("A2")}, rootfs.Change{From: load(t, root, "x/y"), Data: []byte("Y")})
	if !errors.Is(err, over) || tree(t, dir) != before {
		t.Errorf("%v\n%s", err, tree(t, dir))
	}
}
