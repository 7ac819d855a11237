package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"hecate/api/request"
	"hecate/cmd/hecate/internal/otlp"
	"hecate/domain/secret"
	"hecate/domain/trace"
	"hecate/eventstore"
	"hecate/projections/telemetry"
	"hecate/projections/traces"
)

// handOnMax is how long the end of a node waits for telemetry to be handed on.
const handOnMax = 2 * time.Second

// ownerLook is how often it is looked which node tells of runs.
const ownerLook = time.Second

// observed is what a node hands on about itself and about runs. With all of it off there
// is nothing in it.
type observed struct {
	settings  otlp.Settings
	secrets   *secret.Set // withheld from what requests say
	providers *otlp.Providers
	tracer    *telemetry.Tracer
	meter     *telemetry.Meter
	follower  *telemetry.Follower
	page      *http.Server
	listener  net.Listener
}

// observe sets up what the settings ask for, and returns the log that the node is to use.
func observe(ctx context.Context, s otlp.Settings, secrets *secret.Set, log *slog.Logger) (*observed, *slog.Logger, error) {
	o := &observed{settings: s, secrets: secrets}
	handler := log.Handler()
	log = slog.New(withholding{handler, secrets})
	if s.Any() {
		s.Instance = cmp.Or(s.Instance, uuid.NewString())
		s.Version = cmp.Or(s.Version, strings.TrimPrefix(version(), "hecate "))
		if err := o.open(ctx, s, log); err != nil {
			return nil, log, errors.Join(err, o.close())
		}
		handler = o.providers.Handler(handler, func(ctx context.Context) trace.Parent { return request.From(ctx).Place() })
	}
	own := slog.New(request.LogHandler{Handler: withholding{handler, secrets}}).With("service.name", s.Service)
	if s.Bodies {
		own.Warn("HECATE_TRACE_BODIES has no effect: texts are never put on spans")
	}
	return o, own, nil
}

func (o *observed) open(ctx context.Context, s otlp.Settings, log *slog.Logger) (err error) {
	if o.providers, err = otlp.Start(ctx, s, telemetry.IDs{}, log); err != nil {
		return err
	}
	if p := o.providers.Traces; p != nil {
		o.tracer = telemetry.NewTracer(p, otlp.Sampler(s))
	}
	if p := o.providers.Meters; p != nil {
		if o.meter, err = telemetry.NewMeter(p); err != nil {
			return fmt.Errorf("set up metrics: %w", err)
		}
	}
	if o.providers.Page == nil {
		return nil
	}
	if o.listener, err = listen(s.Address); err != nil {
		return fmt.Errorf("HECATE_METRICS_ADDRESS: %v", err) //nolint:errorlint // an address that is taken is not that of the API
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", o.providers.Page)
	o.page = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	return nil
}

// follow makes ready to tell of runs, from the end of the log as it is.
func (o *observed) follow(ctx context.Context, n *node, nodeID string) (err error) {
	if o.tracer == nil && o.meter == nil {
		return nil
	}
	c := telemetry.Config{Log: n.stores.log, Backend: n.config.Backend, Tracer: o.tracer, Meter: o.meter, Logger: n.log}
	if n.stores.shared {
		c.Owner = firstNode(n.stores.log, nodeID, n.log)
	}
	o.follower, err = telemetry.NewFollower(ctx, c)
	return err
}

// firstNode tells of each of the nodes that execute the runs of one log whether it is the
// first of them, by its id: that one tells of runs. As nodes come and go there is a moment
// in which two do, or none.
func firstNode(log eventstore.Leases, own string, logger *slog.Logger) func(context.Context) bool {
	var looked time.Time
	first := false
	return func(ctx context.Context) bool {
		if !looked.IsZero() && time.Since(looked) < ownerLook {
			return first
		}
		workers, err := log.Workers(ctx)
		if err != nil {
			logger.Debug("look for the node that tells of runs", "error", err)
			return first
		}
		looked, first = time.Now(), slices.ContainsFunc(workers, func(w eventstore.LiveWorker) bool { return w.Node == own })
		for _, w := range workers {
			first = first && own <= w.Node
		}
		return first
	}
}

// run tells of runs and serves the page for Prometheus until the returned function is
// called, which tells the rest and hands on what waits.
func (o *observed) run(ctx context.Context, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	if o.follower != nil {
		running.Go(func() {
			if err := o.follower.Run(ctx); err != nil {
				log.Error("telemetry of runs has ended", "error", err)
			}
		})
	}
	if o.page != nil {
		running.Go(func() {
			if err := o.page.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("the metrics are not served any more", "error", err)
			}
		})
	}
	return func() {
		cancel()
		if o.page != nil {
			_ = o.page.Close() // a reader of metrics comes back
		}
		running.Wait()
		if o.follower == nil {
			return
		}
		rest, done := context.WithTimeout(context.WithoutCancel(ctx), handOnMax)
		defer done()
		if err := o.follower.CatchUp(rest); err != nil {
			log.Warn("telemetry is not complete", "error", err)
		}
	}
}

// close hands on what waits, for a moment, and ends the exporters.
func (o *observed) close() error {
	if o == nil {
		return nil
	}
	if o.listener != nil {
		_ = o.listener.Close() // closed already after a normal end
	}
	if o.providers == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), handOnMax)
	defer stop()
	return o.providers.Shutdown(ctx)
}

// served returns what is told of answered requests, nil if nobody wants to know.
func (o *observed) served() func(request.Served) {
	if o.tracer == nil {
		return nil
	}
	return func(s request.Served) {
		if !s.Unsampled {
			s.ID, _ = o.secrets.Withhold(s.ID) // the client's own
			o.tracer.Export(httpSpan(s))
		}
	}
}

// httpSpan is one request as a span. Its path is the pattern, which holds no ids.
func httpSpan(s request.Served) traces.Span {
	span := traces.Span{
		TraceID: s.TraceID, SpanID: s.SpanID, ParentID: s.Caller.SpanID, Name: request.EventName, Kind: traces.KindServer, Start: s.Start, End: s.End,
		Attributes: traces.Attributes{"http.request.method": s.Method, "hecate.request_id": s.ID}, Status: traces.StatusUnset,
	}
	if s.Route != "" {
		span.Attributes["http.route"] = s.Route
	}
	if s.Status > 0 {
		span.Attributes["http.response.status_code"] = int64(s.Status)
	}
	if s.Status >= http.StatusInternalServerError || s.Status == 0 {
		span.Status = traces.StatusError
	}
	return span
}

// checkMetrics refuses to show metrics where others can read them, unless that is meant.
func (c *config) checkMetrics() error {
	if c.Telemetry.Address == "" || c.AllowOpenBind {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Telemetry.Address)
	if err != nil {
		return nil // named already
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("HECATE_METRICS_ADDRESS %s is reachable from outside; set HECATE_ALLOW_NON_LOOPBACK_BIND=1 if that is meant", c.Telemetry.Address)
}
