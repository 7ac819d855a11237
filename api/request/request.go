// Package request says which request is being answered and for whom. The server
// puts it into the context once; whatever answers, logs or records reads it there.
package request

import (
	"context"
	"encoding/hex"
	"strings"

	"hecate/commands"
	"hecate/domain/trace"
	"hecate/eventstore"
)

// IDMax bounds a client's own request id, in bytes.
const IDMax = 128

// The kinds of actor that a request can have.
const (
	KindOperator = "operator" // proved who it is, with a token
	KindClient   = "client"   // whoever reaches the API; its name is a claim, or empty
)

// Info is one request. TraceID and SpanID are lower-case hexadecimal digits.
type Info struct {
	ID      string        // the client's own X-Request-Id if it is sane
	TraceID string        // the caller's, joined, or a new one
	SpanID  string        // made for this request
	Caller  trace.Parent  // the caller's span; the zero value if it named none
	Carried trace.Carried // what came with it
	// Unsampled says that nobody keeps the trace.
	Unsampled bool
	Actor     eventstore.Actor // who asks; the zero value is a client without a name

	CommandID string // of a request that the client named, see CommandID
}

type key struct{}

// With returns a context that carries r.
func With(ctx context.Context, r Info) context.Context { return context.WithValue(ctx, key{}, r) }

// From returns the request that ctx belongs to, the zero Info outside of one.
func From(ctx context.Context) Info {
	r, _ := ctx.Value(key{}).(Info)
	return r
}

// Place is the request's own span as others can go on from it, the zero value outside
// of a request.
func (r Info) Place() trace.Parent {
	p := trace.Parent{TraceID: r.TraceID, SpanID: r.SpanID, Flags: trace.FlagsSampled}
	if r.Unsampled {
		p.Flags = trace.FlagsNone
	}
	return p
}

// Verified reports whether the caller proved who it is.
func (r Info) Verified() bool { return r.Actor.Kind == KindOperator }

// Meta is what a command records about its request. The actor's kind says how much its
// name is worth: "operator" was proved by a token, that of the operator with this name
// or, for the name "runtime-token", the one that all clients of the server share;
// "client" was not, and its name is what the caller said, if anything.
func (r Info) Meta() commands.Meta {
	actor := r.Actor
	if actor.Kind == "" {
		actor.Kind = KindClient
	}
	return commands.Meta{Actor: actor, CommandID: r.CommandID, RequestID: r.ID, Trace: r.Place().String(), Carried: r.Carried}
}

// SaneID reports whether a client's request id may be kept and shown: printable
// ASCII without spaces, at most IDMax bytes.
func SaneID(id string) bool {
	if id == "" || len(id) > IDMax {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Join makes the span of a request: in the trace of a valid traceparent, else in a
// trace of its own. sampled decides whether that is kept; random gives 16 fresh random
// bytes.
func (r *Info) Join(traceparent string, random func() [16]byte, sampled func(traceID string, caller trace.Parent) bool) {
	span := random()
	r.SpanID = hex.EncodeToString(span[:8])
	if caller, ok := trace.Parse(traceparent); ok {
		r.Caller, r.TraceID = caller, caller.TraceID
	} else {
		id := random()
		r.TraceID = hex.EncodeToString(id[:])
	}
	r.Unsampled = !sampled(r.TraceID, r.Caller)
}

// TraceOf is the trace id of a W3C traceparent, "" if it has none.
func TraceOf(traceparent string) string {
	p, _ := trace.Parse(traceparent)
	return p.TraceID
}
