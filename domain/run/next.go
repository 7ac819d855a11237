package run

import (
	"fmt"

	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
)

// Limits of one response, and of how often a run may be taken over without a new
// fact before it counts as the cause of the crashes.
const (
	CallsMax       = 16  // tool calls in one response
	CallIDBytesMax = 256 // bytes of a call's id
	DisconnectsMax = 5   // takeovers of one run without a new fact between them
)

// Effect is the one thing that must happen next. The runtime does it, records
// what came of it, folds that and asks again.
type Effect interface{ effect() }

type (
	// Done: the run has ended, nothing may follow.
	Done struct{}
	// Park: a person must decide first. No worker holds the run meanwhile.
	Park struct{}
	// Begin: prepare the workspace and record that a worker executes the run.
	Begin struct {
		Resume *ResumeFrom // nil for the first start
	}
	// Tell: messages that the model gets before its next call.
	Tell struct{ Messages []Message }
	// Warn: the operator should know something.
	Warn struct{ Code, Message string }
	// Abandon: a model call was under way when its worker vanished.
	Abandon struct{ Call InFlight }
	// CallModel: ask the model for answer number Index.
	CallModel struct{ Index int64 }
	// Remember: write a grant into the project's file.
	Remember struct{ Grant SessionGrant }
	// Check: have a fast model look whether a call that repeats itself makes progress.
	Check struct {
		Call    ToolCall
		Index   int64
		Finding repetition.Finding
	}
	// AbandonCheck: a check was under way when its worker vanished.
	AbandonCheck struct{ Check ProgressCheckStarted }
	// Ask: calls of the pending answer need a person's yes.
	Ask struct {
		Batch    *Batch
		Calls    []ToolCall
		Verdicts []permission.Verdict // one per call
		Locks    [][]string           // one list per call
		Digest   string
	}
	// AskFirst: a direct run, allowed when it was created, needs a person's yes by now.
	AskFirst struct{ Gate Gate }
	// Refuse: a call is not dispatched for a reason that is no policy.
	Refuse struct {
		Call   ToolCall
		Index  int64
		Reason string
	}
	// Decline: a person refused a call.
	Decline struct {
		Call       ToolCall
		Index      int64
		ApprovalID string
		Reason     string // for the model
	}
	// Block: policy forbids a call.
	Block struct {
		Call    ToolCall
		Index   int64
		Verdict permission.Verdict
	}
	// Dispatch: run a call. ApprovalID is set if a person allowed it.
	Dispatch struct {
		Call       ToolCall
		Index      int64 // 0 for a direct run
		Verdict    permission.Verdict
		ApprovalID string
		Locks      []string // execution locks to take first
	}
	// SettleUnknown: an intent has no settlement; the effect may have happened.
	SettleUnknown struct{ Intent DispatchIntended }
	// Answer: the pending answer ends the run.
	Answer struct{ Batch *Batch }
	// Finish: a direct run ended well.
	Finish struct{}
	// Fail: the run cannot go on.
	Fail struct{ Reason, Message string }
)

func (Done) effect()          {}
func (Park) effect()          {}
func (Begin) effect()         {}
func (Tell) effect()          {}
func (Warn) effect()          {}
func (Abandon) effect()       {}
func (CallModel) effect()     {}
func (Remember) effect()      {}
func (Check) effect()         {}
func (AbandonCheck) effect()  {}
func (Ask) effect()           {}
func (AskFirst) effect()      {}
func (Refuse) effect()        {}
func (Decline) effect()       {}
func (Block) effect()         {}
func (Dispatch) effect()      {}
func (SettleUnknown) effect() {}
func (Answer) effect()        {}
func (Finish) effect()        {}
func (Fail) effect()          {}

// Rules are what the loop decides under now: settings that may change between two
// starts of the server, unlike what the run froze.
type Rules struct {
	Posture permission.Posture // see State.Posture
	// Facts reads a call for the permission decision. It may look at the workspace, for
	// where links lead; it changes nothing.
	Facts func(ToolCall) permission.Call
	// Limits are those of the repetition guard; nil: it does not watch this run. Repeat
	// tells how it knows the call again; of a pending call only kind and call count.
	Limits *repetition.Limits
	Repeat func(ToolCall) Repeat
}

// Next says what must happen now. It depends on the log and the rules alone, so
// live execution, resumption after an approval and recovery are the same code.
func Next(s *State, r Rules) Effect {
	switch {
	case s.Status.Terminal():
		return Done{}
	case s.Status == StatusAwaitingApproval:
		return Park{}
	case s.Disconnects > DisconnectsMax:
		return Fail{"recovery_exhausted", fmt.Sprintf("the run was taken over %d times without getting anywhere; something in it ends its worker", s.Disconnects)}
	case s.Status == StatusQueued:
		return Begin{Resume: s.resume(r)}
	case s.Spec.ExecutionKind != KindAgentLoop:
		return s.nextDirect(r)
	}
	return s.nextInLoop(r)
}

// resume says what a start goes on from; nil for the first start of a run that
// inherits nothing.
func (s *State) resume(r Rules) *ResumeFrom {
	var from *ResumeFrom
	switch {
	case s.Begun:
		from = &ResumeFrom{RunID: s.ID, Sequence: s.Position, StepID: s.StepID(s.Steps)}
	case s.Source != nil && s.Source.Kind != SourceRetry:
		from = &ResumeFrom{RunID: s.Source.RunID, Sequence: s.Source.Sequence, StepID: s.Source.StepID, Reason: s.Source.Reason}
	default:
		return nil
	}
	pending := s.Batch.Unsettled()
	if len(pending) == 0 || InvalidBundle(s.Batch.Message.ToolCalls) != "" {
		return from
	}
	if s.ask(s.rule(r, pending)) != nil {
		return from // nothing is dispatched before a person has been asked
	}
	from.ModelCallIndex, from.ToolCalls = s.Batch.Index, int64(len(s.Batch.Message.ToolCalls))
	from.Approved = s.grant() != nil
	if o := s.Batch.Origin; o != nil {
		from.SourceRunID, from.SourceIndex = o.RunID, o.Index
	}
	for _, c := range pending {
		if _, begun := s.Batch.Intents[c.ID]; !begun {
			from.Tools = append(from.Tools, c.Name)
		}
	}
	return from
}

func (s *State) batchDigest() string {
	return BundleDigest(s.ID, s.Batch.Index, s.Batch.Message.ToolCalls)
}

func (s *State) nextInLoop(r Rules) Effect {
	switch {
	case s.InFlight != nil:
		return Abandon{*s.InFlight}
	case s.Checking != nil:
		return AbandonCheck{*s.Checking}
	case s.Failure != nil:
		return Fail{s.Failure.Kind, fmt.Sprintf("model call %d failed: %s", s.Failure.ModelCallIndex, s.Failure.Message)}
	case s.atCeiling():
		return Fail{ReasonCeiling, fmt.Sprintf("agent loop hit per-task cost ceiling: spent %s of %d micro-USD; raise the budget to go on", s.spentText(), s.BudgetMicroUSD)}
	case s.BudgetMicroUSD > 0 && !s.CostKnown && s.HeldPicoUSD == 0 && !s.Warned[WarnCeilingUnenforceable]:
		return Warn{WarnCeilingUnenforceable, "the cost of a model call is not known, so the task's cost ceiling cannot be held for certain; give the model a price, or rely on the limit of model calls"}
	}
	if len(s.Unsaved) > 0 {
		return Remember{s.Unsaved[0]}
	}
	if s.Batch != nil {
		if e := s.nextInBatch(r); e != nil {
			return e
		}
	}
	if len(s.Notes) > 0 {
		return Tell{s.Notes}
	}
	if s.CallsStarted >= s.ModelCallsMax {
		return Fail{"max_model_calls_exceeded", fmt.Sprintf("agent loop reached the maximum of %d model calls without producing a final answer", s.ModelCallsMax)}
	}
	return CallModel{Index: s.CallsDone + 1}
}

// nextInBatch settles the last answer call by call; nil once all calls have an outcome.
func (s *State) nextInBatch(r Rules) Effect {
	b := s.Batch
	if len(b.Message.ToolCalls) == 0 {
		if b.Message.Blank() {
			return Fail{"blank_response", fmt.Sprintf("model call %d returned no assistant content or tool calls; no final answer was produced", b.Index)}
		}
		return Answer{b}
	}
	if why := InvalidBundle(b.Message.ToolCalls); why != "" {
		return Fail{"invalid_tool_call_bundle", fmt.Sprintf("model call %d returned an invalid tool-call bundle: %s", b.Index, why)}
	}
	pending := b.Unsettled()
	if len(pending) == 0 {
		return nil
	}
	first := pending[0]
	if intent, begun := b.Intents[first.ID]; begun {
		return SettleUnknown{intent}
	}
	if b.cutOff() {
		return Refuse{first, b.Index, "not run: the response was cut off at the output limit, so its calls may be incomplete; send them again in smaller pieces"}
	}
	if why := s.refusal(first); why != "" {
		return Decline{first, b.Index, s.Granted.ApprovalID, why}
	}
	rulings := s.rule(r, pending)
	if f := s.finding(r, first); f.Level != repetition.None && rulings[0].verdict.Decision != permission.Deny {
		check, done := s.Assessed[first.ID]
		if f.Level == repetition.Soft && !done {
			return Check{first, b.Index, f}
		}
		rulings[0] = r.decide(first, f.Checkpoint(check.Assessment))
		rulings[0].verdict.Notes = append(rulings[0].verdict.Notes, check.notes()...)
	}
	if e := s.ask(rulings); e != nil {
		return e
	}
	x := rulings[0]
	if x.verdict.Decision == permission.Deny {
		return Block{first, b.Index, x.verdict}
	}
	d := Dispatch{Call: first, Index: b.Index, Verdict: x.verdict, Locks: x.locks}
	if g := s.grant(); g != nil {
		d.ApprovalID = g.ApprovalID
	}
	return d
}

// cutOff reports whether the answer ended before the model was done with it.
func (b *Batch) cutOff() bool {
	return b.FinishReason == "length" || b.FinishReason == "content_filter"
}

// ruling is the decision about one call.
type ruling struct {
	call    ToolCall
	verdict permission.Verdict
	locks   []string
}

func (r Rules) decide(c ToolCall, checkpoint string) ruling {
	call := r.Facts(c)
	call.Checkpoint = checkpoint
	return ruling{c, permission.Decide(call, r.Posture), r.Posture.Config.LocksFor(c.Name, call.Facts)}
}

// rule decides about calls, except those that a person has refused.
func (s *State) rule(r Rules, calls []ToolCall) []ruling {
	var out []ruling
	for _, c := range calls {
		if s.refusal(c) == "" {
			out = append(out, r.decide(c, ""))
		}
	}
	return out
}

// ask is the question about the calls, if one of them asks for a reason that no answer
// to an earlier question about the same calls covers.
func (s *State) ask(rulings []ruling) Effect {
	a, asks := Ask{Batch: s.Batch, Digest: s.batchDigest()}, false
	g := s.grant()
	for _, x := range rulings {
		asks = asks || x.verdict.Decision == permission.Ask && (g == nil || !g.opens(x.call.ID, x.verdict))
		a.Calls, a.Verdicts, a.Locks = append(a.Calls, x.call), append(a.Verdicts, x.verdict), append(a.Locks, x.locks)
	}
	if !asks {
		return nil
	}
	return a
}

// grant is a person's answer that names exactly this batch, nil if there is none.
func (s *State) grant() *Grant {
	if s.Granted == nil || s.Granted.Digest != s.batchDigest() {
		return nil
	}
	return s.Granted
}

// refusal is what the model is told about a call that a person refused; "" if nobody did.
func (s *State) refusal(c ToolCall) string {
	if g := s.grant(); g != nil {
		return g.Refused[c.ID]
	}
	return ""
}

// InvalidBundle says why calls cannot be told apart or reviewed; "" if they can.
func InvalidBundle(calls []ToolCall) string {
	if len(calls) > CallsMax {
		return fmt.Sprintf("%d calls, at most %d are allowed", len(calls), CallsMax)
	}
	seen := map[string]bool{}
	for _, c := range calls {
		switch {
		case c.ID == "":
			return "a call has no id"
		case len(c.ID) > CallIDBytesMax:
			return fmt.Sprintf("a call's id is %d bytes long, at most %d are allowed", len(c.ID), CallIDBytesMax)
		case seen[c.ID]:
			return fmt.Sprintf("two calls have the id %q", c.ID)
		}
		seen[c.ID] = true
	}
	return ""
}

// nextDirect is the one call of a shell, git or file run.
func (s *State) nextDirect(r Rules) Effect {
	call := DirectCall(s)
	if s.Direct == nil {
		return s.dispatchDirect(r, call)
	}
	settled, ok := s.Direct.Settled[call.ID]
	switch {
	case !ok:
		return SettleUnknown{s.Direct.Intents[call.ID]}
	case settled.Outcome == OutcomeCompleted:
		return Finish{}
	}
	return Fail{settled.ErrorKind, settled.Error}
}

// dispatchDirect decides again right before the call, because policies may have
// changed since the run was created.
func (s *State) dispatchDirect(r Rules, call ToolCall) Effect {
	x := r.decide(call, "")
	v := x.verdict
	granted := s.Granted != nil && s.Granted.Digest == DirectDigest(s.ID, s.Spec)
	switch {
	case v.Decision == permission.Deny:
		return Block{Call: call, Verdict: v}
	case v.Decision == permission.Ask && !granted:
		return AskFirst{gates[s.Spec.ExecutionKind]}
	}
	d := Dispatch{Call: call, Verdict: v, Locks: x.locks}
	if granted {
		d.ApprovalID = s.Granted.ApprovalID
	}
	return d
}
