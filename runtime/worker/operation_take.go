package worker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/gitrepo"
	"hecate/tools/rootfs"
	"hecate/tools/snapshot"
)

// taking is what a run has changed in its copy on the way into the source.
type taking struct {
	*job
	*history
	plan   operation.TakePlan
	before snapshot.Tree // the changes count from
	after  snapshot.Tree // and lead to
	source string
	behind []snapshot.Skip // what cannot be taken
	target string          // the source, or a directory with what the branch would begin with
	draft  *gitrepo.Draft  // of the branch; nil without one
}

// take puts what the run has changed into the directory that its copy was made from, or
// on a new branch there; or says what would become of it.
func (j *job) take(ctx context.Context) (c operation.Completed, adds []event.Payload, err error) {
	t := &taking{job: j, plan: *j.o.Requested.Take}
	if t.source, err = source(j.s); err != nil {
		return c, nil, err
	}
	if t.history, err = j.history(j.s.Home(), j.s.WorkspacePath); err != nil {
		return c, nil, err
	}
	if t.after, err = t.peek(ctx); err != nil {
		return c, nil, unsnapped(err)
	}
	t.behind = t.skipped
	if t.before, err = t.untaken(ctx); err != nil {
		return c, nil, err
	}
	if t.before == "" {
		t.before = t.after
	}
	if !t.Has(t.before) {
		return c, nil, fault.Conflict("conflict", "the snapshots of the run's workspace are not on this machine, so it cannot be told what the run has changed")
	}
	if t.plan.Branch != "" {
		end, err := t.openBranch(ctx)
		if err != nil {
			return c, nil, err
		}
		defer end()
	} else {
		t.target = t.source
	}
	return t.carryOut(ctx)
}

// source is the directory on this machine that an isolated run's workspace was made from,
// without links.
func source(s *run.State) (string, error) {
	dir := s.Spec.WorkingDirectory
	if dir == "" {
		dir = s.Spec.Repo
	}
	switch {
	case s.Spec.WorkspaceMode == "in_place":
		return "", fault.Conflict("conflict", "the run works in its source itself, so there is nothing to take")
	case dir == "":
		return "", fault.Conflict("conflict", "the run's workspace was made from nothing, so there is no source to take it to; its files are in %s", s.WorkspacePath)
	case s.Spec.WorkingDirectory == "" && (strings.Contains(dir, "://") || strings.HasPrefix(dir, "git@")):
		return "", fault.Conflict("conflict", "the run's source is %s, not a directory; push the changes from its workspace, %s", dir, s.WorkspacePath)
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fault.Conflict("conflict", "the run's source %s is not there: %s", dir, rootfs.Cause(err))
	}
	return abs, nil
}

func unsnapped(err error) error {
	return fault.Conflict("conflict", "no snapshot can be taken of the run's workspace: %v", err)
}

// untaken returns the workspace as it was before all changes that are not in the source
// yet, also those of the runs that this one goes on from; "" if there are none.
func (t *taking) untaken(ctx context.Context) (first snapshot.Tree, err error) {
	timeline, s := t.timeline, t.s
	for {
		if timeline.Taken != nil {
			return snapshot.Tree(timeline.Taken.After), nil
		}
		// A run whose changes nobody could record has its first snapshot all the same.
		begun, err := t.Named(s.ID)
		if err != nil {
			return "", err
		}
		if tree := cmp.Or(snapshot.Tree(timeline.First), begun); tree != "" {
			first = tree
		}
		before := s.Before()
		if before == "" {
			return first, nil
		}
		timeline = operation.Timeline{}
		earlier, err := t.Executor.OutlineRun(ctx, before, timeline.Apply)
		if err != nil {
			return "", err
		}
		if earlier.WorkspacePath != s.WorkspacePath {
			return first, nil
		}
		s = earlier
	}
}

// carryOut says what becomes of each file, and does it if that is what was shown.
func (t *taking) carryOut(ctx context.Context) (c operation.Completed, adds []event.Payload, err error) {
	l, landed, err := t.land(ctx, true)
	if err != nil {
		return c, nil, err
	}
	done := operation.Completed{Outcome: operation.Done, Landed: landed}
	r := t.o.Requested
	switch {
	case r.Preview:
		return done, nil, t.show(ctx, landed, t.before, t.after, t.plan.Paths...)
	case t.o.Begun != nil && t.draft == nil && finished(l):
		return done, []event.Payload{t.taken(l, landed)}, nil // the worker that had begun it got so far
	case r.Digest != landed.Digest && t.o.Begun != nil:
		return unknown("its worker vanished, and the files are neither what they were before nor what they were to become"), nil, nil
	case r.Digest != landed.Digest:
		return c, nil, fault.Conflict("preview_outdated", "what would be taken is not what was shown: the workspace, the source or the selection is another by now; look at it again")
	case landed.Conflicts > 0 && !t.plan.Markers:
		return c, nil, fault.Conflict("conflict", "%d files conflict with what the source has by now, such as %s; nothing was written. Take the others, or have the conflicts marked in the files", landed.Conflicts, conflicted(landed))
	}
	if err := t.begin(ctx); err != nil {
		return c, nil, err
	}
	if l, landed, err = t.land(ctx, false); err != nil {
		return c, nil, fault.Conflict("conflict", "the changes could not be written: %v", err)
	}
	if t.draft != nil {
		if landed.Commit, err = t.commit(ctx, l); err != nil {
			return c, nil, fault.Conflict("conflict", "the branch could not be made: %v", err)
		}
	}
	landed.Digest = r.Digest
	done.Landed = landed
	return done, []event.Payload{t.taken(l, landed)}, nil
}

// What a take cannot hold is listed in part.
const (
	leftBehindMax     = 100
	leftBehindPathMax = 512 // bytes
)

// projectConfig is the permission file that the run was given in place of the project's,
// below the source.
func (t *taking) projectConfig() []string { return below(t.source, []string{t.s.Ahead.ProjectConfig}) }

func (t *taking) land(ctx context.Context, dry bool) (snapshot.Landing, *operation.Landed, error) {
	l, err := t.Land(ctx, snapshot.Plan{
		Target: t.target, Base: t.before, Result: t.after, Paths: t.plan.Paths, Markers: t.plan.Markers, Sensitive: t.plan.Sensitive, DryRun: dry,
		Permissions: t.projectConfig(), From: t.root,
	})
	if err != nil {
		return l, nil, err
	}
	out := landedOf(l)
	out.Target, out.Branch, out.Before, out.After = t.source, t.plan.Branch, string(t.before), string(t.after)
	if t.draft != nil {
		out.Commit = t.draft.Base()
	}
	for _, x := range t.behind[:min(len(t.behind), leftBehindMax)] {
		out.LeftBehind = append(out.LeftBehind, shownPath(tools.Cut(x.Path, leftBehindPathMax))+" "+x.Reason)
	}
	out.Digest = digestOf(out, l, t.plan)
	return l, out, nil
}

func (t *taking) taken(l snapshot.Landing, out *operation.Landed) run.WorkspaceTaken {
	e := run.WorkspaceTaken{
		OperationID: t.o.ID, Target: t.source, Branch: t.plan.Branch, Commit: out.Commit, Before: string(t.before), After: string(t.after),
		Whole: len(t.plan.Paths) == 0 && out.Withheld+out.Conflicts == 0 && len(out.LeftBehind) == 0,
	}
	paths := pathBudget(pathsMax)
	for _, f := range l.Files {
		kind := "update"
		switch {
		case f.Outcome == snapshot.Deleted:
			kind = "delete"
		case f.Outcome != snapshot.Written && f.Outcome != snapshot.Merged && f.Outcome != snapshot.Conflicted:
			continue
		case f.Found == "":
			kind = "add"
		}
		e.FilesCount++
		if len(e.Files) < run.FilesListedMax && paths.fits(f.Path) {
			e.Files = append(e.Files, run.FileChange{Path: shownPath(f.Path), Kind: kind})
		}
	}
	return e
}

// openBranch gets ready a directory with the files of the source's last commit that the
// changes are about.
func (t *taking) openBranch(ctx context.Context) (end func(), err error) {
	t.draft, err = gitrepo.NewDraft(ctx, t.source)
	if err != nil {
		return nil, fault.Conflict("conflict", "there can be no branch in %s: %v", t.source, err)
	}
	dir, err := os.MkdirTemp("", "hecate-branch-")
	end = func() {
		t.draft.Close()
		_ = os.RemoveAll(dir) // in the system's place for such
	}
	if err == nil {
		err = t.fillBranch(ctx, dir)
	}
	if err != nil {
		end()
		return nil, err
	}
	t.target = dir
	return end, nil
}

func (t *taking) fillBranch(ctx context.Context, dir string) error {
	if err := t.draft.CheckBranch(ctx, t.plan.Branch); err != nil {
		return fault.Conflict("conflict", "%v; choose another name", err)
	}
	changes, err := t.Changed(ctx, t.before, t.after)
	if err != nil {
		return err
	}
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return t.draft.Extract(ctx, paths, dir)
}

// commit makes the branch from what has landed.
func (t *taking) commit(ctx context.Context, l snapshot.Landing) (string, error) {
	var paths []string
	for _, f := range l.Files {
		if f.Outcome != snapshot.Withheld && f.Outcome != snapshot.Already && (f.Outcome != snapshot.Conflicted || f.Markers != nil) {
			paths = append(paths, f.Path)
		}
	}
	if len(paths) == 0 {
		return "", fault.Conflict("conflict", "there is nothing to commit")
	}
	return t.draft.Commit(ctx, t.target, paths, t.plan.Branch, fmt.Sprintf("Take the changes of %s\n\nTask: %s\n", t.s.ID, t.s.TaskID))
}
