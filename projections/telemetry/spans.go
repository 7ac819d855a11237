package telemetry

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"hecate/domain/trace"
	"hecate/projections/traces"
)

// Scope names this instrumentation in what is exported.
const Scope = "hecate"

// Tracer hands spans that are over to a provider of the OpenTelemetry SDK, under the ids
// that they have. The nil Tracer hands on nothing.
type Tracer struct {
	tracer  oteltrace.Tracer
	sampler sdktrace.Sampler
}

// NewTracer returns a tracer for a provider that was made with IDs and that samples
// everything: what sampler does not want never gets there.
func NewTracer(p oteltrace.TracerProvider, sampler sdktrace.Sampler) *Tracer {
	return &Tracer{tracer: p.Tracer(Scope), sampler: sampler}
}

// Sampled decides whether a trace that begins here, or goes on from a caller's, is
// exported. Without a tracer it is as the caller says, and otherwise true, since another
// node may export it.
func (t *Tracer) Sampled(traceID string, caller trace.Parent) bool {
	if t == nil {
		return caller.TraceID == "" || caller.Sampled()
	}
	ctx := context.Background()
	if caller.TraceID != "" {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, place(caller))
	}
	id, _ := oteltrace.TraceIDFromHex(traceID) // a zero id is sampled like any other
	return t.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: ctx, TraceID: id}).Decision == sdktrace.RecordAndSample
}

// Export hands on one span. It does not wait for anybody.
func (t *Tracer) Export(s traces.Span) {
	if t == nil {
		return
	}
	ctx := context.WithValue(context.Background(), idsKey{}, idsOf(s))
	if s.ParentID != "" {
		parent := place(trace.Parent{TraceID: s.TraceID, SpanID: s.ParentID, Flags: trace.FlagsSampled})
		if s.Kind == traces.KindServer {
			ctx = oteltrace.ContextWithRemoteSpanContext(ctx, parent)
		} else {
			ctx = oteltrace.ContextWithSpanContext(ctx, parent)
		}
	}
	_, span := t.tracer.Start(ctx, s.Name, oteltrace.WithTimestamp(s.Start), oteltrace.WithSpanKind(kinds[s.Kind]), oteltrace.WithAttributes(attributes(s.Attributes)...))
	for _, e := range s.Events {
		span.AddEvent(e.Name, oteltrace.WithTimestamp(e.At), oteltrace.WithAttributes(attributes(e.Attributes)...))
	}
	switch s.Status {
	case traces.StatusOK:
		span.SetStatus(codes.Ok, "")
	case traces.StatusError:
		span.SetStatus(codes.Error, s.Message)
	}
	span.End(oteltrace.WithTimestamp(s.End))
}

var kinds = map[string]oteltrace.SpanKind{
	traces.KindServer: oteltrace.SpanKindServer, traces.KindClient: oteltrace.SpanKindClient, traces.KindInternal: oteltrace.SpanKindInternal,
}

func place(p trace.Parent) oteltrace.SpanContext {
	traceID, _ := oteltrace.TraceIDFromHex(p.TraceID) // checked when they came in, or made by us
	spanID, _ := oteltrace.SpanIDFromHex(p.SpanID)
	var flags oteltrace.TraceFlags
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags.WithSampled(p.Sampled())})
}

func attributes(a traces.Attributes) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(a))
	for _, name := range slices.Sorted(maps.Keys(a)) {
		switch v := a[name].(type) {
		case string:
			out = append(out, attribute.String(name, v))
		case int64:
			out = append(out, attribute.Int64(name, v))
		case bool:
			out = append(out, attribute.Bool(name, v))
		}
	}
	return out
}

// IDs gives spans the ids that they have already, instead of random ones.
type IDs struct{}

type idsKey struct{}

type ids struct {
	trace oteltrace.TraceID
	span  oteltrace.SpanID
}

func idsOf(s traces.Span) (out ids) {
	copyHex(out.trace[:], s.TraceID)
	copyHex(out.span[:], s.SpanID)
	return out
}

// copyHex writes what it can read: an id that is none stays zero, and the SDK drops the span.
func copyHex(to []byte, digits string) {
	if b, err := hex.DecodeString(digits); err == nil {
		copy(to, b)
	}
}

// NewIDs returns the ids of the span that is being handed on.
func (IDs) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	own, _ := ctx.Value(idsKey{}).(ids)
	return own.trace, own.span
}

// NewSpanID returns the id of the span that is being handed on.
func (IDs) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	own, _ := ctx.Value(idsKey{}).(ids)
	return own.span
}
