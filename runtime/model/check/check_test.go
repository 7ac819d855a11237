package check_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/runtime/model"
	"hecate/runtime/model/check"
	"hecate/runtime/model/scripted"
)

func serve(t *testing.T, s *scripted.Server) string {
	t.Helper()
	url, stop, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func openAI(url string) model.Route {
	return model.Route{Provider: "p", Model: scripted.ModelName, Client: model.NewOpenAI(model.Endpoint{BaseURL: url})}
}

// lines runs the checks and puts each result on a line.
func lines(t *testing.T, r model.Route) string {
	t.Helper()
	var reported []check.Result
	results := check.Run(t.Context(), r, func(r check.Result) { reported = append(reported, r) })
	if diff := cmp.Diff(results, reported); diff != "" {
		t.Errorf("returned and reported differ:\n%s", diff)
	}
	var b strings.Builder
	for _, r := range results {
		b.WriteString(string(r.Status) + " " + r.Name + ": " + r.Text + "\n")
	}
	return b.String()
}

// Words of the questions, by which the scripts tell them apart.
const (
	asksResult    = "The sum is 42."
	asksWord      = "single word"
	asksSum       = "with a = 17"
	asksTwice     = "get_weather twice"
	asksClock     = "Call the tool current_time"
	asksLine      = "Repeat this line"
	asksTwoPieces = "from 1 to 200"
)

func always(marker string, r scripted.Reply) scripted.Script {
	return scripted.Script{Marker: marker, Replies: []scripted.Reply{r}, Repeat: true}
}

func good() []scripted.Script {
	usage := &[2]int64{20, 2}
	call := scripted.ToolCall
	return []scripted.Script{
		always(asksResult, scripted.Reply{Text: "It is 42."}),
		always(asksWord, scripted.Reply{Text: "ready", Usage: usage}),
		always(asksSum, scripted.Reply{Calls: []scripted.Call{call("c1", "add_numbers", `{"a": 17, "b": 25}`)}}),
		always(asksTwice, scripted.Reply{Text: "I look.", Calls: []scripted.Call{call("c1", "get_weather", `{"city":"Oslo"}`), call("c2", "get_weather", `{"city":"Rome"}`)}}),
		always(asksClock, scripted.Reply{Calls: []scripted.Call{call("c1", "current_time", "{}")}}),
		always(asksLine, scripted.Reply{Text: "Grüße, 世界 ✅ 🚀"}),
		always(asksTwoPieces, scripted.Reply{Text: "1\n2\n3", FinishReason: "length"}),
	}
}

func TestGoodServer(t *testing.T) {
	url := serve(t, scripted.New(good()...))
	want := `pass model list: It lists 1, and scripted-model is among them.
pass answer: A whole answer came in one piece.
pass streamed answer: The answer came as a stream, its text in 1.
pass end marker: The stream says why it ends and closes with its end marker, so a cut one is recognised.
pass usage: Tokens are reported; costs follow from HECATE_MODEL_PRICES.
pass tool call: The tool is called with the right arguments.
pass tool result: The result of a tool is taken in and used.
pass parallel tool calls: 2 calls came in one answer, each with an id and arguments of its own.
pass tool without arguments: A tool without parameters is called with an empty object.
pass unicode: Characters beyond ASCII came back unharmed.
pass output limit: A limit on the answer holds, and the answer says that it was cut; Hecate runs no tool call of a cut answer.
`
	if diff := cmp.Diff(want, lines(t, openAI(url))); diff != "" {
		t.Errorf("openai (-want +got):\n%s", diff)
	}
	r := openAI(url)
	r.Client = model.NewAnthropic(model.Endpoint{BaseURL: url}, model.AnthropicOptions{})
	if diff := cmp.Diff(want, lines(t, r)); diff != "" {
		t.Errorf("anthropic (-want +got):\n%s", diff)
	}
}

// stream is a Chat Completions stream of the deltas, without an end marker unless ended.
func stream(reason string, ended bool, deltas ...string) scripted.Reply {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + "}]}\n\n")
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":` + reason + "}]}\n\n")
	if ended {
		b.WriteString("data: [DONE]\n\n")
	}
	return scripted.Reply{Stream: []byte(b.String())}
}

// A server that takes every liberty that is known works all the same, and is told so.
func TestQuirkyServer(t *testing.T) {
	s := scripted.New(
		always(asksResult, stream(`"stop"`, true, `{"content":"Fine."}`)),
		always(asksWord, stream(`"stop"`, false, `{"content":"rea"}`, `{"content":"dy"}`)),
		always(asksSum, stream(`"stop"`, true,
			`{"tool_calls":[{"id":"a","function":{"name":"add_numbers","arguments":"{\"a\":17,"}}]}`,
			`{"tool_calls":[{"id":"a","function":{"name":"add_numbers","arguments":"\"b\":25}"}}]}`)),
		always(asksTwice, stream(`"tool_calls"`, true,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":{"city":"Oslo"}}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"get_weather","arguments":{"city":"Rome"}}}]}`)),
		always(asksClock, stream("null", true, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"current_time","arguments":""}}]}`)),
		always(asksLine, stream(`"stop"`, true, `{"content":"Gr\u00fc\u00dfe"}`)),
		always(asksTwoPieces, stream(`"stop"`, true, `{"content":"1\n2"}`)),
	)
	s.Models = []string{"other"}
	want := `quirk model list: It lists 1, and scripted-model is not among them; Hecate asks for it all the same when a task names it.
quirk answer: A stream came although none was asked for; Hecate reads either form.
pass streamed answer: The answer came as a stream, its text in 2.
quirk end marker: The stream closes without its end marker; Hecate goes by the finish reason, so a cut after that goes unnoticed.
quirk usage: Tokens are not reported; costs are unknown and a cost ceiling cannot be enforced.
quirk tool call: The finish reason does not fit the tool calls beside it; Hecate goes by the calls. Pieces of tool calls carry no index; Hecate tells the calls apart by their ids. Id or name of a tool call are repeated in later pieces; Hecate keeps the first of each.
quirk tool result: The result of the tool is accepted, but the answer "Fine." does not use it.
quirk parallel tool calls: Several tool calls carry the same index; Hecate tells them apart by id and name. Arguments come as JSON and not as text; Hecate takes the JSON as it is written.
quirk tool without arguments: Missing arguments come as an empty text; Hecate reads them as the empty object.
quirk unicode: The line came back as "Grüße"; no character is broken, so that is the model's doing.
quirk output limit: The answer does not say that it was cut (it ends with "stop"); a cut tool call would be recognised by its broken arguments.
`
	if diff := cmp.Diff(want, lines(t, openAI(serve(t, s)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What makes tasks fail is called a failure, each with its reason.
func TestFailures(t *testing.T) {
	call := scripted.ToolCall
	s := scripted.New(append([]scripted.Script{
		always(asksSum, scripted.Reply{Text: `add_numbers({"a": 17, "b": 25})`}),
		always(asksTwice, scripted.Reply{Calls: []scripted.Call{call("c", "get_weather", "{}"), call("c", "get_weather", "{}")}}),
		always(asksClock, scripted.Reply{Calls: []scripted.Call{call("", "current_time", "{}")}}),
		always(asksLine, scripted.Reply{Text: "Gr\uFFFD\uFFFDe"}),
		always(asksTwoPieces, scripted.Reply{HTTP: 400, Body: []byte(`{"error":{"message":"max_tokens is not supported"}}`)}),
	}, good()...)...)
	got := lines(t, openAI(serve(t, s)))
	for _, want := range []string{
		"fail tool call: The call came as text",
		"fail parallel tool calls: Two tool calls came with the same id",
		"fail tool without arguments: A tool call came without an id",
		"fail unicode: The server breaks characters",
		"fail output limit: With a limit of 32 tokens: The server refused the request (upstream error (400/invalid_request): max_tokens is not supported).",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "tool result") {
		t.Errorf("a result of no call was sent:\n%s", got)
	}
}

// When nothing more can be learned, nothing more is asked.
func TestEndsEarly(t *testing.T) {
	cases := map[string]struct {
		reply scripted.Reply
		want  string
	}{
		"key":     {scripted.Reply{HTTP: 401, Body: []byte(`{"error":{"message":"bad key"}}`)}, "bad key"},
		"model":   {scripted.Reply{HTTP: 404, Body: []byte(`{"error":{"message":"no such model"}}`)}, "no such model"},
		"limit":   {scripted.Reply{HTTP: 429, Headers: map[string]string{"Retry-After": "7"}}, "to wait 7s"},
		"no API":  {scripted.Reply{HTTP: 404, Body: []byte(`"<html>"`)}, "Not Found"},
		"closing": {scripted.Reply{Close: true}, "cannot be reached"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := scripted.New(always("", c.reply))
			got := lines(t, openAI(serve(t, s)))
			if s.Count() > 2 || !strings.Contains(got, "fail answer: ") || !strings.Contains(got, c.want) {
				t.Errorf("after %d requests:\n%s", s.Count(), got)
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := scripted.New(good()...)
	url := serve(t, s)
	results := check.Run(ctx, openAI(url), func(r check.Result) {
		if r.Name == check.Answer {
			cancel()
		}
	})
	if len(results) != 2 || s.Count() != 1 || check.Worst(results) != check.Pass {
		t.Errorf("%d requests: %+v", s.Count(), results)
	}
}

func TestWorst(t *testing.T) {
	for want, in := range map[check.Status][]check.Status{
		check.Pass:  {check.Pass},
		check.Quirk: {check.Pass, check.Quirk, check.Pass},
		check.Fail:  {check.Quirk, check.Fail, check.Pass},
	} {
		var results []check.Result
		for _, s := range in {
			results = append(results, check.Result{Status: s})
		}
		if got := check.Worst(results); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	if check.Worst(nil) != check.Pass {
		t.Error("no results are no problem")
	}
}
