package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
	"syscall"
)

// Change is what is to become of one file.
type Change struct {
	From   File // as Load returned it
	Data   []byte
	Delete bool // take the file away; Data is not used
	// Mode are the permissions of a file that was not there; 0: 0644 less the umask.
	Mode fs.FileMode
}

// errChanged is said when somebody else has changed a file in the meantime.
var errChanged = errors.New("was changed by somebody else in the meantime; read it again")

// Apply carries out all changes or none. New contents are first written beside
// their targets, then moved into place one by one, so that nobody ever reads half a
// file; if one cannot be moved, those before it are put back. A file keeps its
// permissions; new files have 0644 and new directories 0755, less the umask. Other
// names of a file (hard links) keep the old content.
//
// A file that is no longer as it was loaded is not touched, and the changes end
// with an error. So they do if ctx ends, or may (which can be nil) returns an error,
// before the first file is moved; may is asked last right before that.
func Apply(ctx context.Context, root *os.Root, may func() error, changes ...Change) error {
	t := transaction{dirs: map[string]*os.Root{".": root}}
	defer t.close(root)
	err := t.stage(func() error {
		if err := ctx.Err(); err != nil || may == nil {
			return err
		}
		return may()
	}, changes)
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		return t.undo(err)
	}
	return nil
}

// transaction is a set of changes on its way.
type transaction struct {
	dirs   map[string]*os.Root // open directories by path
	made   []string            // directories that were made, parents first
	staged []staged
}

type staged struct {
	Change
	dir   *os.Root
	base  string
	temp  string // where the new content waits
	moved bool
}

func (t *transaction) stage(may func() error, changes []Change) error {
	for _, c := range changes {
		if err := may(); err != nil {
			return err
		}
		s := staged{Change: c, base: path.Base(c.From.Path)}
		var err error
		if s.dir, err = t.dir(path.Dir(c.From.Path)); err == nil && !c.Delete {
			s.temp, err = writeTemp(s.dir, c.Data, c.From.info, c.Mode.Perm())
		}
		if err != nil {
			return &fileError{c.From.Path, err}
		}
		t.staged = append(t.staged, s)
	}
	return may()
}

// dir opens a directory, and makes it if it is missing. It goes down step by step
// and never through a link: the path was free of links when it was checked, and a
// link put there since could lead into a .git directory.
func (t *transaction) dir(rel string) (*os.Root, error) {
	if d, ok := t.dirs[rel]; ok {
		return d, nil
	}
	parent, err := t.dir(path.Dir(rel))
	if err != nil {
		return nil, err
	}
	base := path.Base(rel)
	info, err := parent.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		if err = parent.Mkdir(base, 0o755); err == nil {
			t.made = append(t.made, rel)
			info, err = parent.Lstat(base)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	d, err := parent.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	t.dirs[rel] = d
	if opened, err := d.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errChanged
	}
	return d, nil
}

func (t *transaction) commit() error {
	for i := range t.staged {
		if err := t.staged[i].move(); err != nil {
			return &fileError{t.staged[i].From.Path, err}
		}
	}
	return nil
}

func (s *staged) move() error {
	info, err := s.dir.Lstat(s.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !s.From.unchanged(info) {
		return errChanged
	}
	if s.Delete {
		err = s.dir.Remove(s.base)
	} else {
		err = s.dir.Rename(s.temp, s.base)
	}
	s.moved = err == nil
	return err
}

// undo puts everything back and returns cause, with what could not be put back.
func (t *transaction) undo(cause error) error {
	for i := len(t.staged) - 1; i >= 0; i-- {
		if err := t.staged[i].restore(); err != nil {
			cause = fmt.Errorf("%w; and it could not be undone: %w", cause, &fileError{t.staged[i].From.Path, err})
		}
	}
	for i := len(t.made) - 1; i >= 0; i-- {
		// It stays if somebody else has put something into it.
		_ = t.dirs[path.Dir(t.made[i])].Remove(path.Base(t.made[i]))
	}
	return cause
}

func (s *staged) restore() error {
	switch {
	case !s.moved && s.temp != "":
		return s.dir.Remove(s.temp)
	case !s.moved:
		return nil
	case !s.From.Exists:
		return s.dir.Remove(s.base)
	}
	temp, err := writeTemp(s.dir, s.From.Data, s.From.info, 0)
	if err != nil {
		return err
	}
	return s.dir.Rename(temp, s.base)
}

func (t *transaction) close(root *os.Root) {
	for _, d := range t.dirs {
		if d != root {
			d.Close()
		}
	}
}

// temps counts the temporary files of this process, to name them apart.
var temps atomic.Int64

// tempTries is how many names are tried: an earlier process may have left some.
const tempTries = 1000

// writeTemp writes data to a new file in dir, with the owner and permissions of
// like or, if that is nil, with permissions perm, if that is not 0.
func writeTemp(dir *os.Root, data []byte, like fs.FileInfo, perm fs.FileMode) (name string, err error) {
	var f *os.File
	for range tempTries {
		name = fmt.Sprintf(".hecate-%d-%d.tmp", os.Getpid(), temps.Add(1))
		f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if err = errors.Join(fill(f, data, like, perm), f.Close()); err != nil {
		_ = dir.Remove(name)
		return "", err
	}
	return name, nil
}

func fill(f *os.File, data []byte, like fs.FileInfo, perm fs.FileMode) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if like != nil {
		keepOwner(f, like) // before the permissions: a change of owner can take some away
		perm = like.Mode().Perm()
	}
	if perm != 0 || like != nil {
		if err := f.Chmod(perm); err != nil {
			return err
		}
	}
	// On some file systems a file renamed into place would be empty after a power cut.
	return f.Sync()
}

// fileError is an error about one file, in words for the model.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string {
	if errors.Is(e.err, errChanged) {
		return fmt.Sprintf("%q %v", e.path, e.err)
	}
	return fmt.Sprintf("%q: %s", e.path, Cause(e.err))
}

func (e *fileError) Unwrap() error { return e.err }
