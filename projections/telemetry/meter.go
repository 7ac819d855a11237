package telemetry

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"hecate/projections/traces"
)

// Meter counts and measures spans that are over. The nil Meter does nothing.
type Meter struct {
	counters   map[string]metric.Int64Counter
	histograms map[string]metric.Int64Histogram
}

// instrument is the name, the unit and the meaning of one.
type instrument struct{ name, unit, about string }

var (
	counters = []instrument{
		{"hecate.gateway.requests", "{request}", "Model calls, with all attempts at each"},
		{"gen_ai.gateway.chat.requests", "{request}", "Model calls that were answered"},
		{"gen_ai.gateway.cost", "1", "Known cost of model calls, in millionths of a US dollar"},
		{"gen_ai.client.tokens.input", "{token}", "Tokens of prompts"},
		{"gen_ai.client.tokens.output", "{token}", "Tokens of answers"},
		{"gen_ai.client.tokens.total", "{token}", "Tokens of prompts and answers"},
		{"hecate.gateway.retries", "{retry}", "Attempts that were made again at the same provider"},
		{"hecate.gateway.failovers", "{failover}", "Model calls that went on at another provider"},
		{"hecate.provider.calls", "{call}", "Attempts at providers"},
		{"hecate.orchestrator.runs", "{run}", "Runs that have ended"},
		{"hecate.orchestrator.steps", "{step}", "Steps that have ended"},
		{"hecate.orchestrator.approvals", "{approval}", "Approvals that were answered"},
		{"hecate.orchestrator.queue.lease_extend_failures", "{failure}", "Runs that were taken from a worker whose lease ran out"},
	}
	histograms = []instrument{
		{"hecate.gateway.request.duration", "ms", "How long model calls took, with all attempts"},
		{"hecate.provider.call.duration", "ms", "How long attempts at providers took"},
		{"hecate.orchestrator.run.duration", "ms", "From the opening of a run to its end"},
		{"hecate.orchestrator.queue.wait_duration", "ms", "How long runs waited for a worker"},
		{"hecate.orchestrator.step.duration", "ms", "How long steps took"},
		{"hecate.orchestrator.approval.wait_duration", "ms", "How long approvals waited for an answer"},
	}
	// buckets suit model calls and whole runs: from 5 ms to an hour.
	buckets = []float64{5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000}
)

// NewMeter makes the instruments.
func NewMeter(p metric.MeterProvider) (*Meter, error) {
	meter := p.Meter(Scope)
	m := &Meter{counters: map[string]metric.Int64Counter{}, histograms: map[string]metric.Int64Histogram{}}
	var all error
	for _, of := range counters {
		c, err := meter.Int64Counter(of.name, metric.WithUnit(of.unit), metric.WithDescription(of.about))
		m.counters[of.name], all = c, errors.Join(all, err)
	}
	for _, of := range histograms {
		h, err := meter.Int64Histogram(of.name, metric.WithUnit(of.unit), metric.WithDescription(of.about), metric.WithExplicitBucketBoundaries(buckets...))
		m.histograms[of.name], all = h, errors.Join(all, err)
	}
	return m, all
}

// count adds to a counter; nothing is no event.
func (m *Meter) count(name string, n int64, labels attribute.Set) {
	if n > 0 {
		m.counters[name].Add(context.Background(), n, metric.WithAttributeSet(labels))
	}
}

// time records milliseconds; what took none is not recorded.
func (m *Meter) time(name string, ms int64, labels attribute.Set) {
	if ms > 0 {
		m.histograms[name].Record(context.Background(), ms, metric.WithAttributeSet(labels))
	}
}

// both counts one and records how long it took.
func (m *Meter) both(counter, histogram string, ms int64, labels attribute.Set) {
	m.count(counter, 1, labels)
	m.time(histogram, ms, labels)
}

// measure takes one span that is over.
func (m *Meter) measure(s traces.Span) {
	if m == nil {
		return
	}
	a := s.Attributes
	ms := s.End.Sub(s.Start).Milliseconds()
	switch s.Name {
	case traces.Provider:
		m.provider(s, ms)
	case traces.Usage:
		labels := who(a, "")
		m.count("gen_ai.gateway.cost", number(a, "hecate.cost.total_micros_usd"), labels)
		m.count("gen_ai.client.tokens.input", number(a, "gen_ai.usage.input_tokens"), labels)
		m.count("gen_ai.client.tokens.output", number(a, "gen_ai.usage.output_tokens"), labels)
		m.count("gen_ai.client.tokens.total", number(a, "gen_ai.usage.total_tokens"), labels)
	case traces.RunSpan:
		m.both("hecate.orchestrator.runs", "hecate.orchestrator.run.duration", ms, set(
			closed(a, "hecate.run.status"), closed(a, "hecate.execution.kind"), free(a, "gen_ai.request.model")))
	case traces.Step:
		m.both("hecate.orchestrator.steps", "hecate.orchestrator.step.duration", ms, set(closed(a, "hecate.step.kind"), closed(a, "hecate.result")))
	case traces.Approval:
		if _, asked := a["hecate.approval.kind"]; asked {
			m.both("hecate.orchestrator.approvals", "hecate.orchestrator.approval.wait_duration", ms, set(closed(a, "hecate.approval.kind"), closed(a, "hecate.approval.decision")))
		}
	case traces.Queue:
		m.queue(s)
	}
}

// queue tells a wait for a worker from a worker that was lost.
func (m *Meter) queue(s traces.Span) {
	for _, e := range s.Events {
		switch e.Name {
		case "queue.claimed":
			m.time("hecate.orchestrator.queue.wait_duration", number(s.Attributes, "hecate.queue.wait_ms"), set(closed(s.Attributes, "hecate.queue.backend")))
		case "queue.lease_extend_failed":
			m.count("hecate.orchestrator.queue.lease_extend_failures", 1, attribute.NewSet())
		}
	}
}

// provider takes one model call with all attempts at it.
func (m *Meter) provider(s traces.Span, ms int64) {
	a := s.Attributes
	m.both("hecate.gateway.requests", "hecate.gateway.request.duration", ms, set(closed(a, "hecate.result")))
	if a["hecate.result"] == traces.Success {
		m.count("gen_ai.gateway.chat.requests", 1, who(a, ""))
	}
	for _, e := range s.Events {
		switch e.Name {
		case "provider.call.finished", "provider.call.failed":
			b := e.Attributes
			m.both("hecate.provider.calls", "hecate.provider.call.duration", number(b, "hecate.provider.latency_ms"), set(
				free(b, "gen_ai.provider.name"), closed(b, "hecate.provider.kind"), free(b, "gen_ai.request.model"), closed(b, "hecate.result"),
				attribute.Int64("hecate.retry.attempt", min(number(b, "hecate.retry.attempt"), attemptMax))))
		case "provider.retry.scheduled":
			m.count("hecate.gateway.retries", 1, who(a, ""))
		case "provider.failover.triggered":
			from, _ := e.Attributes["hecate.failover.from_provider"].(string)
			m.count("hecate.gateway.failovers", 1, who(a, from))
		}
	}
}

// attemptMax bounds a label that counts.
const attemptMax = 10

// who are the labels of a model call.
func who(a traces.Attributes, failoverFrom string) attribute.Set {
	labels := []attribute.KeyValue{
		free(a, "gen_ai.provider.name"), closed(a, "hecate.provider.kind"), free(a, "gen_ai.request.model"), free(a, "gen_ai.response.model"),
	}
	if failoverFrom != "" {
		labels = append(labels, attribute.String("hecate.failover.from_provider", traces.Label(failoverFrom)))
	}
	return set(labels...)
}

// closedSets are the values that a label may have.
var closedSets = map[string][]string{
	"hecate.provider.kind":     {"cloud", "local"},
	"hecate.result":            {traces.Success, traces.Denied, traces.Failure},
	"hecate.run.status":        {"queued", "running", "awaiting_approval", "completed", "failed", "cancelled"},
	"hecate.execution.kind":    {"chat", "agent_loop", "file", "git", "shell"},
	"hecate.step.kind":         {"approval", "file", "git", "model", "shell", "summary", "tool"},
	"hecate.approval.kind":     {"shell_command", "git_exec", "file_write", "network_egress", "agent_loop_tool_call"},
	"hecate.approval.decision": {"approved", "cancelled", "rejected"},
	"hecate.queue.backend":     {"memory", "sqlite", "postgres"},
}

// closed is a label with one of a few values; any other is "other".
func closed(a traces.Attributes, name string) attribute.KeyValue {
	v, _ := a[name].(string)
	if v != "" && !slices.Contains(closedSets[name], v) {
		v = "other"
	}
	return attribute.String(name, v)
}

// free is a label that an operator has chosen.
func free(a traces.Attributes, name string) attribute.KeyValue {
	v, _ := a[name].(string)
	return attribute.String(name, traces.Label(v))
}

// set leaves out labels without a value.
func set(labels ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(slices.DeleteFunc(labels, func(kv attribute.KeyValue) bool {
		return kv.Value.Type() == attribute.STRING && kv.Value.AsString() == ""
	})...)
}

func number(a traces.Attributes, name string) int64 {
	n, _ := a[name].(int64)
	return n
}
