//go:build linux

package blackbox_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// chunk is one piece of a streamed chat completion.
func chunk(delta, rest string) string {
	return `data: {"id":"s","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]` + rest + "}\n\n"
}

const anthropicCut = `event: message_start
data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Writing it now."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"u1","name":"file_write","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a.go\",\"content\":\"pack"}}

event: error
data: {"type":"error","error":{"type":"overloaded_error","message":"Too much to do"}}

`

// provider configures a further provider: the model's server under another name.
func provider(name, models string) []string {
	p := "PROVIDER_" + strings.ToUpper(name)
	return []string{p + "_BASE_URL=MODEL", p + "_API_KEY=dummy", p + "_KIND=local", p + "_MODELS=" + models, p + "_PRECONFIGURED=1"}
}

// An answer that breaks off is no answer: the run fails and runs nothing of it.
func TestAnswersThatBreakOff(t *testing.T) {
	t.Parallel()
	s := serve(t, append(provider("limited", modelName), "HECATE_BACKEND=memory",
		"PROVIDER_ANTHROPIC_BASE_URL=MODEL", "PROVIDER_ANTHROPIC_API_KEY=dummy", "PROVIDER_ANTHROPIC_KIND=cloud",
		"PROVIDER_ANTHROPIC_MODELS="+modelName, "PROVIDER_ANTHROPIC_PRECONFIGURED=1")...)
	call := `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"file_write","arguments":"{\"path\":\"a.go\",\"content\":\"x\"}"}}]}`
	for name, c := range map[string]struct {
		provider string
		reply    reply
		error    string
	}{
		"closed early":       {"fake", reply{Stream: []byte(chunk(`{"role":"assistant","content":"The cause is"}`, "") + chunk(`{"content":" the cache"}`, ""))}, "model call 1 failed"},
		"closed after calls": {"fake", reply{Stream: []byte(chunk(`{"content":"Now."}`, "") + chunk(call, ""))}, "model call 1 failed"},
		"connection cut":     {"fake", reply{Text: "It was not", CloseAfterText: true}, "model call 1 failed"},
		"error in the stream": {"fake", reply{Stream: []byte(chunk(`{"content":"Checking"}`, "") +
			chunk(`{"content":""}`, `,"error":{"code":502,"message":"worker limit reached"}`) + "data: [DONE]\n\n")}, "worker limit reached"},
		"error event":         {"anthropic", reply{Stream: []byte(anthropicCut)}, "Too much to do"},
		"refused":             {"fake", reply{HTTP: 400, Body: []byte(`{"error":{"message":"bad request shape","type":"invalid_request_error"}}`)}, "bad request shape"},
		"not allowed":         {"fake", reply{HTTP: 401, Body: []byte(`{"error":{"message":"wrong key"}}`)}, "wrong key"},
		"rate limit for long": {"limited", reply{HTTP: 429, Headers: map[string]string{"Retry-After": "7200"}, Body: []byte(`{"error":{"message":"slow down"}}`)}, "slow down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := s.model.script()
			script.each = func(int) reply { return c.reply }
			r := s.begin(t, agent(script, in(dir), args{"requested_provider": c.provider}))
			failed := r.becomes(t, "failed")
			contains(t, "error", failed.str("last_error"), "model call 1 failed", c.error)
			equal(t, "model calls", failed.num("model_call_count"), 0)
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("files in the workspace: %v", left)
			}
			equal(t, "history", r.history(t), "run.created run.queued run.started model.call.started run.failed")
			equal(t, "approvals", len(r.approvals(t)), 0)
			if r.artifact(t, "summary") != nil {
				t.Error("a final answer")
			}
			for _, step := range r.steps(t) {
				equal(t, "step kind", step.str("kind"), "model")
			}
		})
	}
}

// A provider that cannot be reached, or that nobody knows, fails the run; the server is well.
func TestProvidersThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := serve(t, append(provider("gone", "m"), "HECATE_BACKEND=memory", "PROVIDER_GONE_BASE_URL=http://"+freePort())...)
	for _, provider := range []string{"gone", "unheard-of"} {
		r := s.begin(t, agent(s.model.script(), args{"requested_provider": provider, "requested_model": "m"}))
		want{"last_error": present, "model_call_count": 0}.check(t, provider, r.becomes(t, "failed"))
	}
	equal(t, "health", s.ask(t, "GET", "/healthz", nil).status, http.StatusOK)
}

// An answer that broke off stays visible in the conversation, though it is no answer.
func TestPartialAnswerStaysVisible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply reply
		text  string
	}{
		"closed early":        {reply{Stream: []byte(chunk(`{"role":"assistant","content":"The cause is"}`, "") + chunk(`{"content":" the cache"}`, ""))}, "The cause is the cache"},
		"connection cut":      {reply{Text: "It was not", CloseAfterText: true}, "It was not"},
		"error in the stream": {reply{Stream: []byte(chunk(`{"content":"Checking"}`, "") + chunk(`{"content":""}`, `,"error":{"message":"no"}`))}, "Checking"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			script := s.model.script()
			script.each = func(int) reply { return c.reply }
			r := s.begin(t, agent(script))
			r.becomes(t, "failed")
			equal(t, "said", fmt.Sprint(r.said(t)), "["+c.text+"]")
		})
	}
}
