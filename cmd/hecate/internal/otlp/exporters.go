package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func traceExporter(ctx context.Context, s Signal) (sdktrace.SpanExporter, error) {
	if s.Transport == GRPC {
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(s.Endpoint), otlptracegrpc.WithHeaders(s.Headers), otlptracegrpc.WithTimeout(s.Timeout))
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.Endpoint), otlptracehttp.WithHeaders(s.Headers), otlptracehttp.WithTimeout(s.Timeout))
}

func metricsExporter(ctx context.Context, s Signal) (metric.Exporter, error) {
	if s.Transport == GRPC {
		return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(s.Endpoint), otlpmetricgrpc.WithHeaders(s.Headers), otlpmetricgrpc.WithTimeout(s.Timeout))
	}
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.Endpoint), otlpmetrichttp.WithHeaders(s.Headers), otlpmetrichttp.WithTimeout(s.Timeout))
}

func logsExporter(ctx context.Context, s Signal) (sdklog.Exporter, error) {
	if s.Transport == GRPC {
		return otlploggrpc.New(ctx, otlploggrpc.WithEndpointURL(s.Endpoint), otlploggrpc.WithHeaders(s.Headers), otlploggrpc.WithTimeout(s.Timeout))
	}
	return otlploghttp.New(ctx, otlploghttp.WithEndpointURL(s.Endpoint), otlploghttp.WithHeaders(s.Headers), otlploghttp.WithTimeout(s.Timeout))
}
