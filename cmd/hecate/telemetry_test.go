package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/trace"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections"
	"hecate/runtime/model/scripted"
)

// What must not get out by way of telemetry.
const (
	secretPrompt = "planted-prompt-5511"
	secretArg    = "planted-argument-6622"
	secretAnswer = "planted-answer-7733"
	secretKey    = "planted-key-8844-planted-key"
	secretEnv    = "planted-env-9955"
	secretHeader = "planted-header-1166"
	secretError  = "planted-error-2277"
)

var planted = []string{secretPrompt, secretArg, secretAnswer, secretKey, secretEnv, secretError}

const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
)

// observedNode is a node whose model is scripted, with what it was asked.
type observedNode struct {
	*node
	log bytes.Buffer
	mu  sync.Mutex
	// traceparents are those of the requests that the provider got.
	traceparents []string
	carried      []string // the tracestates and baggages
}

func startObserved(t *testing.T, settings ...string) *observedNode {
	t.Helper()
	o := &observedNode{}
	cost := int64(1500)
	say := func(text string, calls ...scripted.Call) scripted.Reply {
		return scripted.Reply{Text: text, Calls: calls, Usage: &[2]int64{100, 10}, Cost: &cost}
	}
	script := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{HTTP: 529, Body: []byte(`{"error":{"message":"` + secretError + `","type":"overloaded_error"}}`)},
		say("Let me see.", scripted.ToolCall("call_1", "shell_exec", map[string]any{"command": "echo " + secretArg + "; exit 3"})),
		say("It says " + secretAnswer + "."),
	}})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			o.mu.Lock()
			o.traceparents = append(o.traceparents, r.Header.Get("Traceparent"))
			o.carried = append(o.carried, r.Header.Get("Tracestate")+" "+r.Header.Get("Baggage"))
			o.mu.Unlock()
		}
		script.ServeHTTP(w, r)
	}))
	t.Cleanup(provider.Close)
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	environ := append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + tmp, "HECATE_DATA_DIR=" + filepath.Join(dir, "data"), "HECATE_ADDRESS=127.0.0.1:0",
		"HECATE_BACKEND=memory", "HECATE_OPERATOR_TOKEN_REQUIRED=never", "PROVIDER_FAKE_PRECONFIGURED=true", "PROVIDER_FAKE_KIND=cloud",
		"PROVIDER_FAKE_API_KEY=" + secretKey, "PROVIDER_FAKE_MODELS=m1", "PROVIDER_FAKE_BASE_URL=" + provider.URL + "/v1", "HECATE_PROVIDER_RETRY_BACKOFF=1ms",
		"SOME_SECRET=" + secretEnv,
	}, settings...)
	n, err := startNode(t.Context(), environ, slog.New(slog.NewJSONHandler(&lockedWriter{to: &o.log}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	o.node = n
	t.Cleanup(func() { o.end(t) })
	return o
}

// lockedWriter is a log that may be read once the node has ended.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (o *observedNode) end(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer stop()
	if err := o.Close(ctx); err != nil {
		t.Error(err)
	}
}

// work has a run done: started by a caller with a trace, asked about once, to its end.
func (o *observedNode) work(t *testing.T, flags string) http.Header {
	t.Helper()
	c, err := client.New(o.BaseURL(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	task, position, err := c.CreateTask(ctx, client.NewTask{Prompt: secretPrompt, ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", o.BaseURL()+"/hecate/v1/tasks/"+task.ID+"/start", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", "00-"+callerTrace+"-"+callerSpan+"-"+flags)
	req.Header.Set("Tracestate", "vendor=a1")
	req.Header.Add("Baggage", "team=blue")
	req.Header.Add("Baggage", "tier=2")
	req.Header.Set("X-Request-Id", "req-of-the-test")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("start: %s", res.Status)
	}
	for e, err := range c.Events(ctx, task.ID, position) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "approval.requested":
			var asked struct {
				ID string `json:"approval_id"`
			}
			if err := json.Unmarshal(e.Data, &asked); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Resolve(ctx, task.ID, asked.ID, client.Answer{Decision: "approve"}); err != nil {
				t.Fatal(err)
			}
		case "run.finished", "run.failed", "run.cancelled":
			return res.Header
		}
	}
	t.Fatal("the run has no end")
	return nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", url, res.Status, body, err)
	}
	return body
}

// A run and the requests about it reach a collector as one trace, with the ids that the
// API and the provider were told, and the API tells the same spans.
func TestATraceReachesACollector(t *testing.T) {
	c := startCollector(t)
	page := freeAddress(t)
	o := startObserved(t, "HECATE_OTEL_ENDPOINT="+c.URL, "HECATE_OTEL_TRACES_ENABLED=1", "HECATE_OTEL_METRICS_ENABLED=1", "HECATE_OTEL_LOGS_ENABLED=1",
		"HECATE_OTEL_HEADERS=authorization=Bearer "+secretHeader, "HECATE_OTEL_SERVICE_NAME=tested", "HECATE_METRICS_ADDRESS="+page)
	header := o.work(t, "01")
	var told struct{ Data projections.TraceDetail }
	if err := json.Unmarshal(get(t, o.BaseURL()+"/hecate/v1/traces?request_id=req-of-the-test"), &told); err != nil {
		t.Fatal(err)
	}
	metricsPage := pageWith(t, "http://"+page+"/metrics", `hecate_orchestrator_runs_total{`)
	o.end(t)

	if got := header.Get("X-Trace-Id"); got != callerTrace {
		t.Errorf("X-Trace-Id %s", got)
	}
	spans := c.byName()
	var start string // the span of the request that started the run
	for _, s := range spans["http.server.request"] {
		a := attributesOf(s.Attributes)
		if a["http.route"] == "/hecate/v1/tasks/{task_id}/start" {
			start = id(s.SpanId)
			if id(s.TraceId) != callerTrace || id(s.ParentSpanId) != callerSpan || a["hecate.request_id"] != "req-of-the-test" || a["http.response.status_code"] != "200" {
				t.Errorf("the request: %v", s)
			}
		}
	}
	if start == "" || start != header.Get("X-Span-Id") {
		t.Errorf("the span of the request is %q, the answer says %q", start, header.Get("X-Span-Id"))
	}
	checkTree(t, c, start)
	checkSpans(t, c, o)
	checkTold(t, c, told.Data)
	checkMetrics(t, c, string(metricsPage))
	checkLogs(t, c, o)
	if c.resource["service.name"] != "tested" || c.resource["service.instance.id"] == "" {
		t.Errorf("resource %v", c.resource)
	}
	if c.headers[0].Get("Authorization") != "Bearer "+secretHeader {
		t.Error("the headers were not sent")
	}
	for _, secret := range append(planted, secretHeader) {
		if c.holds(secret) || strings.Contains(o.log.String(), secret) || bytes.Contains(metricsPage, []byte(secret)) {
			t.Errorf("%s got out", secret)
		}
	}
}

// checkTree demands one tree below the request that started the run.
func checkTree(t *testing.T, c *collector, start string) {
	t.Helper()
	parents := map[string]string{}
	for _, s := range c.spans {
		if id(s.TraceId) == callerTrace && s.Name != "http.server.request" {
			if _, twice := parents[id(s.SpanId)]; twice {
				t.Errorf("span %s of %s came twice", id(s.SpanId), s.Name)
			}
			parents[id(s.SpanId)] = id(s.ParentSpanId)
			if s.EndTimeUnixNano < s.StartTimeUnixNano {
				t.Errorf("%s ends before it starts", s.Name)
			}
		}
	}
	for span := range parents {
		at := span
		for range parents {
			at = parents[at]
			if at == start {
				break
			}
		}
		if at != start {
			t.Errorf("span %s does not lead to the request but to %q", span, at)
		}
	}
	for name, n := range map[string]int{
		"gateway.request": 1, "orchestrator.task": 1, "orchestrator.run": 1, "orchestrator.queue": 2, "orchestrator.approval": 1,
		"gateway.provider": 2, "gateway.router": 2, "gateway.usage": 2, "orchestrator.step": 3,
	} {
		if got := len(c.byName()[name]); got != n {
			t.Errorf("%d spans %s, want %d", got, name, n)
		}
	}
}

func checkSpans(t *testing.T, c *collector, o *observedNode) {
	t.Helper()
	var sent []string // what the provider must have been told
	for _, s := range c.byName()["gateway.provider"] {
		a := attributesOf(s.Attributes)
		for name, want := range map[string]string{
			"gen_ai.provider.name": "fake", "gen_ai.request.model": "m1", "gen_ai.response.model": "m1", "gen_ai.usage.input_tokens": "100",
			"gen_ai.usage.output_tokens": "10", "gen_ai.usage.total_tokens": "110", "hecate.cost.total_micros_usd": "1500", "hecate.provider.kind": "cloud", "hecate.result": "success",
		} {
			if a[name] != want {
				t.Errorf("gateway.provider: %s is %q, want %q", name, a[name], want)
			}
		}
		sent = append(sent, "00-"+id(s.TraceId)+"-"+id(s.SpanId)+"-01")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := slices.Compact(slices.Clone(o.carried)); !slices.Equal(got, []string{"vendor=a1 team=blue,tier=2"}) {
		t.Errorf("the caller's trace brought along %q", got)
	}
	if got := slices.Compact(slices.Clone(o.traceparents)); len(o.traceparents) != 3 || !slices.Equal(got, sent) {
		t.Errorf("the provider was told %q, and exported was %q", o.traceparents, sent)
	}
	for _, s := range c.byName()["orchestrator.step"] {
		a := attributesOf(s.Attributes)
		if a["hecate.step.kind"] == "tool" && (a["hecate.step.tool_name"] != "shell_exec" || a["hecate.tool.exit_code"] != "3") {
			t.Errorf("the step of the command: %v", a)
		}
	}
	for _, s := range c.byName()["orchestrator.approval"] {
		if a := attributesOf(s.Attributes); a["hecate.approval.decision"] != "approved" || a["hecate.approval.kind"] != "agent_loop_tool_call" {
			t.Errorf("the approval: %v", a)
		}
	}
}

// checkTold demands that the API tells the spans that were exported.
func checkTold(t *testing.T, c *collector, told projections.TraceDetail) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, s := range c.spans {
		if id(s.TraceId) == callerTrace && s.Name != "http.server.request" {
			want[id(s.SpanId)] = s.Name
		}
	}
	for _, s := range told.Spans {
		got[s.SpanID] = s.Name
	}
	check(t, pretty(got), []string{pretty(want)})
	if told.TraceID != callerTrace || told.Route.FinalProvider != "fake" || told.Route.FinalModel != "m1" || len(told.Route.Candidates) != 3 {
		t.Errorf("told %+v", told)
	}
}

func pretty(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

func checkMetrics(t *testing.T, c *collector, page string) {
	t.Helper()
	for name, want := range map[string]int64{
		"hecate.orchestrator.runs": 1, "hecate.orchestrator.steps": 3, "hecate.orchestrator.approvals": 1, "hecate.gateway.requests": 2,
		"gen_ai.gateway.chat.requests": 2, "gen_ai.gateway.cost": 3000, "gen_ai.client.tokens.input": 200, "gen_ai.client.tokens.output": 20,
		"gen_ai.client.tokens.total": 220, "hecate.gateway.retries": 1, "hecate.provider.calls": 3, "hecate.orchestrator.run.duration": 1, "hecate.telemetry.dropped": 0,
	} {
		if got := c.total(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	for _, line := range []string{
		`hecate_orchestrator_runs_total{gen_ai_request_model="m1",hecate_execution_kind="agent_loop",hecate_run_status="completed"} 1`,
		`gen_ai_client_tokens_total{gen_ai_provider_name="fake",gen_ai_request_model="m1",gen_ai_response_model="m1",hecate_provider_kind="cloud"} 220`,
		`hecate_orchestrator_queue_wait_duration_milliseconds_count{hecate_queue_backend="memory"}`,
	} {
		if !strings.Contains(page, line) {
			t.Errorf("the page lacks %s:\n%s", line, page)
		}
	}
}

func checkLogs(t *testing.T, c *collector, o *observedNode) {
	t.Helper()
	inTrace := 0
	for _, l := range c.logs {
		if id(l.TraceId) == callerTrace {
			inTrace++
		}
	}
	if inTrace == 0 {
		t.Error("no line of the log came with the trace")
	}
	found := false
	for line := range strings.Lines(o.log.String()) {
		if strings.Contains(line, `"http.route":"/hecate/v1/tasks/{task_id}/start"`) {
			found = true
			for _, part := range []string{`"trace.id":"` + callerTrace + `"`, `"request.id":"req-of-the-test"`, `"service.name":"tested"`, `"http.response.status_code":200`, `"event.name":"http.server.request"`} {
				if strings.Count(line, part) != 1 {
					t.Errorf("%s is not once in %s", part, line)
				}
			}
		}
	}
	if !found {
		t.Errorf("the request is not in the log:\n%s", o.log.String())
	}
}

// pageWith reads the page until it has something: it follows the log.
func pageWith(t *testing.T, url, what string) []byte {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for {
		if page := get(t, url); strings.Contains(string(page), what) {
			return page
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s never came", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// What a caller does not keep is not exported, and it is counted all the same.
func TestACallerDecidesWhatIsKept(t *testing.T) {
	c := startCollector(t)
	o := startObserved(t, "HECATE_OTEL_ENDPOINT="+c.URL, "HECATE_OTEL_TRACES_ENABLED=1", "HECATE_OTEL_METRICS_ENABLED=1")
	o.work(t, "00")
	o.end(t)
	for _, s := range c.spans {
		if id(s.TraceId) == callerTrace {
			t.Errorf("exported %s", s.Name)
		}
	}
	if c.total("hecate.orchestrator.runs") != 1 {
		t.Error("the run was not counted")
	}
	for _, p := range o.traceparents {
		if !strings.HasSuffix(p, "-00") {
			t.Errorf("the provider was told %s", p)
		}
	}
}

// A collector that refuses everything, or is not there, holds up neither a run nor the
// end of the node, and what is lost is said.
func TestADeadCollector(t *testing.T) {
	refusing := startCollector(t)
	refusing.refuses = true
	for name, endpoint := range map[string]string{"refuses": refusing.URL, "away": "http://" + freeAddress(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startObserved(t, "HECATE_OTEL_ENDPOINT="+endpoint, "HECATE_OTEL_TRACES_ENABLED=1", "HECATE_OTEL_LOGS_ENABLED=1", "HECATE_OTEL_METRICS_ENABLED=1", "HECATE_OTEL_TIMEOUT=200ms")
			o.work(t, "01")
			o.end(t)
			if !strings.Contains(o.log.String(), "telemetry is lost") {
				t.Errorf("nobody is told:\n%s", o.log.String())
			}
		})
	}
}

// Without telemetry nothing of it is there.
func TestNoTelemetry(t *testing.T) {
	o, log, err := observe(t.Context(), config{}.Telemetry, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if o.providers != nil || o.tracer != nil || o.meter != nil || o.served() != nil || log == nil {
		t.Errorf("%+v", o)
	}
	if !o.tracer.Sampled(callerTrace, trace.Parent{}) {
		t.Error("a trace of our own is not kept")
	}
}

// leasesOf is a log in which these nodes work.
type leasesOf struct {
	eventstore.Leases
	nodes []string
	err   error
}

func (l *leasesOf) Workers(context.Context) (out []eventstore.LiveWorker, err error) {
	for _, n := range l.nodes {
		out = append(out, eventstore.LiveWorker{Node: n})
	}
	return out, l.err
}

// Of any nodes one tells of runs, and only while it works.
func TestFirstNode(t *testing.T) {
	for _, c := range []struct {
		nodes []string
		err   error
		want  string
	}{
		{[]string{"b", "a", "c"}, nil, "a"}, {[]string{"b", "c"}, nil, "b"}, {nil, nil, ""}, {[]string{"a"}, errors.New("away"), ""},
	} {
		for _, own := range []string{"a", "b", "c"} {
			first := firstNode(&leasesOf{nodes: c.nodes, err: c.err}, own, slog.New(slog.DiscardHandler))
			if got := first(t.Context()); got != (own == c.want) {
				t.Errorf("%v: %s is %v", c.nodes, own, got)
			}
		}
	}
}

// Metrics are not shown to others by accident.
func TestMetricsAddress(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:9464": true, "localhost:1": true, "[::1]:1": true, "0.0.0.0:9464": false, ":9464": false, "metrics.example:1": false} {
		_, err := readConfig([]string{"HECATE_METRICS_ADDRESS=" + address})
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := readConfig([]string{"HECATE_METRICS_ADDRESS=" + address, "HECATE_ALLOW_NON_LOOPBACK_BIND=1"}); err != nil {
			t.Errorf("%s, as is meant: %v", address, err)
		}
	}
}

// Of two nodes over one log one tells of a run, whichever of them executes it.
func TestTwoNodesTellOnce(t *testing.T) {
	c := startCollector(t)
	settings := []string{"HECATE_BACKEND=postgres", "HECATE_POSTGRES_URL=" + pgtest.URL(t), "HECATE_OTEL_ENDPOINT=" + c.URL, "HECATE_OTEL_TRACES_ENABLED=1", "HECATE_OTEL_METRICS_ENABLED=1"}
	one, two := startObserved(t, settings...), startObserved(t, settings...)
	pageWith(t, one.BaseURL()+"/hecate/v1/system/stats", `"node":"`+two.config.nodeID(t)+`"`)
	pageWith(t, one.BaseURL()+"/hecate/v1/system/stats", `"node":"`+one.config.nodeID(t)+`"`)
	one.work(t, "01")
	one.end(t)
	two.end(t)
	seen := map[string]bool{}
	for _, s := range c.spans {
		if seen[id(s.SpanId)] {
			t.Errorf("%s came twice", s.Name)
		}
		seen[id(s.SpanId)] = true
	}
	if n := len(c.byName()["orchestrator.run"]); n != 1 {
		t.Errorf("%d spans of the run", n)
	}
}

// nodeID is what the node over this configuration is called.
func (c *config) nodeID(t *testing.T) string {
	t.Helper()
	id, err := hostID(c.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
