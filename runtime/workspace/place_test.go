package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hecate/domain/run"
	"hecate/runtime/workspace"
)

// Processes that share a directory of workspaces find the same name for it, also if
// they are the first and come at once; another directory has another name.
func TestTheNameOfADirectoryOfWorkspaces(t *testing.T) {
	dir := t.TempDir()
	names := make([]string, 16)
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			var err error
			if names[i], err = workspace.NewManager(dir).Place(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != 1 || names[0] == "" {
		t.Fatalf("names %q", names)
	}
	if other, err := workspace.NewManager(t.TempDir()).Place(); err != nil || other == names[0] {
		t.Errorf("another directory is called %q, %v", other, err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "hecate-workspaces"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The name goes with the directory, wherever it is mounted.
func TestTheNameMovesWithItsDirectory(t *testing.T) {
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "moved")
	before, err := workspace.NewManager(a).Place()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(a, b); err != nil {
		t.Fatal(err)
	}
	if after, err := workspace.NewManager(b).Place(); err != nil || after != before {
		t.Errorf("it was %q and is %q, %v", before, after, err)
	}
}

// Only what belongs to tasks counts as theirs.
func TestTasksWithWorkspaces(t *testing.T) {
	m := workspace.NewManager(t.TempDir())
	if ids, err := m.Tasks(); err != nil || len(ids) != 0 {
		t.Errorf("without a directory: %v, %v", ids, err)
	}
	if _, err := m.Place(); err != nil {
		t.Fatal(err)
	}
	s := state(run.Spec{})
	if _, err := m.Cache(s); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if ids, err := m.Tasks(); err != nil || !slices.Equal(ids, []string{"task_1"}) {
		t.Errorf("tasks %v, %v", ids, err)
	}
}

// Runs on one source share a cache; other sources, and tasks without one, have others.
func TestCaches(t *testing.T) {
	m := workspace.NewManager(t.TempDir())
	cache := func(task string, sp run.Spec) string {
		t.Helper()
		s := run.New("run_1")
		s.TaskID, s.Spec = task, sp
		dir, err := m.Cache(&s)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a := cache("task_1", run.Spec{WorkingDirectory: "/a"})
	if a != cache("task_2", run.Spec{WorkingDirectory: "/a"}) {
		t.Error("the same source has two caches")
	}
	dirs := []string{
		a, cache("task_1", run.Spec{WorkingDirectory: "/b"}), cache("task_1", run.Spec{Repo: "/a"}),
		cache("task_1", run.Spec{}), cache("task_2", run.Spec{}),
	}
	slices.Sort(dirs)
	if len(slices.Compact(dirs)) != 5 {
		t.Errorf("caches %v", dirs)
	}
}

// A preparation that was interrupted leaves nothing in the next one's way.
func TestPreparingAgain(t *testing.T) {
	src := t.TempDir()
	write(t, filepath.Join(src, "a"), "1")
	m := workspace.NewManager(t.TempDir())
	s := state(run.Spec{WorkingDirectory: src})
	dir, err := m.Prepare(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "half"), "x")
	again, err := m.Prepare(t.Context(), s)
	if err != nil || again != dir || read(t, filepath.Join(again, "a")) != "1" {
		t.Fatalf("%s, %v", again, err)
	}
	if _, err := os.Stat(filepath.Join(again, "half")); err == nil {
		t.Error("what was left is still there")
	}
}

// In a directory that everybody can write to, somebody else may have been there first.
func TestADirectoryOfSomebodyElses(t *testing.T) {
	open, own := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Chmod(open, 0o777), os.Symlink(own, filepath.Join(open, "hecate-workspaces"))); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.NewManager(open).Place(); err == nil {
		t.Error("workspaces stand behind somebody's link")
	}
	if err := errors.Join(os.Remove(filepath.Join(open, "hecate-workspaces")), os.Mkdir(filepath.Join(open, "hecate-workspaces"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.NewManager(open).Place(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(open, "hecate-workspaces")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
