package model

import (
	"bytes"
	"encoding/json"
	"strings"

	"hecate/domain/run"
)

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type toolUseBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResultBlock struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

// Encode writes one message as the blocks of its turn, with commas between them.
// The dialect refuses blank text blocks, so a message of white space only has no
// body and is left out when it is sent.
func (*Anthropic) Encode(m run.Message) (Encoded, error) {
	if err := loaded(m); err != nil {
		return Encoded{}, err
	}
	var blocks [][]byte
	add := func(v any) error {
		b, err := encode(v)
		blocks = append(blocks, b)
		return err
	}
	if m.Role == run.RoleTool {
		text := m.Content.String()
		if m.ToolError && strings.TrimSpace(text) == "" {
			text = "failed without output" // the dialect refuses an error without a text
		}
		err := add(toolResultBlock{"tool_result", m.ToolCallID, text, m.ToolError})
		return Encoded{Role: m.Role, Body: bytes.Join(blocks, []byte(","))}, err
	}
	if m.Role == run.RoleAssistant && m.Blank() {
		return Encoded{Role: m.Role}, nil // thoughts alone are no turn either
	}
	for _, raw := range m.Thinking {
		if signed(raw) {
			blocks = append(blocks, raw) // the signature covers these very bytes
		}
	}
	if text := m.Content.String(); strings.TrimSpace(text) != "" {
		if err := add(textBlock{"text", text}); err != nil {
			return Encoded{}, err
		}
	}
	for _, c := range m.ToolCalls {
		if err := add(toolUseBlock{"tool_use", c.ID, c.Name, c.ArgumentsJSON()}); err != nil {
			return Encoded{}, err
		}
	}
	return Encoded{Role: m.Role, Body: bytes.Join(blocks, []byte(","))}, nil
}

// signed reports whether a thinking block is of this dialect.
func signed(raw json.RawMessage) bool {
	var block struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &block) == nil && (block.Type == "thinking" || block.Type == "redacted_thinking")
}
