package tools

import (
	"context"
	"errors"
	"time"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/run"
)

// Error kinds of steps.
const (
	KindDispatch    = "tool_dispatch_unavailable" // a call that could not be carried out as asked
	KindPolicy      = "sandbox_policy_denied"
	KindCancelled   = "run_cancelled" // the call ended because its run was ended
	KindInterrupted = "interrupted"   // the call ended because the server stopped; the run goes on
	KindLeaseLost   = "lease_lost"    // the call ended because its worker lost the run; the run goes on
)

// The causes (context.Cause) of a call's context that was cancelled. A context that
// is done for another reason means that the server stops.
var (
	// ErrRunEnded says that somebody ended the run.
	ErrRunEnded = errors.New("the run was ended")
	// ErrLeaseLost says that the worker no longer has the run, or can't be sure that it
	// does. Another worker may act for it at any moment, so the call ends like a killed one.
	ErrLeaseLost = errors.New("the worker lost its lease on the run")
)

// RunEnded reports whether ctx is done because the run was ended.
func RunEnded(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrRunEnded) }

// LeaseLost reports whether ctx is done because the worker lost its lease.
func LeaseLost(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrLeaseLost) }

// timeoutDefault is the time limit of one command if the task sets none.
const timeoutDefault = 5 * time.Second

// Failure is the result of a call that could not be carried out: bad arguments,
// no such file, no such tool. text is what the model is told.
func Failure(tool, text string) Result {
	return bounded(Result{
		Text: text, Error: true, Outcome: run.OutcomeFailed, Title: tool + " (failed)",
		ErrorText: text, ErrorKind: KindDispatch,
	})
}

// bounded shortens what the step keeps of a result; the tool message stays whole.
func bounded(r Result) Result {
	r.Title, r.ErrorText = shorten(r.Title, titleMax), ErrorText(r.ErrorText)
	r.Input, r.Output = shown(r.Input), shown(r.Output)
	return r
}

// Cancelled is the result of a call that ended because its context did: cancelled
// if the run was ended, else failed, because the worker lost the run or the server
// stops.
func Cancelled(ctx context.Context, tool string) Result {
	if LeaseLost(ctx) {
		return Fenced(tool)
	}
	if !RunEnded(ctx) {
		r := Failure(tool, tool+": the server stopped before the call was done")
		r.ErrorKind = KindInterrupted
		return r
	}
	r := Failure(tool, tool+": "+ctx.Err().Error())
	r.Outcome, r.Title, r.ErrorKind = run.OutcomeCancelled, tool+" (cancelled)", KindCancelled
	return r
}

// Fenced is the result of a call that has changed nothing because its worker's lease
// is over: failed. As a rule nobody can record it.
func Fenced(tool string) Result {
	r := Failure(tool, tool+": the worker lost its lease on the run before the call was done; nothing was changed")
	r.ErrorKind = KindLeaseLost
	return r
}

// ArtifactID names an artifact of the call: the same call always gives the same id.
func (e *Env) ArtifactID(purpose ...string) string {
	return ident.Derive("artifact", append([]string{e.RunID, e.StepID}, purpose...)...)
}

// CommandTimeout is the time limit of one command.
func (e *Env) CommandTimeout() time.Duration {
	if e.Timeout <= 0 {
		return timeoutDefault
	}
	return e.Timeout
}

func (s Spec[In]) run(in In) func(context.Context, *Env) Result {
	return func(ctx context.Context, env *Env) Result {
		if ctx.Err() != nil {
			return Cancelled(ctx, s.Name)
		}
		if !env.Settings.Lease.Valid() {
			return Fenced(s.Name)
		}
		return bounded(s.Handle(ctx, env, in))
	}
}

func (s Spec[In]) before(in In) func(*Env) []event.Payload {
	return func(env *Env) []event.Payload { return s.Before(env, in) }
}
