// Package telemetry hands on what runs do, as OpenTelemetry spans and metrics, while the
// log grows. It reads the log like any other projection and keeps no rows: what it needs
// of a run that began before is read from that run's stream.
//
// It begins at the end of the log as that is when the node starts. Spans keep the times
// and ids that the log gives them, so one that is handed on twice is the same span.
// Nothing here waits for a collector, and nobody waits for this.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"hecate/domain/retention"
	"hecate/domain/trace"
	"hecate/eventstore"
	"hecate/eventstore/relay"
	"hecate/projections/traces"
)

// runsMax bounds the runs that are kept in memory. Another one is read again when
// something happens in it.
const runsMax = 1024

// readMax is how many records CatchUp reads at a time.
const readMax = 512

// topic is the name of this reader of the log.
const topic = "telemetry"

// Config is what a follower works with.
type Config struct {
	Log     eventstore.Store
	Backend string  // of the log, for hecate.queue.backend
	Tracer  *Tracer // nil: no spans
	Meter   *Meter  // nil: no metrics
	// Owner reports whether this node is the one that tells of runs; nil: it is. It is
	// asked for each batch of records.
	Owner  func(context.Context) bool
	Logger *slog.Logger
}

// Follower follows the log. Its methods must not be called concurrently.
type Follower struct {
	Config
	position int64
	runs     map[string]*traces.Run
}

// NewFollower returns a follower that begins at the end of the log as it is.
func NewFollower(ctx context.Context, c Config) (*Follower, error) {
	head, err := c.Log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin telemetry: %w", err)
	}
	return &Follower{Config: c, position: head, runs: map[string]*traces.Run{}}, nil
}

// Run follows the log until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	logger := watermill.NewSlogLoggerWithLevelMapping(f.Logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	source := relay.New(f.Log, func(context.Context, string) (int64, error) { return f.position, nil }, relay.Options{Logger: logger})
	messages, err := source.Subscribe(ctx, topic)
	if err != nil {
		return err
	}
	for m := range messages {
		f.answer(m)
	}
	return source.Close()
}

// CatchUp takes what the log has more, after Run has ended.
func (f *Follower) CatchUp(ctx context.Context) error {
	for {
		records, err := f.Log.ReadAll(ctx, f.position, readMax)
		if err != nil || len(records) == 0 {
			return err
		}
		if err := f.takeAll(ctx, records); err != nil {
			return err
		}
	}
}

// answer takes the records of a message. Those that were taken before an error are not
// taken again.
func (f *Follower) answer(m *message.Message) {
	records, _ := relay.Batch(m)
	if err := f.takeAll(m.Context(), records); err != nil {
		if m.Context().Err() == nil {
			f.Logger.Warn("telemetry is behind", "position", f.position, "error", err)
		}
		m.Nack()
		return
	}
	m.Ack()
}

func (f *Follower) takeAll(ctx context.Context, records []eventstore.Record) error {
	if f.Owner != nil && !f.Owner(ctx) {
		clear(f.runs)
		f.position = records[len(records)-1].Position
		return nil
	}
	for _, r := range records {
		if err := f.take(ctx, r); err != nil {
			return err
		}
		f.position = r.Position
	}
	return nil
}

func (f *Follower) take(ctx context.Context, rec eventstore.Record) error {
	if rec.Stream == retention.Stream && rec.Type == retention.Type {
		f.pass(rec)
		return nil
	}
	id, ok := strings.CutPrefix(rec.Stream, traces.StreamPrefix)
	if !ok || !traces.Wants(rec.Type) {
		return nil
	}
	r, err := f.run(ctx, id, rec.Version)
	if err != nil {
		return err
	}
	for _, s := range r.Record(rec) {
		f.Meter.measure(s)
		if r.Place.Sampled() {
			f.Tracer.Export(s)
		}
	}
	return nil
}

// pass hands on the spans of a pass of retention. One that is not understood says nothing.
func (f *Follower) pass(rec eventstore.Record) {
	t, err := traces.Pass(rec)
	if err != nil {
		return
	}
	wanted := t.Run.Place.Sampled()
	if t.Run.Place.SpanID == "" { // of no request
		wanted = f.Tracer.Sampled(t.Run.Place.TraceID, trace.Parent{})
	}
	if !wanted {
		return
	}
	for _, s := range t.Spans {
		f.Tracer.Export(s)
	}
}

// run returns the run as it was before the given version.
func (f *Follower) run(ctx context.Context, id string, version int64) (*traces.Run, error) {
	if r, ok := f.runs[id]; ok {
		return r, nil
	}
	r := traces.New(id, f.Backend)
	if version > 1 {
		if err := r.Catch(ctx, f.Log, version-1, nil); err != nil {
			return nil, err
		}
	}
	for other := range f.runs {
		if len(f.runs) < runsMax {
			break
		}
		delete(f.runs, other)
	}
	f.runs[id] = r
	return r, nil
}
