package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/tools"
	"hecate/tools/terminal"
)

// attempt is one worker's hold on one run. Everything in it but the log is a cache.
type attempt struct {
	*Pool
	t        *tenure
	stopping <-chan struct{} // closed when the run is to be handed back at the next occasion
	s        *run.State
	staged   []event.Event // folded into s, not yet durable
	epoch    int64         // of this attempt's claim
	over     int64         // version of the run when it was folded after its end; 0 before
	root     *os.Root      // the workspace, opened when first needed

	client  model.Client // that encoded is for
	encoded []model.Encoded
	chars   int64  // of the encoded conversation, for the token estimate
	tools   []byte // the catalogue, for client
	known   map[string]tools.Tool
	ready   map[string]prepared // by call id
	locks   locks               // execution locks that are held for a call
	entered bool                // it has a share of its workspace
	watched bool                // by the repetition guard, when it was decided last
	changes changes             // what calls do to the workspace
	lacks   lacks               // what the output of the call under way is without
}

// errLost says that the run was changed by somebody else; s was folded anew.
var errLost = errors.New("the run moved on")

// execute does what is next for the run until it ends, parks or ctx ends. When the
// pool stops first, the run is handed back.
func (a *attempt) execute(ctx context.Context) (err error) {
	defer a.close()
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(panicked(a.s.ID, r), a.salvage(ctx))
		}
	}()
	return a.loop(ctx)
}

func (a *attempt) close() {
	if a.s.Status != run.StatusAwaitingApproval {
		terminal.Gone(a.t.terminals.Close(a.s.ID)) // of what ended well they are closed already
	}
	a.unlock(context.Background())
	a.changes.close()
	a.leave()
	a.unclaim()
	a.Progress.drop(a.s.ID)
	if a.root != nil {
		a.root.Close()
	}
}

// panicked is the error of a run in whose execution something panicked: that must not
// end the process and with it everybody else's runs.
func panicked(id string, r any) error {
	return fmt.Errorf("execute run %s: panic: %v\n%s", id, r, debug.Stack())
}

// salvage records what had happened before a panic. So an answer is not paid for again,
// and a run that panics each time does not begin anew for ever.
func (a *attempt) salvage(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(a.s.ID, r)
		}
	}()
	return a.flushOrMoveOn(ctx)
}

// loop does what is next until there is nothing more to do here.
func (a *attempt) loop(ctx context.Context) error {
	for {
		switch {
		case a.othersRun():
			return nil
		case a.s.Status.Terminal(), a.s.Status == run.StatusAwaitingApproval:
			return a.wrapUp(ctx)
		case !a.mine():
			a.take()
			continue
		case a.told():
			return a.handBack(ctx)
		}
		err := a.perform(ctx, run.Next(a.s, a.rules()))
		var fenced *eventstore.FencedError
		switch {
		case errors.Is(err, errLost):
		case errors.As(err, &fenced), !a.t.lease.Valid():
			a.Log.Warn("a run was lost to another worker", "run_id", a.s.ID)
			return nil // what is not in the log by now is not this process's to record
		case errors.Is(err, eventstore.ErrInvalid):
			return a.giveUp(ctx, err)
		case errors.Is(context.Cause(ctx), tools.ErrRunEnded):
			return a.wrapUp(ctx)
		case errors.Is(context.Cause(ctx), errStopped):
			return a.handBack(ctx)
		case ctx.Err() != nil:
			return a.flushOrMoveOn(ctx) // what happened is recorded, the rest waits
		case err != nil:
			return err
		}
	}
}

// told reports whether the process stops.
func (a *attempt) told() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// handBack puts the run before the workers again, with all that happened recorded.
func (a *attempt) handBack(ctx context.Context) error {
	if a.s.InFlight != nil {
		a.stage(run.ModelCallAbandoned{ModelCallIndex: a.s.InFlight.Index, StepID: a.s.InFlight.StepID, Reason: "the server stopped while the model call was under way"})
	}
	a.stage(a.endTerminals()...)
	a.stage(run.Queued{Kind: run.Orchestrator, Route: a.s.Route, Resume: true})
	return a.flushOrMoveOn(ctx)
}

// giveUp ends a run whose next facts the log can never take, because they break one
// of its limits. Trying again would change nothing.
func (a *attempt) giveUp(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if err := a.fold(ctx, a.s.ID); err != nil {
		return err
	}
	a.stage(a.s.Failing(run.Fail{Reason: "unrecordable", Message: "what happened could not be recorded: " + cause.Error()})...)
	return a.flushOrMoveOn(ctx)
}

func (a *attempt) fold(ctx context.Context, id string) error {
	s, err := a.Executor.LoadRun(ctx, id)
	if err != nil {
		return fmt.Errorf("fold run %s: %w", id, err)
	}
	a.s, a.staged = s, nil
	if s.Status.Terminal() {
		a.over = s.Version
	}
	a.client, a.tools, a.encoded, a.chars = nil, nil, nil, 0
	clear(a.ready)
	return nil
}
