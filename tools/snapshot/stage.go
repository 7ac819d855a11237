package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// carryOut does the works of a landing, all or none.
func (s *Store) carryOut(ctx context.Context, p Plan, root *os.Root, works []work) error {
	if len(works) == 0 {
		return nil
	}
	// What is removed makes room for what is written.
	slices.SortStableFunc(works, func(a, b work) int {
		switch {
		case (a.New.Mode == 0) == (b.New.Mode == 0):
			return strings.Compare(a.Path, b.Path)
		case a.New.Mode == 0:
			return -1
		}
		return 1
	})
	c := &commit{s: s, root: root, journal: journal{Target: p.Target}}
	if p.From != "" {
		var err error
		if c.from, err = os.OpenRoot(p.From); err != nil {
			return err
		}
		defer c.from.Close()
	}
	if err := c.prepare(ctx, works); err != nil {
		return errors.Join(err, c.end())
	}
	s.probing("staged")
	c.journal.Committing = true
	if err := s.saveJournal(c.journal); err != nil {
		return errors.Join(fmt.Errorf("write journal: %w", err), c.end())
	}
	return c.run()
}

// prepare writes all new contents, and looks whether everything is still as it was.
func (c *commit) prepare(ctx context.Context, works []work) error {
	for n := 0; ; n++ {
		c.journal.Staging = fmt.Sprint(stagingPrefix, n)
		if _, err := c.root.Lstat(c.journal.Staging); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
	}
	if err := c.s.saveJournal(c.journal); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	c.s.probing("journal")
	if err := c.root.Mkdir(c.journal.Staging, 0o700); err != nil {
		return err
	}
	for i, w := range works {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.stage(i, w); err != nil {
			return at(w.Path, err)
		}
		c.s.probing("stage")
	}
	if err := syncFiles(c.root.Name(), c.staged, c.openStaged); err != nil {
		return err
	}
	for _, st := range c.journal.Steps {
		now, _, err := c.now(st.Path)
		if err == nil && now != st.Old {
			err = errChanged
		}
		if err != nil {
			return at(st.Path, err)
		}
	}
	return ctx.Err()
}

// stage writes the new content of one file.
func (c *commit) stage(i int, w work) error {
	_, info, err := c.now(w.Path)
	if err != nil {
		return err
	}
	st := step{Path: w.Path, Old: w.Old, New: w.New}
	switch w.New.Mode {
	case 0:
	case ModeLink:
		var link []byte
		if link, err = c.s.get(w.New.ID, kindBlob, pathMax); err == nil {
			err = c.root.Symlink(string(link), c.waiting(i))
		}
		st.Made = c.missing(w.Path)
	default:
		err = c.stageFile(c.waiting(i), w, info)
		st.Made = c.missing(w.Path)
	}
	c.journal.Steps = append(c.journal.Steps, st)
	return err
}

func (c *commit) stageFile(name string, w work, like fs.FileInfo) error {
	perm := fs.FileMode(0o666)
	if w.New.Mode == ModeExec {
		perm = 0o777
	}
	if c.from != nil && like == nil {
		perm &= c.permissionsOf(w.Path)
	}
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if w.Merged {
		_, err = f.Write(w.Data)
	} else {
		err = c.s.copyTo(f, w.New.ID, kindBlob, FileBytesMax)
	}
	if err == nil && like != nil && like.Mode().IsRegular() {
		keepOwner(f, like) // before the permissions: a change of owner can take some away
		err = f.Chmod(permissions(like.Mode().Perm(), w.New.Mode))
	}
	c.staged = append(c.staged, name)
	return errors.Join(err, f.Close())
}

// permissionsOf returns those that a new file has where it comes from; a key that only its
// owner may read stays so. All, if that cannot be told.
func (c *commit) permissionsOf(path string) fs.FileMode {
	info, err := c.from.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0o777
	}
	return info.Mode().Perm() | 0o200
}

// openStaged opens a file to make it durable. It may have got permissions that let nobody read it.
func (c *commit) openStaged(name string) (*os.File, error) {
	f, err := c.root.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		f, err = c.root.OpenFile(name, os.O_WRONLY, 0)
	}
	return f, err
}

// permissions returns those of a file with its bit for execution set as mode has it: for
// whoever may read the file.
func permissions(old fs.FileMode, mode uint32) fs.FileMode {
	switch {
	case mode != ModeExec:
		return old &^ 0o111
	case old&0o100 == 0:
		return old | old&0o444>>2 | 0o100
	}
	return old
}

// missing returns the directories above a path that there are not, parents first.
func (c *commit) missing(rel string) []string {
	var out []string
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		d, err := c.open(dir)
		if err == nil && d != nil {
			if d != c.root {
				d.Close()
			}
			break
		}
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}
