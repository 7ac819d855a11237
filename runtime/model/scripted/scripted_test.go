package scripted_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/model"
	"hecate/runtime/model/scripted"
)

func start(t *testing.T, s *scripted.Server) string {
	t.Helper()
	url, stop, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func clients(url string) map[string]model.Client {
	return map[string]model.Client{
		"openai":    model.NewOpenAI(model.Endpoint{BaseURL: url}),
		"anthropic": model.NewAnthropic(model.Endpoint{BaseURL: url}, model.AnthropicOptions{}),
	}
}

func ask(t *testing.T, c model.Client, stream bool, messages ...run.Message) (*model.Response, error) {
	t.Helper()
	call := model.Call{Model: "scripted-model", Stream: stream}
	for _, m := range messages {
		e, err := c.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		call.Conversation = append(call.Conversation, e)
	}
	return c.Call(t.Context(), call)
}

func user(text string) run.Message {
	return run.Message{Role: run.RoleUser, Content: event.NewText(text)}
}

// Both dialects, streaming or not, carry the same reply through.
func TestRoundTrip(t *testing.T) {
	usage, cached, cost := [2]int64{900, 3}, [2]int64{700, 50}, int64(600)
	reply := scripted.Reply{
		Text:  "Ich prüfe es … ✅ und lese dann zwei Dateien.",
		Calls: []scripted.Call{scripted.ToolCall("c1", "read_file", map[string]string{"path": "ä.txt"}), scripted.ToolCall("c2", "git_status", "{}")},
		Usage: &usage, Cached: &cached, Cost: &cost,
	}
	for name := range clients("") {
		for _, stream := range []bool{true, false} {
			s := scripted.Replies(reply)
			got, err := ask(t, clients(start(t, s))[name], stream, user("go"))
			if err != nil {
				t.Fatalf("%s stream=%v: %v", name, stream, err)
			}
			if got.Message.Content.String() != reply.Text || got.FinishReason != "tool_calls" || got.Model != scripted.ModelName {
				t.Errorf("%s stream=%v: %q, %s, %s", name, stream, got.Message.Content.String(), got.FinishReason, got.Model)
			}
			for i, c := range got.Message.ToolCalls {
				if want := reply.Calls[i]; c.ID != want.ID || c.Name != want.Tool || c.Arguments.String() != want.Arguments {
					t.Errorf("%s stream=%v: call %+v, want %+v", name, stream, c, want)
				}
			}
			if u := got.Usage; u == nil || u.Input != 900 || u.Output != 3 || u.CacheRead != 700 || u.CacheWrite != 50 || u.CostPicoUSD == nil || *u.CostPicoUSD != 600_000_000 {
				t.Errorf("%s stream=%v: usage %+v", name, stream, u)
			}
			if r := s.Requests(); len(r) != 1 || !strings.Contains(string(r[0].Body), "go") {
				t.Errorf("%s stream=%v: requests %+v", name, stream, r)
			}
		}
	}
}

func TestBrokenReplies(t *testing.T) {
	cases := map[string]struct {
		reply   scripted.Reply
		kind    model.ErrorKind
		partial string
		begun   bool
	}{
		"cut":       {scripted.Reply{Text: "Half of", CloseAfterText: true}, model.IncompleteStream, "Half of", true},
		"raw":       {scripted.Reply{Stream: []byte("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"), Split: 1}, model.IncompleteStream, "x", true},
		"raw, cut":  {scripted.Reply{Stream: []byte("data: {\"choices\":[{\"del"), CloseAfterText: true}, model.IncompleteStream, "", true},
		"closed":    {scripted.Reply{Close: true}, model.Unreachable, "", false},
		"empty":     {scripted.Reply{Stream: []byte(": keepalive\n\n")}, model.IncompleteStream, "", false},
		"refused":   {scripted.Reply{HTTP: 429, Body: []byte(`{"error":{"message":"slow down"}}`), Headers: map[string]string{"Retry-After": "3"}}, model.RateLimited, "", false},
		"plain":     {scripted.Reply{HTTP: 500, Body: []byte(`"broken"`)}, model.UpstreamError, "", false},
		"exhausted": {scripted.Reply{Text: "one"}, model.InvalidRequest, "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			client := model.NewOpenAI(model.Endpoint{BaseURL: start(t, scripted.Replies(c.reply))})
			_, err := ask(t, client, true, user("go"))
			if name == "exhausted" {
				_, err = ask(t, client, true, user("go"))
			}
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != c.kind || failed.Partial != c.partial || failed.Begun != c.begun {
				t.Errorf("got %+v, want %s with partial %q, begun %v", failed, c.kind, c.partial, c.begun)
			}
		})
	}
}

// A hanging reply shows its text; stopping the server ends it.
func TestHangAfterText(t *testing.T) {
	s := scripted.Replies(scripted.Reply{Text: "Partial answer", HangAfterText: true})
	url, stop, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	_, err = model.NewOpenAI(model.Endpoint{BaseURL: url}).Call(t.Context(), model.Call{Model: "m", Stream: true, OnText: func(d string) {
		text.WriteString(d)
		if text.String() == "Partial answer" {
			go stop()
		}
	}})
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.IncompleteStream || failed.Partial != "Partial answer" {
		t.Errorf("got %v", err)
	}
	stop()
}

func TestSelection(t *testing.T) {
	s := scripted.New(
		scripted.Script{Marker: "marker-turns", ByTurn: true, Replies: []scripted.Reply{{Text: "first"}, {Text: "second"}}},
		scripted.Script{Marker: "marker-loop", Repeat: true, Replies: []scripted.Reply{{Text: "a"}, {Text: "b"}}},
		scripted.Script{Func: func(n int, _ scripted.Request) scripted.Reply {
			return scripted.Reply{Text: strings.Repeat("f", n+1)}
		}},
	)
	client := model.NewOpenAI(model.Endpoint{BaseURL: start(t, s)})
	answer := run.Message{Role: run.RoleAssistant, Content: event.NewText("first")}
	for _, step := range []struct {
		want string
		says []run.Message
	}{
		{"first", []run.Message{user("marker-turns")}},
		{"first", []run.Message{user("marker-turns")}},
		{"second", []run.Message{user("marker-turns"), answer, user("more")}},
		{"a", []run.Message{user("marker-loop")}},
		{"b", []run.Message{user("marker-loop")}},
		{"a", []run.Message{user("marker-loop")}},
		{"f", []run.Message{user("else")}},
		{"ff", []run.Message{user("else")}},
	} {
		got, err := ask(t, client, true, step.says...)
		if err != nil || got.Message.Content.String() != step.want {
			t.Errorf("got %v, %v; want %q", got, err, step.want)
		}
	}
	if s.Count() != 8 || s.Requests()[2].Script != "marker-turns" || s.Requests()[2].Reply != 1 {
		t.Errorf("requests: %d, %+v", s.Count(), s.Requests()[2])
	}
}

// A strict provider can be asked again after the model broke its arguments.
func TestRefuseBrokenArguments(t *testing.T) {
	s := scripted.Replies(scripted.Reply{Calls: []scripted.Call{{ID: "c1", Tool: "read_file", Arguments: `{"path": "a`}}}, scripted.Reply{Text: "ok"})
	s.Rule = scripted.RefuseBrokenArguments
	url := start(t, s)
	client := model.NewOpenAI(model.Endpoint{BaseURL: url})
	first, err := ask(t, client, true, user("go"))
	if err != nil {
		t.Fatal(err)
	}
	result := run.Message{Role: run.RoleTool, ToolCallID: "c1", ToolError: true, Content: event.NewText("bad JSON")}
	second, err := ask(t, client, true, user("go"), first.Message, result)
	if err != nil || second.Message.Content.String() != "ok" {
		t.Errorf("got %v, %v", second, err)
	}
	raw := `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c1","function":{"arguments":"{"}}]}]}`
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 || resp.Header.Get("X-Scripted-Model") != "true" {
		t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
	}
}

func TestLoad(t *testing.T) {
	files := fstest.MapFS{"s.sse": {Data: []byte("data: [DONE]\n\n")}}
	scripts, err := scripted.Load(strings.NewReader(`[
		{"calls": [["c1","read_file",{"path": "a"}], ["c2","x","{bro"]], "usage": [1, 2], "cost": 5, "delay_ms": 7},
		{"http": 429, "headers": {"Retry-After": "7"}, "cached": [1, 0]}, {"close": true}, {"hang": true},
		{"stream": "s.sse"}, {"http": 503, "body": {"error": "x"}}, {"text": "t", "hang_after_text": true}]`), files)
	if err != nil {
		t.Fatal(err)
	}
	r := scripts[0].Replies
	if len(r) != 7 || r[1].Headers["Retry-After"] != "7" || r[1].Cached[0] != 1 || !r[2].Close || !r[3].Hang {
		t.Errorf("got %+v", r)
	}
	if r = append(r[:1:1], r[4:]...); r[0].Calls[0].Arguments != `{"path":"a"}` || r[0].Calls[1].Arguments != "{bro" || string(r[1].Stream) != "data: [DONE]\n\n" ||
		r[2].HTTP != 503 || !r[3].HangAfterText || *r[0].Cost != 5 || r[0].DelayMS != 7 {
		t.Errorf("got %+v", r)
	}
	if _, err := scripted.Load(strings.NewReader(`[{"marker":"m","replies":[{"txt":"typo"}]}]`), nil); err == nil {
		t.Error("a key that does not exist is accepted")
	}
}

func TestDelayEndsWithTheClient(t *testing.T) {
	s := scripted.Replies(scripted.Reply{Text: "late", DelayMS: 3_600_000}, scripted.Reply{Hang: true})
	client := &http.Client{Timeout: 50 * time.Millisecond}
	url := start(t, s)
	for range 2 {
		if _, err := client.Post(url+"/v1/messages", "application/json", strings.NewReader(`{}`)); err == nil {
			t.Error("answered at once")
		}
	}
}

func BenchmarkStreamedCall(b *testing.B) {
	url, stop, err := scripted.New(scripted.Script{Repeat: true, Replies: []scripted.Reply{{Text: strings.Repeat("word ", 100)}}}).Start("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	client := model.NewOpenAI(model.Endpoint{BaseURL: url})
	for b.Loop() {
		if _, err := client.Call(b.Context(), model.Call{Model: "m", Stream: true}); err != nil {
			b.Fatal(err)
		}
	}
}
