package worker

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools/gitrepo"
	"hecate/tools/snapshot"
)

// history is the snapshots of one workspace.
type history struct {
	*snapshot.Store
	root    string
	exclude []string        // below the root
	skipped []snapshot.Skip // what the last snapshot could not hold
}

// history opens the snapshots of a task's workspace.
func (p *Pool) history(taskID, root string) (*history, error) {
	dir, err := p.Workspaces.Snapshots(taskID)
	if err != nil {
		return nil, err
	}
	store, err := snapshot.Open(dir)
	if err != nil {
		return nil, err
	}
	return &history{Store: store, root: root, exclude: below(root, p.Settings.Hidden)}, nil
}

// now takes a snapshot of what the run, or an operation, has left.
func (h *history) now(ctx context.Context) (snapshot.Tree, error) { return h.snap(ctx, false) }

// peek takes a snapshot of what is there, whoever has left it.
func (h *history) peek(ctx context.Context) (snapshot.Tree, error) { return h.snap(ctx, true) }

func (h *history) snap(ctx context.Context, peek bool) (snapshot.Tree, error) {
	h.skipped = nil
	o := snapshot.Options{Exclude: h.exclude, Peek: peek, Skipped: &h.skipped}
	last, err := h.Last(h.root)
	if err != nil {
		return "", err
	}
	if last == "" && gitrepo.Inside(h.root) {
		// Where that cannot be told, such files are left out, as ignored ones are.
		o.Include, _ = gitrepo.TrackedIgnored(ctx, h.root)
	}
	return h.Take(ctx, h.root, o)
}

// begun returns the workspace as it was before the first call of a run that may change
// it; fresh says that this is now.
func (h *history) begun(ctx context.Context, runID string) (tree snapshot.Tree, fresh bool, err error) {
	tree, err = h.Named(runID)
	if tree != "" || err != nil {
		return tree, false, err
	}
	if tree, err = h.now(ctx); err != nil {
		return "", false, err
	}
	return tree, true, h.Name(ctx, runID, tree)
}

// change is what is different in one snapshot from another; nil if nothing is.
func (h *history) change(ctx context.Context, from, to snapshot.Tree) (*run.WorkspaceChanged, error) {
	if from == to {
		return nil, nil
	}
	c := &run.WorkspaceChanged{Before: string(from), After: string(to)}
	if !h.Has(from) {
		return c, nil // it was taken on another machine
	}
	changes, err := h.Changed(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare snapshots of the workspace: %w", err)
	}
	c.FilesCount = int64(len(changes))
	paths := pathBudget(pathsMax)
	for _, x := range changes[:min(len(changes), run.FilesListedMax)] {
		if paths.fits(x.Path) {
			c.Files = append(c.Files, run.FileChange{Path: shownPath(x.Path), Kind: x.Kind})
		}
	}
	return c, nil
}

// note says what an operation has changed since a snapshot.
func (h *history) note(ctx context.Context, since snapshot.Tree, operationID string) ([]event.Payload, error) {
	now, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	change, err := h.change(ctx, since, now)
	if err != nil || change == nil {
		return nil, err
	}
	change.OperationID = operationID
	return []event.Payload{*change}, nil
}

// noteLeft says what a restoration has changed since a snapshot. What others have changed
// is part of the next snapshot, too, but is not what the restoration has left: that is to.
func (h *history) noteLeft(ctx context.Context, since, to snapshot.Tree, operationID string) ([]event.Payload, error) {
	adds, err := h.note(ctx, since, operationID)
	if err != nil {
		return nil, err
	}
	last, err := h.Last(h.root)
	if err != nil || last == "" {
		return adds, err
	}
	return adds, h.Name(ctx, leftOf(last), to)
}

// left returns the last snapshot of what the run, or an operation, has left; "" if there is none.
func (h *history) left() (snapshot.Tree, error) {
	last, err := h.Last(h.root)
	if err != nil || last == "" {
		return "", err
	}
	left, err := h.Named(leftOf(last))
	return cmp.Or(left, last), err
}

// leftOf names what was left by a restoration at whose end a snapshot was taken.
func leftOf(last snapshot.Tree) string { return "left-" + string(last) }

// pathsMax is how many bytes of paths one event lists: written as JSON each can take six,
// and an event must stay below eventstore.DataMax.
const pathsMax = 100 << 10

// pathBudget is what is left of that.
type pathBudget int

// fits reports whether a path fits in, and counts it then.
func (b *pathBudget) fits(path string) bool {
	if len(path) > int(*b) {
		return false
	}
	*b -= pathBudget(len(path))
	return true
}

// shownPath is a path as events and answers hold it.
func shownPath(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return strconv.Quote(path)
}
