package worker

import (
	"context"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools/snapshot"
)

// A snapshot is part of a call, so it may not take for ever; of a call that was stopped
// somebody waits for the end.
const (
	snapshotMax     = time.Minute
	snapshotLateMax = 10 * time.Second
)

// passive are the tools that leave the workspace as it is.
var passive = map[string]bool{
	"read_file": true, "list_dir": true, "glob": true, "grep": true, "stat": true, "blame": true, "git_status": true, "git_diff": true,
	"artifact_read": true, "web_fetch": true, "web_search": true, "http_request": true, "config_edit": true,
}

// changes is how an attempt learns what calls change: by a snapshot before the first of
// them and one after each.
type changes struct {
	*history
	last    snapshot.Tree // what is known to be there
	looking chan struct{} // closed when the look at the workspace that was begun with is over; nil before it began
	stop    context.CancelFunc
	fresh   bool  // it was the first one of the run
	err     error // of that look
	known   bool  // what it found was taken up
	loose   bool  // the run has left something running
	blind   bool  // no snapshots are taken
}

// foresee begins to look at a workspace that may be large, while the model is asked.
func (a *attempt) foresee(ctx context.Context) {
	if a.s.Spec.WorkingDirectory+a.s.Spec.Repo != "" && !a.s.Spec.ReadOnly {
		a.look(ctx)
	}
}

func (a *attempt) look(ctx context.Context) {
	c := &a.changes
	if c.looking != nil {
		return
	}
	ctx, c.stop = context.WithTimeout(ctx, snapshotMax)
	c.looking = make(chan struct{})
	home, runID, root := a.s.Home(), a.s.ID, a.s.WorkspacePath
	go func() {
		defer close(c.looking)
		if c.history, c.err = a.Pool.history(home, root); c.err == nil {
			c.last, c.fresh, c.err = c.begun(ctx, runID)
		}
	}()
}

// close ends a look that is under way.
func (c *changes) close() {
	if c.looking != nil {
		c.stop()
		<-c.looking
	}
}

// changing reports whether a call may change the workspace, in a run in which that is
// looked at.
func (a *attempt) changing(c run.ToolCall) bool {
	return !a.s.Spec.ReadOnly && !a.changes.blind && !passive[c.Name] && !a.prepare(c).Propose
}

// before says what has changed until a call that may change something, by others than
// calls. An isolated workspace is not looked at before each of them: nobody else is in there.
func (a *attempt) before(ctx context.Context, call run.ToolCall) []event.Payload {
	if !a.changing(call) {
		return nil
	}
	if c := &a.changes; c.known && a.s.Spec.WorkspaceMode != "in_place" {
		return nil
	}
	return a.since(ctx)
}

// since says what has changed since the last snapshot. Right after the first one of a run
// nothing has.
func (a *attempt) since(ctx context.Context) []event.Payload {
	c := &a.changes
	a.look(ctx)
	select {
	case <-ctx.Done():
		return nil
	case <-c.looking:
	}
	if c.err != nil {
		return a.goBlind(c.err)
	}
	if !c.known {
		c.known = true
		if a.s.Snapshot != "" {
			c.last = snapshot.Tree(a.s.Snapshot)
		}
		if c.fresh && a.s.Spec.WorkspaceMode != "in_place" {
			return nil
		}
	}
	return a.changed(ctx, run.WorkspaceChanged{})
}

// lastLook says what has changed until the run ends and no call's result says: by what a
// call had left running, or by a call whose outcome nobody knows.
func (a *attempt) lastLook(ctx context.Context) []event.Payload {
	c := &a.changes
	if c.blind || a.s.Spec.ReadOnly || !a.t.lease.Valid() || !c.known && len(a.s.Doubtful) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), snapshotLateMax)
	defer stop()
	return a.since(ctx)
}

// after says what a call has changed. It looks also where the call was stopped.
func (a *attempt) after(ctx context.Context, call run.ToolCall, stepID string) []event.Payload {
	if !a.changing(call) || !a.t.lease.Valid() {
		return nil
	}
	limit := snapshotMax
	if ctx.Err() != nil {
		limit = snapshotLateMax
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer stop()
	a.changes.loose = a.changes.loose || a.terminals().Any()
	return a.changed(ctx, run.WorkspaceChanged{StepID: stepID, ToolCallID: call.ID, ToolName: call.Name})
}

// changed takes a snapshot and says what is different, and by what.
func (a *attempt) changed(ctx context.Context, by run.WorkspaceChanged) []event.Payload {
	c := &a.changes
	left, err := c.left()
	if err != nil {
		return a.goBlind(err)
	}
	now, err := c.now(ctx)
	if err != nil {
		return a.goBlind(err)
	}
	if now != c.last {
		if a.others(by) {
			err = c.setLeft(ctx, left)
		} else {
			err = c.leave(ctx, left, c.last, now)
		}
		if err != nil {
			return a.goBlind(err)
		}
	}
	change, err := c.change(ctx, c.last, now)
	if err != nil {
		return a.goBlind(err)
	}
	c.last = now
	if change == nil {
		return nil
	}
	change.StepID, change.ToolCallID, change.ToolName = by.StepID, by.ToolCallID, by.ToolName
	return []event.Payload{*change}
}

// others reports whether a change counts as somebody else's: one between two calls, in a
// directory of the operator's own, while nothing of the run's goes on.
func (a *attempt) others(by run.WorkspaceChanged) bool {
	return by.StepID == "" && a.s.Spec.WorkspaceMode == "in_place" && len(a.s.Doubtful) == 0 && !a.changes.loose && !a.terminals().Any()
}

// goBlind takes no more snapshots in this attempt, and says so once.
func (a *attempt) goBlind(err error) []event.Payload {
	a.changes.blind = true
	a.Log.Warn("take a snapshot of a workspace", "run_id", a.s.ID, "error", err)
	return []event.Payload{run.WorkspaceChanged{Before: a.s.Snapshot, Problem: bound("what calls change is not recorded from here on: " + err.Error())}}
}
