// Package workspace prepares the directory that a run works in: an isolated copy
// or clone of the source, or the source itself for in_place runs.
package workspace

import (
	"cmp"
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
	base   string
	hidden []string // directories that are never copied
}

// NewManager uses "hecate-workspaces" below dir (normally the system's temporary directory).
// Nothing of the hidden directories gets into a copy: such as the server's data, which
// often stands in the directory that is copied.
func NewManager(dir string, hidden ...string) *Manager {
	return &Manager{base: filepath.Join(dir, "hecate-workspaces"), hidden: hidden}
}

// ID names a task's workspace on the wire.
func ID(taskID string) string { return "workspace_" + taskID }

// Prepare makes the run's workspace ready and returns its absolute path, links
// resolved. It stands there whole or not at all; what an earlier, interrupted preparation
// left is removed first. The source is only read.
func (m *Manager) Prepare(ctx context.Context, s *run.State) (string, error) {
	if s.Spec.WorkspaceMode == "in_place" {
		return m.inPlace(s.Spec)
	}
	dir := filepath.Join(m.base, s.TaskID, s.ID)
	if err := publish(ctx, dir, func(part string) error { return m.fill(ctx, part, s.Spec) }); err != nil {
		return "", fmt.Errorf("prepare workspace: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

// fill puts into dir what the run works on: the repository if there is one, else the
// working directory, else nothing.
// Source is what an isolated workspace is made from: a directory of this machine, or, if
// remote, a repository by its address; "" for nothing.
func Source(sp run.Spec) (source string, remote bool) {
	source = cmp.Or(sp.Repo, sp.WorkingDirectory)
	if sp.Repo == "" || !fetched(source) {
		return source, false
	}
	if path, ok := strings.CutPrefix(source, "file://"); ok && filepath.IsAbs(path) {
		return path, false
	}
	return source, true
}

func (m *Manager) fill(ctx context.Context, dir string, sp run.Spec) error {
	source, remote := Source(sp)
	switch {
	case source == "":
		return nil // an empty workspace was asked for
	case remote:
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
	if abs, err = filepath.EvalSymlinks(abs); err != nil { // a copy goes through no links
		return err
	}
	if err := errors.Join(within(sp.AllowedRoot, abs), m.notPrivate(abs)); err != nil {
		return err
	}
	if sp.BaseBranch != "" {
		return checkOut(ctx, abs, dir, sp.BaseBranch)
	}
	return copier{skip: m.private()}.copyDir(ctx, abs, dir)
}

// private are the directories that no copy has anything of, without links.
func (m *Manager) private() []string {
	out := []string{m.base}
	out = append(out, m.hidden...)
	for i, dir := range out {
		if found, err := filepath.EvalSymlinks(dir); err == nil {
			out[i] = found
		}
	}
	return out
}

// notPrivate refuses to work on the server's own data.
func (m *Manager) notPrivate(dir string) error {
	for _, own := range m.private()[1:] {
		if lies(dir, own) {
			return fmt.Errorf("directory %q belongs to the server itself", dir)
		}
	}
	return nil
}

// inPlace checks the operator's own directory. It never falls back to a copy.
func (m *Manager) inPlace(sp run.Spec) (string, error) {
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
	if lies(real, m.private()[0]) {
		return "", fmt.Errorf("working_directory %q is in the directory of workspaces, which are removed with their tasks; continue the run that it belongs to", dir)
	}
	return real, errors.Join(within(sp.AllowedRoot, real), m.notPrivate(real))
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
		source = s.Home()
	}
	dir := filepath.Join(m.base, cacheName, ident.Derive("source", source))
	return dir, os.MkdirAll(dir, 0o700)
}

// RemoveTask deletes all isolated workspaces of a task.
func (m *Manager) RemoveTask(taskID string) error {
	if taskID == "" || taskID == ".." || taskID == "." || strings.ContainsAny(taskID, `/\`) {
		return fmt.Errorf("remove workspaces: %q is no task id", taskID)
	}
	return remove(filepath.Join(m.base, taskID))
}
