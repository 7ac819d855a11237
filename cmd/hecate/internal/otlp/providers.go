package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	otelmetric "go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"hecate/domain/trace"
)

// Providers are what is on. Those that are off are nil.
type Providers struct {
	Traces *sdktrace.TracerProvider // samples all that it gets
	Meters *metric.MeterProvider
	Page   http.Handler // for Prometheus

	logs   *sdklog.LoggerProvider
	losses []*losses
}

// Start sets up what the settings ask for. Spans get their ids from ids. What goes wrong
// with collectors is told to log, which must not lead to one.
func Start(ctx context.Context, s Settings, ids sdktrace.IDGenerator, log *slog.Logger) (*Providers, error) {
	res, err := About(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &Providers{}
	for _, start := range []func(context.Context, Settings, *resource.Resource, *slog.Logger) error{
		func(ctx context.Context, s Settings, res *resource.Resource, log *slog.Logger) error {
			return p.startTraces(ctx, s, res, ids, log)
		},
		p.startLogs, p.startMeters, // meters last: they count what the others lose
	} {
		if err := start(ctx, s, res, log); err != nil {
			return nil, errors.Join(fmt.Errorf("set up telemetry: %w", err), p.Shutdown(ctx))
		}
	}
	return p, nil
}

// About says what is exported from where. Arguments, owner and paths of the process are
// nobody's business. OTEL_RESOURCE_ATTRIBUTES has the last word.
func About(ctx context.Context, s Settings) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{
		attribute.String("service.name", s.Service), attribute.String("service.instance.id", s.Instance),
	}
	for name, value := range map[string]string{"service.version": s.Version, "deployment.environment.name": s.Environment} {
		if value != "" {
			attrs = append(attrs, attribute.String(name, value))
		}
	}
	return resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(), resource.WithProcessExecutableName(),
		resource.WithProcessRuntimeName(), resource.WithProcessRuntimeVersion(), resource.WithAttributes(attrs...), resource.WithFromEnv())
}

func (p *Providers) counts(signal string, log *slog.Logger) *losses {
	l := newLosses(signal, log)
	p.losses = append(p.losses, l)
	return l
}

func (p *Providers) startTraces(ctx context.Context, s Settings, res *resource.Resource, ids sdktrace.IDGenerator, log *slog.Logger) error {
	if !s.Traces.Enabled {
		return nil
	}
	exporter, err := traceExporter(ctx, s.Traces)
	if err != nil {
		return err
	}
	l := p.counts(Traces, log)
	batches := sdktrace.NewBatchSpanProcessor(spanExporter{exporter, l},
		sdktrace.WithMaxQueueSize(queueMax), sdktrace.WithExportTimeout(s.Traces.Timeout))
	p.Traces = sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithIDGenerator(ids), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithSpanProcessor(spanGate{batches, l}))
	return nil
}

func (p *Providers) startLogs(ctx context.Context, s Settings, res *resource.Resource, log *slog.Logger) error {
	if !s.Logs.Enabled {
		return nil
	}
	exporter, err := logsExporter(ctx, s.Logs)
	if err != nil {
		return err
	}
	l := p.counts(Logs, log)
	batches := sdklog.NewBatchProcessor(logExporter{exporter, l}, sdklog.WithMaxQueueSize(queueMax), sdklog.WithExportTimeout(s.Logs.Timeout))
	p.logs = sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(logGate{batches, l}))
	return nil
}

func (p *Providers) startMeters(ctx context.Context, s Settings, res *resource.Resource, log *slog.Logger) error {
	if !s.Measures() {
		return nil
	}
	options := []metric.Option{metric.WithResource(res)}
	if f := exemplars[s.Exemplars]; f != nil {
		options = append(options, metric.WithExemplarFilter(f))
	}
	if s.Metrics.Enabled {
		exporter, err := metricsExporter(ctx, s.Metrics)
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(metric.NewPeriodicReader(metricExporter{exporter, p.counts(Metrics, log)},
			metric.WithInterval(s.Interval), metric.WithTimeout(s.Metrics.Timeout))))
	}
	if s.Address != "" {
		registry := prometheus.NewRegistry()
		page, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutTargetInfo(), otelprom.WithoutScopeInfo())
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(page))
		p.Page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	}
	p.Meters = metric.NewMeterProvider(options...)
	return p.countLosses()
}

var exemplars = map[string]exemplar.Filter{
	"trace_based": exemplar.TraceBasedFilter, "always_on": exemplar.AlwaysOnFilter, "always_off": exemplar.AlwaysOffFilter,
}

// countLosses makes the metric of what telemetry itself loses.
func (p *Providers) countLosses() error {
	_, err := p.Meters.Meter("hecate").Int64ObservableCounter("hecate.telemetry.dropped", otelmetric.WithUnit("{item}"), otelmetric.WithDescription("Telemetry that no collector took"),
		otelmetric.WithInt64Callback(func(_ context.Context, o otelmetric.Int64Observer) error {
			for _, l := range p.losses {
				o.Observe(l.lost.Load(), otelmetric.WithAttributes(attribute.String("hecate.telemetry.signal", l.signal)))
			}
			return nil
		}))
	return err
}

// Sampler decides which traces are exported.
func Sampler(s Settings) sdktrace.Sampler {
	switch s.Sampler {
	case "always_on":
		return sdktrace.AlwaysSample()
	case "always_off":
		return sdktrace.NeverSample()
	case "traceidratio":
		return sdktrace.TraceIDRatioBased(s.SamplerArg)
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample())
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(s.SamplerArg))
	}
	return sdktrace.ParentBased(sdktrace.AlwaysSample())
}

// Handler returns a handler that also hands lines to the collector, or next itself. place
// tells where in a trace a line belongs.
func (p *Providers) Handler(next slog.Handler, place func(context.Context) trace.Parent) slog.Handler {
	if p.logs == nil {
		return next
	}
	return &handler{Handler: next, logger: p.logs.Logger("hecate"), place: place}
}

// Shutdown hands on what waits, as far as ctx allows, and ends all of it.
func (p *Providers) Shutdown(ctx context.Context) error {
	var err error
	if p.Traces != nil {
		err = errors.Join(err, p.Traces.Shutdown(ctx))
	}
	if p.Meters != nil {
		err = errors.Join(err, p.Meters.Shutdown(ctx))
	}
	if p.logs != nil {
		err = errors.Join(err, p.logs.Shutdown(ctx))
	}
	return err
}
