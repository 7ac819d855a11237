package otlp

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	oteltrace "go.opentelemetry.io/otel/trace"

	"hecate/domain/trace"
)

// handler writes lines of the log both where they went before and to the collector.
type handler struct {
	slog.Handler
	logger log.Logger
	place  func(context.Context) trace.Parent
	attrs  []attribute.KeyValue
	group  string // what names of attributes begin with
}

// Enabled is what the first handler says: both write the same lines.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, level)
}

// Handle writes the line twice.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var out log.Record
	out.SetTimestamp(r.Time)
	out.SetBody(attribute.StringValue(r.Message))
	out.SetSeverity(log.SeverityInfo + log.Severity(r.Level)) // both count four steps from one level to the next
	out.SetSeverityText(r.Level.String())
	out.AddAttributes(h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttributes(keyValues(h.group, a)...)
		return true
	})
	h.logger.Emit(within(ctx, h.place(ctx)), out)
	return h.Handler.Handle(ctx, r)
}

// within puts the place into a context for the SDK.
func within(ctx context.Context, p trace.Parent) context.Context {
	traceID, err := oteltrace.TraceIDFromHex(p.TraceID)
	if err != nil {
		return ctx
	}
	spanID, err := oteltrace.SpanIDFromHex(p.SpanID)
	if err != nil {
		return ctx
	}
	var flags oteltrace.TraceFlags
	return oteltrace.ContextWithSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: flags.WithSampled(p.Sampled()),
	}))
}

// WithAttrs returns a handler that adds attributes to each line.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.Handler, out.attrs = h.Handler.WithAttrs(attrs), slices.Clone(h.attrs)
	for _, a := range attrs {
		out.attrs = append(out.attrs, keyValues(h.group, a)...)
	}
	return &out
}

// WithGroup returns a handler whose attributes stand in a group.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	out := *h
	out.Handler, out.group = h.Handler.WithGroup(name), h.group+name+"."
	return &out
}

// keyValues writes an attribute; those of a group one by one.
func keyValues(group string, a slog.Attr) []attribute.KeyValue {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		var out []attribute.KeyValue
		for _, b := range v.Group() {
			out = append(out, keyValues(group, b)...)
		}
		return out
	case slog.KindBool:
		return []attribute.KeyValue{attribute.Bool(group+a.Key, v.Bool())}
	case slog.KindInt64:
		return []attribute.KeyValue{attribute.Int64(group+a.Key, v.Int64())}
	case slog.KindFloat64:
		return []attribute.KeyValue{attribute.Float64(group+a.Key, v.Float64())}
	}
	if a.Equal(slog.Attr{}) {
		return nil
	}
	return []attribute.KeyValue{attribute.String(group+a.Key, v.String())}
}
