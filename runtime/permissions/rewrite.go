package permissions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hecate/domain/fault"
)

// target is one file that may be rewritten. It is named below an open directory, so
// that no link leads a change elsewhere.
type target struct {
	path string // absolute, for messages
	dir  *os.Root
	name string
	mode fs.FileMode // of a file that is made
}

func (t *target) close() { t.dir.Close() }

// inUserDir is a file beside the user's own one. Without create, nil if there is no
// such directory.
func (f *Files) inUserDir(name string, create bool) (*target, error) {
	if create {
		if err := os.MkdirAll(f.userDir, 0o700); err != nil {
			return nil, unwritable(f.userDir, err)
		}
	}
	return openTarget(filepath.Join(f.userDir, name), 0o600)
}

// inProject is the project's file. Without create, nil if there is no directory that
// it could be in. A directory that is a link is refused: it may lead to another project.
func inProject(path string, create bool) (*target, error) {
	dir := filepath.Dir(path)
	project, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, unwritable(path, err)
	}
	defer project.Close()
	if create {
		if err := project.Mkdir(filepath.Base(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, unwritable(dir, err)
		}
	}
	info, err := project.Lstat(filepath.Base(dir))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unwritable(dir, err)
	}
	in, err := project.OpenRoot(filepath.Base(dir))
	if err == nil {
		var opened fs.FileInfo
		if opened, err = in.Stat("."); err == nil && os.SameFile(info, opened) {
			return &target{path: path, dir: in, name: filepath.Base(path), mode: 0o644}, nil
		}
		in.Close()
	}
	return nil, fault.Conflict("permission_file_link", "%s is not a directory that can be opened; a link there is not followed: put a directory in its place", dir)
}

func openTarget(path string, mode fs.FileMode) (*target, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	switch {
	case missing(err):
		return nil, nil
	case err != nil:
		return nil, unwritable(path, err)
	}
	return &target{path: path, dir: dir, name: filepath.Base(path), mode: mode}, nil
}

func unwritable(path string, cause error) error {
	return fault.Unavailable("permission_file_unwritable", "%s cannot be written: %v", path, cause)
}

// triesMax is how often a change is made anew because somebody else was quicker.
const triesMax = 5

// errMoved says that somebody else has changed the file.
var errMoved = errors.New("the file has changed")

// rewrite gives a file the text that change makes of it, in one step: whoever reads
// it sees the old text or the new one. was is nil if there is no file, and so is what
// change returns if there shall be none. change is called again if somebody else
// changes the file meanwhile.
func (t *target) rewrite(change func(was []byte, exists bool) ([]byte, error)) error {
	for range triesMax {
		was, mode, err := t.read()
		exists := !missing(err)
		if err != nil && exists {
			return err
		}
		next, err := change(was, exists)
		if err != nil || bytes.Equal(was, next) && (exists || next == nil) {
			return err
		}
		if err := t.replace(was, exists, next, mode); !errors.Is(err, errMoved) {
			return err
		}
	}
	return fault.Unavailable("permission_file_busy", "%s is being changed by somebody else; try again", t.path)
}

// read returns the text and the mode of the file.
func (t *target) read() ([]byte, fs.FileMode, error) {
	info, err := t.dir.Lstat(t.name)
	switch {
	case missing(err):
		return nil, t.mode, err
	case err != nil:
		return nil, 0, unwritable(t.path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, fault.Conflict("permission_file_link", "%s is a link, which is not followed; change the file that it leads to, or put a file in its place", t.path)
	}
	f, err := t.dir.OpenFile(t.name, os.O_RDONLY|nonblock, 0)
	if missing(err) {
		return nil, t.mode, err
	}
	if err != nil {
		return nil, 0, unwritable(t.path, err)
	}
	defer f.Close()
	data, mode, err := readOpen(f)
	if err != nil {
		return nil, 0, fault.Conflict("permission_file_broken", "%s cannot be changed: %v", t.path, err)
	}
	return data, mode, nil
}

// replace puts a new file in the place of the old one, if that is still as it was.
func (t *target) replace(was []byte, existed bool, next []byte, mode fs.FileMode) error {
	if len(next) > sizeMax {
		return fault.Conflict("permission_file_full", "%s would have more than %d bytes; take something out first", t.path, sizeMax)
	}
	f, err := t.temporary()
	if err != nil {
		return unwritable(t.path, err)
	}
	name := filepath.Base(f.Name())
	defer t.dir.Remove(name) //nolint:errcheck // after the rename there is nothing to remove
	if err := fill(f, next, mode); err != nil {
		return unwritable(t.path, err)
	}
	now, _, err := t.read()
	if exists := !missing(err); exists != existed || exists && (err != nil || !bytes.Equal(now, was)) {
		return errMoved
	}
	if err := t.dir.Rename(name, t.name); err != nil {
		return unwritable(t.path, err)
	}
	if d, err := t.dir.Open("."); err == nil {
		_ = d.Sync() // what cannot be synced is in place all the same
		d.Close()
	}
	return nil
}

// temporary makes a file of a name that nobody uses, in the same directory.
func (t *target) temporary() (f *os.File, err error) {
	const most = 100
	for n := range most {
		f, err = t.dir.OpenFile(fmt.Sprintf(".%s.%d-%d.tmp", t.name, os.Getpid(), n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, err
}

// fill writes a text to the disk.
func fill(f *os.File, text []byte, mode fs.FileMode) error {
	_, err := f.Write(text)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}
