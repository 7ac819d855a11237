// Package trace names spans after the events that begin them. Whoever reads the log,
// and whoever wrote it, gets the same ids without asking anybody: a worker can tell a
// provider which span its request belongs to before that span has been exported, and a
// record that is delivered twice makes the same span twice.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FlagsSampled and FlagsNone are the W3C trace flags that are used: whether somebody
// keeps the trace.
const (
	FlagsSampled = "01"
	FlagsNone    = "00"
)

// The parts of what an event begins. Each part has a span of its own.
const (
	PartCall = "gateway.provider" // a model call, of model.call.started
)

// SpanID is the id of one span that an event begins: 16 hexadecimal digits that depend
// on the event's id and the part alone.
func SpanID(eventID [16]byte, part string) string { return derive(eventID, part, 8) }

// ID is the trace id of what an event begins without belonging to anybody's trace: 32
// hexadecimal digits that depend on the event's id alone.
func ID(eventID [16]byte) string { return derive(eventID, "trace", 16) }

func derive(id [16]byte, part string, size int) string {
	h := sha256.New()
	h.Write(id[:])
	h.Write([]byte(part))
	out := h.Sum(nil)[:size]
	out[0] |= 1 // zero is no id
	return hex.EncodeToString(out)
}

// Parent is a place in a trace that others can go on from. The zero value is none.
type Parent struct {
	TraceID string // 32 lower-case hexadecimal digits
	SpanID  string // 16 of them
	Flags   string // FlagsSampled or FlagsNone
}

// Carried is what a caller's trace brings along, word for word: W3C tracestate and baggage.
type Carried struct {
	State   string `json:"trace_state,omitempty"`
	Baggage string `json:"baggage,omitempty"`
}

// Limits of what is carried, in bytes. Source: W3C Trace Context and Baggage, what everybody must pass on.
const (
	StateMax   = 512
	BaggageMax = 8192
)

// Carry returns what of the values of the two headers is passed on. Values over the limits, and
// such as no header holds, are dropped; they are nobody's but the caller's. A tracestate
// belongs to a traceparent and counts for nothing without it.
func Carry(parent Parent, state, baggage []string) Carried {
	c := Carried{Baggage: header(baggage, BaggageMax)}
	if parent != (Parent{}) {
		c.State = header(state, StateMax)
	}
	return c
}

func header(values []string, limit int) string {
	all := strings.TrimSpace(strings.Join(values, ","))
	if len(all) > limit || strings.ContainsFunc(all, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return all
}

// String writes the place as a W3C traceparent, "" for none.
func (p Parent) String() string {
	if p.TraceID == "" {
		return ""
	}
	return "00-" + p.TraceID + "-" + p.SpanID + "-" + p.Flags
}

// Sampled reports whether the trace is to be kept.
func (p Parent) Sampled() bool { return p.Flags == FlagsSampled }

// Parse reads a W3C traceparent; ok is false if it is none. Versions after 00 may have
// more fields; version ff is invalid by the standard. Of the flags only whether the
// trace is sampled is kept.
func Parse(s string) (p Parent, ok bool) {
	f := strings.Split(strings.TrimSpace(s), "-")
	if len(f) < 4 || f[0] == "00" && len(f) != 4 || f[0] == "ff" {
		return Parent{}, false
	}
	for i, digits := range []int{2, 32, 16, 2} {
		if len(f[i]) != digits || strings.Trim(f[i], "0123456789abcdef") != "" {
			return Parent{}, false
		}
	}
	if strings.Trim(f[1], "0") == "" || strings.Trim(f[2], "0") == "" {
		return Parent{}, false
	}
	p = Parent{TraceID: f[1], SpanID: f[2], Flags: FlagsNone}
	if strings.ContainsRune("13579bdf", rune(f[3][1])) {
		p.Flags = FlagsSampled
	}
	return p, true
}
