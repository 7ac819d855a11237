package main

import (
	"context"
	"fmt"
	"log/slog"

	"hecate/domain/secret"
)

// withholding keeps secrets out of the log of the server, wherever it goes.
type withholding struct {
	slog.Handler
	secrets *secret.Set
}

// Handle writes the line without the secrets.
func (h withholding) Handle(ctx context.Context, r slog.Record) error {
	message, names := h.secrets.Withhold(r.Message)
	changed := len(names) > 0
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		value, found := h.value(a.Value)
		changed = changed || found
		attrs = append(attrs, slog.Attr{Key: a.Key, Value: value})
		return true
	})
	if changed {
		r = slog.NewRecord(r.Time, r.Level, message, r.PC)
		r.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, r)
}

// value returns a value without secrets, and whether there was one in it. What is no text is
// looked at as one.
func (h withholding) value(v slog.Value) (slog.Value, bool) {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindString:
		text, names := h.secrets.Withhold(v.String())
		return slog.StringValue(text), len(names) > 0
	case slog.KindGroup:
		group, changed := h.attrs(v.Group())
		return slog.GroupValue(group...), changed
	case slog.KindAny:
		if text, names := h.secrets.Withhold(fmt.Sprintf("%+v", v.Any())); len(names) > 0 {
			return slog.StringValue(text), true
		}
	}
	return v, false
}

func (h withholding) attrs(in []slog.Attr) (out []slog.Attr, changed bool) {
	for _, a := range in {
		value, found := h.value(a.Value)
		changed = changed || found
		out = append(out, slog.Attr{Key: a.Key, Value: value})
	}
	return out, changed
}

// WithAttrs returns a handler that adds attributes as well.
func (h withholding) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs, _ = h.attrs(attrs)
	return withholding{h.Handler.WithAttrs(attrs), h.secrets}
}

// WithGroup returns a handler whose attributes stand in a group.
func (h withholding) WithGroup(name string) slog.Handler {
	return withholding{h.Handler.WithGroup(name), h.secrets}
}
