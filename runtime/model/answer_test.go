package model

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/run"
)

// parse feeds a stream to an assembler as a call does.
func parse(t testing.TB, stream []byte, to assembler) (*Response, *Error) {
	t.Helper()
	events := newSSEReader(bytes.NewReader(stream))
	if _, failure := feed(t.Context(), events, to); failure != nil {
		return nil, failure
	}
	return to.finish()
}

// chunks writes a stream of deltas that ends in good order.
func chunks(deltas ...string) []byte {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"delta":` + d + "}]}\n\n")
	}
	b.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
	return []byte(b.String())
}

func TestCallAssembly(t *testing.T) {
	call := func(id, name, arguments string) run.ToolCall {
		return run.ToolCall{ID: id, Name: name, Arguments: event.NewText(arguments)}
	}
	cases := map[string]struct {
		deltas []string
		want   []run.ToolCall
	}{
		"interleaved by index": {
			[]string{
				`{"tool_calls":[{"index":1,"id":"b","function":{"name":"two","arguments":"{"}},{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":"}"}}]}`,
			},
			[]run.ToolCall{call("b", "two", "{}"), call("a", "one", `{"x":1}`)},
		},
		"index 0 for every call": {
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"id":"b","function":{"name":"one","arguments":"{\"y\":2}"}}]}`,
			},
			[]run.ToolCall{call("a", "one", "{}"), call("b", "one", `{"y":2}`)},
		},
		"a new id for every piece": {
			[]string{
				`{"tool_calls":[{"index":0,"id":"r1","function":{"name":"one","arguments":"{\"x\""}}]}`,
				`{"tool_calls":[{"index":0,"id":"r2","function":{"arguments":":1}"}}]}`,
			},
			[]run.ToolCall{call("r1", "one", `{"x":1}`)},
		},
		"no index, pieces without id": {
			[]string{
				`{"tool_calls":[{"id":"a","function":{"name":"one","arguments":"{\"x\""}}]}`,
				`{"tool_calls":[{"function":{"arguments":":1}"}}]}`,
				`{"tool_calls":[{"id":"b","function":{"name":"two","arguments":""}}]}`,
				`{"tool_calls":[{"id":"a","function":{"arguments":" "}}]}`,
			},
			[]run.ToolCall{call("a", "one", `{"x":1} `), call("b", "two", "{}")},
		},
		"neither index nor id": {
			[]string{
				`{"tool_calls":[{"function":{"name":"one","arguments":"{}"}}]}`,
				`{"tool_calls":[{"function":{"name":"one","arguments":"{\"x\":1}"}}]}`,
			},
			[]run.ToolCall{call("", "one", "{}"), call("", "one", `{"x":1}`)},
		},
		"arguments as an object": {
			[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":{"x":1}}}]}`},
			[]run.ToolCall{call("a", "one", `{"x":1}`)},
		},
		"nulls and an empty piece": {
			[]string{
				`{"content":null,"tool_calls":null}`,
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":null}},{}]}`,
			},
			[]run.ToolCall{call("a", "one", "{}")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, failure := parse(t, chunks(c.deltas...), &openAIAnswer{})
			if failure != nil {
				t.Fatal(failure)
			}
			if diff := cmp.Diff(c.want, got.Message.ToolCalls, cmp.Comparer(func(a, b event.Text) bool { return a.String() == b.String() })); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Liberties are noticed, and harm nothing.
func TestQuirks(t *testing.T) {
	openAI := func() assembler { return &openAIAnswer{} }
	anthropic := func() assembler { return &anthropicAnswer{} }
	call := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}` + "\n\n"
	end := func(reason string) string {
		return `data: {"choices":[{"delta":{},"finish_reason":` + reason + "}]}\n\n"
	}
	done := "data: [DONE]\n\n"
	cases := map[string]struct {
		to     func() assembler
		stream string
		want   []Quirk
	}{
		"none":              {openAI, call + end(`"tool_calls"`) + done, nil},
		"no marker":         {openAI, call + end(`"tool_calls"`), []Quirk{QuirkNoEndMarker}},
		"no reason":         {openAI, call + done, []Quirk{QuirkNoFinishReason}},
		"wrong reason":      {openAI, call + end(`"stop"`) + done, []Quirk{QuirkReason}},
		"reason, no call":   {openAI, end(`"tool_calls"`) + done, []Quirk{QuirkReason}},
		"anthropic, none":   {anthropic, `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n", nil},
		"anthropic, cut":    {anthropic, `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n", []Quirk{QuirkNoEndMarker}},
		"anthropic, reason": {anthropic, `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n", []Quirk{QuirkReason}},
		"calls": {openAI, string(chunks(
			`{"tool_calls":[{"id":"a","function":{"name":"x","arguments":""}}]}`,
			`{"tool_calls":[{"id":"a","function":{"name":"x"}}]}`,
			`{"tool_calls":[{"index":3,"function":{"name":"y","arguments":{"p":1}}}]}`,
			`{"tool_calls":[{"index":3,"id":"c","function":{"name":"z","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":3,"id":"d","function":{"name":"z","arguments":"{}"}}]}`,
		)), []Quirk{QuirkArgumentsEmpty, QuirkArgumentsObject, QuirkCallRepeated, QuirkNoCallIndex, QuirkSameCallIndex}},
		"no id": {openAI, string(chunks(`{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}"}}]}`)), []Quirk{QuirkNoCallID}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, failure := parse(t, []byte(c.stream), c.to())
			if failure != nil {
				t.Fatal(failure)
			}
			if diff := cmp.Diff(c.want, got.Quirks); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFinishReason(t *testing.T) {
	for _, c := range []struct {
		label string
		calls int
		want  string
	}{
		{"stop", 0, "stop"},
		{"stop", 1, "tool_calls"},
		{"", 1, "tool_calls"},
		{"", 0, "stop"},
		{"tool_calls", 0, "stop"},
		{"end_turn", 0, "stop"},
		{"tool_use", 2, "tool_calls"},
		{"length", 1, "length"},
		{"max_tokens", 0, "length"},
		{"content_filter", 1, "content_filter"},
		{"refusal", 0, "content_filter"},
	} {
		if got := effectiveReason(c.label, c.calls); got != c.want {
			t.Errorf("%q with %d calls: %s, want %s", c.label, c.calls, got, c.want)
		}
	}
}

// Streams that must not look like an answer, and how a few odd ones end.
func TestStreamEnds(t *testing.T) {
	text := `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	stop := `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`
	cases := map[string]struct {
		stream string
		want   ErrorKind // "" = an answer
	}{
		"nothing":                    {"", IncompleteStream},
		"no end":                     {text, IncompleteStream},
		"done only":                  {text + "data: [DONE]\n\n", ""},
		"reason only":                {text + stop + "\n\n", ""},
		"last event left open":       {text + stop, ""},
		"done left open":             {text + "data: [DONE]", ""},
		"half an event at the end":   {text + stop[:40], IncompleteStream},
		"broken event in the middle": {text + stop[:40] + "\n\n" + text, InvalidResponse},
		"no choice":                  {"data: [DONE]\n\n", InvalidResponse},
		"error string":               {text + `data: {"error":"boom"}` + "\n\n" + stop + "\n\n", UpstreamError},
		"error event":                {text + "event: error\ndata: {\"message\":\"boom\"}\n\n", UpstreamError},
		"error reason":               {text + `data: {"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\n", UpstreamError},
		"null error":                 {`data: {"error":null,"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n", ""},
		"context length":             {`data: {"error":{"code":"context_length_exceeded","message":"too long"}}` + "\n\n", ContextLength},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, failure := parse(t, []byte(c.stream), &openAIAnswer{})
			switch {
			case c.want == "" && (failure != nil || got.Message.Content.String() != "x"):
				t.Errorf("got %v, %v", got, failure)
			case c.want != "" && (failure == nil || failure.Kind != c.want):
				t.Errorf("got %v, %v; want %s", got, failure, c.want)
			}
		})
	}
}

func TestContentForms(t *testing.T) {
	got, failure := parse(t, chunks(
		`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`,
		`{"content":"b","reasoning_content":"be"}`, `{"refusal":"c","reasoning_content":"cause"}`,
	), &openAIAnswer{})
	if failure != nil {
		t.Fatal(failure)
	}
	if got.Message.Content.String() != "abc" || len(got.Message.Thinking) != 1 ||
		string(got.Message.Thinking[0]) != `{"type":"reasoning_content","text":"because"}` {
		t.Errorf("got %q, %s", got.Message.Content.String(), got.Message.Thinking)
	}
}

func FuzzOpenAIStream(f *testing.F) {
	fuzzStream(f, func() assembler { return &openAIAnswer{} })
}

func FuzzAnthropicStream(f *testing.F) {
	fuzzStream(f, func() assembler { return &anthropicAnswer{} })
}

// fuzzStream checks that a stream never crashes the reader, that cutting it at
// any place changes nothing, and that a failure brings no message along.
func fuzzStream(f *testing.F, begin func() assembler) {
	seeds, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range seeds {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 10_000 {
			f.Add(b)
			f.Add(b[:len(b)*2/3])
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		a, b := begin(), begin()
		got, failure := parse(t, stream, a)
		_, slow := feed(t.Context(), newSSEReader(&pieceReader{stream, 1}), b)
		if slow == nil {
			_, slow = b.finish()
		}
		if (failure == nil) != (slow == nil) || a.partial() != b.partial() {
			t.Errorf("cutting changes the answer: %v or %v", failure, slow)
		}
		if (failure == nil) == (got == nil) {
			t.Errorf("got both or none: %v, %v", got, failure)
		}
	})
}
