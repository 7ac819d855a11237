package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinished is in front of the name of a workspace that is being made or removed, so
// that nobody takes it for one.
const unfinished = ".part-"

// publish makes the workspace dir: make fills a directory beside it, which gets its name
// when it is whole. What an interrupted preparation left of either is removed first.
// After an error nothing is left.
func publish(ctx context.Context, dir string, make func(dir string) error) error {
	part := filepath.Join(filepath.Dir(dir), unfinished+filepath.Base(dir))
	if err := errors.Join(remove(dir), remove(part)); err != nil {
		return fmt.Errorf("remove what was left: %w", err)
	}
	if err := os.MkdirAll(part, 0o700); err != nil {
		return err
	}
	err := make(part)
	if err == nil {
		err = errors.Join(note(ctx, part, dir), ctx.Err())
	}
	if err == nil {
		err = os.Rename(part, dir)
	}
	if err != nil {
		return errors.Join(err, remove(part))
	}
	return nil
}

// remove deletes a directory with all that is in it, also what those who worked there
// have made unwritable for themselves, as some build tools do with their caches.
func remove(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if info, statErr := os.Lstat(dir); statErr != nil || !info.IsDir() || os.Chmod(dir, 0o700) != nil {
		return err
	}
	root, openErr := os.OpenRoot(dir)
	if openErr != nil {
		return err
	}
	defer root.Close()
	openUp(root, ".")
	return os.RemoveAll(dir)
}

// openUp makes a directory and those in it writable for the owner, as far as that goes.
func openUp(root *os.Root, dir string) {
	_ = root.Chmod(dir, 0o700)
	entries, _ := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if e.IsDir() {
			openUp(root, filepath.Join(dir, e.Name()))
		}
	}
}
