package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/model"
)

// expected is what a recorded stream must be read as.
type expected struct {
	Content      string `json:"content"`
	ToolCalls    []call `json:"tool_calls"`
	FinishReason string `json:"finish_reason"`
	Usage        any    `json:"usage"`
	Thinking     []any  `json:"thinking,omitempty"`
	Error        *struct {
		Kind            model.ErrorKind `json:"kind"`
		Retryable       bool            `json:"retryable"`
		MessageContains string          `json:"message_contains"`
		RetryAfterMS    int64           `json:"retry_after_ms"`
	} `json:"error"`
	Partial struct {
		Content string `json:"content"`
	} `json:"partial"`
}

type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// fixture says how the recorded bytes were delivered.
type fixture struct {
	dialect string
	status  int
	headers map[string]string
	begun   bool // of a failure: some of the answer had arrived
}

var fixtures = map[string]fixture{
	"fc-ps-07": {begun: true},
	"fc-ps-08": {begun: true},
	"fc-ps-12": {dialect: "anthropic", begun: true},
	"fc-ps-13": {dialect: "anthropic"},
	"fc-ps-14": {dialect: "anthropic"},
	"fc-ps-15": {status: 429, headers: map[string]string{"Content-Type": "application/json", "Retry-After": "7"}},
}

// Every recorded stream is read to the same message however its bytes are cut.
func TestRecordedStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil || len(files) < 16 {
		t.Fatalf("%d recorded streams: %v", len(files), err)
	}
	deliveries := map[string]func([]byte) [][]byte{"whole": whole, "every_byte": everyByte, "after_cr": afterCR, "1021": by1021}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		body, want := read(t, file), expected{}
		if err := json.Unmarshal(read(t, strings.TrimSuffix(file, ".sse")+".json"), &want); err != nil {
			t.Fatal(err)
		}
		for how, cut := range deliveries {
			t.Run(name+"/"+how, func(t *testing.T) {
				f := fixtures[name]
				url := serve(t, f, cut(body))
				var text strings.Builder
				resp, err := client(f.dialect, url).Call(t.Context(), model.Call{
					Model: "m", Stream: true, OnText: func(s string) { text.WriteString(s) },
				})
				compare(t, want, resp, err)
				if err != nil && failureOf(t, err).Begun != f.begun {
					t.Errorf("begun: %v", !f.begun)
				}
				if shown := want.Content + want.Partial.Content; text.String() != shown {
					t.Errorf("streamed text %q, want %q", text.String(), shown)
				}
			})
		}
	}
}

// What an answer held goes back with the results of its calls: the thinking as
// it came, then the calls, then a user message that begins with the results.
func TestThinkingGoesBack(t *testing.T) {
	bodies := make(chan []byte, 2)
	url := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- body
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(read(t, "testdata/streams/fc-ps-13.sse"))
	})
	c := client("anthropic", url)
	first, err := ask(t.Context(), c, true)
	if err != nil {
		t.Fatal(err)
	}
	result := run.Message{Role: run.RoleTool, ToolCallID: "toolu_9", Content: event.NewText("clean")}
	_, err = c.Call(t.Context(), model.Call{Model: "m", Conversation: conversation(t, c, user("go"), first.Message, result)})
	if err != nil {
		t.Fatal(err)
	}
	<-bodies
	want := `{"model":"m","max_tokens":16384,"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"Need the branch.","signature":"c2lnLTE="},` +
		`{"type":"redacted_thinking","data":"b3BhcXVl"},{"type":"tool_use","id":"toolu_9","name":"git_status","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"clean"}]}]}`
	if diff := cmp.Diff(want, string(<-bodies)); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}
}

func compare(t *testing.T, want expected, resp *model.Response, err error) {
	t.Helper()
	if want.Error != nil {
		compareFailure(t, want, resp, err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := expected{Content: resp.Message.Content.String(), ToolCalls: []call{}, FinishReason: resp.FinishReason}
	for _, c := range resp.Message.ToolCalls {
		got.ToolCalls = append(got.ToolCalls, call{c.ID, c.Name, c.Arguments.String()})
	}
	if resp.Usage != nil {
		got.Usage = decode(t, resp.Usage.Raw)
	}
	for _, block := range resp.Message.Thinking {
		got.Thinking = append(got.Thinking, decode(t, block))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func compareFailure(t *testing.T, want expected, resp *model.Response, err error) {
	t.Helper()
	var failed *model.Error
	if resp != nil || !errors.As(err, &failed) {
		t.Fatalf("got %v, %v; want a failure", resp, err)
	}
	if failed.Kind != want.Error.Kind || failed.Retryable != want.Error.Retryable ||
		!strings.Contains(failed.Message, want.Error.MessageContains) ||
		failed.RetryAfter.Milliseconds() != want.Error.RetryAfterMS || failed.Partial != want.Partial.Content {
		t.Errorf("got %+v, want %+v and partial %q", failed, want.Error, want.Partial.Content)
	}
}

// serve delivers the parts of a recorded answer one by one.
func serve(t *testing.T, f fixture, parts [][]byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for name, value := range f.headers {
			w.Header().Set(name, value)
		}
		if f.status != 0 {
			w.WriteHeader(f.status)
		}
		for i, part := range parts {
			_, _ = w.Write(part)
			if i < 3000 { // enough separate packets; the reader's own test cuts the rest as well
				w.(http.Flusher).Flush()
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func client(dialect, url string) model.Client {
	e := model.Endpoint{BaseURL: url, APIKey: "sk-secret-key", Clock: &clock.Fixed{T: noon}}
	if dialect == "anthropic" {
		return model.NewAnthropic(e, model.AnthropicOptions{})
	}
	return model.NewOpenAI(e)
}

func whole(b []byte) [][]byte { return [][]byte{b} }

func everyByte(b []byte) [][]byte { return cutBy(b, 1) }

func by1021(b []byte) [][]byte { return cutBy(b, 1021) }

func cutBy(b []byte, n int) (out [][]byte) {
	for len(b) > 0 {
		k := min(n, len(b))
		out, b = append(out, b[:k]), b[k:]
	}
	return out
}

func afterCR(b []byte) [][]byte {
	var out [][]byte
	for part := range strings.SplitAfterSeq(string(b), "\r") {
		out = append(out, []byte(part))
	}
	return out
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func user(text string) run.Message {
	return run.Message{Role: run.RoleUser, Content: event.NewText(text)}
}

func conversation(t *testing.T, c model.Client, messages ...run.Message) []model.Encoded {
	t.Helper()
	var out []model.Encoded
	for _, m := range messages {
		e, err := c.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func failureOf(t *testing.T, err error) *model.Error {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want a *model.Error", err)
	}
	return failed
}

func ask(ctx context.Context, c model.Client, stream bool) (*model.Response, error) {
	return c.Call(ctx, model.Call{Model: "m", Stream: stream})
}

type jsonRaw = json.RawMessage

func answering(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// describe puts an answer or the kind of a failure on one line.
func describe(r *model.Response, err error) string {
	var failed *model.Error
	if errors.As(err, &failed) {
		return string(failed.Kind)
	}
	var calls []string
	for _, c := range r.Message.ToolCalls {
		calls = append(calls, c.ID+" "+c.Name+" "+c.Arguments.String())
	}
	usage := "unknown"
	if r.Usage != nil {
		usage = fmt.Sprint(r.Usage.Input, " ", r.Usage.Output)
	}
	return strings.Join([]string{r.Message.Content.String(), r.FinishReason, strings.Join(calls, "; "), usage}, " | ")
}
