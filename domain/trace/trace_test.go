package trace_test

import (
	"strings"
	"testing"

	"hecate/domain/trace"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]trace.Parent{
		"00-" + traceID + "-" + spanID + "-01":                  {TraceID: traceID, SpanID: spanID, Flags: "01"},
		" 00-" + traceID + "-" + spanID + "-00 ":                {TraceID: traceID, SpanID: spanID, Flags: "00"},
		"00-" + traceID + "-" + spanID + "-03":                  {TraceID: traceID, SpanID: spanID, Flags: "01"},
		"cc-" + traceID + "-" + spanID + "-00-whatever":         {TraceID: traceID, SpanID: spanID, Flags: "00"},
		"00-" + traceID + "-" + spanID + "-01-whatever":         {},
		"ff-" + traceID + "-" + spanID + "-01":                  {},
		"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01":  {},
		"00-" + traceID + "-" + strings.Repeat("0", 16) + "-01": {},
		"00-" + strings.ToUpper(traceID) + "-" + spanID + "-01": {},
		"00-" + traceID + "-" + spanID:                          {},
		"":                                                      {},
	} {
		got, ok := trace.Parse(text)
		if got != want || ok != (want.TraceID != "") {
			t.Errorf("%q: %+v %v", text, got, ok)
		}
	}
}

// What was read is written again as it was, but for what nobody needs.
func FuzzParse(f *testing.F) {
	f.Add("00-" + traceID + "-" + spanID + "-01")
	f.Add("cc-" + traceID + "-" + spanID + "-ff-x")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := trace.Parse(text)
		if !ok {
			if p != (trace.Parent{}) {
				t.Errorf("%q: %+v without ok", text, p)
			}
			return
		}
		if again, ok := trace.Parse(p.String()); !ok || again != p {
			t.Errorf("%q: %+v is read again as %+v", text, p, again)
		}
	})
}

// Ids are those of an event and a part, and never zero.
func TestIDs(t *testing.T) {
	seen := map[string]string{}
	for i := range 256 {
		id := [16]byte{15: byte(i)}
		for _, part := range []string{"a", "b", ""} {
			s := trace.SpanID(id, part)
			if len(s) != 16 || strings.Trim(s, "0") == "" || s != trace.SpanID(id, part) || seen[s] != "" {
				t.Fatalf("span %d %q: %s, as %s", i, part, s, seen[s])
			}
			seen[s] = part + "x"
		}
		if s := trace.ID(id); len(s) != 32 || strings.Trim(s, "0") == "" {
			t.Fatalf("trace %s", s)
		}
	}
	if (trace.Parent{}).String() != "" {
		t.Error("no place has a traceparent")
	}
}

// What a caller brings along is passed on word for word, or not at all.
func TestCarry(t *testing.T) {
	parent, _ := trace.Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	long := strings.Repeat("x", trace.BaggageMax)
	for name, c := range map[string]struct {
		parent         trace.Parent
		state, baggage []string
		want           trace.Carried
	}{
		"nothing":           {parent, nil, nil, trace.Carried{}},
		"several lines":     {parent, []string{"a=1", "b=2"}, []string{" k=v;p=1", "l=w "}, trace.Carried{State: "a=1,b=2", Baggage: "k=v;p=1,l=w"}},
		"no trace":          {trace.Parent{}, []string{"a=1"}, []string{"k=v"}, trace.Carried{Baggage: "k=v"}},
		"too long":          {parent, []string{long[:trace.StateMax+1]}, []string{long, "k"}, trace.Carried{}},
		"as long as can be": {parent, []string{long[:trace.StateMax]}, []string{long}, trace.Carried{State: long[:trace.StateMax], Baggage: long}},
		"no header":         {parent, []string{"a=\x00"}, []string{"k=\u00fc"}, trace.Carried{}},
	} {
		if got := trace.Carry(c.parent, c.state, c.baggage); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
