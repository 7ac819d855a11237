// Package traces tells a run as a trace: spans with the times and ids that its events
// have. It keeps nothing. The API folds a run's stream when it is asked for the trace,
// and projections/telemetry does the same as the log grows and hands on what has ended;
// both come to the same spans, because ids follow from the ids of events.
//
// A span holds names, numbers and words from closed lists. Texts of people, models and
// programs are not among it: no prompt, answer, argument, path, command or message.
package traces

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/trace"
)

// The names of spans, and with them the families of what happens.
const (
	Request  = "gateway.request" // the root of a run, and of a pass
	Router   = "gateway.router"
	Provider = trace.PartCall // one model call
	Usage    = "gateway.usage"
	Task     = "orchestrator.task"
	RunSpan  = "orchestrator.run"
	Step     = "orchestrator.step"
	Artifact = "orchestrator.artifact"
	Approval = "orchestrator.approval"
	Queue    = "orchestrator.queue"
	PassSpan = "retention.run" // a pass of retention
)

// The kinds and statuses of spans.
const (
	KindServer   = "server"
	KindInternal = "internal"
	KindClient   = "client"

	StatusOK    = "ok"
	StatusError = "error"
	StatusUnset = "unset"
)

// The values of hecate.result.
const (
	Success = "success"
	Denied  = "denied"
	Failure = "error"
)

// Attributes are values by name: strings, int64, bool.
type Attributes map[string]any

// Span is something that takes time.
type Span struct {
	TraceID, SpanID, ParentID string // hexadecimal; ParentID is "" for what belongs to nobody
	Name, Kind                string
	Start, End                time.Time // End is zero while the log does not say that it is over
	Attributes                Attributes
	Status, Message           string // Message is a word from a closed list
	Events                    []Event
}

// Event is a moment within a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes Attributes
}

// eventsMax bounds the events of one span. Nothing but a provider that is asked again
// and again comes near it.
const eventsMax = 128

// phases are the hecate.phase of the events in each family.
var phases = map[string]string{
	Request: "request", Router: "routing", Provider: "provider", Usage: "usage", Task: "orchestration", RunSpan: "orchestration",
	Step: "tool", Artifact: "artifact", Approval: "approval", Queue: "queue", PassSpan: "retention",
}

// note adds an event to the span, with the phase of its family.
func (s *Span) note(name string, e event.Event, attributes Attributes) {
	if len(s.Events) == eventsMax {
		return
	}
	a := Attributes{"hecate.phase": phases[s.Name]}
	for k, v := range attributes {
		a.put(k, v)
	}
	s.Events = append(s.Events, Event{Name: name, At: e.At, Attributes: a})
}

// put adds a value unless it says nothing.
func (a Attributes) put(name string, value any) {
	switch value {
	case "", int64(0), nil:
		return
	}
	a[name] = value
}

// puts adds all that says something.
func (a Attributes) puts(more Attributes) {
	for k, v := range more {
		a.put(k, v)
	}
}

// end closes the span.
func (s *Span) end(e event.Event, status, message string) Span {
	s.End, s.Status, s.Message = e.At, status, message
	if s.End.Before(s.Start) { // the clocks of two machines
		s.End = s.Start
	}
	return *s
}

// milliseconds is how long the span took.
func (s *Span) milliseconds() int64 { return s.End.Sub(s.Start).Milliseconds() }

// labelMax bounds a free name, in bytes.
const labelMax = 96

// Label is a name that somebody chose, as it may stand on a span or a metric: short and
// without control characters. Anything else is "other".
func Label(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > labelMax || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return "other"
	}
	return s
}

// wordMax bounds a code, in bytes.
const wordMax = 64

// word is a code such as max_model_calls_exceeded. What is none is "other", so that no
// text comes here by way of a code.
func word(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
	if len(s) > wordMax || strings.Trim(s, letters) != "" {
		return "other"
	}
	return s
}
