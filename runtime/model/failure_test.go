package model_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hecate/runtime/model"
)

func TestRefusals(t *testing.T) {
	cases := []struct {
		status    int
		body      string
		kind      model.ErrorKind
		retryable bool
		text      string
	}{
		{400, `{"error":{"message":"bad tool","type":"invalid_request_error"}}`, model.InvalidRequest, false, "upstream error (400/invalid_request_error): bad tool"},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, model.ContextLength, false, "maximum context length"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}`, model.ContextLength, false, "prompt is too long"},
		{401, `{"error":{"message":"Incorrect API key: sk-secret-key"}}`, model.InvalidRequest, false, "upstream error (401/invalid_request): Incorrect API key: [redacted]"},
		{404, `not here`, model.InvalidRequest, false, "not here"},
		{422, `{"detail":[{"msg":"field required"}]}`, model.InvalidRequest, false, "field required"},
		{408, ``, model.UpstreamError, true, "Request Timeout"},
		{429, `{"error":{"message":"slow down"}}`, model.RateLimited, true, "slow down"},
		{429, `{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}`, model.RateLimited, false, "insufficient_quota"},
		{500, `<html><body>proxy</body></html>`, model.UpstreamError, true, "Internal Server Error"},
		{502, `{"message":"no worker"}`, model.UpstreamError, true, "no worker"},
		{503, `{"error":"loading model"}`, model.Overloaded, true, "loading model"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Overloaded, true, "overloaded_error"},
		{400, `[{"error":{"code":400,"message":"wrong","status":"INVALID_ARGUMENT"}}]`, model.InvalidRequest, false, "INVALID_ARGUMENT"},
		{500, strings.Repeat("ü", 90_000), model.UpstreamError, true, "ü…"},
		{307, ``, model.UpstreamError, false, "Temporary Redirect"},
	}
	for _, c := range cases {
		url := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		for _, dialect := range dialects {
			_, err := ask(t.Context(), client(dialect, url), true)
			got := failureOf(t, err)
			if got.Kind != c.kind || got.Retryable != c.retryable || got.Status != c.status || !strings.Contains(got.Error(), c.text) || len(got.Message) > 3000 {
				t.Errorf("%s %d %.60s: got %+v", dialect, c.status, c.body, got)
			}
		}
	}
}

// What a provider asks to wait arrives in either form; the past and what nobody can read is no wish.
func TestRetryAfterHeader(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"7":                             7 * time.Second,
		"Wed, 02 Jan 2030 12:00:07 GMT": 7 * time.Second,
		"Wed, 02 Jan 2030 11:00:00 GMT": 0,
		"in a while":                    0,
		"72000":                         20 * time.Hour,
	} {
		url := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		for _, dialect := range dialects {
			_, err := ask(t.Context(), client(dialect, url), true)
			if got := failureOf(t, err); got.Kind != model.RateLimited || !got.Retryable || got.RetryAfter != want || got.Begun {
				t.Errorf("%s %q: got %+v", dialect, value, got)
			}
		}
	}
}

// Any part of an answer counts as its beginning, but no comment, ping or complaint.
func TestBegun(t *testing.T) {
	cases := map[string]struct {
		dialect, body string
		stream, begun bool
	}{
		"nothing":                     {"openai", "", true, false},
		"comments only":               {"openai", ": wait\n\n: wait\n\n", true, false},
		"a complaint first":           {"openai", "data: {\"error\":{\"message\":\"no\"}}\n\n", true, false},
		"the head":                    {"openai", "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n", true, true},
		"half an event":               {"openai", "data: {\"choi", true, true},
		"a complaint after the head":  {"openai", "data: {\"choices\":[]}\n\ndata: {\"error\":\"no\"}\n\n", true, true},
		"a ping":                      {"anthropic", "event: ping\ndata: {\"type\":\"ping\"}\n\n", true, false},
		"a complaint after a ping":    {"anthropic", "event: ping\ndata: {\"type\":\"ping\"}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", true, false},
		"the start of a message":      {"anthropic", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n", true, true},
		"a complaint with status 200": {"openai", `{"error":{"message":"no"}}`, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			url := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
			_, err := ask(t.Context(), client(c.dialect, url), c.stream)
			if got := failureOf(t, err); got.Begun != c.begun {
				t.Errorf("got %+v", got)
			}
		})
	}
	url := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"choices":`)
	})
	_, err := ask(t.Context(), client("openai", url), false)
	if got := failureOf(t, err); got.Kind != model.IncompleteStream || !got.Begun {
		t.Errorf("half an answer in one piece: got %+v", got)
	}
}

func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		failed model.Error
		want   bool
	}{
		{model.Error{Kind: model.Unreachable}, true},
		{model.Error{Kind: model.Overloaded, Status: 503}, true},
		{model.Error{Kind: model.RateLimited, Status: 429}, true},
		{model.Error{Kind: model.InvalidResponse, Status: 200}, true},
		{model.Error{Kind: model.InvalidRequest, Status: 401}, true},
		{model.Error{Kind: model.InvalidRequest, Status: 404}, true},
		{model.Error{Kind: model.InvalidRequest, Status: 400}, false},
		{model.Error{Kind: model.InvalidRequest}, false},
		{model.Error{Kind: model.ContextLength, Status: 400}, false},
		{model.Error{Kind: model.Canceled}, false},
		{model.Error{Kind: model.IncompleteStream, Status: 200}, true},
		{model.Error{Kind: model.IncompleteStream, Status: 200, Begun: true}, false},
	} {
		if got := c.failed.Elsewhere(); got != c.want {
			t.Errorf("%+v: %v", c.failed, got)
		}
	}
}
