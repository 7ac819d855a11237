package run

import (
	"encoding/json"

	"hecate/domain/event"
)

// ConversationSeeded is the conversation as it stands before the run's first model call.
type ConversationSeeded struct {
	Messages []Message `json:"messages"`
}

// EventType names the event on the wire.
func (ConversationSeeded) EventType() string { return "conversation.seeded" }

// Texts lists what may move out of the log.
func (e *ConversationSeeded) Texts() []*event.Text {
	var out []*event.Text
	for i := range e.Messages {
		out = append(out, e.Messages[i].texts()...)
	}
	return out
}

var _ = event.Define(ConversationSeeded{Messages: []Message{{Role: RoleUser, Content: event.NewText("fix the test")}}})

// ModelCallStarted is durable before the request leaves.
type ModelCallStarted struct {
	ModelCallIndex      int64  `json:"model_call_index"` // 1, 2, 3 … within the run
	StepID              string `json:"step_id"`
	Model               string `json:"model"`
	Provider            string `json:"provider"` // may be empty until the answer names it
	InputTokensEstimate int64  `json:"input_tokens_estimate"`
	ReservedPicoUSD     int64  `json:"reserved_pico_usd,omitempty"` // the most that the call may cost, if the runtime reserves
}

// EventType names the event on the wire.
func (ModelCallStarted) EventType() string { return "model.call.started" }

var _ = event.Define(ModelCallStarted{ModelCallIndex: 1, StepID: "step_1", Model: "m", Provider: "p", InputTokensEstimate: 12})

// ModelResponseRecorded is the model's whole message, kept once. assistant.* events refer to it.
type ModelResponseRecorded struct {
	ModelCallIndex int64   `json:"model_call_index"`
	Message        Message `json:"message"`
	FinishReason   string  `json:"finish_reason"` // stop, tool_calls, length or content_filter
}

// EventType names the event on the wire.
func (ModelResponseRecorded) EventType() string { return "model.response.recorded" }

// Texts lists what may move out of the log.
func (e *ModelResponseRecorded) Texts() []*event.Text { return e.Message.texts() }

var _ = event.Define(ModelResponseRecorded{
	ModelCallIndex: 1, FinishReason: "tool_calls",
	Message: Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "c1", Name: "read_file", Arguments: event.NewText(`{"path":"a"}`)}}},
})

// ModelCallCompleted accounts for one answered model call.
type ModelCallCompleted struct {
	ModelCallIndex        int64  `json:"model_call_index"`
	StepID                string `json:"step_id"`
	Route                 Route  `json:"route,omitzero"`
	CostMicroUSD          int64  `json:"cost_micros_usd"`
	RunCumulativeMicroUSD int64  `json:"run_cumulative_cost_micros_usd"`
	TaskCumulativeMicro   int64  `json:"task_cumulative_cost_micros_usd"`
	CostPicoUSD           int64  `json:"cost_pico_usd"` // what is summed; the others are rounded for show
	CostKnown             bool   `json:"cost_known"`    // false: no price and none reported, which is not zero
	ToolCalls             int64  `json:"tool_calls"`
	Usage                 *Usage `json:"usage,omitempty"` // nil: the provider did not say
}

// Usage is what a model call consumed, in tokens.
type Usage struct {
	Input      int64           `json:"input"`
	Output     int64           `json:"output"`
	CacheRead  int64           `json:"cache_read,omitempty"`
	CacheWrite int64           `json:"cache_write,omitempty"`
	Raw        json.RawMessage `json:"raw,omitempty"` // in the provider's own field names
}

// EventType names the event on the wire.
func (ModelCallCompleted) EventType() string { return "model.call.completed" }

var _ = event.Define(ModelCallCompleted{ModelCallIndex: 1, StepID: "step_1", CostMicroUSD: 12, RunCumulativeMicroUSD: 12, TaskCumulativeMicro: 12, CostPicoUSD: 12_000_000, CostKnown: true, ToolCalls: 1})

// ModelCallFailed says that no usable answer came. Partial is what had arrived, for show only.
type ModelCallFailed struct {
	ModelCallIndex int64      `json:"model_call_index"`
	StepID         string     `json:"step_id"`
	Kind           string     `json:"kind"` // a model.ErrorKind, or routing
	Message        string     `json:"message"`
	Retryable      bool       `json:"retryable"`
	Begun          bool       `json:"begun,omitempty"` // some of an answer had arrived, be it text or calls
	Partial        event.Text `json:"partial,omitzero"`
}

// MayCost reports whether the provider may charge for the call although it failed.
func (e ModelCallFailed) MayCost() bool { return e.Begun || e.Partial.Len() > 0 }

// EventType names the event on the wire.
func (ModelCallFailed) EventType() string { return "model.call.failed" }

// Texts lists what may move out of the log.
func (e *ModelCallFailed) Texts() []*event.Text { return []*event.Text{&e.Partial} }

var _ = event.Define(ModelCallFailed{ModelCallIndex: 1, StepID: "step_1", Kind: "overloaded", Message: "upstream error (529/overloaded_error): busy", Retryable: true})

// ModelCallAbandoned marks a call whose answer nobody will see: the worker
// vanished after the request may have left. Its cost is unknown.
type ModelCallAbandoned struct {
	ModelCallIndex int64  `json:"model_call_index"`
	StepID         string `json:"step_id"`
	Reason         string `json:"reason"`
}

// EventType names the event on the wire.
func (ModelCallAbandoned) EventType() string { return "model.call.abandoned" }

var _ = event.Define(ModelCallAbandoned{ModelCallIndex: 1, StepID: "step_1", Reason: "worker vanished"})

// AssistantText refers to the text of a response. The feed shows the text itself.
type AssistantText struct {
	ModelCallIndex int64 `json:"model_call_index"`
	BlockIndex     int64 `json:"block_index"`
	Response       int64 `json:"response_version"` // version of the model.response.recorded in this stream
}

// EventType names the event on the wire.
func (AssistantText) EventType() string { return "assistant.text_complete" }

var _ = event.Define(AssistantText{ModelCallIndex: 1, Response: 5})

// AssistantThinking refers to what a response shows of the model's reasoning. The feed
// shows the text; what the provider encrypts or withholds is not part of it.
type AssistantThinking struct {
	ModelCallIndex int64 `json:"model_call_index"`
	Response       int64 `json:"response_version"`
}

// EventType names the event on the wire.
func (AssistantThinking) EventType() string { return "assistant.thinking_complete" }

var _ = event.Define(AssistantThinking{ModelCallIndex: 1, Response: 5})

// ToolCallProposed refers to one call of a response. The feed shows its arguments.
type ToolCallProposed struct {
	ModelCallIndex int64  `json:"model_call_index"`
	ToolCallID     string `json:"tool_call_id"`
	ToolName       string `json:"tool_name"`
	Call           int64  `json:"call"` // 0-based place in the response
	Response       int64  `json:"response_version"`
}

// EventType names the event on the wire.
func (ToolCallProposed) EventType() string { return "assistant.tool_call_proposed" }

var _ = event.Define(ToolCallProposed{ModelCallIndex: 1, ToolCallID: "c1", ToolName: "read_file", Response: 5})

// FinalAnswer refers to the response that ends the run. The feed shows its text.
type FinalAnswer struct {
	ModelCallIndex int64  `json:"model_call_index"`
	ArtifactID     string `json:"artifact_id"`
	Response       int64  `json:"response_version"`
}

// EventType names the event on the wire.
func (FinalAnswer) EventType() string { return "assistant.final_answer" }

var _ = event.Define(FinalAnswer{ModelCallIndex: 2, ArtifactID: "final-answer-run_1", Response: 9})
