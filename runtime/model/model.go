// Package model talks to model providers. One small interface hides the two wire
// dialects (OpenAI-compatible Chat Completions and Anthropic Messages), streaming
// or not; a half-finished or broken answer never looks like a finished one.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"hecate/domain/run"
	"hecate/domain/trace"
)

// Client asks one provider.
type Client interface {
	// Encode writes one message in the provider's dialect. The result depends on
	// the message alone, so a growing conversation encodes each message once.
	Encode(m run.Message) (Encoded, error)
	// EncodeTools writes the catalogue in the provider's dialect, once for all calls
	// of a run; nil for an empty one.
	EncodeTools(tools []ToolDefinition) ([]byte, error)
	// Call sends the conversation and returns the whole answer, or an *Error.
	Call(ctx context.Context, c Call) (*Response, error)
}

// Encoded is a message in a provider's dialect. The client that made it knows
// what Body is; neighbours of one role may be merged when they are sent.
type Encoded struct {
	Role run.Role
	Body []byte
}

// Call is one request.
type Call struct {
	Model        string
	Conversation []Encoded
	Tools        []byte // as EncodeTools made them; nil leaves the field out of the request
	Stream       bool
	// MaxOutputTokens is the largest answer, in tokens. With 0 the dialect's own rule
	// holds: no limit in Chat Completions, AnthropicOptions.MaxTokens in Messages.
	MaxOutputTokens int64
	// Traceparent is sent along, as W3C Trace Context has it: the span of this call. It may
	// be empty.
	Traceparent string
	Carried     trace.Carried // goes with it
	// OnText gets the answer's text as it arrives, in order, from the goroutine
	// that called Call. It may be nil.
	OnText func(delta string)
}

// ToolDefinition is a tool as the model sees it.
type ToolDefinition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
}

// Response is a complete answer. FinishReason is the effective one: stop,
// tool_calls, length or content_filter.
type Response struct {
	Message      run.Message
	FinishReason string
	Model        string // as the provider names it, empty if it does not say
	Usage        *Usage // nil: the provider did not say, which is not zero
	// Quirks are the liberties that the provider took with its dialect and that did
	// no harm, each named once and sorted.
	Quirks []Quirk
}

// Usage is what one call consumed, with the last value that the provider gave of each counter.
type Usage struct {
	Raw         json.RawMessage // the provider's own field names
	Partial     bool            // one of Input and Output is 0 only because it was not said
	Input       int64           // tokens of the prompt, cached ones included
	Output      int64           // tokens of the answer
	CacheRead   int64
	CacheWrite  int64
	CostPicoUSD *int64 // only if the provider reports a cost (usage.cost in USD)
}

// ErrorKind classifies a failed call.
type ErrorKind string

// The kinds of failure.
const (
	IncompleteStream ErrorKind = "incomplete_stream" // no end marker
	UpstreamError    ErrorKind = "upstream_error"
	Overloaded       ErrorKind = "overloaded"
	RateLimited      ErrorKind = "rate_limited"
	InvalidRequest   ErrorKind = "invalid_request"
	ContextLength    ErrorKind = "context_length"
	InvalidResponse  ErrorKind = "invalid_response"
	Unreachable      ErrorKind = "unreachable" // no connection, or it broke before an answer
	Canceled         ErrorKind = "canceled"    // the caller's context ended; Cause is its error
)

// Error is a failed call. Partial is the text that had arrived; it may be shown
// and is never an answer.
type Error struct {
	Kind       ErrorKind
	Status     int // HTTP status, 0 if there was none
	Type       string
	Message    string
	Retryable  bool          // information for callers
	RetryAfter time.Duration // 0 if the provider did not say; at most RetryAfterMax
	Begun      bool          // some of the answer had arrived, so asking again would be asking twice
	Partial    string
	Cause      error // what Unwrap returns; nil if the provider itself refused
}

// Unwrap returns the cause, so that errors.Is finds context.Canceled.
func (e *Error) Unwrap() error { return e.Cause }

// Elsewhere reports whether another provider may well answer the same request:
// nothing of an answer has arrived, and what failed is the provider, the account
// there or the model there, not the request itself.
func (e *Error) Elsewhere() bool {
	switch {
	case e.Begun:
		return false
	case e.Kind == Canceled, e.Kind == ContextLength:
		return false
	case e.Kind == InvalidRequest:
		return slices.Contains(accountStatuses, e.Status)
	}
	return true
}

// accountStatuses are refusals that say nothing about the request.
var accountStatuses = []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound}

func (e *Error) Error() string {
	typ := e.Type
	if typ == "" {
		typ = string(e.Kind)
	}
	return fmt.Sprintf("upstream error (%d/%s): %s", e.Status, typ, e.Message)
}
