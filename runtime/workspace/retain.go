package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hecate/tools/gitrepo"
)

// stateName is in front of the name of the file that says what a workspace was when it
// was made.
const stateName = ".state-"

// Workspace is an isolated workspace that stands here.
type Workspace struct {
	TaskID string
	RunID  string // of the run that it was made for; others may have gone on in it
	Path   string // without links, as Prepare returned it
}

// List returns the workspaces that stand here, of all tasks.
func (m *Manager) List() ([]Workspace, error) {
	ids, err := m.Tasks()
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	var out []Workspace
	for _, id := range ids {
		dir, err := filepath.EvalSymlinks(filepath.Join(m.base, id))
		if err != nil {
			continue // it has just gone
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				out = append(out, Workspace{TaskID: id, RunID: e.Name(), Path: filepath.Join(dir, e.Name())})
			}
		}
	}
	return out, nil
}

// Remove deletes one workspace.
func (m *Manager) Remove(w Workspace) error {
	return errors.Join(remove(w.Path), remove(filepath.Join(filepath.Dir(w.Path), stateName+w.RunID)))
}

// Changed reports whether anything in a workspace is not as it was when it was made: a
// file that git does not ignore, or what is committed. It looks at names, sizes, times and
// permissions. An error means that nobody can tell.
func (m *Manager) Changed(ctx context.Context, w Workspace) (bool, error) {
	was, err := os.ReadFile(filepath.Join(filepath.Dir(w.Path), stateName+w.RunID))
	if err != nil {
		return true, fmt.Errorf("look for changes in a workspace: %w", err)
	}
	now, err := stateOf(ctx, w.Path)
	if err != nil {
		return true, fmt.Errorf("look for changes in a workspace: %w", err)
	}
	return string(was) != now, nil
}

// note writes down what a workspace is, which stands in part and will stand in dir.
func note(ctx context.Context, part, dir string) error {
	state, err := stateOf(ctx, part)
	if err != nil {
		state = "" // then nobody can tell whether it changed
	}
	return os.WriteFile(filepath.Join(filepath.Dir(dir), stateName+filepath.Base(dir)), []byte(state), 0o600)
}

// stateOf is a digest of what a directory holds, without reading its files.
func stateOf(ctx context.Context, dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	s := state{root: root, sum: sha256.New()}
	names := []string{"."}
	if _, err := gitrepo.At(ctx, dir); err == nil {
		if names, err = gitrepo.Files(ctx, dir); err != nil {
			return "", err
		}
		names = append(names, ".git/HEAD", ".git/refs", ".git/packed-refs", ".git/info/exclude")
	}
	slices.Sort(names)
	for _, name := range names {
		if err := s.add(ctx, strings.TrimSuffix(name, "/")); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(s.sum.Sum(nil)), nil
}

// state is such a digest while it is made.
type state struct {
	root *os.Root
	sum  hash.Hash
}

// add notes a path and all that is below it.
func (s *state) add(ctx context.Context, name string) error {
	err := fs.WalkDir(s.root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.IsDir() { // its time says nothing that what is in it does not say
			fmt.Fprintf(s.sum, "%q %v\n", path, info.Mode())
			return nil
		}
		fmt.Fprintf(s.sum, "%q %v %d %d\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(s.sum, "%q is not there\n", name)
		return nil
	}
	return err
}
