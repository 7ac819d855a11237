package request

import (
	"context"
	"log/slog"
)

// LogHandler adds to each line of the log which request it belongs to, as request.id,
// trace.id and span.id, if it was written for one.
type LogHandler struct{ slog.Handler }

// Handle writes the line.
func (h LogHandler) Handle(ctx context.Context, r slog.Record) error {
	if of := From(ctx); of.ID != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("request.id", of.ID), slog.String("trace.id", of.TraceID), slog.String("span.id", of.SpanID))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that adds attributes as well.
func (h LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return LogHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup returns a handler whose attributes stand in a group, those of the request too.
func (h LogHandler) WithGroup(name string) slog.Handler {
	return LogHandler{h.Handler.WithGroup(name)}
}
