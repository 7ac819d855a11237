package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"hecate/domain/event"
	"hecate/domain/retention"
	"hecate/domain/run"
	"hecate/domain/trace"
	"hecate/eventstore"
	"hecate/projections/projectiontest"
	"hecate/projections/telemetry"
	"hecate/projections/traces"
)

// receiver is the other end: what was handed on.
type receiver struct {
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	config telemetry.Config
}

func receive(t *testing.T, log eventstore.Store) *receiver {
	t.Helper()
	r := &receiver{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans), sdktrace.WithIDGenerator(telemetry.IDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	meter, err := telemetry.NewMeter(metric.NewMeterProvider(metric.WithReader(r.reader)))
	if err != nil {
		t.Fatal(err)
	}
	r.config = telemetry.Config{
		Log: log, Backend: "memory", Meter: meter, Tracer: telemetry.NewTracer(provider, sdktrace.ParentBased(sdktrace.AlwaysSample())),
		Logger: slog.New(slog.DiscardHandler),
	}
	return r
}

func (r *receiver) follow(t *testing.T) *telemetry.Follower {
	t.Helper()
	f, err := telemetry.NewFollower(t.Context(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ids are the spans that came, by id.
func (r *receiver) ids() map[string]string {
	out := map[string]string{}
	for _, s := range r.spans.GetSpans() {
		out[s.SpanContext.SpanID().String()] = s.Name
	}
	return out
}

// count is the sum of a counter.
func (r *receiver) count(t *testing.T, name string) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, p := range sum.DataPoints {
					n += p.Value
				}
			}
		}
	}
	return n
}

// traced is a story whose run is in a trace that can be exported.
func traced(name string) []projectiontest.Fact {
	story := projectiontest.Stories()[name]
	for i, f := range story.Facts {
		if p, ok := f.Payload.(run.Created); ok {
			p.TraceID, p.RootSpanID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
			story.Facts[i].Payload = p
		}
	}
	return story.Facts
}

// A node that starts in the midst of a run hands on what ends from then on, and it is
// what the one before would have handed on.
func TestAStartInTheMidst(t *testing.T) {
	facts := traced("answers")
	whole := map[string]string{}
	for at := range len(facts) {
		log := projectiontest.New(t)
		log.AddAll(facts[:at])
		r := receive(t, log)
		f := r.follow(t)
		log.AddAll(facts[at:])
		for range 2 { // delivered again it comes to nothing more
			if err := f.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if at == 0 {
			whole = r.ids()
			if len(whole) < 10 || r.count(t, "hecate.orchestrator.runs") != 1 || r.count(t, "hecate.orchestrator.steps") != 4 {
				t.Fatalf("spans %v", whole)
			}
			continue
		}
		for id, name := range r.ids() {
			if whole[id] != name {
				t.Errorf("from %d: %s %s is none of the whole", at, id, name)
			}
		}
		if at == len(facts)-1 && len(r.ids()) > 3 {
			t.Errorf("what had ended came again: %v", r.ids())
		}
	}
}

// Two nodes that both tell of the same records tell of the same spans.
func TestTheSameSpansTwice(t *testing.T) {
	log := projectiontest.New(t)
	one, two := receive(t, log), receive(t, log)
	f, g := one.follow(t), two.follow(t)
	log.AddAll(traced("approved"))
	for _, f := range []*telemetry.Follower{f, g} {
		if err := f.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(one.ids(), two.ids()); d != "" {
		t.Error(d)
	}
	for _, s := range one.spans.GetSpans() {
		if s.Name == traces.Request && (s.Parent.SpanID().String() != "00f067aa0ba902b7" || !s.Parent.IsRemote()) {
			t.Errorf("the root is part of %v", s.Parent)
		}
	}
}

// A node that is not the one to tell says nothing, and goes on from there once it is.
func TestOneNodeTells(t *testing.T) {
	facts := traced("answers")
	log := projectiontest.New(t)
	r := receive(t, log)
	owner := false
	r.config.Owner = func(context.Context) bool { return owner }
	f := r.follow(t)
	log.AddAll(facts[:len(facts)-6])
	if err := f.CatchUp(t.Context()); err != nil || len(r.ids()) != 0 {
		t.Fatalf("%v %v", err, r.ids())
	}
	owner = true
	log.AddAll(facts[len(facts)-6:])
	if err := f.CatchUp(t.Context()); err != nil || r.count(t, "hecate.orchestrator.runs") != 1 {
		t.Errorf("%v %v", err, r.ids())
	}
}

// failing is a log that cannot be read for a while.
type failing struct {
	eventstore.Store
	fails int
}

func (f *failing) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("away")
	}
	return f.Store.ReadStream(ctx, stream, after, limit)
}

// What was told before the database went away is not told again.
func TestNothingTwiceAfterAnError(t *testing.T) {
	first, second := traced("answers"), traced("approved")
	log := projectiontest.New(t)
	log.AddAll(second[:5])
	r := receive(t, log)
	away := &failing{Store: log.Store, fails: 1}
	r.config.Log = away
	f := r.follow(t)
	log.AddAll(first)
	log.AddAll(second[5:])
	if err := f.CatchUp(t.Context()); err == nil {
		t.Fatal("nobody noticed")
	}
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.count(t, "hecate.orchestrator.runs"); got != 2 || len(r.ids()) != len(r.spans.GetSpans()) {
		t.Errorf("%d runs, %d spans of %d ids", got, len(r.spans.GetSpans()), len(r.ids()))
	}
}

// Run takes what is appended while it goes on, as the log delivers it.
func TestRun(t *testing.T) {
	log := projectiontest.New(t)
	r := receive(t, log)
	seen := make(chan struct{}, 1)
	r.config.Owner = func(context.Context) bool {
		select {
		case seen <- struct{}{}:
		default:
		}
		return true
	}
	f := r.follow(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	log.AddAll(traced("answers"))
	<-seen
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := f.CatchUp(t.Context()); err != nil || r.count(t, "hecate.orchestrator.runs") != 1 {
		t.Errorf("%v, %d runs", err, r.count(t, "hecate.orchestrator.runs"))
	}
	if len(r.ids()) != len(r.spans.GetSpans()) {
		t.Error("a span came twice")
	}
}

// Labels have few values, whatever the log says.
func TestLabelsAreClosed(t *testing.T) {
	log := projectiontest.New(t)
	r := receive(t, log)
	f := r.follow(t)
	for _, d := range event.Definitions() {
		log.Add("run-samples", d.Sample)
	}
	log.Add("run-odd", run.Created{TaskID: "t", Number: 1, Kind: "odd", Spec: run.Spec{ExecutionKind: "made_up"}}, run.Failed{Code: "made up", Reason: "a text with spaces"})
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "hecate.orchestrator.runs" {
				for _, p := range sum.DataPoints {
					kind, _ := p.Attributes.Value("hecate.execution.kind")
					found = found || kind.AsString() == "other"
				}
			}
		}
	}
	if !found {
		t.Error("a kind that nobody knows is not \"other\"")
	}
}

// The sampler's word holds for traces that begin here, the caller's for its own.
func TestSampled(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	kept, not := trace.Parent{TraceID: id, SpanID: "00f067aa0ba902b7", Flags: "01"}, trace.Parent{TraceID: id, SpanID: "00f067aa0ba902b7", Flags: "00"}
	provider := sdktrace.NewTracerProvider()
	never := telemetry.NewTracer(provider, sdktrace.ParentBased(sdktrace.NeverSample()))
	always := telemetry.NewTracer(provider, sdktrace.AlwaysSample())
	var off *telemetry.Tracer
	for name, c := range map[string]struct {
		got, want bool
	}{
		"off": {off.Sampled(id, trace.Parent{}), true}, "off, not kept": {off.Sampled(id, not), false},
		"never": {never.Sampled(id, trace.Parent{}), false}, "never, kept": {never.Sampled(id, kept), true},
		"always, not kept": {always.Sampled(id, not), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", name, c.got)
		}
	}
	off.Export(traces.Span{}) // does nothing
}

// BenchmarkFollow is what telemetry costs for each run of 40 records, beside the run.
func BenchmarkFollow(b *testing.B) {
	log := projectiontest.New(b)
	log.AddAll(traced("answers"))
	records := log.Records()
	b.ReportAllocs()
	for b.Loop() {
		r := traces.New("answers", "memory")
		for _, rec := range records {
			if rec.Stream == "run-run_answers" {
				r.Record(rec)
			}
		}
	}
}

// Passes of retention are handed on when they are over.
func TestPasses(t *testing.T) {
	log := projectiontest.New(t)
	r := receive(t, log)
	f := r.follow(t)
	log.Add(retention.Stream, retention.Finished{StartedAt: projectiontest.Start, Trigger: retention.TriggerScheduled, Results: []retention.Result{
		{Name: retention.ModelCallEvents, Deleted: 3}, {Name: retention.RunContents, Error: "it said: secret"}, {Name: retention.ChatApprovals, Skipped: true},
	}})
	log.Raw(retention.Stream, log.Event(retention.Type, []byte(`"odd"`)))
	log.Raw("external-run_1", log.Event(retention.Type, []byte(`{"trigger":"a caller's"}`)))
	for range 2 {
		if err := f.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, s := range r.spans.GetSpans() {
		for _, e := range s.Events {
			got[s.Name] += e.Name + " "
		}
		if s.Parent.SpanID().IsValid() == (s.Name == traces.Request) || !s.EndTime.Equal(projectiontest.Start) {
			t.Errorf("%s: parent %v, ends %v", s.Name, s.Parent, s.EndTime)
		}
	}
	want := map[string]string{traces.PassSpan: "retention.run.started retention.subsystem.finished retention.subsystem.failed retention.history.persisted retention.run.finished "}
	if diff := cmp.Diff(want, got); diff != "" || len(r.spans.GetSpans()) != 2 {
		t.Errorf("%d spans (-want +got)\n%s", len(r.spans.GetSpans()), diff)
	}
}
