package snapshot

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"hecate/domain/fault"
)

// Plan says what is to be landed where.
type Plan struct {
	Target       string // directory that the changes are applied to
	Base, Result Tree   // the changes are those from Base to Result
	// Paths selects changes: files, and directories with all below them. None: all changes.
	Paths []string
	// Markers writes texts that conflict with the usual markers in them. Other conflicts
	// (Landed.Markers is nil) leave their files as they are, and all else is written.
	// Without it, one conflict is enough for nothing to be written.
	Markers bool
	// Sensitive lands sensitive files too (see Sensitive). Without it they are withheld,
	// and all else is written.
	Sensitive bool
	// Permissions are paths of class Permissions besides those that Sensitive knows.
	Permissions []string
	// From is the directory that Result was taken from, if it stands: new files get no
	// permissions that they have not there.
	From string
	// DryRun says what would be, and writes nothing.
	DryRun bool

	strict bool // files that are not as in Base conflict, without an attempt to merge
}

// Landing is what became of a plan.
type Landing struct {
	Files   []Landed // one for each selected change, sorted by path
	Applied bool     // everything was written that the outcomes say; false: nothing was
	// NotUndone, of Restore, are paths that were left alone because snapshots do not hold
	// them: ignored ones (a directory ends in a slash) and what cannot be included. At most
	// 1000 are listed; NotUndoneCount counts all.
	NotUndone      []string
	NotUndoneCount int
}

// Conflicts returns the files that conflict.
func (l Landing) Conflicts() []Landed {
	var out []Landed
	for _, f := range l.Files {
		if f.Outcome == Conflicted {
			out = append(out, f)
		}
	}
	return out
}

// Outcome is what becomes of one change.
type Outcome string

// Outcomes.
const (
	Written    Outcome = "written" // as in the result
	Merged     Outcome = "merged"  // the target had changes of its own, which stay
	Deleted    Outcome = "deleted"
	Already    Outcome = "already"    // the target is as in the result
	Conflicted Outcome = "conflicted" // Reason says why
	Withheld   Outcome = "withheld"   // sensitive, and Plan.Sensitive is not set; Reason is the class
)

// Landed is the outcome for one path.
type Landed struct {
	Path    string // raw bytes, which need not be UTF-8
	Outcome Outcome
	Reason  string // of a conflict, to go after the path; of a withheld file its class
	Found   string // what stood there: mode and id of the content, "" for nothing or where it was not looked at
	Class   string // of a sensitive file (see Sensitive), whatever the outcome
	Markers []byte // of a conflict between texts: the merged text with markers
}

// Land applies the changes from p.Base to p.Result to the directory p.Target. Each file
// is compared with what it was in the base: one that is the same is written as in the
// result, one that is as in the result stays, and anything else is merged if it is text.
//
// Everything is decided and all new contents are written to a directory of their own
// in the target first; then it is checked that nothing has moved, and the files are moved
// into place one by one. If one cannot be, those before it are put back. A landing that
// a crash interrupted is finished by the next one with the same target, or by Recover.
//
// Nothing is written through symbolic links, outside of the target, or in .git. A file
// keeps its owner and its permissions but for the bit for execution; its other names
// (hard links) keep the old content. Directories that become empty are removed.
//
// Between the last look at a file and its replacement there is a moment in which a
// change by somebody else is lost; no file system offers more.
func (s *Store) Land(ctx context.Context, p Plan) (Landing, error) {
	s.landing.Lock()
	defer s.landing.Unlock()
	l, err := s.land(ctx, p)
	if err != nil {
		return Landing{}, fmt.Errorf("land changes on %s: %w", p.Target, err)
	}
	return l, nil
}

func (s *Store) land(ctx context.Context, p Plan) (Landing, error) {
	p.Target = realPath(p.Target)
	if err := s.recover(ctx, journalKey(p.Target)); err != nil {
		return Landing{}, err
	}
	changes, err := s.selected(ctx, p)
	if err != nil {
		return Landing{}, err
	}
	root, err := os.OpenRoot(p.Target)
	if err != nil {
		return Landing{}, err
	}
	defer root.Close()
	pl := &planner{s: s, p: p, t: newTarget(root), deleted: map[string]bool{}}
	defer pl.t.close()
	if err := pl.decide(ctx, changes); err != nil {
		return Landing{}, err
	}
	l := Landing{Files: pl.files}
	if p.DryRun || len(l.Conflicts()) > 0 && !p.Markers {
		return l, nil
	}
	if err := s.carryOut(ctx, p, root, pl.works); err != nil {
		return Landing{}, err
	}
	l.Applied = true
	return l, nil
}

// selected returns the changes that a plan is about.
func (s *Store) selected(ctx context.Context, p Plan) ([]Change, error) {
	all, err := s.diff(ctx, p.Base, p.Result)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if err := checkPath(c.Path); err != nil {
			return nil, err
		}
	}
	if len(p.Paths) == 0 {
		return all, nil
	}
	var out []Change
	used := map[string]bool{}
	for _, c := range all {
		for _, sel := range p.Paths {
			clean := path.Clean(sel)
			if c.Path == clean || clean == "." || strings.HasPrefix(c.Path, clean+"/") {
				if used[sel] = true; len(out) == 0 || out[len(out)-1].Path != c.Path {
					out = append(out, c)
				}
			}
		}
	}
	for _, sel := range p.Paths {
		if !used[sel] {
			return nil, fault.Invalid("path_unchanged", "nothing has changed at %q; leave it out of the selection", sel)
		}
	}
	return out, nil
}

// checkPath refuses paths that no snapshot of ours has.
func checkPath(p string) error {
	if len(p) > pathMax || strings.ContainsRune(p, 0) {
		return fmt.Errorf("the path %.100q cannot be written", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || isGit(part) {
			return fmt.Errorf("the path %q leads into .git, or out of the directory", p)
		}
	}
	return nil
}
