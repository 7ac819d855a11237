package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hecate/domain/ident"
)

// placeName is the file that names the directory of workspaces.
const placeName = ".place"

// Place returns the name of the directory of workspaces. It stands in the directory, so
// that two processes that find the same name there reach each other's workspaces,
// whatever the path is called on their machines.
func (m *Manager) Place() (string, error) {
	if err := os.MkdirAll(m.base, 0o700); err != nil {
		return "", fmt.Errorf("prepare the directory of workspaces: %w", err)
	}
	if err := m.guard(); err != nil {
		return "", err
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

// guard refuses a directory of workspaces that somebody else has made first, where
// everybody could have: in a temporary directory.
func (m *Manager) guard() error {
	around, err := os.Stat(filepath.Dir(m.base))
	if err != nil || around.Mode().Perm()&0o002 == 0 {
		return err
	}
	info, err := os.Lstat(m.base)
	switch {
	case err != nil:
		return err
	case !info.IsDir() || !ours(info):
		return fmt.Errorf("the directory of workspaces %s was made by somebody else; set TMPDIR to a directory of your own", m.base)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(m.base, 0o700)
	}
	return nil
}
