package otlp

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queueMax is how many spans, or lines of the log, may wait for the collector.
const queueMax = 4096

// complainEvery is how often it is said that telemetry gets lost.
const complainEvery = time.Minute

// losses counts what a signal loses.
type losses struct {
	signal  string
	log     *slog.Logger
	waiting atomic.Int64
	lost    atomic.Int64
	said    atomic.Int64 // when somebody was told last, in nanoseconds of began
	began   time.Time
}

func newLosses(signal string, log *slog.Logger) *losses {
	l := &losses{signal: signal, log: log, began: time.Now()}
	l.said.Store(int64(-complainEvery))
	return l
}

// enter reports whether one more may wait; if not it is lost.
func (l *losses) enter() bool {
	if l.waiting.Add(1) <= queueMax {
		return true
	}
	l.waiting.Add(-1)
	l.lose(1, nil)
	return false
}

// left says that so many don't wait any more, and how that went. A collector that
// fails is no error of this process.
func (l *losses) left(n int, err error) {
	l.waiting.Add(int64(-n))
	if err != nil {
		l.lose(n, err)
	}
}

func (l *losses) lose(n int, err error) {
	lost := l.lost.Add(int64(n))
	last, at := l.said.Load(), int64(time.Since(l.began))
	if at-last < int64(complainEvery) || !l.said.CompareAndSwap(last, at) {
		return
	}
	attrs := []any{"signal", l.signal, "lost", lost}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	l.log.Warn("telemetry is lost: the collector does not take it", attrs...)
}

// spanGate lets as many spans through as may wait.
type spanGate struct {
	sdktrace.SpanProcessor
	*losses
}

// OnEnd passes the span on, or loses it.
func (g spanGate) OnEnd(s sdktrace.ReadOnlySpan) {
	if g.enter() {
		g.SpanProcessor.OnEnd(s)
	}
}

// spanExporter notes what has left.
type spanExporter struct {
	sdktrace.SpanExporter
	*losses
}

// ExportSpans hands spans to the collector.
func (x spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	x.left(len(spans), x.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// logGate lets as many lines through as may wait.
type logGate struct {
	sdklog.Processor
	*losses
}

// OnEmit passes the line on, or loses it.
func (g logGate) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !g.enter() {
		return nil
	}
	return g.Processor.OnEmit(ctx, r)
}

// logExporter notes what has left.
type logExporter struct {
	sdklog.Exporter
	*losses
}

// Export hands lines to the collector.
func (x logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	x.left(len(records), x.Exporter.Export(ctx, records))
	return nil
}

// metricExporter counts exports that failed. Nothing waits: the next one has the sums.
type metricExporter struct {
	metric.Exporter
	*losses
}

// Export hands metrics to the collector.
func (x metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := x.Exporter.Export(ctx, m); err != nil {
		x.lose(1, err)
	}
	return nil
}
