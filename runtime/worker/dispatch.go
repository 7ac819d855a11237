package worker

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
)

// commandTimeoutDefault bounds a command whose task says nothing.
const commandTimeoutDefault = 5 * time.Second

func commandTimeout(ms int64) time.Duration {
	if ms <= 0 {
		return commandTimeoutDefault
	}
	return time.Duration(ms) * time.Millisecond
}

// dispatch runs one call: the intent is durable first, then the effect happens,
// then its exact result is recorded.
func (a *attempt) dispatch(ctx context.Context, e run.Dispatch) error {
	p := a.prepare(e.Call)
	if p.err != nil {
		settled := a.refusal(e.Call, e.Index, run.OutcomeFailed, "")
		settled.Result, settled.Error = event.NewText(p.err.Error()), bound(p.err.Error())
		settled.ErrorKind = "tool_dispatch_unavailable"
		a.stage(settled)
		return nil
	}
	if len(e.Locks) > 0 && !a.locks.are(e) {
		return a.lock(ctx, e)
	}
	a.stage(a.before(ctx, e.Call)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	intent := a.intend(e, p)
	a.lacks.clear()
	env := a.env(e.Call, intent.StepID)
	a.stage(intent)
	if p.Before != nil {
		a.stage(p.Before(env)...)
	}
	if err := a.flush(ctx); err != nil {
		return err
	}
	if !a.t.lease.Valid() {
		return tools.ErrLeaseLost // the intent stands; whoever has the run next reports it as unknown
	}
	r := a.handle(ctx, e.Call, p, env)
	a.leaveLocks(intent.StepID)
	a.shareWithTerminal(ctx, intent.StepID)
	a.stage(r.Facts...)
	a.stage(a.after(ctx, e.Call, intent.StepID)...)
	delete(a.ready, e.Call.ID)
	settled := settlement(intent, r)
	settled.Repeat = a.repeated(e.Call, r.Text)
	a.stage(settled)
	a.lacks.clear()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.locks.call != "" {
		return a.flush(ctx) // the locks go afterwards: who has them next stands later in the log
	}
	return nil
}

func (a *attempt) intend(e run.Dispatch, p prepared) run.DispatchIntended {
	intent := run.DispatchIntended{
		ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, CallDigest: run.CallDigest(e.Call), StepID: a.s.NextStepID(), StepKind: "tool",
		Title: e.Call.Name + " (dispatching)", Ruling: run.RulingOf(e.Verdict), ApprovalID: e.ApprovalID, Locks: e.Locks, Files: a.scripts(e.Call, p),
		SecretsNamed: a.secretsNamed(e.Call),
	}
	intent.Input = maps.Clone(p.Input)
	if intent.Input == nil {
		intent.Input = map[string]any{}
	}
	if a.s.Spec.ExecutionKind != run.KindAgentLoop {
		intent.StepKind = e.Call.Name
		a.addSource(intent.Input)
		return intent
	}
	intent.Input["dispatch_intent_version"], intent.Input["tool_call_digest"] = 1, intent.CallDigest
	maps.Copy(intent.Input, a.callInput(e.Call, e.Index))
	if o := a.s.Batch.Origin; o != nil {
		intent.SourceRunID, intent.SourceIndex = o.RunID, o.Index
	}
	return intent
}

// addSource says in a resumed direct run's step what it goes on from.
func (a *attempt) addSource(input map[string]any) {
	src := a.s.Source
	if src == nil || src.Kind == run.SourceRetry {
		return
	}
	input["resume_from_run_id"], input["resume_from_event_sequence"] = src.RunID, src.Sequence
	if src.StepID != "" {
		input["resume_from_step_id"] = src.StepID
	}
	if src.Reason != "" {
		input["reason"] = src.Reason
	}
}

// settlement is the recorded outcome of a call that was dispatched.
func settlement(i run.DispatchIntended, r tools.Result) run.DispatchSettled {
	out := maps.Clone(r.Output)
	if out == nil {
		out = map[string]any{}
	}
	if i.StepKind == "tool" {
		out["dispatch_intent_settled"] = true
	}
	return run.DispatchSettled{
		ModelCallIndex: i.ModelCallIndex, ToolCallID: i.ToolCallID, ToolName: i.ToolName, StepID: i.StepID, Outcome: r.Outcome,
		Result: event.NewText(r.Text), ToolError: r.Error, Title: r.Title, Input: r.Input, Output: out,
		Error: bound(r.ErrorText), ErrorKind: r.ErrorKind, ExitCode: r.ExitCode,
	}
}

// stepErrorMax bounds a step's error text, in bytes. The model gets the whole text.
const stepErrorMax = 1024

func bound(s string) string {
	if len(s) <= stepErrorMax {
		return s
	}
	return tools.Cut(s, stepErrorMax) + "…"
}

// safely runs a handler; a panic in it is an answer to the model, not the end of the worker.
func safely(ctx context.Context, p tools.Prepared, env *tools.Env) (r tools.Result) {
	defer func() {
		if v := recover(); v != nil {
			text := fmt.Sprintf("%s tool internal error: %v", env.ToolName, v)
			r = tools.Result{
				Text: text, Error: true, Outcome: run.OutcomeFailed, Title: env.ToolName + " (failed)",
				ErrorText: text + "\n" + string(debug.Stack()), ErrorKind: "tool_dispatch_error",
			}
		}
	}()
	return p.Run(ctx, env)
}

// emit records what happens while a call runs.
func (a *attempt) emit(ctx context.Context, p event.Payload) error {
	a.stage(p)
	return a.flush(ctx)
}
