package model_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/model"
)

var update = flag.Bool("update", false, "write the golden files anew")

var dialects = []string{"openai", "anthropic"}

// The request bodies of a conversation with everything in it.
func TestRequests(t *testing.T) {
	text := func(s string) event.Text { return event.NewText(s) }
	messages := []run.Message{
		{Role: run.RoleSystem, Content: text("You work in /w.")},
		{Role: run.RoleSystem, Content: text("Be <brief> & exact.")},
		user("Fix it ✅"),
		{
			Role: run.RoleAssistant, Content: text("Let me look."),
			Thinking: []jsonRaw{
				jsonRaw(`{"type":"thinking","thinking":"Need the branch.","signature":"c2lnLTE="}`),
				jsonRaw(`{"type":"redacted_thinking","data":"b3BhcXVl"}`),
				jsonRaw(`{"type":"reasoning_content","text":"Look first."}`),
			},
			ToolCalls: []run.ToolCall{
				{ID: "c1", Name: "read_file", Arguments: text(`{"path": "a.txt"`)},
				{ID: "c2", Name: "git_status", Arguments: text("{}")},
			},
		},
		{Role: run.RoleTool, ToolCallID: "c1", ToolError: true, Content: text("arguments are no JSON")},
		{Role: run.RoleTool, ToolCallID: "c2", Content: text("")},
		user("An operator's note."),
		{Role: run.RoleAssistant, Content: text(" \n")},
		user("Go on."),
		{Role: run.RoleAssistant, ToolCalls: []run.ToolCall{{ID: "c3", Name: "list_dir", Arguments: text(`{"path":"."}`)}}},
		{Role: run.RoleTool, ToolCallID: "c3", Content: text("a\x00b\xff")},
	}
	tools := []model.ToolDefinition{
		{Name: "read_file", Description: "Read one file.", Parameters: jsonRaw(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		{Name: "git_status"},
	}
	for _, dialect := range dialects {
		for name, call := range map[string]model.Call{"full": {Stream: true, MaxOutputTokens: 2048}, "plain": {}} {
			t.Run(dialect+"_"+name, func(t *testing.T) {
				recorded := make(chan string, 1)
				url := answering(t, func(_ http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					recorded <- heads(r) + string(body) + "\n"
				})
				c := client(dialect, url)
				call.Model = "m-1"
				call.Conversation = conversation(t, c, messages...)
				var err error
				if call.Tools, err = c.EncodeTools(tools); err != nil {
					t.Fatal(err)
				}
				if name == "plain" {
					call.Conversation, call.Tools = conversation(t, c, user("Hi")), nil
				}
				_, _ = c.Call(t.Context(), call) // the empty answer is no answer; the request is what counts
				golden(t, "testdata/requests/"+dialect+"_"+name+".txt", <-recorded)
			})
		}
	}
}

func heads(r *http.Request) string {
	var b strings.Builder
	b.WriteString(r.Method + " " + r.URL.Path + "\n")
	for _, name := range []string{"Accept", "Anthropic-Version", "Authorization", "Content-Type", "X-Api-Key"} {
		if v := r.Header.Get(name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	return b.String() + "\n"
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestEncodeRefusesUnloadedText(t *testing.T) {
	var m run.Message
	m.Role = run.RoleUser
	if err := m.Content.UnmarshalJSON([]byte(`{"blob":"abc","size":20000}`)); err != nil {
		t.Fatal(err)
	}
	for _, dialect := range dialects {
		if _, err := client(dialect, "http://127.0.0.1").Encode(m); err == nil {
			t.Errorf("%s sends an empty text for one that is not loaded", dialect)
		}
	}
}

// The limit of an answer goes into the field that the provider wants.
func TestOutputLimit(t *testing.T) {
	bodies := make(chan string, 1)
	url := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- string(body)
	})
	c := model.NewOpenAI(model.Endpoint{BaseURL: url, OutputLimit: "max_completion_tokens"})
	_, _ = c.Call(t.Context(), model.Call{Model: "m", MaxOutputTokens: 1 << 40})
	if got, want := <-bodies, `{"model":"m","messages":[],"max_completion_tokens":1099511627776}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Answers without streaming are read to the same messages.
func TestWholeAnswers(t *testing.T) {
	cases := map[string]struct{ dialect, body, want string }{
		"text":                 {"openai", `{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, `Hi | stop |  | 3 2`},
		"calls":                {"openai", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":""}},{"id":"b","type":"function","function":{"name":"y","arguments":"{\"p\": 1}"}}]},"finish_reason":"stop"}]}`, ` | tool_calls | a x {}; b y {"p": 1} | unknown`},
		"cut":                  {"openai", `{"choices":[{"message":{"content":"Hi"},"finish_reason":"length"}]}`, `Hi | length |  | unknown`},
		"empty":                {"openai", `{"choices":[]}`, "invalid_response"},
		"web page":             {"openai", `<html>`, "invalid_response"},
		"error":                {"openai", `{"error":{"message":"boom","type":"server_error"}}`, "upstream_error"},
		"anthropic text":       {"anthropic", `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`, `Hi | stop |  | 3 2`},
		"anthropic calls":      {"anthropic", `{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"y","input":{"p": 1}}],"stop_reason":"tool_use"}`, `I look. | tool_calls | a x {}; b y {"p": 1} | unknown`},
		"anthropic cut":        {"anthropic", `{"content":[{"type":"text","text":"Hi"}],"stop_reason":"max_tokens"}`, `Hi | length |  | unknown`},
		"anthropic overloaded": {"anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "overloaded"},
		"anthropic empty":      {"anthropic", `{}`, "invalid_response"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			url := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, c.body)
			})
			for _, stream := range []bool{false, true} { // a server that cannot stream answers the same
				if got := describe(ask(t.Context(), client(c.dialect, url), stream)); got != c.want {
					t.Errorf("stream=%v: got %q, want %q", stream, got, c.want)
				}
			}
		})
	}
}

// Canceling ends the call at once, whatever it waits for, and is told apart from a failing provider.
func TestCancel(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	url := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/json" {
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	for _, stream := range []bool{true, false} {
		limit := 50 * time.Millisecond
		if stream {
			limit = time.Minute // its text cancels it
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		call := model.Call{Model: "m", Stream: stream, OnText: func(string) { cancel() }}
		_, err := client("openai", url).Call(ctx, call)
		cancel()
		got := failureOf(t, err)
		if got.Kind != model.Canceled || !errors.Is(err, ctx.Err()) || got.Retryable || (got.Partial == "x") != stream {
			t.Errorf("stream=%v: got %+v", stream, got)
		}
	}
}

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	for _, dialect := range dialects {
		_, err := ask(t.Context(), client(dialect, s.URL), true)
		if got := failureOf(t, err); got.Kind != model.Unreachable || !got.Retryable || strings.Contains(got.Error(), "http://") {
			t.Errorf("%s: got %v", dialect, got)
		}
	}
}

// Calls one after another use one connection, although the client stops reading at the end marker.
func TestConnectionIsUsedAgain(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		stream := "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n"
		if strings.HasSuffix(r.URL.Path, "/messages") {
			stream = "data: {\"type\":\"message_stop\"}\n\n"
		}
		_, _ = io.WriteString(w, stream)
		_ = http.NewResponseController(w).Flush()
	}))
	var connections atomic.Int64
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	for i, dialect := range dialects {
		c := client(dialect, s.URL)
		for range 3 {
			if _, err := ask(t.Context(), c, true); err != nil {
				t.Fatal(err)
			}
		}
		if got := connections.Load(); got != int64(i+1) {
			t.Errorf("%s: %d connections in all, want %d", dialect, got, i+1)
		}
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct{ base, own, want string }{
		{"", "", "/v1/chat/completions"},
		{"/", "", "/v1/chat/completions"},
		{"/v1", "", "/v1/chat/completions"},
		{"/openai/v1/", "", "/openai/v1/chat/completions"},
		{"/api/paas/v4", "", "/api/paas/v4/v1/chat/completions"},
		{"/api/paas/v4", "/chat/completions", "/api/paas/v4/chat/completions"},
	} {
		var path string
		url := answering(t, func(_ http.ResponseWriter, r *http.Request) { path = r.URL.Path })
		_, err := ask(t.Context(), model.NewOpenAI(model.Endpoint{BaseURL: url + c.base, ChatPath: c.own}), false)
		if path != c.want {
			t.Errorf("%s and %s: asked at %s, want %s (%v)", c.base, c.own, path, c.want, err)
		}
	}
}

func TestModels(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"list","data":[{"id":"a"},{"id":""},{"id":"b"}]}`: "a b",
		`[{"id":"c"}]`: "c",
		`{"data":[]}`:  "",
		`<html>`:       "invalid_response",
	} {
		url := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("asked %s %s", r.Method, r.URL.Path)
			}
			_, _ = io.WriteString(w, body)
		})
		models, err := model.NewOpenAI(model.Endpoint{BaseURL: url, APIKey: "k"}).Models(t.Context())
		got := strings.Join(models, " ")
		if err != nil {
			got = string(failureOf(t, err).Kind)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
