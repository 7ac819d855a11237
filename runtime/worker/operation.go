package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/eventstore"
)

// operators is how many operations on workspaces this process does at a time. They
// don't wait behind runs: somebody waits for their answer.
const operators = 4

// operations are the operations that wait for this process, or that it is at.
type operations struct {
	mu    sync.Mutex
	queue []string        // ids, oldest first
	known map[string]bool // queued and under way
	wake  chan struct{}
}

func newOperations() *operations {
	return &operations{known: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (q *operations) offer(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[id] {
		return
	}
	q.known[id] = true
	q.queue = append(q.queue, id)
	q.signal()
}

func (q *operations) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next waits for an operation; ok is false when ctx ends.
func (q *operations) next(ctx context.Context) (id string, ok bool) {
	for ctx.Err() == nil {
		q.mu.Lock()
		if len(q.queue) > 0 {
			id, q.queue = q.queue[0], q.queue[1:]
			if len(q.queue) > 0 {
				q.signal()
			}
			q.mu.Unlock()
			return id, true
		}
		q.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-q.wake:
		}
	}
	return "", false
}

func (q *operations) done(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, id)
}

// operate does one operation after the other until ctx ends. What is under way then
// goes on under acting.
func (p *Pool) operate(ctx, acting context.Context, t *tenure) error {
	for {
		id, ok := p.operations.next(ctx)
		if !ok {
			return ctx.Err()
		}
		err := p.operateOn(acting, t, id)
		p.operations.done(id)
		if err != nil && acting.Err() == nil {
			p.Log.Error("operate on a workspace", "operation_id", id, "error", err)
			time.AfterFunc(retryAfter, func() {
				if ctx.Err() == nil {
					p.operations.offer(id)
				}
			})
		}
	}
}

// job is one worker's hold on one operation.
type job struct {
	*Pool
	t     *tenure
	o     operation.State
	epoch int64 // of the claim

	s        *run.State // the run that it is about
	patch    operation.Patch
	timeline operation.Timeline
}

// operateOn does an operation, if there is something to do for it here. An error means
// that the log could not be used: the operation is as open as before.
func (p *Pool) operateOn(ctx context.Context, t *tenure, id string) error {
	j := &job{Pool: p, t: t}
	var err error
	if j.o, err = p.Executor.LoadOperation(ctx, id); err != nil || j.o.Completed != nil || !j.mine() {
		return err
	}
	stream := commands.OperationStream(id)
	j.epoch, err = p.Store.Claim(ctx, t.instance, stream, 0)
	switch {
	case errors.Is(err, eventstore.ErrClaimed):
		return nil
	case errors.Is(err, eventstore.ErrLeaseLost):
		t.lease.End()
		return nil
	case err != nil:
		return err
	}
	// Another worker may have been at it between the fold and the claim.
	if j.o, err = p.Executor.LoadOperation(ctx, id); err == nil && j.o.Completed == nil {
		err = j.do(ctx)
	}
	if err != nil && t.lease.Valid() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseMax)
		defer stop()
		if err := p.Store.Unclaim(ctx, t.instance, stream); err != nil {
			p.Log.Warn("give an operation back", "operation_id", id, "error", err)
		}
	}
	return err
}

// mine reports whether this process can end the operation: where its workspace stands,
// or because everybody has stopped waiting for it.
func (j *job) mine() bool {
	return j.places.reach(j.o.Requested.Reach) || j.o.Late(j.Clock.Now())
}

// do carries the operation out and records how it ended.
func (j *job) do(ctx context.Context) error {
	if j.o.Late(j.Clock.Now()) {
		return j.complete(ctx, operation.RefusedBy(fault.Unavailable("unavailable", "no worker got to the operation within %s; ask for it again", operation.Patience)))
	}
	err := j.alone(ctx)
	if isFault(err) {
		return j.complete(ctx, operation.RefusedBy(err))
	}
	return err
}

// alone carries the operation out, and says so, while nobody else is in the workspace.
// A fault says why it cannot be done.
func (j *job) alone(ctx context.Context) error {
	if err := j.look(ctx); err != nil {
		return err
	}
	unlock, err := j.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := j.look(ctx); err != nil { // it may have changed while the lock was waited for
		return err
	}
	c, adds, err := j.carryOut(ctx)
	if err != nil {
		return err
	}
	return j.complete(ctx, c, adds...)
}

// look folds the run that the operation is about. It returns a fault unless that rests.
func (j *job) look(ctx context.Context) (err error) {
	j.patch = operation.Patch{ID: j.o.Requested.ArtifactID}
	j.timeline = operation.Timeline{}
	j.s, err = j.Executor.OutlineRun(ctx, j.o.Requested.RunID, j.patch.Apply, j.timeline.Apply)
	if err != nil {
		return err
	}
	return operation.Workspace(j.s)
}

// carryOut does what was asked for. A panic in it may have left anything behind.
func (j *job) carryOut(ctx context.Context) (c operation.Completed, adds []event.Payload, err error) {
	defer func() {
		if r := recover(); r != nil {
			j.Log.Error("operate on a workspace", "operation_id", j.o.ID, "panic", r, "stack", string(debug.Stack()))
			c, adds, err = unknown("it broke off with an internal error"), nil, nil
		}
	}()
	switch k := j.o.Requested.Kind; k {
	case operation.PatchApply, operation.PatchRevert:
		return j.applyPatch(ctx)
	case operation.Take:
		return j.take(ctx)
	case operation.Restore:
		return j.restore(ctx)
	default:
		return c, nil, fault.Unprocessable("operation_unsupported", "this worker does not know the operation %q; is it older than the server?", k)
	}
}

// begin records that files are about to be touched. An error that is no fault means that
// the operation is another worker's, or that the log cannot be used.
func (j *job) begin(ctx context.Context) error {
	if !j.t.lease.Valid() {
		return errLost
	}
	err := j.Executor.BeginOperation(ctx, j.meta(), &j.o, operation.Begun{NodeID: j.NodeID, Instance: j.t.instance, Epoch: j.epoch})
	if err == nil && !j.t.lease.Valid() {
		return errLost
	}
	return err
}

// unknown is the end of an operation of which nobody can tell what it did.
func unknown(why string) operation.Completed {
	return operation.Completed{
		Outcome: operation.Unknown, Fault: fault.KindConflict, Code: "outcome_unknown",
		Message: "what came of the operation is unknown: " + why + "; look at the files before you ask for it again",
	}
}

// complete records the end, and what it adds to the run, also where the run or the log
// make it wait. What is done is done, so it goes on after ctx has ended.
func (j *job) complete(ctx context.Context, c operation.Completed, adds ...event.Payload) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer stop()
	for {
		err := j.Executor.CompleteOperation(ctx, j.meta(), &j.o, j.epoch, c, j.s, adds...)
		var conflict *eventstore.ConflictError
		var fenced *eventstore.FencedError
		switch {
		case err == nil, errors.As(err, &fenced):
			return nil
		case errors.Is(err, eventstore.ErrInvalid), errors.Is(err, eventstore.ErrClosed):
			return fmt.Errorf("record how an operation ended: %w", err)
		case !errors.As(err, &conflict):
			pause(ctx, savePause)
		case conflict.Stream == commands.OperationStream(j.o.ID):
			return nil // recorded by an append whose answer got lost, or by whoever has it now
		default:
			if err = j.look(ctx); err == nil || isFault(err) { // what was done is said, whatever the run does by now
				continue
			}
		}
		if ctx.Err() != nil || !j.t.lease.Valid() {
			return errors.Join(errLost, err)
		}
	}
}

func (j *job) meta() commands.Meta {
	return commands.Meta{Actor: eventstore.Actor{Kind: "worker", Name: j.NodeID}}
}

// offerOperation queues an operation if the stream is one.
func (p *Pool) offerOperation(stream string) bool {
	id, ok := strings.CutPrefix(stream, commands.OperationPrefix)
	if ok {
		p.operations.offer(id)
	}
	return ok
}

func isFault(err error) bool {
	_, ok := fault.Of(err)
	return ok
}
