package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlptrace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes telemetry over OTLP/HTTP, as a real one does, and keeps it.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*otlptrace.Span
	metrics  map[string]*metrics.Metric // the latest of each name
	logs     []*logs.LogRecord
	resource map[string]string
	raw      []byte // all bodies
	headers  []http.Header
	refuses  bool // everything
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]*metrics.Metric{}, resource: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || c.refuses {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	c.raw = append(c.raw, body...)
	c.headers = append(c.headers, r.Header)
	switch r.URL.Path {
	case "/v1/traces":
		var m coltrace.ExportTraceServiceRequest
		err = proto.Unmarshal(body, &m)
		for _, rs := range m.ResourceSpans {
			keep(c.resource, rs.Resource.Attributes)
			for _, s := range rs.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	case "/v1/metrics":
		var m colmetrics.ExportMetricsServiceRequest
		err = proto.Unmarshal(body, &m)
		for _, rm := range m.ResourceMetrics {
			for _, s := range rm.ScopeMetrics {
				for _, one := range s.Metrics {
					c.metrics[one.Name] = one
				}
			}
		}
	case "/v1/logs":
		var m collogs.ExportLogsServiceRequest
		err = proto.Unmarshal(body, &m)
		for _, rl := range m.ResourceLogs {
			for _, s := range rl.ScopeLogs {
				c.logs = append(c.logs, s.LogRecords...)
			}
		}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func keep(to map[string]string, attrs []*common.KeyValue) {
	for _, a := range attrs {
		to[a.Key] = text(a.Value)
	}
}

// text writes a value for comparing.
func text(v *common.AnyValue) string {
	return strings.Trim(strings.TrimSpace(v.String()[strings.IndexByte(v.String(), ':')+1:]), `"`)
}

func attributesOf(attrs []*common.KeyValue) map[string]string {
	out := map[string]string{}
	keep(out, attrs)
	return out
}

// byName groups spans.
func (c *collector) byName() map[string][]*otlptrace.Span {
	out := map[string][]*otlptrace.Span{}
	for _, s := range c.spans {
		out[s.Name] = append(out[s.Name], s)
	}
	return out
}

// total is the sum over all data points of a counter, or the count of a histogram.
func (c *collector) total(name string) (n int64) {
	m := c.metrics[name]
	if m == nil {
		return 0
	}
	for _, p := range m.GetSum().GetDataPoints() {
		n += p.GetAsInt()
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		n += int64(p.GetCount())
	}
	return n
}

func (c *collector) holds(secret string) bool { return bytes.Contains(c.raw, []byte(secret)) }

func id(b []byte) string { return hex.EncodeToString(b) }
