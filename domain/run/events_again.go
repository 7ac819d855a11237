package run

import "hecate/domain/event"

// SourceKind says in which way a run follows an earlier one.
type SourceKind string

// The ways to go on from an earlier run of the same task.
const (
	SourceRetry    SourceKind = "retry"    // the same task again, nothing inherited
	SourceResume   SourceKind = "resume"   // goes on where a failed or cancelled run stopped
	SourceContinue SourceKind = "continue" // a new prompt in the same conversation
	SourceBranch   SourceKind = "branch"   // one model call is made again: retry-from-model-call
)

// Source is the earlier run that a run follows.
type Source struct {
	Kind           SourceKind `json:"kind"`
	RunID          string     `json:"run_id"`
	Sequence       int64      `json:"sequence"` // position of the source's last event when the run was created
	Through        int64      `json:"through"`  // position up to which the log was looked at for what operators found out
	StepID         string     `json:"step_id,omitempty"`
	ModelCallIndex int64      `json:"model_call_index,omitempty"` // branch: the call of the source that is made again
	Reason         string     `json:"reason,omitempty"`
}

// ResumedFrom tells followers that a run goes on from an earlier one.
type ResumedFrom struct {
	FromRunID      string `json:"from_run_id"`
	Reason         string `json:"reason,omitempty"` // session_prompt for a continue, else as the operator gave it
	FromSequence   int64  `json:"from_sequence,omitempty"`
	ModelCallIndex int64  `json:"source_model_call_index,omitempty"` // branch only
	PriorMicroUSD  int64  `json:"prior_cost_micros_usd"`             // spent by the chain so far
}

// EventType names the event on the wire.
func (ResumedFrom) EventType() string { return "run.resumed_from_event" }

var _ = event.Define(ResumedFrom{FromRunID: "run_1", Reason: "again", FromSequence: 17, PriorMicroUSD: 12})

// ConversationInherited is what a run takes over from an earlier one: references to
// the messages, so that nothing is said twice in the log, and what is left to do
// with the last answer. Authority is not among it.
type ConversationInherited struct {
	FromRunID string    `json:"from_run_id"`
	Segments  []Segment `json:"segments"`
	Pending   *Pending  `json:"pending,omitempty"`
	// Messages follow the inherited ones at once: refusals of calls that a new prompt
	// passes over, and that prompt.
	Messages []Message `json:"messages,omitempty"`
	// Notes are told to the model before its next call, when no call is pending:
	// what an operator found out about calls whose outcome was unknown.
	Notes []Message `json:"notes,omitempty"`
}

// Segment is a part of a conversation that stands in one run's stream.
type Segment struct {
	RunID    string  `json:"run_id"`
	Versions []int64 `json:"versions"` // of the events that hold the messages, in order
}

// Pending is an inherited answer some of whose calls have no outcome. They pass the
// current policy, and a person if it asks for one, in the run that inherits them.
type Pending struct {
	RunID          string     `json:"run_id"`           // the run whose model asked for the calls
	ModelCallIndex int64      `json:"model_call_index"` // within that run
	FinishReason   string     `json:"finish_reason"`
	Calls          []ToolCall `json:"calls"`             // all of the answer
	Settled        []string   `json:"settled,omitempty"` // ids of those with an outcome
	Begun          []string   `json:"begun,omitempty"`   // ids of those that were dispatched and whose outcome nobody recorded
}

// EventType names the event on the wire.
func (ConversationInherited) EventType() string { return "conversation.inherited" }

// Texts lists what may move out of the log.
func (e *ConversationInherited) Texts() []*event.Text {
	var out []*event.Text
	for _, list := range [][]Message{e.Messages, e.Notes} {
		for i := range list {
			out = append(out, list[i].texts()...)
		}
	}
	if e.Pending != nil {
		for i := range e.Pending.Calls {
			out = append(out, &e.Pending.Calls[i].Arguments)
		}
	}
	return out
}

var _ = event.Define(ConversationInherited{
	FromRunID: "run_1", Segments: []Segment{{RunID: "run_1", Versions: []int64{4, 6}}},
	Pending: &Pending{RunID: "run_1", ModelCallIndex: 1, FinishReason: "tool_calls", Calls: []ToolCall{{ID: "c1", Name: "shell_exec", Arguments: event.NewText(`{"command":"ls"}`)}}},
})

// Claimed names the worker that takes a run, before anything else that it records.
type Claimed struct {
	NodeID   string `json:"node_id"`     // the worker's installation
	Instance string `json:"instance_id"` // its process
	Epoch    int64  `json:"epoch"`       // of the claim; grows with every claim in the log
	Reach    string `json:"reach"`       // the place that holds the run's workspace: only workers that reach it can go on
	LeaseMS  int64  `json:"lease_ms"`    // how long the worker's lease holds without a renewal
}

// EventType names the event on the wire.
func (Claimed) EventType() string { return "run.claimed" }

var _ = event.Define(Claimed{NodeID: "runtime_1", Instance: "instance_1", Epoch: 1, Reach: "workspaces_1", LeaseMS: 30000})

// Warned tells the operator of something that does not stop the run.
type Warned struct {
	Code    string `json:"code"` // cost_ceiling_unenforceable, models_awaited
	Message string `json:"message"`
}

// Codes of warnings.
const (
	WarnCeilingUnenforceable = "cost_ceiling_unenforceable"
	WarnModelsAwaited        = "models_awaited"
)

// EventType names the event on the wire.
func (Warned) EventType() string { return "run.warning" }

var _ = event.Define(Warned{Code: WarnCeilingUnenforceable, Message: "the price of model m is not known"})

// ModelCallRetrying says that an attempt at a model call failed before any of its
// answer arrived and that another one follows, perhaps at another provider.
type ModelCallRetrying struct {
	ModelCallIndex int64  `json:"model_call_index"`
	StepID         string `json:"step_id"`
	Attempt        int64  `json:"attempt"` // 1, 2, 3 …: the one that failed
	Provider       string `json:"provider"`
	Model          string `json:"model"`
	Kind           string `json:"kind"` // a model.ErrorKind
	Message        string `json:"message"`
	WaitMS         int64  `json:"wait_ms"` // until the next attempt
	NextProvider   string `json:"next_provider"`
	NextModel      string `json:"next_model"`
}

// EventType names the event on the wire.
func (ModelCallRetrying) EventType() string { return "model.call.retrying" }

var _ = event.Define(ModelCallRetrying{
	ModelCallIndex: 1, StepID: "step_1", Attempt: 1, Provider: "p", Model: "m", Kind: "overloaded",
	Message: "upstream error (529/overloaded_error): busy", WaitMS: 200, NextProvider: "p", NextModel: "m",
})

// OutcomeStated is what an operator found out about a call whose outcome was
// unknown. History stays as it was; the model is told at the next resume or continue.
type OutcomeStated struct {
	ModelCallIndex int64      `json:"model_call_index,omitempty"`
	ToolCallID     string     `json:"tool_call_id"`
	ToolName       string     `json:"tool_name"`
	StepID         string     `json:"step_id"`
	Done           bool       `json:"done"` // whether the effect happened
	Note           event.Text `json:"note,omitzero"`
	By             string     `json:"by"` // operator
}

// EventType names the event on the wire.
func (OutcomeStated) EventType() string { return "tool.outcome.stated" }

// Texts lists what may move out of the log.
func (e *OutcomeStated) Texts() []*event.Text { return []*event.Text{&e.Note} }

var _ = event.Define(OutcomeStated{ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", StepID: "step_2", Done: true, Note: event.NewText("the file is there"), By: "operator"})
