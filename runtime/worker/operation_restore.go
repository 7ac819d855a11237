package worker

import (
	"context"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/tools/snapshot"
)

// restore puts the workspace back to where it was before a call or an operation; or says
// what that would do.
func (j *job) restore(ctx context.Context) (c operation.Completed, adds []event.Payload, err error) {
	r := j.o.Requested
	if err := operation.Ended(j.s); err != nil {
		return c, nil, err
	}
	moment, err := j.timeline.Find(r.Restore.Before)
	if err != nil {
		return c, nil, err
	}
	h, err := j.history(j.s.Home(), j.s.WorkspacePath)
	if err != nil {
		return c, nil, err
	}
	to := snapshot.Tree(moment.Snapshot)
	if !h.Has(to) {
		return c, nil, fault.Conflict("conflict", "the snapshots of the run's workspace are not on this machine")
	}
	known, err := h.left()
	if err != nil {
		return c, nil, err
	}
	now, err := h.peek(ctx)
	if err != nil {
		return c, nil, unsnapped(err)
	}
	if r.Restore.Force {
		known = now
	}
	return j.putBack(ctx, h, moment, known, now)
}

// putBack makes the workspace what it was at a moment. What is neither as in known, the
// last snapshot of what the run and its operations left, nor as it was then, is somebody's.
func (j *job) putBack(ctx context.Context, h *history, m operation.Moment, known, now snapshot.Tree) (c operation.Completed, adds []event.Payload, err error) {
	r, to := j.o.Requested, snapshot.Tree(m.Snapshot)
	l, err := h.Restore(ctx, h.root, known, to, true)
	if err != nil {
		return c, nil, err
	}
	out := landedOf(l)
	out.Target, out.Before, out.After = h.root, string(known), string(to)
	out.Digest = digestOf(out, l, *r.Restore)
	done := operation.Completed{Outcome: operation.Done, Landed: out}
	switch {
	case r.Preview:
		return done, nil, h.show(ctx, out, now, to)
	case j.o.Begun != nil && finished(l):
		adds, err = h.noteRestored(ctx, known, to, j.o.ID) // the worker that had begun it got so far
		return done, append(adds, j.restored(m, out)), err
	case r.Digest != out.Digest && j.o.Begun != nil:
		return unknown("its worker vanished, and the files are neither what they were before nor what they were to become"), nil, nil
	case r.Digest != out.Digest:
		return c, nil, fault.Conflict("preview_outdated", "what would be put back is not what was shown: the workspace is another by now; look at it again")
	case out.Conflicts > 0:
		return c, nil, fault.Conflict("conflict", "%d files were changed since by others than the run, such as %s; nothing was put back. To put them back as well, say so (force)", out.Conflicts, conflicted(out))
	}
	if err := j.begin(ctx); err != nil {
		return c, nil, err
	}
	if _, err := h.Restore(ctx, h.root, known, to, false); err != nil {
		return c, nil, fault.Conflict("conflict", "the workspace could not be put back: %v", err)
	}
	adds, err = h.noteRestored(ctx, now, to, j.o.ID)
	return done, append(adds, j.restored(m, out)), err
}

func (j *job) restored(m operation.Moment, out *operation.Landed) run.WorkspaceRestored {
	return run.WorkspaceRestored{OperationID: j.o.ID, Before: m.ID(), Snapshot: m.Snapshot, FilesCount: out.FilesCount}
}

// noteRestored says what a restoration has changed. Of what the run had left it has left
// what the snapshot holds; the rest is others'.
func (h *history) noteRestored(ctx context.Context, since, to snapshot.Tree, operationID string) ([]event.Payload, error) {
	adds, err := h.note(ctx, since, operationID)
	if err != nil {
		return nil, err
	}
	return adds, h.setLeft(ctx, to)
}
