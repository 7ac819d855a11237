// Package workspace prepares the directory that a run works in: an isolated copy
// or clone of the source, or the source itself for in_place runs.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hecate/domain/ident"
	"hecate/domain/run"
)

// Manager owns the directory under which isolated workspaces stand, one per run:
// <base>/<task id>/<run id>.
type Manager struct {
	base    string
	private []string // directories that are never copied
}

// NewManager uses "hecate-workspaces" below dir (normally the system's temporary directory).
// Nothing of the private directories gets into a copy: such as the server's data, which
// often stands in the directory that is copied.
func NewManager(dir string, private ...string) *Manager {
	m := &Manager{base: filepath.Join(dir, "hecate-workspaces")}
	m.private = append([]string{m.base}, private...)
	return m
}

// skipped lists the private directories that lie in src, as paths below it. The path
// of src has no links in it.
func (m *Manager) skipped(src string) []string {
	var out []string
	for _, dir := range m.private {
		if found, err := filepath.EvalSymlinks(dir); err == nil {
			dir = found
		}
		if rel, err := filepath.Rel(src, dir); err == nil && filepath.IsLocal(rel) {
			out = append(out, rel)
		}
	}
	return out
}

// ID names a task's workspace on the wire.
func ID(taskID string) string { return "workspace_" + taskID }

// Prepare makes the run's workspace ready and returns its absolute path, links
// resolved. What an earlier, interrupted preparation left is removed first. The
// source is only read.
func (m *Manager) Prepare(ctx context.Context, s *run.State) (string, error) {
	if s.Spec.WorkspaceMode == "in_place" {
		return inPlace(s.Spec)
	}
	dir := filepath.Join(m.base, s.TaskID, s.ID)
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("prepare workspace: remove what was left: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("prepare workspace: %w", err)
	}
	if err := m.fill(ctx, dir, s.Spec); err != nil {
		return "", fmt.Errorf("prepare workspace: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

func (m *Manager) fill(ctx context.Context, dir string, sp run.Spec) error {
	source := sp.WorkingDirectory
	if source == "" {
		source = sp.Repo
	}
	if source == "" {
		return nil // an empty workspace was asked for
	}
	if sp.WorkingDirectory == "" && strings.Contains(source, "://") || strings.HasPrefix(source, "git@") {
		return clone(ctx, source, dir, sp.BaseBranch)
	}
	abs, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("source directory %q does not exist", source)
	}
	if err := within(sp.AllowedRoot, abs); err != nil {
		return err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil { // a copy goes through no links
		return err
	}
	if isRepository(abs) {
		return copyRepository(ctx, abs, dir, sp.BaseBranch, m.skipped(abs))
	}
	return copyTree(ctx, abs, dir, m.skipped(abs))
}

// inPlace checks the operator's own directory. It never falls back to a copy.
func inPlace(sp run.Spec) (string, error) {
	dir := sp.WorkingDirectory
	if dir == "" || !filepath.IsAbs(dir) {
		return "", fmt.Errorf("workspace_mode in_place needs an absolute working_directory, not %q", dir)
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", fmt.Errorf("working_directory %q does not exist; in_place runs need an existing directory", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("resolve working_directory: %w", err)
	}
	return real, within(sp.AllowedRoot, dir)
}

// within refuses a directory outside the allowed root, if there is one. Links are resolved.
func within(allowed, dir string) error {
	if allowed == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(allowed)
	if err != nil {
		return fmt.Errorf("resolve sandbox_allowed_root %q: %w", allowed, err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("resolve %q: %w", dir, err)
	}
	if rel, err := filepath.Rel(root, real); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return fmt.Errorf("directory %q lies outside sandbox_allowed_root %q", dir, allowed)
	}
	return nil
}

// Tasks lists the ids of tasks that have isolated workspaces here.
func (m *Manager) Tasks() ([]string, error) {
	entries, err := os.ReadDir(m.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Name() != cacheName && !strings.HasPrefix(e.Name(), ".") {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// cacheName is the folder of caches among those of the tasks.
const cacheName = "cache"

// Cache is the directory in which confined commands keep the caches of build tools.
// Runs on the same source share it, so that not each of them builds everything anew;
// other sources have others, so that no run can plant something for them.
func (m *Manager) Cache(s *run.State) (string, error) {
	source := s.Spec.WorkingDirectory + "\x00" + s.Spec.Repo
	if len(source) == 1 {
		source = s.TaskID
	}
	dir := filepath.Join(m.base, cacheName, ident.Derive("source", source))
	return dir, os.MkdirAll(dir, 0o700)
}

// placeName is the file that names the directory of workspaces.
const placeName = ".place"

// Place returns the name of the directory of workspaces. It stands in the directory, so
// that two processes that find the same name there reach each other's workspaces,
// whatever the path is called on their machines.
func (m *Manager) Place() (string, error) {
	if err := os.MkdirAll(m.base, 0o700); err != nil {
		return "", fmt.Errorf("prepare the directory of workspaces: %w", err)
	}
	path := filepath.Join(m.base, placeName)
	for range 2 {
		name, err := os.ReadFile(path)
		if err == nil && len(name) > 0 {
			return string(name), nil
		}
		if err := m.namePlace(path); err != nil {
			return "", fmt.Errorf("name the directory of workspaces: %w", err)
		}
	}
	return "", fmt.Errorf("name the directory of workspaces: %s cannot be read back", path)
}

// namePlace writes the name whole and at once; of several processes one wins.
func (m *Manager) namePlace(path string) error {
	f, err := os.CreateTemp(m.base, placeName+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(ident.New("workspaces")); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// RemoveTask deletes all isolated workspaces of a task.
func (m *Manager) RemoveTask(taskID string) error {
	if taskID == "" || taskID == ".." || taskID == "." || strings.ContainsAny(taskID, `/\`) {
		return fmt.Errorf("remove workspaces: %q is no task id", taskID)
	}
	return os.RemoveAll(filepath.Join(m.base, taskID))
}
