package workspace_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/run"
	"hecate/runtime/workspace"
)

// pictured lists all files and links below dir that are no repository's own, with
// permissions, times and contents. Directories count if they are asked for.
func pictured(t *testing.T, dir string, directories bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel := path[len(dir):]
		switch {
		case d.IsDir() && directories:
			out[rel] = info.Mode().String()
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			out[rel] = "to " + target
			return err
		case d.Type().IsRegular():
			out[rel] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), " ", read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Names that a file can have, and that some program or other stumbles over.
var oddNames = []string{
	"a", "sub/b", "sub/deep/c", "a b.txt", "café.txt", "文档.md", `q"uote`, `back\slash`, "tab\tx", "line\nbreak", "cr\r", "-dash", "x -> y", ":(top)x", "~", "$HOME", "'", "%s", ".hidden", "bad\xffname", ".gitmodules2", "git",
}

// A copy has every file and link of its source, byte for byte, whatever they are called
// and however they end, with their permissions and times.
func TestACopyIsAsItsSource(t *testing.T) {
	contents := []string{"", "x", "a\nb\n", "a\r\nb\r\n", "\uFEFFa\r\n", "\x00\xff", "a\r", "last"}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		src := t.TempDir()
		repository := seed%2 == 0
		if repository {
			git(t, src, "init", "-q", "-b", "trunk")
			git(t, src, "config", "core.autocrlf", []string{"true", "input", "false"}[r.IntN(3)])
		}
		fill := func(some int) {
			for _, name := range oddNames {
				if r.IntN(some) > 0 {
					continue
				}
				path := filepath.Join(src, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				_ = os.Remove(path)
				if r.IntN(6) == 0 {
					_ = os.Symlink([]string{"a", "/etc/passwd", "../out", "sub"}[r.IntN(4)], path)
					continue
				}
				write(t, path, contents[r.IntN(len(contents))])
				if err := os.Chmod(path, []fs.FileMode{0o644, 0o755, 0o600, 0o444, 0o640}[r.IntN(5)]); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill(1)
		if repository {
			git(t, src, "add", "-A")
			git(t, src, "commit", "-qm", "first")
			fill(3)
			_ = os.Remove(filepath.Join(src, oddNames[r.IntN(len(oddNames))]))
		}
		if err := syscall.Mkfifo(filepath.Join(src, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := pictured(t, src, true)
		dst := prepare(t, run.Spec{WorkingDirectory: src})
		if d := cmp.Diff(pictured(t, src, !repository), pictured(t, dst, !repository)); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
		if d := cmp.Diff(before, pictured(t, src, true)); d != "" {
			t.Errorf("seed %d: the source: %s", seed, d)
		}
		if repository {
			want := git(t, src, "status", "--porcelain", "-z")
			if got := git(t, dst, "status", "--porcelain", "-z"); got != want {
				t.Errorf("seed %d: status %q, in the source %q", seed, got, want)
			}
		}
	}
}

// What a process left that died while it made a workspace is nobody's workspace, and gives
// way to the next attempt.
func TestHalfAWorkspace(t *testing.T) {
	base, src := t.TempDir(), t.TempDir()
	write(t, filepath.Join(src, "a"), "1")
	dir := filepath.Join(base, "hecate-workspaces", "task_1")
	write(t, filepath.Join(dir, ".part-run_1", "half"), "x")
	m := workspace.NewManager(base)
	if all, err := m.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	got, err := m.Prepare(t.Context(), state(run.Spec{WorkingDirectory: src}))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != ".state-run_1 run_1" || read(t, filepath.Join(got, "a")) != "1" {
		t.Errorf("%q", names)
	}
}
