package snapshot_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/tools/snapshot"
)

// files is a directory by path: "text" is a file, "x:text" one that may be executed,
// "l:target" a link.
type files map[string]string

type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newStore(t testing.TB) *snapshot.Store {
	t.Helper()
	s, err := snapshot.Open(filepath.Join(t.TempDir(), "hidden", "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dirOf makes a directory.
func dirOf(t testing.TB, f files) string {
	t.Helper()
	root := t.TempDir()
	f.write(t, root)
	return root
}

func (f files) write(t tester, root string) {
	t.Helper()
	for p, c := range f {
		put(t, filepath.Join(root, p), c)
	}
}

func put(t tester, name, c string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if link, ok := strings.CutPrefix(c, "l:"); ok {
		err = os.Symlink(link, name)
	} else if text, ok := strings.CutPrefix(c, "x:"); ok {
		if err = os.WriteFile(name, []byte(text), 0o755); err == nil {
			err = os.Chmod(name, 0o755)
		}
	} else {
		err = os.WriteFile(name, []byte(c), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read reads a directory, without what lies in .git.
func read(t tester, root string) files {
	t.Helper()
	out := files{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir() && name != root:
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			out[rel] = "l:" + link
			return err
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		out[rel] = string(data)
		if err == nil && info.Mode()&0o100 != 0 {
			out[rel] = "x:" + string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (f files) String() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%q %.60q\n", p, f[p])
	}
	return b.String()
}

func same(t tester, what string, got, want files) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func take(t testing.TB, s *snapshot.Store, root string) snapshot.Tree {
	t.Helper()
	tree, err := s.Take(t.Context(), root, snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// treeOf makes the snapshot of a directory that holds f.
func treeOf(t testing.TB, s *snapshot.Store, f files) snapshot.Tree {
	t.Helper()
	return take(t, s, dirOf(t, f))
}

// held returns the paths of a snapshot.
func held(t testing.TB, s *snapshot.Store, tree snapshot.Tree) []string {
	t.Helper()
	changes, err := s.Diff(t.Context(), treeOf(t, s, nil), tree)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// outcomes says what became of each file, one a line.
func outcomes(l snapshot.Landing) string {
	var b strings.Builder
	for _, f := range l.Files {
		fmt.Fprintf(&b, "%s %s", f.Path, f.Outcome)
		if f.Reason != "" {
			fmt.Fprintf(&b, ": %s", f.Reason)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// gitIn runs git in a bare repository with an input.
func gitIn(t testing.TB, gitDir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + gitDir}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
