package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func traceExporter(ctx context.Context, s Signal) (sdktrace.SpanExporter, error) {
	return otlptrace.New(ctx, otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(s.Endpoint), otlptracehttp.WithHeaders(s.Headers), otlptracehttp.WithTimeout(s.Timeout)))
}

func metricsExporter(ctx context.Context, s Signal) (metric.Exporter, error) {
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.Endpoint), otlpmetrichttp.WithHeaders(s.Headers), otlpmetrichttp.WithTimeout(s.Timeout))
}

func logsExporter(ctx context.Context, s Signal) (sdklog.Exporter, error) {
	return otlploghttp.New(ctx, otlploghttp.WithEndpointURL(s.Endpoint), otlploghttp.WithHeaders(s.Headers), otlploghttp.WithTimeout(s.Timeout))
}
