package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"hecate/domain/fault"
	"hecate/domain/ident"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/tools/rootfs"
)

// Runs share the directory that they work in with each other, and with no operation. In
// the log's locks that is one holder for all runs, and one of its own for each operation.
const sharers = "runs"

// operationWait is how long an operation waits for others to leave the workspace: a run
// that has just ended or parked does so a moment later.
const operationWait = time.Second

// lockOf names the lock on the directory that a run works in: its own copy, or that of
// the run that it goes on from, which has that run's name; or the source itself.
func (p places) lockOf(s *run.State) (string, error) {
	if s.Spec.WorkspaceMode == "in_place" {
		dir, err := filepath.EvalSymlinks(s.Spec.WorkingDirectory)
		return p.lockOfDir(dir), err
	}
	of := s.ID
	if s.WorkspacePath != "" {
		of = filepath.Base(s.WorkspacePath)
	}
	return ident.Derive("workspace", cmp.Or(s.Reach, p.isolated), s.Home(), of), nil
}

// lockOfDir names the lock on a directory of the operator's own, links resolved. It is
// one directory only in its place.
func (p places) lockOfDir(dir string) string {
	return ident.Derive("workspace", p.of(run.Spec{WorkspaceMode: "in_place", WorkingDirectory: dir}), dir)
}

// lock keeps runs and other operations out of the workspace. It returns a fault if one
// of them stays in there.
func (j *job) lock(ctx context.Context) (unlock func(), err error) {
	name, err := j.places.lockOf(j.s)
	if err != nil {
		return nil, fault.Conflict("invalid_request", "the run's workspace is gone: %s", rootfs.Cause(err))
	}
	names := []string{name}
	if j.o.Requested.Kind == operation.Take {
		source, err := source(j.s)
		if err != nil {
			return nil, err
		}
		names = append(names, j.places.lockOfDir(source))
	}
	h := eventstore.Holder{Run: j.o.ID, Call: "operation"}
	for until := time.Now().Add(operationWait); ; {
		err := j.Store.TakeLocks(ctx, j.t.instance, h, names)
		var held *eventstore.LockedError
		switch {
		case err == nil:
			return func() {
				if j.t.lease.Valid() {
					j.drop(ctx, h)
				}
			}, nil
		case errors.Is(err, eventstore.ErrLeaseLost):
			j.t.lease.End()
			return nil, err
		case !errors.As(err, &held):
			return nil, fmt.Errorf("lock a workspace: %w", err)
		case time.Now().After(until):
			return nil, inUse(held)
		}
		pause(ctx, drainLook)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

func inUse(held *eventstore.LockedError) error {
	who := held.By.Run
	if who == sharers {
		who = held.By.Call // a run, or a terminal that it has left open
	}
	return fault.Conflict("conflict", "%s is at work in the same directory; try again when it is done", who)
}

// enter takes the run's share of the directory that it goes on in, unless an operation
// is at work there. It keeps operations out until the attempt is over, also of a run that
// was cancelled meanwhile.
func (a *attempt) enter(ctx context.Context) (in bool, err error) {
	name, err := a.places.lockOf(a.s)
	if err != nil {
		return true, nil // there is no such directory: the run fails when it begins
	}
	err = a.Store.TakeLocks(ctx, a.t.instance, a.share(), []string{name})
	switch {
	case err == nil:
		a.entered = true
		return true, nil
	case errors.Is(err, eventstore.ErrLeaseLost):
		a.t.lease.End()
		return false, nil
	case errors.As(err, new(*eventstore.LockedError)):
		return false, nil
	}
	return false, fmt.Errorf("enter the workspace: %w", err)
}

func (a *attempt) share() eventstore.Holder { return eventstore.Holder{Run: sharers, Call: a.s.ID} }

// shareWithTerminal gives the terminal that a call has opened a share of its own: it can
// write as long as it lives, also while the run is parked.
func (a *attempt) shareWithTerminal(ctx context.Context, step string) {
	t, ok := a.terminals().OpenedBy(step)
	if !ok || !a.entered {
		return
	}
	name, err := a.places.lockOf(a.s)
	h := eventstore.Holder{Run: sharers, Call: t.ID()}
	if err == nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseMax)
		defer stop()
		err = a.Store.TakeLocks(ctx, a.t.instance, h, []string{name})
	}
	if err != nil {
		a.Log.Warn("keep operations away from a terminal", "run_id", a.s.ID, "error", err)
		return
	}
	pool, tenure := a.Pool, a.t
	tenure.kept.Go(func() {
		<-t.Done()
		if tenure.lease.Valid() {
			pool.drop(context.Background(), h)
		}
	})
}

// leave gives the share back, unless the lease under which it was taken is over.
func (a *attempt) leave() {
	if a.entered && a.t.lease.Valid() {
		a.drop(context.Background(), a.share())
	}
	a.entered = false
}
