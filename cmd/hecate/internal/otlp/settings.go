// Package otlp sets up what hands telemetry on: exporters of traces, metrics and logs
// over OTLP, and a page that Prometheus reads. Each signal is off unless it is asked for;
// one that is off has no goroutine and costs nothing.
//
// A collector that is slow or away holds nothing up. What waits for it is bounded, and
// what does not fit or is refused is counted and dropped.
package otlp

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// The ways to reach a collector.
const (
	HTTP = "http"
	GRPC = "grpc"
)

// The names of the signals, as in paths.
const (
	Traces  = "traces"
	Metrics = "metrics"
	Logs    = "logs"
)

const (
	timeoutDefault  = 5 * time.Second
	intervalDefault = 30 * time.Second
)

// Signal is how one kind of telemetry is handed on.
type Signal struct {
	Enabled   bool
	Endpoint  string // the full URL
	Headers   map[string]string
	Timeout   time.Duration // of one export
	Transport string        // HTTP or GRPC
}

// Settings are read from the environment, see Read.
type Settings struct {
	Traces, Metrics, Logs Signal

	Sampler    string
	SamplerArg float64
	Interval   time.Duration // between two exports of metrics
	Exemplars  string        // "" for the SDK's own choice

	Service, Version, Instance, Environment string

	// Address is where Prometheus can read the metrics; "" for nowhere.
	Address string
	// Bodies says that somebody wants texts of requests on spans. There are never any.
	Bodies bool
}

// Any reports whether anything is on.
func (s Settings) Any() bool { return s.Traces.Enabled || s.Logs.Enabled || s.Measures() }

// Measures reports whether anybody wants metrics.
func (s Settings) Measures() bool { return s.Metrics.Enabled || s.Address != "" }

// Samplers are the names that HECATE_OTEL_TRACES_SAMPLER may have.
var samplers = []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}

// reader reads variables and collects what is wrong with them.
type reader struct {
	values   map[string]string
	problems []error
}

// Read takes the settings out of the environment. An empty variable is an unset one. The
// problems don't repeat endpoints and headers, which may hold credentials.
func Read(values map[string]string) (Settings, []error) {
	r := &reader{values: values}
	s := Settings{
		Sampler:    r.choice("HECATE_OTEL_TRACES_SAMPLER", "parentbased_always_on", samplers...),
		SamplerArg: r.ratio("HECATE_OTEL_TRACES_SAMPLER_ARG"),
		Interval:   r.duration("HECATE_OTEL_METRICS_INTERVAL", intervalDefault),
		Exemplars:  r.choice("HECATE_OTEL_METRICS_EXEMPLAR_FILTER", "", "trace_based", "always_on", "always_off"),
		Service:    r.text("HECATE_OTEL_SERVICE_NAME", "hecate"), Version: values["HECATE_OTEL_SERVICE_VERSION"],
		Instance: values["HECATE_OTEL_SERVICE_INSTANCE_ID"], Environment: values["HECATE_OTEL_DEPLOYMENT_ENVIRONMENT"],
		Address: values["HECATE_METRICS_ADDRESS"], Bodies: r.flag("HECATE_TRACE_BODIES"),
	}
	r.choice("HECATE_TRACE_BODY_MODE", "metadata", "metadata", "redacted_text")
	if n, err := strconv.Atoi(r.text("HECATE_TRACE_BODY_MAX_BYTES", "4096")); err != nil || n < 1 {
		r.problem("HECATE_TRACE_BODY_MAX_BYTES must be a positive number of bytes")
	}
	s.Traces = r.signal(Traces)
	s.Metrics = r.signal(Metrics)
	s.Logs = r.signal(Logs, Traces)
	if s.Address != "" {
		if _, _, err := net.SplitHostPort(s.Address); err != nil {
			r.problem("HECATE_METRICS_ADDRESS: %q is no host:port", s.Address)
		}
	}
	return s, r.problems
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(format, args...))
}

// signal reads what holds for one signal: its own variables, then those of the signals
// that it falls back to, then the shared ones.
func (r *reader) signal(name string, others ...string) Signal {
	own := prefix(name)
	s := Signal{Enabled: r.flag(own + "ENABLED")}
	find := func(what string) string {
		for _, from := range append([]string{name}, others...) {
			if variable := prefix(from) + what; r.values[variable] != "" {
				return variable
			}
		}
		return "HECATE_OTEL_" + what
	}
	s.Timeout = r.duration(find("TIMEOUT"), timeoutDefault)
	s.Transport = r.choice(find("TRANSPORT"), HTTP, HTTP, GRPC)
	s.Headers = r.headers(find("HEADERS"))
	variable := find("ENDPOINT")
	s.Endpoint = r.endpoint(variable, s.Transport, name, variable == own+"ENDPOINT")
	return s
}

func prefix(signal string) string { return "HECATE_OTEL_" + strings.ToUpper(signal) + "_" }

// endpoint reads a URL. One that was given for this signal and has a path is taken as it
// is; any other one gets the signal's usual path.
func (r *reader) endpoint(variable, transport, signal string, own bool) string {
	text := r.values[variable]
	if text == "" {
		text = "http://localhost:4318"
		if transport == GRPC {
			text = "http://localhost:4317"
		}
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		r.problem("%s must be an address such as http://localhost:4318; credentials belong in the headers", variable)
		return ""
	}
	if transport == GRPC {
		return u.Scheme + "://" + u.Host
	}
	path := strings.TrimRight(u.Path, "/")
	if own && path != "" {
		return u.String()
	}
	for _, s := range []string{Traces, Metrics, Logs} {
		path = strings.TrimSuffix(path, "/v1/"+s)
	}
	return u.Scheme + "://" + u.Host + path + "/v1/" + signal
}

// headers reads name=value pairs with commas between them.
func (r *reader) headers(variable string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Split(r.values[variable], ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			r.problem("%s must be name=value pairs with commas between them, such as authorization=Bearer abc", variable)
			return nil
		}
		out[name] = value
	}
	return out
}

func (r *reader) text(variable, byDefault string) string {
	if v := r.values[variable]; v != "" {
		return v
	}
	return byDefault
}

func (r *reader) choice(variable, byDefault string, known ...string) string {
	v := r.text(variable, byDefault)
	if v != byDefault && !slices.Contains(known, v) {
		r.once("%s is %q: use %s", variable, v, strings.Join(known, ", "))
	}
	return v
}

func (r *reader) flag(variable string) bool {
	v, err := strconv.ParseBool(r.text(variable, "false"))
	if err != nil {
		r.problem("%s is %q: use true or false", variable, r.values[variable])
	}
	return v
}

func (r *reader) ratio(variable string) float64 {
	v, err := strconv.ParseFloat(r.text(variable, "1"), 64)
	if err != nil || !(v >= 0 && v <= 1) { // NaN is neither
		r.problem("%s must be a number from 0 to 1", variable)
	}
	return v
}

func (r *reader) duration(variable string, byDefault time.Duration) time.Duration {
	v, err := time.ParseDuration(r.text(variable, byDefault.String()))
	if err != nil || v <= 0 {
		r.once("%s must be a positive duration such as %s", variable, byDefault)
	}
	return v
}

// once is problem for what several signals share.
func (r *reader) once(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(r.problems, func(e error) bool { return e.Error() == err.Error() }) {
		r.problems = append(r.problems, err)
	}
}
