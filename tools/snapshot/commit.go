package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"hecate/domain/fault"
)

var errChanged = errors.New("was changed by somebody else in the meantime")

// at says which path an error is about.
func at(path string, err error) error {
	if errors.Is(err, errChanged) {
		return fault.Conflict("target_moved", "%q was changed by somebody else in the meantime; land it again", path)
	}
	return fmt.Errorf("%q: %w", path, err)
}

// undone is why a landing was undone: the target is as before.
type undone struct{ cause error }

func (u *undone) Error() string {
	return fmt.Sprintf("%v (everything is as before)", u.cause)
}

func (u *undone) Unwrap() error { return u.cause }

// commit moves staged files into place.
type commit struct {
	s       *Store
	root    *os.Root
	journal journal
	staged  []string // files that wait to be moved
	from    *os.Root // whose permissions new files get; nil: the usual ones
}

func (c *commit) waiting(i int) string { return fmt.Sprintf("%s/new-%d", c.journal.Staging, i) }
func (c *commit) former(i int) string  { return fmt.Sprintf("%s/old-%d", c.journal.Staging, i) }

// run does every step that is not done, and ends the landing. If one cannot be done, all
// are undone, and the error is *undone.
func (c *commit) run() error {
	for i, st := range c.journal.Steps {
		err := c.do(i, st)
		if err == nil {
			c.s.probing("step")
			continue
		}
		err = at(st.Path, err)
		if failed := c.undo(); failed != nil {
			left := fmt.Errorf("%w; and it could not be undone, what was there is in %s: %w", err, c.journal.Staging, failed)
			return errors.Join(left, c.s.dropJournal(c.journal.Target))
		}
		if ended := c.settle(); ended != nil {
			return errors.Join(err, ended)
		}
		return &undone{err}
	}
	c.finish()
	c.s.probing("finished")
	return c.settle()
}

// settle ends a landing of which every step is done, or undone. The journal says so
// first: what is left in the staging directory does not tell any more once some is removed.
func (c *commit) settle() error {
	c.journal.Committing = false
	if err := c.s.saveJournal(c.journal); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	c.s.probing("settled")
	return c.end()
}

// finish removes directories that are empty since, and makes the moves durable.
func (c *commit) finish() {
	dirs := map[string]bool{}
	for _, st := range c.journal.Steps {
		dirs[path.Dir(st.Path)] = true
		for dir := path.Dir(st.Path); st.New.Mode == 0 && dir != "."; dir = path.Dir(dir) {
			if c.removeDir(dir) != nil {
				break
			}
		}
	}
	for dir := range dirs {
		d, err := c.open(dir)
		if err != nil || d == nil {
			continue
		}
		if f, err := d.Open("."); err == nil {
			_ = f.Sync() // some file systems cannot
			f.Close()
		}
		c.release(d)
	}
}

// end takes away what a landing left beside the files.
func (c *commit) end() error {
	if c.journal.Staging != "" {
		if err := c.root.RemoveAll(c.journal.Staging); err != nil {
			return fmt.Errorf("remove %s: %w", c.journal.Staging, err)
		}
	}
	c.s.probing("cleared")
	if err := c.s.dropJournal(c.journal.Target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// open opens a directory of the target step by step and never through a link; nil if it
// is missing.
func (c *commit) open(rel string) (*os.Root, error) {
	d := c.root
	for from := 0; rel != "." && from < len(rel) && d != nil; {
		end := len(rel)
		if i := strings.IndexByte(rel[from:], '/'); i >= 0 {
			end = from + i
		}
		next, err := enter(d, rel[:end])
		c.release(d)
		if err != nil {
			return nil, err
		}
		d, from = next, end+1
	}
	return d, nil
}

func (c *commit) release(d *os.Root) {
	if d != nil && d != c.root {
		d.Close()
	}
}

// now returns what stands at a path.
func (c *commit) now(rel string) (content, fs.FileInfo, error) {
	d, err := c.open(path.Dir(rel))
	if b := new(blocked); errors.As(err, &b) && slices.ContainsFunc(c.journal.Steps, func(st step) bool {
		return st.Path == b.at && st.New.Mode == 0
	}) {
		return content{}, nil, nil // it is going to be removed
	}
	if err != nil || d == nil {
		return content{}, nil, err
	}
	defer c.release(d)
	return contentOf(d, path.Base(rel))
}

func (c *commit) exists(rel string) bool {
	_, err := c.root.Lstat(rel)
	return err == nil
}

// do does one step, or what is left of it.
func (c *commit) do(i int, st step) error {
	if st.New.Mode == 0 && c.exists(c.former(i)) || st.New.Mode != 0 && !c.exists(c.waiting(i)) {
		return nil
	}
	now, _, err := c.now(st.Path)
	if err != nil {
		return err
	}
	half := now.Mode == 0 && st.Old.Mode == modeDir && c.exists(c.former(i)) // the directory has gone already
	if now != st.Old && !half {
		return errChanged
	}
	switch {
	case st.New.Mode == 0:
		return c.root.Rename(st.Path, c.former(i))
	case half, st.Old.Mode == 0:
	case st.Old.Mode == modeDir:
		err = c.putAway(st.Path, c.former(i))
	default:
		err = c.hold(st.Path, c.former(i))
	}
	if err != nil {
		return err
	}
	c.s.probing("held")
	for _, dir := range st.Made {
		if err := c.makeDir(dir); err != nil {
			return err
		}
	}
	c.s.probing("made")
	return c.root.Rename(c.waiting(i), st.Path)
}

// makeDir makes a directory unless it is there.
func (c *commit) makeDir(rel string) error {
	d, err := c.open(path.Dir(rel))
	if err != nil || d == nil {
		return errors.Join(err, errChanged)
	}
	defer c.release(d)
	if err := d.Mkdir(path.Base(rel), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := d.Lstat(path.Base(rel))
	if err == nil && !info.IsDir() {
		err = errChanged
	}
	return err
}

// removeDir removes an empty directory.
func (c *commit) removeDir(rel string) error {
	d, err := c.open(path.Dir(rel))
	if err != nil || d == nil {
		return err
	}
	defer c.release(d)
	info, err := d.Lstat(path.Base(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = errChanged
	}
	if err != nil {
		return err
	}
	return d.Remove(path.Base(rel))
}

// putAway moves a directory away in which there are only directories.
func (c *commit) putAway(rel, to string) error {
	d, err := c.open(rel)
	if err != nil || d == nil {
		return errors.Join(err, errChanged)
	}
	err = onlyDirs(d, 0)
	c.release(d)
	if err != nil {
		return err
	}
	return c.root.Rename(rel, to)
}

// onlyDirs fails if there is anything but directories in a directory.
func onlyDirs(d *os.Root, depth int) error {
	names, err := readNames(d)
	for _, n := range names {
		info, err := d.Lstat(n)
		if err != nil || !info.IsDir() || depth > depthMax {
			return errors.Join(err, errChanged)
		}
		sub, err := openDir(d, n, info)
		if err == nil {
			err = errors.Join(onlyDirs(sub, depth+1), sub.Close())
		}
		if err != nil {
			return err
		}
	}
	return err
}

// hold keeps what is about to be replaced, as it is if the file system lets us.
func (c *commit) hold(rel, to string) error {
	if err := c.root.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.root.Link(rel, to) == nil {
		return nil
	}
	d, err := c.open(path.Dir(rel))
	if err != nil || d == nil {
		return errors.Join(err, errChanged)
	}
	defer c.release(d)
	info, err := d.Lstat(path.Base(rel))
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := d.Readlink(path.Base(rel))
		if err != nil {
			return err
		}
		return c.root.Symlink(link, to)
	}
	return c.duplicate(d, path.Base(rel), info, to)
}

func (c *commit) duplicate(d *os.Root, name string, info fs.FileInfo, to string) error {
	from, err := openFile(d, name, info)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := c.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, from); err == nil {
		keepOwner(f, info)
		err = f.Chmod(info.Mode().Perm())
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// undo undoes all steps, the last one first.
func (c *commit) undo() error {
	var failed error
	for i := len(c.journal.Steps) - 1; i >= 0; i-- {
		st := c.journal.Steps[i]
		if err := c.undoStep(i, st); err != nil {
			failed = errors.Join(failed, at(st.Path, err))
		}
	}
	return failed
}

func (c *commit) undoStep(i int, st step) error {
	now, _, err := c.now(st.Path)
	if err != nil {
		return err
	}
	held, done := c.exists(c.former(i)), st.New.Mode != 0 && !c.exists(c.waiting(i))
	switch {
	case done && now != st.New:
		return errChanged
	case done && (!held || st.Old.Mode == modeDir):
		if err := c.root.Remove(st.Path); err != nil {
			return err
		}
		now = content{}
	}
	moved := st.New.Mode == 0 || st.Old.Mode == modeDir // then former is all there is of it
	if held && (done || moved) {
		if now.Mode != 0 && !done {
			return errChanged
		}
		if err := c.root.Rename(c.former(i), st.Path); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(st.Made) {
		_ = c.removeDir(dir) // it stays if somebody else has put something into it
	}
	return nil
}
