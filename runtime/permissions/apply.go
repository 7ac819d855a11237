package permissions

import (
	"bytes"
	"path/filepath"
	"slices"

	"hecate/domain/fault"
	"hecate/domain/permission"
)

// ErrNotAccepted says that grants of the project's file are not in force, so that
// another one would not be either. It is a fault.
var ErrNotAccepted = fault.Conflict("permission_file_not_accepted",
	"the project's permission file is not accepted, so that its grants do not count; look at it, accept it with hecate permissions accept, and try again")

// Apply makes a change in the file that it is about, in place, and returns the path of
// that file. Adding what is there, in any spelling, and taking out what is not change
// nothing and succeed. If there is an error, the file is as it was. A grant for a
// project's file that is not accepted is refused with ErrNotAccepted; a file that is
// accepted, or made here, is accepted with the change. Errors are faults, for the
// caller to see, unless something is wrong that nobody can help.
func (f *Files) Apply(p Project, c permission.Change) (file string, err error) {
	if err := c.Check(); err != nil {
		return "", fault.Invalid("permission_change_invalid", "the entry cannot be written: %v", err)
	}
	f.editing.Lock()
	defer f.editing.Unlock()
	t, path, err := f.target(p, c)
	if err != nil || t == nil {
		return path, err
	}
	defer t.close()
	e := edit{files: f, Change: c, path: path, tracked: c.Layer == permission.LayerProject && !p.named()}
	err = t.rewrite(e.make)
	e.settle(err)
	return path, err
}

// target opens the file that a change is about; nil if there is nothing to take out of.
func (f *Files) target(p Project, c permission.Change) (t *target, path string, err error) {
	if c.Layer == permission.LayerUser {
		if path = f.userPath(); path == "" {
			return nil, "", fault.Unprocessable("permission_user_dir", "there is no directory for the user's permission file; set HOME or XDG_CONFIG_HOME")
		}
		t, err = f.inUserDir(userFile, !c.Remove)
		return t, path, err
	}
	switch path = f.ProjectFile(p); {
	case path == "":
		return nil, "", fault.Invalid("permission_no_project", "there is no project, so there is no file of one; name a directory by its absolute path")
	case p.named():
		t, err = openTarget(path, 0o644)
		if t == nil && err == nil && !c.Remove {
			err = fault.Unavailable("permission_file_unwritable", "%s cannot be written: there is no directory %s", path, filepath.Dir(path))
		}
	default:
		t, err = inProject(path, !c.Remove)
	}
	return t, path, err
}

// edit is one change of one file under way.
type edit struct {
	files *Files
	permission.Change
	path    string
	tracked bool // the file counts only if it is accepted

	// Of a file that stays accepted: the digests before (none if there was no file) and after.
	before []string
	after  string
}

// make is the text of the file after the change. Both texts are accepted from here
// until settle, so that there is no moment at which the grants are out.
func (e *edit) make(was []byte, exists bool) ([]byte, error) {
	e.settle(errMoved) // if there was a try before this one
	accepted := !e.tracked || !exists
	if e.tracked && exists {
		e.files.mu.Lock()
		accepted = e.files.accepts(e.path, sum(was))
		e.files.mu.Unlock()
	}
	if !accepted && e.Grants() && !e.Remove {
		return nil, ErrNotAccepted
	}
	next, err := change(e.path, was, e.Change)
	if err != nil || bytes.Equal(next, was) {
		return was, err
	}
	if !e.tracked || !accepted || !exists && !e.Grants() && e.files.userPath() == "" {
		return next, nil
	}
	e.before = nil
	if exists {
		e.before = []string{sum(was)}
	}
	after := sum(next)
	if err := e.files.remember(e.path, append(slices.Clone(e.before), after)...); err != nil {
		return nil, err
	}
	e.after = after
	return next, nil
}

// settle leaves one text of the file accepted: the one that it has.
func (e *edit) settle(failed error) {
	if e.after == "" {
		return
	}
	one := []string{e.after}
	if failed != nil {
		one = e.before
	}
	if err := e.files.remember(e.path, one...); err != nil {
		// Not worse than before: the user has seen both texts.
		e.files.log.Warn("two texts of a permission file stay accepted", "file", e.path, "error", err)
	}
	e.after = ""
}
