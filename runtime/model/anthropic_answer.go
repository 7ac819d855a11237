package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
)

// anthropicEvent is one event of a stream.
type anthropicEvent struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message"`       // message_start
	Index   int               `json:"index"`         // content_block_*
	Block   json.RawMessage   `json:"content_block"` // content_block_start
	Delta   struct {
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"` // message_delta
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"` // message_delta
	Error json.RawMessage `json:"error"`
}

// anthropicMessage is a whole answer, or the head of one.
type anthropicMessage struct {
	Type       string            `json:"type"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
}

// anthropicBlock is one content block while it grows.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`

	index  int
	raw    json.RawMessage
	grown  strings.Builder // deltas of the thinking or the input
	signed bool            // a delta brought the signature
}

// anthropicAnswer puts a Messages answer together.
type anthropicAnswer struct {
	onText func(string)
	model  string
	text   strings.Builder
	blocks []*anthropicBlock
	usage  counters
	reason string
	done   bool
}

var _ assembler = (*anthropicAnswer)(nil)

func (a *anthropicAnswer) partial() string { return a.text.String() }

func (a *anthropicAnswer) event(ev sseEvent) (bool, *Error) {
	data := bytes.TrimSpace(ev.data)
	if len(data) == 0 || string(data) == doneMarker {
		return false, nil
	}
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if ev.name == "error" {
			return false, readComplaint(0, data).failure(200)
		}
		return false, invalid(fmt.Errorf("read event: %w", err))
	}
	if e.Type == "" {
		e.Type = ev.name
	}
	if e.Type == "error" || textOf(e.Error) != "" {
		return false, readComplaint(0, data).failure(200)
	}
	switch e.Type {
	case "message_start":
		return false, a.begin(e.Message)
	case "content_block_start":
		return false, a.open(e.Index, e.Block)
	case "content_block_delta":
		a.grow(e)
	case "message_delta":
		a.usage.merge(e.Usage)
		if e.Delta.StopReason != "" {
			a.reason = e.Delta.StopReason
		}
	case "message_stop":
		a.done = true
	}
	return a.done, nil
}

func (a *anthropicAnswer) whole(body []byte) *Error {
	var m anthropicMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return invalid(fmt.Errorf("read answer: %w", err))
	}
	if m.Type == "error" || textOf(m.Error) != "" {
		return readComplaint(0, body).failure(200)
	}
	if m.Content == nil {
		return invalid(fmt.Errorf("the answer holds no content"))
	}
	a.done = true
	return a.begin(&m)
}

func (a *anthropicAnswer) begin(m *anthropicMessage) *Error {
	if m == nil {
		return nil
	}
	a.model = m.Model
	a.usage.merge(m.Usage)
	a.reason = m.StopReason
	for i, raw := range m.Content {
		if err := a.open(i, raw); err != nil {
			return err
		}
	}
	return nil
}

func (a *anthropicAnswer) open(index int, raw json.RawMessage) *Error {
	b := &anthropicBlock{index: index, raw: bytes.Clone(raw)}
	if err := json.Unmarshal(raw, b); err != nil {
		return invalid(fmt.Errorf("read content block: %w", err))
	}
	a.blocks = append(a.blocks, b)
	if b.Type == "text" {
		a.say(b.Text)
	}
	return nil
}

// grow adds a delta to the newest block with its index.
func (a *anthropicAnswer) grow(e anthropicEvent) {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		b := a.blocks[i]
		if b.index != e.Index {
			continue
		}
		switch b.Type {
		case "text":
			a.say(e.Delta.Text)
		case "thinking":
			b.grown.WriteString(e.Delta.Thinking)
			b.Signature += e.Delta.Signature
			b.signed = b.signed || e.Delta.Signature != ""
		case "tool_use":
			b.grown.WriteString(e.Delta.PartialJSON)
		}
		return
	}
}

func (a *anthropicAnswer) say(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	if a.onText != nil {
		a.onText(text)
	}
}

func (a *anthropicAnswer) finish() (*Response, *Error) {
	if !a.done && a.reason == "" {
		return nil, incomplete()
	}
	m := run.Message{Role: run.RoleAssistant, Content: event.NewText(a.text.String())}
	for _, b := range a.blocks {
		switch b.Type {
		case "thinking", "redacted_thinking":
			raw, err := b.thinking()
			if err != nil {
				return nil, invalid(err)
			}
			m.Thinking = append(m.Thinking, raw)
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, run.ToolCall{ID: b.ID, Name: b.Name, Arguments: event.NewText(b.arguments())})
		}
	}
	var noted quirks
	noted.ending(a.done, a.reason, len(m.ToolCalls))
	return &Response{
		Message:      m,
		FinishReason: effectiveReason(a.reason, len(m.ToolCalls)),
		Model:        a.model,
		Usage:        a.usage.anthropic(),
		Quirks:       noted,
	}, nil
}

// thinking returns the block to send back. One that came in one piece stays as
// it is; one that grew is written anew around the signed text.
func (b *anthropicBlock) thinking() (json.RawMessage, error) {
	if b.grown.Len() == 0 && !b.signed {
		return b.raw, nil
	}
	return encode(struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{b.Type, b.Thinking + b.grown.String(), b.Signature})
}

// arguments returns the exact text of the input; nothing and null are the empty
// object. Deltas replace what the block began with, which is a placeholder then.
func (b *anthropicBlock) arguments() string {
	text := b.grown.String()
	if strings.TrimSpace(text) == "" {
		text = string(b.Input)
	}
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed == "null" {
		return "{}"
	}
	if strings.HasPrefix(text, `"`) {
		return textOf(json.RawMessage(text)) // an input that came as a string holds its JSON
	}
	return text
}
