package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"hecate/api/apitest"
	"hecate/domain/run"
	"hecate/projections"
)

const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	otherTrace  = "11112222333344445555666677778888"
)

func traceparent(trace, flags string) string { return "00-" + trace + "-00f067aa0ba902b7-" + flags }

// start starts a run of a task within a request and a trace of the caller's.
func start(t *testing.T, s *apitest.Server, request, trace string) (runID string, header http.Header) {
	t.Helper()
	a := s.Do(t, "POST", base+"/tasks/"+s.Task(t, nil)+"/start", nil, "X-Request-Id", request, "Traceparent", traceparent(trace, "01"))
	var r projections.Run
	a.Data(t, &r)
	return r.ID, a.Header
}

func TestTraces(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	first, header := start(t, s, "req-1", callerTrace)
	second, _ := start(t, s, "req-2", otherTrace)
	s.Advance(t, first, run.Started{Kind: run.Orchestrator})
	s.Advance(t, first, run.Failed{Code: "run_failed", Message: "it said: secret", Reason: "max_model_calls_exceeded"})

	var list []projections.Trace
	if object := s.Do(t, "GET", base+"/traces", nil).Data(t, &list); object != "list" || len(list) != 2 {
		t.Fatalf("%s: %+v", object, list)
	}
	if newest := list[0]; newest.RunID != second || newest.RequestID != "req-2" || newest.TraceID != otherTrace || newest.StatusCode != "unset" || newest.DurationMS != 0 || newest.SpanCount != 4 {
		t.Errorf("the newest: %+v", newest)
	}
	if ended := list[1]; ended.RunID != first || ended.StatusCode != "error" || ended.StatusText != "max_model_calls_exceeded" || ended.SpanCount != 4 || ended.StartedAt == "" {
		t.Errorf("the one that has ended: %+v", ended)
	}
	var d projections.TraceDetail
	a := s.Do(t, "GET", base+"/traces?request_id=req-1", nil)
	if object := a.Data(t, &d); object != "trace" || d.TraceID != callerTrace || d.RunID != first || d.EndedAt == "" || len(d.Spans) != 4 {
		t.Fatalf("%s: %+v", object, d)
	}
	if root := d.Spans[0]; root.Name != "gateway.request" || root.ParentID != header.Get("X-Span-Id") || header.Get("X-Trace-Id") != root.TraceID {
		t.Errorf("the root is %+v, the answer said %s", root, header.Get("X-Span-Id"))
	}
	if bytes.Contains(a.Body, []byte("secret")) {
		t.Errorf("a message is told: %s", a.Body)
	}
	for query, n := range map[string]int{"limit=1": 1, "limit=0": 2, "limit=201": 2, "limit=x": 2, "limit=-1": 2, "limit=200": 2} {
		if s.Do(t, "GET", base+"/traces?"+query, nil).Data(t, &list); len(list) != n {
			t.Errorf("%s: %d traces, want %d", query, len(list), n)
		}
	}
	if a := s.Do(t, "GET", base+"/traces?request_id=nobody", nil); a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), `trace \"nobody\" not found`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Requests with one id have a trace each; the latest counts, or the one that is named.
func TestTracesOfOneRequestID(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	first, _ := start(t, s, "same", callerTrace)
	second, _ := start(t, s, "same", otherTrace)
	for query, want := range map[string]string{"": second, "&trace_id=" + callerTrace: first, "&trace_id=" + otherTrace: second} {
		var d projections.TraceDetail
		if s.Do(t, "GET", base+"/traces?request_id=same"+query, nil).Data(t, &d); d.RunID != want {
			t.Errorf("%q: run %s, want %s", query, d.RunID, want)
		}
	}
	if a := s.Do(t, "GET", base+"/traces?request_id=same&trace_id=0", nil); a.Status != http.StatusNotFound {
		t.Errorf("%d", a.Status)
	}
}

// buffer may be written to while it is read.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Each request that is answered is a line of the log: by the pattern of its path, which
// holds nothing of what was asked.
func TestRequestsAreLogged(t *testing.T) {
	var log buffer
	s := apitest.Start(t, apitest.Options{Log: &log})
	for _, c := range []struct{ method, path, line string }{
		{"GET", base + "/tasks/planted-id?q=planted", "http.request.method=GET http.response.status_code=404 hecate.http.duration_ms=%s http.route=/hecate/v1/tasks/{task_id}"},
		{"PLANTED", base + "/tasks", "http.request.method=OTHER http.response.status_code=405"},
		{"GET", "/planted-path", "http.request.method=GET http.response.status_code=404"},
		{"GET", "/healthz", "http.request.method=GET http.response.status_code=200 hecate.http.duration_ms=%s http.route=/healthz"},
	} {
		s.Do(t, c.method, c.path, nil, "X-Planted", "planted")
		line := c.line
		if i := strings.Index(line, "%s"); i >= 0 {
			line = line[:i]
		}
		if !strings.Contains(log.String(), line) || !strings.Contains(log.String(), c.line[strings.LastIndex(c.line, " ")+1:]) {
			t.Errorf("%s %s: no %q in\n%s", c.method, c.path, line, log.String())
		}
	}
	if text := log.String(); strings.Contains(text, "planted") || strings.Contains(text, "PLANTED") {
		t.Errorf("the log repeats what was asked:\n%s", text)
	}
}

// A caller that does not keep its trace is heard: the log remembers it.
func TestUnsampled(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for flags, want := range map[string]string{"01": "", "00": "00"} {
		var r projections.Run
		s.Do(t, "POST", base+"/tasks/"+s.Task(t, nil)+"/start", nil, "Traceparent", traceparent(callerTrace, flags)).Data(t, &r)
		records, err := s.Store.ReadStream(t.Context(), "run-"+r.ID, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		var created struct {
			Flags string `json:"trace_flags"`
		}
		if err := json.Unmarshal(records[0].Data, &created); err != nil || created.Flags != want {
			t.Errorf("%s: %q %v", flags, created.Flags, err)
		}
		if got := fmt.Sprint(records[0].Trace); !strings.HasSuffix(got, "-"+flags) {
			t.Errorf("%s: the record says %s", flags, got)
		}
	}
}
