package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hecate/tools/rootfs"
)

// work is one step of a landing: what a path is to become.
type work struct {
	Path     string
	Old, New content // Old is what has to be there for it
	Data     []byte  // content of a merged file
	Merged   bool    // Data is the content, not the blob
}

// planner decides what becomes of each change.
type planner struct {
	s       *Store
	p       Plan
	t       *target
	deleted map[string]bool // what will be removed
	files   []Landed
	works   []work
}

// decide goes through the changes twice: what is removed makes room for what is written.
func (pl *planner) decide(ctx context.Context, changes []Change) error {
	for _, removing := range []bool{true, false} {
		for _, c := range changes {
			if (c.Kind == Delete) != removing {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := pl.change(ctx, c)
			if err != nil {
				return fmt.Errorf("%q: %w", c.Path, err)
			}
			pl.files = append(pl.files, f)
		}
	}
	slices.SortFunc(pl.files, func(a, b Landed) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (pl *planner) change(ctx context.Context, c Change) (Landed, error) {
	f := Landed{Path: c.Path, Class: Sensitive(c.Path)}
	if f.Class == "" && slices.Contains(pl.p.Permissions, c.Path) {
		f.Class = Permissions
	}
	if f.Class == "" && c.NewMode == ModeLink {
		out, err := pl.leadsOut(c)
		if err != nil {
			return f, err
		} else if out {
			f.Class = LeadsOut
		}
	}
	if f.Class != "" && !pl.p.Sensitive {
		f.Outcome, f.Reason = Withheld, f.Class
		return f, nil
	}
	base, err := contentOfChange(c.OldMode, c.OldBlob)
	if err != nil {
		return f, err
	}
	result, err := contentOfChange(c.NewMode, c.NewBlob)
	if err != nil {
		return f, err
	}
	w := work{Path: c.Path, New: result}
	w.Old, err = pl.current(c.Path)
	if b := new(blocked); errors.As(err, &b) || errors.Is(err, errOther) || errors.Is(err, errMoved) || errors.Is(err, fs.ErrPermission) {
		return conflict(f, rootfs.Cause(err)), nil
	} else if err != nil {
		return f, err
	}
	if w.Old.Mode != 0 && w.Old.Mode != modeDir {
		f.Found = fmt.Sprintf("%o %s", w.Old.Mode, w.Old.ID)
	}
	return pl.settle(ctx, f, base, w)
}

func contentOfChange(mode uint32, blob string) (content, error) {
	if mode == 0 {
		return content{}, nil
	}
	id, err := parseID(blob)
	return content{mode, id}, err
}

// current returns what will stand at a path when what is to be removed is gone.
func (pl *planner) current(rel string) (content, error) {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if pl.deleted[dir] { // it was a file, and becomes a directory
			return content{}, nil
		}
	}
	// A file system that does not tell cases apart finds README when it is asked for readme.
	there, err := pl.t.list(path.Dir(rel))
	if err != nil {
		return content{}, err
	}
	if pl.deleted[rel] {
		return content{}, nil
	}
	if !there.has(path.Base(rel)) {
		_, err := pl.t.dir(path.Dir(rel)) // blocked?
		return content{}, err
	}
	now, _, err := pl.t.at(rel)
	return now, err
}

// settle compares what is there with base and result.
func (pl *planner) settle(ctx context.Context, f Landed, base content, w work) (Landed, error) {
	switch {
	case w.Old == w.New, w.New.Mode == 0 && w.Old.Mode == modeDir: // the file is not there
		f.Outcome = Already
		return f, nil
	case w.Old.Mode == modeDir:
		return pl.replaceDir(f, base, w)
	case w.Old == base:
		f.Outcome = Written
		if w.New.Mode == 0 {
			f.Outcome = Deleted
		}
		return pl.add(f, w)
	case pl.p.strict:
		return conflict(f, "has been changed since"), nil
	}
	if why := clash(base, w); why != "" {
		return conflict(f, why), nil
	}
	return pl.merge(ctx, f, base, w)
}

// clash says why base, target and result cannot be merged; "" if they may be.
func clash(base content, w work) string {
	regular := func(c content) bool { return c.Mode == ModeFile || c.Mode == ModeExec }
	switch {
	case w.New.Mode == 0:
		return "is deleted in the result and changed here"
	case w.Old.Mode == 0 && base.Mode == 0:
		return "" // nothing anywhere; not reached
	case w.Old.Mode == 0:
		return "is changed in the result and deleted here"
	case !regular(w.Old) || !regular(w.New) || base.Mode != 0 && !regular(base):
		return "is a link on one side, or changed as a link on both"
	case base.Mode == 0 && w.Old.ID == w.New.ID:
		return "is new on both sides, and may be executed on one only"
	}
	return ""
}

func conflict(f Landed, why string) Landed {
	f.Outcome, f.Reason = Conflicted, why
	return f
}

// add plans a step, unless its path would be the same as another on some file systems.
func (pl *planner) add(f Landed, w work) (Landed, error) {
	if w.New.Mode == 0 {
		pl.deleted[w.Path] = true
		pl.works = append(pl.works, w)
		return f, pl.t.vanish(w.Path)
	}
	if w.Old.Mode == 0 && !pl.p.strict { // what is restored has been there before
		switch other, err := pl.t.appear(w.Path); {
		case err != nil:
			return f, err
		case other != "":
			return conflict(f, fmt.Sprintf("is the same as %q where case does not count", other)), nil
		}
	}
	pl.works = append(pl.works, w)
	return f, nil
}

// replaceDir plans a file in the place of a directory, all of which is to be removed.
func (pl *planner) replaceDir(f Landed, base content, w work) (Landed, error) {
	if base.Mode != 0 {
		return conflict(f, "is a directory here"), nil
	}
	left, err := pl.remaining(w.Path)
	if err != nil {
		return f, err
	}
	if left != "" {
		return conflict(f, fmt.Sprintf("is a directory here, in which %q stays", left)), nil
	}
	f.Outcome = Written
	return pl.add(f, w)
}

// remaining returns something below a directory that is not to be removed, or "".
func (pl *planner) remaining(dir string) (string, error) {
	d, err := pl.t.dir(dir)
	if err != nil || d == nil {
		return "", err
	}
	names, err := readNames(d)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		rel := dir + "/" + n
		if pl.deleted[rel] {
			continue
		}
		info, err := d.Lstat(n)
		if err != nil || !info.IsDir() || strings.Count(rel, "/") > depthMax {
			return rel, err
		}
		if left, err := pl.remaining(rel); left != "" || err != nil {
			return left, err
		}
	}
	return "", nil
}

// leadsOut reports whether the link that a change makes points out of the directory, or
// into a .git.
func (pl *planner) leadsOut(c Change) (bool, error) {
	id, err := parseID(c.NewBlob)
	if err != nil {
		return false, err
	}
	link, err := pl.s.get(id, kindBlob, pathMax)
	if err != nil {
		return false, err
	}
	to := path.Join(path.Dir(c.Path), string(link))
	inGit := slices.ContainsFunc(strings.Split(string(link), "/"), isGit)
	return path.IsAbs(string(link)) || inGit || !filepath.IsLocal(to) || bytes.ContainsRune(link, '\\'), nil
}
