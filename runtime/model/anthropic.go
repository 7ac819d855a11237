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

const (
	anthropicVersion   = "2023-06-01"
	anthropicMaxTokens = 16_384 // this dialect insists on a limit; every current model takes this one
	ephemeral          = `"cache_control":{"type":"ephemeral"}`
)

// AnthropicOptions are what only this dialect has.
type AnthropicOptions struct {
	MaxTokens    int  // largest answer in tokens of a call without a limit of its own; 0: 16384
	DisableCache bool // leave out the marks that let the provider cache system text and tools
}

// Anthropic is a client for the Messages dialect.
type Anthropic struct {
	endpoint Endpoint
	options  AnthropicOptions
}

var _ Client = (*Anthropic)(nil)

// NewAnthropic returns a client for the endpoint. Requests go to its chat path,
// by default /v1/messages, with the key in x-api-key.
func NewAnthropic(e Endpoint, o AnthropicOptions) *Anthropic {
	if o.MaxTokens <= 0 {
		o.MaxTokens = anthropicMaxTokens
	}
	return &Anthropic{e.withDefaults(), o}
}

// Call sends the conversation and returns the whole answer, or an *Error. All
// system messages go into the system parameter, in order and wherever they stand.
func (c *Anthropic) Call(ctx context.Context, call Call) (*Response, error) {
	body, err := c.request(call)
	if err != nil {
		return nil, &Error{Kind: InvalidRequest, Message: err.Error(), Cause: err}
	}
	a, err := c.endpoint.post(ctx, c.endpoint.url(c.endpoint.ChatPath, "/messages"), call.trace(c.headers(call.Stream)), body)
	if err != nil {
		return nil, err
	}
	return c.endpoint.read(ctx, a, call.Stream, &anthropicAnswer{onText: call.OnText})
}

func (c *Anthropic) headers(stream bool) http.Header {
	h := acceptHeader(stream)
	h.Set("anthropic-version", anthropicVersion)
	if c.endpoint.APIKey != "" {
		h.Set("x-api-key", c.endpoint.APIKey)
	}
	return h
}

func (c *Anthropic) request(call Call) ([]byte, error) {
	model, err := encode(call.Model)
	if err != nil {
		return nil, fmt.Errorf("encode model name: %w", err)
	}
	var b bytes.Buffer
	b.WriteString(`{"model":`)
	b.Write(model)
	limit := int64(c.options.MaxTokens)
	if call.MaxOutputTokens > 0 {
		limit = call.MaxOutputTokens
	}
	b.WriteString(`,"max_tokens":` + strconv.FormatInt(limit, 10))
	if system := c.system(call.Conversation); len(system) > 0 {
		b.WriteString(`,"system":[`)
		b.Write(system)
		b.WriteByte(']')
	}
	b.WriteString(`,"messages":[`)
	for i, t := range turns(call.Conversation) {
		if i > 0 {
			b.WriteByte(',')
		}
		t.write(&b)
	}
	b.WriteByte(']')
	if len(call.Tools) > 0 {
		b.WriteString(`,"tools":`)
		b.Write(call.Tools)
	}
	if call.Stream {
		b.WriteString(`,"stream":true`)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// system joins the system blocks and marks the last one for the cache.
func (c *Anthropic) system(conversation []Encoded) []byte {
	var out []byte
	for _, m := range conversation {
		if m.Role != run.RoleSystem || len(m.Body) == 0 {
			continue
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(out, m.Body...)
	}
	if len(out) > 0 && !c.options.DisableCache {
		out = append(out[:len(out)-1], ","+ephemeral+"}"...) // every block ends in a brace
	}
	return out
}

type anthropicTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

// EncodeTools writes the list of tools. The last one marks what the provider may cache.
func (c *Anthropic) EncodeTools(definitions []ToolDefinition) ([]byte, error) {
	if len(definitions) == 0 {
		return nil, nil
	}
	tools := make([]anthropicTool, len(definitions))
	for i, t := range definitions {
		tools[i] = anthropicTool{Name: t.Name, Description: t.Description, InputSchema: schemaOf(t)}
	}
	if !c.options.DisableCache {
		tools[len(tools)-1].CacheControl = json.RawMessage(`{"type":"ephemeral"}`)
	}
	list, err := encode(tools)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	return list, nil
}

// turn is neighbouring messages of one speaker, which this dialect wants as one.
type turn struct {
	assistant bool
	results   [][]byte // tool results, which must come first
	blocks    [][]byte
}

// turns merges neighbours. Tool results are the user's turn; empty messages vanish.
func turns(conversation []Encoded) []turn {
	var out []turn
	for _, m := range conversation {
		if m.Role == run.RoleSystem || len(m.Body) == 0 {
			continue
		}
		assistant := m.Role == run.RoleAssistant
		if len(out) == 0 || out[len(out)-1].assistant != assistant {
			out = append(out, turn{assistant: assistant})
		}
		last := &out[len(out)-1]
		if m.Role == run.RoleTool {
			last.results = append(last.results, m.Body)
		} else {
			last.blocks = append(last.blocks, m.Body)
		}
	}
	return out
}

func (t turn) write(b *bytes.Buffer) {
	role := run.RoleUser
	if t.assistant {
		role = run.RoleAssistant
	}
	b.WriteString(`{"role":"` + string(role) + `","content":[`)
	for i, block := range append(t.results, t.blocks...) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(block)
	}
	b.WriteString(`]}`)
}
