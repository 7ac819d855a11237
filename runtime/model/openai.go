package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"hecate/domain/run"
)

// OpenAI is a client for the Chat Completions dialect.
type OpenAI struct {
	endpoint Endpoint
}

var _ Client = (*OpenAI)(nil)

// NewOpenAI returns a client for the endpoint. Requests go to its chat path, by
// default /v1/chat/completions, with the key as a bearer token.
func NewOpenAI(e Endpoint) *OpenAI {
	return &OpenAI{e.withDefaults()}
}

// Call sends the conversation and returns the whole answer, or an *Error.
func (c *OpenAI) Call(ctx context.Context, call Call) (*Response, error) {
	body, err := c.request(call)
	if err != nil {
		return nil, &Error{Kind: InvalidRequest, Message: err.Error(), Cause: err}
	}
	a, err := c.endpoint.post(ctx, c.endpoint.url(c.endpoint.ChatPath, "/chat/completions"), call.trace(c.headers(call.Stream)), body)
	if err != nil {
		return nil, err
	}
	return c.endpoint.read(ctx, a, call.Stream, &openAIAnswer{onText: call.OnText})
}

func (c *OpenAI) headers(stream bool) http.Header {
	h := acceptHeader(stream)
	if c.endpoint.APIKey != "" {
		h.Set("Authorization", "Bearer "+c.endpoint.APIKey)
	}
	return h
}

func acceptHeader(stream bool) http.Header {
	if stream {
		return http.Header{"Accept": {"text/event-stream, application/json"}}
	}
	return http.Header{"Accept": {"application/json"}}
}

// openAITool is a tool definition on the wire.
type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// EncodeTools writes the list of functions.
func (*OpenAI) EncodeTools(definitions []ToolDefinition) ([]byte, error) {
	if len(definitions) == 0 {
		return nil, nil
	}
	tools := make([]openAITool, len(definitions))
	for i, t := range definitions {
		tools[i].Type = "function"
		tools[i].Function.Name = t.Name
		tools[i].Function.Description = t.Description
		tools[i].Function.Parameters = schemaOf(t)
	}
	list, err := encode(tools)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	return list, nil
}

// request writes the request around the messages, which are encoded already.
func (c *OpenAI) request(call Call) ([]byte, error) {
	model, err := encode(call.Model)
	if err != nil {
		return nil, fmt.Errorf("encode model name: %w", err)
	}
	var b bytes.Buffer
	b.WriteString(`{"model":`)
	b.Write(model)
	b.WriteString(`,"messages":[`)
	first := true
	for _, m := range call.Conversation {
		if len(m.Body) == 0 {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(m.Body)
	}
	b.WriteByte(']')
	if len(call.Tools) > 0 {
		b.WriteString(`,"tools":`)
		b.Write(call.Tools)
	}
	if call.MaxOutputTokens > 0 {
		b.WriteString(`,"` + c.endpoint.OutputLimit + `":` + strconv.FormatInt(call.MaxOutputTokens, 10))
	}
	if call.Stream {
		b.WriteString(`,"stream":true,"stream_options":{"include_usage":true}`)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaOf returns the tool's parameters; a tool without any takes the empty object.
func schemaOf(t ToolDefinition) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// encode writes JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// loaded refuses a message whose texts still stand in blobs: sending it would
// quietly drop what was said.
func loaded(m run.Message) error {
	if m.Content.Ref() != nil && m.Content.String() == "" {
		return fmt.Errorf("encode %s message: its text %s is not loaded", m.Role, m.Content.Ref().Digest)
	}
	for _, c := range m.ToolCalls {
		if c.Arguments.Ref() != nil && c.Arguments.String() == "" {
			return fmt.Errorf("encode tool call %s: its arguments %s are not loaded", c.ID, c.Arguments.Ref().Digest)
		}
	}
	return nil
}
