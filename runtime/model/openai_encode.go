package model

import (
	"encoding/json"

	"hecate/domain/run"
)

// openAIMessage is a message on the wire. Content is null in an assistant
// message that only calls tools.
type openAIMessage struct {
	Role       run.Role     `json:"role"`
	Content    *string      `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID *string      `json:"tool_call_id,omitempty"`
	// A provider that sends its reasoning in one of these fields may insist on
	// having it back while a batch of its tool calls is open.
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

type openAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON, in a string
}

// reasoningBlock is how a message keeps reasoning that has no signature. The
// type is the name of the field that it came in.
type reasoningBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Encode writes one message. Arguments that the model broke are sent in a form
// that parses, or the provider would refuse every later request. An assistant
// message that says nothing has no body and is left out: some servers refuse it.
func (*OpenAI) Encode(m run.Message) (Encoded, error) {
	if err := loaded(m); err != nil {
		return Encoded{}, err
	}
	if m.Role == run.RoleAssistant && m.Blank() {
		return Encoded{Role: m.Role}, nil
	}
	content := m.Content.String()
	out := openAIMessage{Role: m.Role, Content: &content}
	switch m.Role {
	case run.RoleTool:
		out.ToolCallID = &m.ToolCallID
	case run.RoleAssistant:
		out.assistant(m)
	}
	body, err := encode(out)
	return Encoded{Role: m.Role, Body: body}, err
}

func (o *openAIMessage) assistant(m run.Message) {
	if len(m.ToolCalls) == 0 {
		return
	}
	if *o.Content == "" {
		o.Content = nil
	}
	for _, c := range m.ToolCalls {
		o.ToolCalls = append(o.ToolCalls, openAICall{
			ID: c.ID, Type: "function",
			Function: openAIFunction{Name: c.Name, Arguments: string(c.ArgumentsJSON())},
		})
	}
	for _, raw := range m.Thinking {
		var block reasoningBlock
		if json.Unmarshal(raw, &block) != nil {
			continue // another dialect's block, which means nothing here
		}
		switch block.Type {
		case "reasoning_content":
			o.ReasoningContent = block.Text
		case "reasoning":
			o.Reasoning = block.Text
		}
	}
}
