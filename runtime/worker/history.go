package worker

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/ident"
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

// history opens the snapshots of a workspace, which stand with the task that it was made for.
func (p *Pool) history(home, root string) (*history, error) {
	dir, err := p.Workspaces.Snapshots(home)
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

// note takes a snapshot and says what an operation has changed since another one.
func (h *history) note(ctx context.Context, since snapshot.Tree, operationID string) ([]event.Payload, error) {
	left, err := h.left()
	if err != nil {
		return nil, err
	}
	now, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.leave(ctx, left, since, now); err != nil {
		return nil, err
	}
	change, err := h.change(ctx, since, now)
	if err != nil || change == nil {
		return nil, err
	}
	change.OperationID = operationID
	return []event.Payload{*change}, nil
}

// left returns the workspace as the run and its operations have left it: what others have
// changed since, or meanwhile, is not in it. "" before the first snapshot.
func (h *history) left() (snapshot.Tree, error) {
	left, err := h.Named(h.leftName())
	if left != "" || err != nil {
		return left, err
	}
	return h.Last(h.root)
}

// leave notes that the run, or an operation, has changed what differs between two
// snapshots, when left is what it had left before.
func (h *history) leave(ctx context.Context, left, from, to snapshot.Tree) error {
	if left == from || left == "" {
		return h.setLeft(ctx, to)
	}
	left, err := h.Overlay(ctx, left, from, to)
	if err != nil {
		return err
	}
	return h.setLeft(ctx, left)
}

// setLeft keeps what was left. It goes without saying as long as that is the last snapshot.
func (h *history) setLeft(ctx context.Context, left snapshot.Tree) error {
	named, err := h.Named(h.leftName())
	if err != nil || named == left {
		return err
	}
	if last, err := h.Last(h.root); named == "" && last == left || err != nil {
		return err
	}
	return h.Name(ctx, h.leftName(), left)
}

func (h *history) leftName() string { return ident.Derive("left", h.root) }

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
