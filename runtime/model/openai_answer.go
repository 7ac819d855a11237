package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
)

// doneMarker closes a Chat Completions stream.
const doneMarker = "[DONE]"

// openAIChunk is one chunk of a stream, or a whole answer: that one has message
// where a chunk has delta.
type openAIChunk struct {
	Model   string          `json:"model"`
	Choices []openAIChoice  `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type openAIChoice struct {
	Index        int          `json:"index"`
	Delta        *openAIDelta `json:"delta"`
	Message      *openAIDelta `json:"message"`
	FinishReason string       `json:"finish_reason"`
}

type openAIDelta struct {
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        json.RawMessage   `json:"reasoning"`
	ToolCalls        []openAICallDelta `json:"tool_calls"`
}

// openAIAnswer puts a Chat Completions answer together.
type openAIAnswer struct {
	onText    func(string)
	model     string
	text      strings.Builder
	reasoning map[string]*strings.Builder // by field name
	calls     callSlots
	usage     counters
	reason    string
	quirks    quirks
	choice    bool // a choice was seen
	done      bool // the end marker came, or the answer came whole
}

var _ assembler = (*openAIAnswer)(nil)

func (a *openAIAnswer) partial() string { return a.text.String() }

func (a *openAIAnswer) event(ev sseEvent) (bool, *Error) {
	data := bytes.TrimSpace(ev.data)
	if len(data) == 0 {
		return false, nil
	}
	if string(data) == doneMarker {
		a.done = true
		return true, nil
	}
	if ev.name == "error" {
		return false, readComplaint(0, data).failure(200)
	}
	return false, a.add(data)
}

func (a *openAIAnswer) whole(body []byte) *Error {
	a.done = true
	return a.add(body)
}

func (a *openAIAnswer) add(data []byte) *Error {
	var chunk openAIChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return invalid(fmt.Errorf("read answer: %w", err))
	}
	if textOf(chunk.Error) != "" {
		return complaintIn(chunk.Error).failure(200)
	}
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	a.usage.merge(chunk.Usage)
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one answer was asked for
		}
		a.choice = true
		if choice.Delta != nil {
			a.delta(choice.Delta, true)
		}
		if choice.Message != nil {
			a.delta(choice.Message, false)
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
	return nil
}

// delta takes a piece of the message, or the whole of it.
func (a *openAIAnswer) delta(d *openAIDelta, piece bool) {
	for _, text := range []string{contentText(d.Content), d.Refusal} {
		if text == "" {
			continue
		}
		a.text.WriteString(text)
		if a.onText != nil {
			a.onText(text)
		}
	}
	a.think("reasoning_content", d.ReasoningContent)
	var reasoning string
	if json.Unmarshal(d.Reasoning, &reasoning) == nil {
		a.think("reasoning", reasoning)
	}
	for _, c := range d.ToolCalls {
		a.quirks.note(QuirkNoCallIndex, piece && c.Index == nil)
		a.calls.add(c, &a.quirks)
	}
}

func (a *openAIAnswer) think(field, text string) {
	if text == "" {
		return
	}
	if a.reasoning == nil {
		a.reasoning = map[string]*strings.Builder{}
	}
	if a.reasoning[field] == nil {
		a.reasoning[field] = &strings.Builder{}
	}
	a.reasoning[field].WriteString(text)
}

// contentText reads content in its forms: a string, null, or a list of parts of which those with text count.
func contentText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] != '[' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "" || p.Type == "text" || p.Type == "output_text" {
			b.WriteString(textOf(p.Text))
		}
	}
	return b.String()
}

func (a *openAIAnswer) finish() (*Response, *Error) {
	switch {
	case !a.done && a.reason == "":
		return nil, incomplete()
	case a.reason == "error":
		return nil, &Error{Kind: UpstreamError, Message: "the provider stopped with an error", Retryable: true}
	case !a.choice:
		return nil, invalid(fmt.Errorf("the answer holds no choice"))
	}
	m := run.Message{Role: run.RoleAssistant, Content: event.NewText(a.text.String()), ToolCalls: a.calls.calls(&a.quirks)}
	for _, field := range []string{"reasoning_content", "reasoning"} {
		if b := a.reasoning[field]; b != nil {
			block, err := encode(reasoningBlock{Type: field, Text: b.String()})
			if err != nil {
				return nil, invalid(err)
			}
			m.Thinking = append(m.Thinking, block)
		}
	}
	a.quirks.ending(a.done, a.reason, len(m.ToolCalls))
	return &Response{
		Message:      m,
		FinishReason: effectiveReason(a.reason, len(m.ToolCalls)),
		Model:        a.model,
		Usage:        a.usage.openAI(),
		Quirks:       a.quirks,
	}, nil
}

// effectiveReason makes the provider's label fit what came: calls decide
// between stop and tool_calls. A cut or filtered answer always stays one.
func effectiveReason(label string, calls int) string {
	switch label {
	case "length", "max_tokens", "model_context_window_exceeded":
		return "length"
	case "content_filter", "refusal":
		return "content_filter"
	}
	if calls > 0 {
		return "tool_calls"
	}
	return "stop"
}
