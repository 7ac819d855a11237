package otlp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"

	"hecate/cmd/hecate/internal/otlp"
	"hecate/domain/trace"
	"hecate/projections/telemetry"
	"hecate/projections/traces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start sets up what the variables ask for, and ends it with the test.
func start(t *testing.T, log *slog.Logger, values map[string]string) *otlp.Providers {
	t.Helper()
	s, problems := otlp.Read(values)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, err := otlp.Start(t.Context(), s, telemetry.IDs{}, log)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// While a collector does not answer, spans wait as long as there is room. Nobody waits
// with them, and what has no room is counted.
func TestASlowCollectorHoldsNobodyUp(t *testing.T) {
	release := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // whatever comes
		<-release
	}))
	t.Cleanup(c.Close)
	var said bytes.Buffer
	p := start(t, slog.New(slog.NewTextHandler(&said, nil)), map[string]string{
		"HECATE_OTEL_ENDPOINT": c.URL, "HECATE_OTEL_TRACES_ENABLED": "1", "HECATE_OTEL_TIMEOUT": "1m", "HECATE_METRICS_ADDRESS": "127.0.0.1:0",
	})
	s, _ := otlp.Read(nil)
	tracer := telemetry.NewTracer(p.Traces, otlp.Sampler(s))
	const many = 10_000
	for i := range many {
		tracer.Export(traces.Span{TraceID: trace.ID([16]byte{1}), SpanID: trace.SpanID([16]byte{byte(i), byte(i >> 8)}, "x"), Name: "x", Kind: traces.KindInternal})
	}
	page := httptest.NewRecorder()
	p.Page.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(page.Body.String(), `hecate_telemetry_dropped_total{hecate_telemetry_signal="traces"} 5904`) { // all but those that may wait
		t.Errorf("%s", page.Body)
	}
	close(release)
	if err := p.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), "telemetry is lost"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
}

// Lines of the log go to both places, with their attributes and their place in a trace.
func TestHandler(t *testing.T) {
	var mu sync.Mutex
	var got []*logs.LogRecord
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m collogs.ExportLogsServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rl := range m.ResourceLogs {
			for _, s := range rl.ScopeLogs {
				got = append(got, s.LogRecords...)
			}
		}
	}))
	t.Cleanup(c.Close)
	p := start(t, slog.New(slog.DiscardHandler), map[string]string{"HECATE_OTEL_ENDPOINT": c.URL, "HECATE_OTEL_LOGS_ENABLED": "true"})
	place := trace.Parent{TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", Flags: "01"}
	var out bytes.Buffer
	log := slog.New(p.Handler(slog.NewTextHandler(&out, nil), func(context.Context) trace.Parent { return place }))
	log.Debug("not wanted")
	log.With("a", 1).WithGroup("g").With("b", true).Warn("said", "c", "text", slog.Group("in", "d", 2.5), "e", []int{1})
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "msg=said a=1 g.b=true g.c=text g.in.d=2.5") {
		t.Errorf("text: %s", out.String())
	}
	if len(got) != 1 {
		t.Fatalf("%d lines", len(got))
	}
	r := got[0]
	values := map[string]string{}
	for _, a := range r.Attributes {
		values[a.Key] = a.Value.String()
	}
	for name, want := range map[string]string{"a": "int_value:1", "g.b": "bool_value:true", "g.c": `string_value:"text"`, "g.in.d": "double_value:2.5", "g.e": `string_value:"[1]"`} {
		if strings.ReplaceAll(values[name], " ", "") != want {
			t.Errorf("%s is %s, want %s", name, values[name], want)
		}
	}
	if r.Body.GetStringValue() != "said" || r.SeverityText != "WARN" || r.SeverityNumber != logs.SeverityNumber_SEVERITY_NUMBER_WARN || len(r.TraceId) != 16 {
		t.Errorf("%v", r)
	}
}

// What is off is not there: no handler of its own, no provider, no page.
func TestOff(t *testing.T) {
	p := start(t, slog.New(slog.DiscardHandler), nil)
	own := slog.DiscardHandler
	if p.Traces != nil || p.Meters != nil || p.Page != nil || p.Handler(own, nil) != own {
		t.Errorf("%+v", p)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is exported says what it comes from, and not how that was called.
func TestAbout(t *testing.T) {
	s, _ := otlp.Read(map[string]string{"HECATE_OTEL_SERVICE_NAME": "mine", "HECATE_OTEL_SERVICE_VERSION": "7", "HECATE_OTEL_DEPLOYMENT_ENVIRONMENT": "lab"})
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=theirs,team=a")
	res, err := otlp.About(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[attribute.Key]string{}
	for _, a := range res.Attributes() {
		got[a.Key] = a.Value.String()
	}
	if got["service.name"] != "theirs" || got["team"] != "a" || got["service.version"] != "7" || got["deployment.environment.name"] != "lab" || got["host.name"] == "" {
		t.Errorf("%v", got)
	}
	for _, private := range []attribute.Key{"process.command_args", "process.owner", "process.executable.path"} {
		if _, there := got[private]; there {
			t.Errorf("%s is exported", private)
		}
	}
}

// grpcCollector takes spans over gRPC.
type grpcCollector struct {
	coltrace.UnimplementedTraceServiceServer
	spans chan int
}

func (g *grpcCollector) Export(_ context.Context, r *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	g.spans <- len(r.ResourceSpans[0].ScopeSpans[0].Spans)
	return &coltrace.ExportTraceServiceResponse{}, nil
}

func TestGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &grpcCollector{spans: make(chan int, 1)}
	server := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(server, c)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	p := start(t, slog.New(slog.DiscardHandler), map[string]string{"HECATE_OTEL_TRANSPORT": "grpc", "HECATE_OTEL_ENDPOINT": l.Addr().String(), "HECATE_OTEL_TRACES_ENABLED": "1"})
	telemetry.NewTracer(p.Traces, nil).Export(traces.Span{TraceID: trace.ID([16]byte{1}), SpanID: trace.SpanID([16]byte{1}, "x"), Name: "x"})
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := <-c.spans; n != 1 {
		t.Errorf("%d spans", n)
	}
	server.Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
