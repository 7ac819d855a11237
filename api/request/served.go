package request

import (
	"log/slog"
	"strings"
	"time"
)

// Served is a request that has been answered, or given up.
type Served struct {
	Info
	Method string // "OTHER" if it is none of HTTP's
	Route  string // the pattern of the path, such as /hecate/v1/tasks/{task_id}; "" for unknown paths
	Status int    // 0 if the connection broke before an answer began
	Start  time.Time
	End    time.Time
}

// methods are those that are named; another one is what a stranger made up.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}

// Method returns a request's method as it may be logged and exported.
func Method(m string) string {
	for _, known := range methods {
		if m == known {
			return m
		}
	}
	return "OTHER"
}

// Route takes the path out of the pattern of a multiplexer.
func Route(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	return pattern
}

// EventName is what a served request is called in the log and as a span.
const EventName = "http.server.request"

// Attrs describe the request in the log; LogHandler adds its ids.
func (s Served) Attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("event.name", EventName), slog.String("http.request.method", s.Method), slog.Int("http.response.status_code", s.Status),
		slog.Int64("hecate.http.duration_ms", s.End.Sub(s.Start).Milliseconds()),
	}
	if s.Route != "" {
		attrs = append(attrs, slog.String("http.route", s.Route))
	}
	return attrs
}
