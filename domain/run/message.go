package run

import (
	"encoding/json"
	"strings"

	"hecate/domain/event"
)

// Role is who speaks in a conversation.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a run's conversation, in the shape that every provider
// dialect can be written from.
type Message struct {
	Role       Role       `json:"role"`
	Content    event.Text `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // assistant only
	ToolCallID string     `json:"tool_call_id,omitempty"` // tool only
	ToolError  bool       `json:"tool_error,omitempty"`   // tool only: failed, blocked or unknown
	// Thinking holds the provider's signed reasoning blocks as they came. They are
	// sent back with the tool results and are no part of the answer.
	Thinking []json.RawMessage `json:"thinking,omitempty"`
}

// ThinkingText is what can be read of the message's reasoning, or of the provider's
// summary of it; "" if there is none. It is for show: no rationale that was stated.
func (m Message) ThinkingText() string {
	var parts []string
	for _, raw := range m.Thinking {
		// The members that the two dialects of model providers put readable reasoning in.
		var block struct {
			Thinking string `json:"thinking"`
			Text     string `json:"text"`
		}
		if json.Unmarshal(raw, &block) != nil {
			continue
		}
		for _, text := range []string{block.Thinking, block.Text} {
			if text = strings.TrimSpace(text); text != "" {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, "\n\n")
}

// ToolCall is one call that the model asks for. Arguments is the exact text that
// the model wrote, which may be no valid JSON.
type ToolCall struct {
	ID        string     `json:"id"`
	Name      string     `json:"name" erased:"keep"`
	Arguments event.Text `json:"arguments"`
}

// texts lists what may be too large for the log itself.
func (m *Message) texts() []*event.Text {
	out := []*event.Text{&m.Content}
	for i := range m.ToolCalls {
		out = append(out, &m.ToolCalls[i].Arguments)
	}
	return out
}

// Blank reports whether the message says nothing: no calls and only white space.
func (m Message) Blank() bool {
	return len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content.String()) == ""
}

// ArgumentsJSON returns the call's arguments as valid JSON for a provider that
// insists on it: the text itself if it is a JSON object, else {"raw": text}. What
// the model wrote stays in the log; this form only goes back to a provider.
func (c ToolCall) ArgumentsJSON() json.RawMessage {
	text := strings.TrimSpace(c.Arguments.String())
	if text == "" || text == "null" {
		return json.RawMessage("{}")
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(map[string]string{"raw": text})
	if err != nil { // a map of strings always encodes
		return json.RawMessage("{}")
	}
	return raw
}
