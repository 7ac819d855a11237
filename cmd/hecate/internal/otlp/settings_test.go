package otlp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/otlp"
)

func TestRead(t *testing.T) {
	s, problems := otlp.Read(map[string]string{})
	if len(problems) > 0 || s.Any() || s.Service != "hecate" || s.Sampler != "parentbased_always_on" || s.Traces.Timeout != 5*time.Second ||
		s.Interval != 30*time.Second || s.Logs.Endpoint != "http://localhost:4318/v1/logs" {
		t.Errorf("without a variable: %+v, %v", s, problems)
	}
	s, problems = otlp.Read(map[string]string{
		"HECATE_OTEL_ENDPOINT": "https://collector.example/base/", "HECATE_OTEL_HEADERS": "a=1, b=x=y,", "HECATE_OTEL_TIMEOUT": "2s",
		"HECATE_OTEL_TRACES_ENDPOINT": "http://traces.example:4318/v1/traces", "HECATE_OTEL_METRICS_TRANSPORT": "grpc", "HECATE_OTEL_METRICS_ENDPOINT": "metrics.example:4317",
		"HECATE_OTEL_TRACES_TIMEOUT": "3s", "HECATE_OTEL_LOGS_HEADERS": "c=3", "HECATE_OTEL_TRACES_ENABLED": "1", "HECATE_OTEL_TRACES_SAMPLER": "traceidratio",
		"HECATE_OTEL_TRACES_SAMPLER_ARG": "0.25", "HECATE_METRICS_ADDRESS": "127.0.0.1:0",
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for what, got := range map[string][2]any{
		"endpoint of traces":  {s.Traces.Endpoint, "http://traces.example:4318/v1/traces"},
		"endpoint of metrics": {s.Metrics.Endpoint, "http://metrics.example:4317"},
		"endpoint of logs":    {s.Logs.Endpoint, "http://traces.example:4318/v1/logs"}, // as for traces
		"timeout of traces":   {s.Traces.Timeout, 3 * time.Second},
		"timeout of metrics":  {s.Metrics.Timeout, 2 * time.Second},
		"timeout of logs":     {s.Logs.Timeout, 3 * time.Second},
		"a header":            {s.Traces.Headers["b"], "x=y"},
		"headers of logs":     {len(s.Logs.Headers), 1},
		"ratio":               {s.SamplerArg, 0.25},
		"metrics are wanted":  {s.Measures(), true},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
	s, _ = otlp.Read(map[string]string{"HECATE_OTEL_ENDPOINT": "https://collector.example/base", "HECATE_OTEL_TRACES_ENDPOINT": "https://other.example/own/path"})
	if s.Metrics.Endpoint != "https://collector.example/base/v1/metrics" || s.Traces.Endpoint != "https://other.example/own/path" {
		t.Errorf("%s, %s", s.Metrics.Endpoint, s.Traces.Endpoint)
	}
}

// Each problem is named, and credentials are not repeated.
func TestReadProblems(t *testing.T) {
	const secret = "s3cr3t"
	for variable, value := range map[string]string{
		"HECATE_OTEL_TRACES_ENABLED": "yes!", "HECATE_OTEL_TRANSPORT": "carrier-pigeon", "HECATE_OTEL_TIMEOUT": "5", "HECATE_OTEL_LOGS_TIMEOUT": "-1s",
		"HECATE_OTEL_ENDPOINT": "https://user:" + secret + "@collector.example", "HECATE_OTEL_TRACES_ENDPOINT": "ftp://" + secret, "HECATE_OTEL_HEADERS": secret,
		"HECATE_OTEL_METRICS_HEADERS": "a=b\n" + secret, "HECATE_OTEL_TRACES_SAMPLER": "sometimes", "HECATE_OTEL_TRACES_SAMPLER_ARG": "NaN",
		"HECATE_OTEL_METRICS_INTERVAL": "0s", "HECATE_OTEL_METRICS_EXEMPLAR_FILTER": "some", "HECATE_METRICS_ADDRESS": "nowhere",
		"HECATE_TRACE_BODIES": "maybe", "HECATE_TRACE_BODY_MODE": "everything", "HECATE_TRACE_BODY_MAX_BYTES": "0",
	} {
		_, problems := otlp.Read(map[string]string{variable: value})
		text := errors.Join(problems...)
		if text == nil || !strings.Contains(text.Error(), variable) || strings.Contains(text.Error(), secret) {
			t.Errorf("%s=%s: %v", variable, value, text)
		}
	}
}

// Whatever the environment holds, what is on has an address.
func FuzzRead(f *testing.F) {
	f.Add("http://localhost:4318", "a=b", "grpc")
	f.Add("://", "=,=", "http")
	f.Add("x:y@z", "\x00=\xff", "")
	f.Fuzz(func(t *testing.T, endpoint, headers, transport string) {
		s, problems := otlp.Read(map[string]string{"HECATE_OTEL_ENDPOINT": endpoint, "HECATE_OTEL_HEADERS": headers, "HECATE_OTEL_TRANSPORT": transport})
		if len(problems) == 0 && (!strings.HasPrefix(s.Traces.Endpoint, "http") || strings.Contains(s.Traces.Endpoint, "@")) {
			t.Errorf("%q: %q", endpoint, s.Traces.Endpoint)
		}
	})
}
