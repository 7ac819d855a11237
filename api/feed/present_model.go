package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

// completedCall adds the route's members to the account of a call, in place of the
// route itself.
type completedCall struct {
	run.ModelCallCompleted
	Route        *struct{} `json:"route,omitempty"`
	Model        string    `json:"model,omitempty"`
	Provider     string    `json:"provider,omitempty"`
	ProviderKind string    `json:"provider_kind,omitempty"`
}

func callCompleted(e run.ModelCallCompleted) completedCall {
	return completedCall{ModelCallCompleted: e, Model: e.Route.Model, Provider: e.Route.Provider, ProviderKind: e.Route.ProviderKind}
}

// completedCheck does the same to the account of a check.
type completedCheck struct {
	run.ProgressCheckCompleted
	Route        *struct{} `json:"route,omitempty"`
	Model        string    `json:"model,omitempty"`
	Provider     string    `json:"provider,omitempty"`
	ProviderKind string    `json:"provider_kind,omitempty"`
	CostMicroUSD int64     `json:"cost_micros_usd"`
}

func checkCompleted(e run.ProgressCheckCompleted) completedCheck {
	return completedCheck{
		ProgressCheckCompleted: e, Model: e.Route.Model, Provider: e.Route.Provider, ProviderKind: e.Route.ProviderKind,
		CostMicroUSD: run.MicroUSD(e.CostPicoUSD),
	}
}

type failedCall struct {
	run.ModelCallFailed
	Partial string `json:"partial,omitempty"`
}

func callFailed(e run.ModelCallFailed) failedCall {
	partial, _ := text(e.Partial)
	return failedCall{ModelCallFailed: e, Partial: partial}
}

// inherited leaves out what the conversation of the run shows.
type inherited struct {
	FromRunID string `json:"from_run_id"`
	Messages  int    `json:"messages"` // those that follow the inherited ones
}

// response says that an answer is there. Its text and calls follow in assistant.*
// events; every text is shown once.
type response struct {
	ModelCallIndex int64  `json:"model_call_index"`
	FinishReason   string `json:"finish_reason"`
	ContentBytes   int64  `json:"content_bytes"`
	ToolCalls      int    `json:"tool_calls"`
}

func responseRecorded(e run.ModelResponseRecorded) response {
	return response{e.ModelCallIndex, e.FinishReason, e.Message.Content.Len(), len(e.Message.ToolCalls)}
}

type assistantText struct {
	ModelCallIndex int64  `json:"model_call_index"`
	BlockIndex     int64  `json:"block_index"`
	Text           string `json:"text"`
}

// thinking is what can be read of the model's reasoning. What the provider encrypts is
// not among it.
type thinking struct {
	ModelCallIndex int64  `json:"model_call_index"`
	Text           string `json:"text"`
}

type proposedCall struct {
	ModelCallIndex int64           `json:"model_call_index"`
	ToolCallID     string          `json:"tool_call_id"`
	ToolName       string          `json:"tool_name"`
	Input          json.RawMessage `json:"input"`
	// What the model wrote, if Input is not the same bytes: digests are made of it.
	Arguments string `json:"arguments,omitempty"`
	Exact     string `json:"arguments_base64,omitempty"`
}

type finalAnswer struct {
	ModelCallIndex int64  `json:"model_call_index"`
	ArtifactID     string `json:"artifact_id,omitempty"`
	Summary        string `json:"summary"`
}

// assistant puts the words of the model back into the event that refers to them.
func (p *presenter) assistant(ctx context.Context, r *eventstore.Record, payload event.Payload) (any, error) {
	switch e := payload.(type) {
	case run.AssistantText:
		m, err := p.responses.message(ctx, p.log, r.Stream, e.Response)
		said, _ := text(m.Content)
		return assistantText{e.ModelCallIndex, e.BlockIndex, said}, err
	case run.AssistantThinking:
		m, err := p.responses.message(ctx, p.log, r.Stream, e.Response)
		thought, _ := text(event.NewText(m.ThinkingText()))
		return thinking{e.ModelCallIndex, thought}, err
	case run.FinalAnswer:
		m, err := p.responses.message(ctx, p.log, r.Stream, e.Response)
		said, _ := text(m.Content)
		return finalAnswer{e.ModelCallIndex, e.ArtifactID, said}, err
	case run.ToolCallProposed:
		m, err := p.responses.message(ctx, p.log, r.Stream, e.Response)
		shown := proposedCall{ModelCallIndex: e.ModelCallIndex, ToolCallID: e.ToolCallID, ToolName: e.ToolName, Input: json.RawMessage("{}")}
		if e.Call >= 0 && e.Call < int64(len(m.ToolCalls)) {
			shown.describe(m.ToolCalls[e.Call].Arguments)
		}
		return shown, err
	}
	return payload, nil
}

// describe shows the arguments of a call, twice if they are not compact JSON.
func (c *proposedCall) describe(arguments event.Text) {
	c.Input = parsedInput(arguments)
	var sent bytes.Buffer
	if json.Compact(&sent, c.Input) != nil || sent.String() != arguments.String() {
		c.Arguments, c.Exact = text(arguments)
	}
}

// parsedInput is what the model wrote as JSON: {} for nothing, {"raw": …} for what
// is no JSON.
func parsedInput(arguments event.Text) json.RawMessage {
	s := strings.TrimSpace(arguments.String())
	switch {
	case s == "" || s == "null":
		return json.RawMessage("{}")
	case json.Valid([]byte(s)):
		return json.RawMessage(s)
	}
	readable, _ := text(arguments)
	raw, err := marshal(map[string]string{"raw": readable})
	if err != nil { // a map of strings always encodes
		return json.RawMessage("{}")
	}
	return raw
}

// responsesMax is how many responses are kept, to put their words back. Events
// refer to a response that stands shortly before them.
const responsesMax = 32

type responseKey struct {
	stream  string
	version int64
}

// responses keeps the last responses that passed by, and the message of the one that
// was read last: events that refer to it follow at once. The zero value is ready.
type responses struct {
	records map[responseKey]*eventstore.Record
	order   []responseKey

	read   responseKey // none while its stream is empty
	shared run.Message // the message of read; not to be changed
}

// keep remembers r if it is a response.
func (c *responses) keep(r *eventstore.Record) {
	if r.Type != (run.ModelResponseRecorded{}).EventType() {
		return
	}
	k := responseKey{r.Stream, r.Version}
	if c.records == nil {
		c.records = map[responseKey]*eventstore.Record{}
	}
	if _, kept := c.records[k]; kept {
		return
	}
	if len(c.order) == responsesMax {
		delete(c.records, c.order[0])
		c.order = c.order[1:]
	}
	c.records[k] = r
	c.order = append(c.order, k)
}

// message returns the response at a version of a stream, with its texts; an empty
// message if there is none.
func (c *responses) message(ctx context.Context, log Log, stream string, version int64) (run.Message, error) {
	k := responseKey{stream, version}
	if c.read == k {
		return c.shared, nil
	}
	r, ok := c.records[k]
	if !ok {
		records, err := log.ReadStream(ctx, stream, version-1, 1)
		if err != nil || len(records) == 0 {
			return run.Message{}, err
		}
		r = &records[0]
		c.keep(r)
	}
	p, err := decoded(ctx, log, r)
	if err != nil {
		return run.Message{}, err
	}
	c.wasRead(r, p)
	recorded, _ := p.(run.ModelResponseRecorded)
	return recorded.Message, nil
}

// wasRead remembers the message of a decoded response.
func (c *responses) wasRead(r *eventstore.Record, p event.Payload) {
	if recorded, ok := p.(run.ModelResponseRecorded); ok {
		c.read, c.shared = responseKey{r.Stream, r.Version}, recorded.Message
	}
}
