package traces

import (
	"context"
	"fmt"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

// Log is what is needed of an eventstore.Store.
type Log interface {
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)
}

// StreamPrefix is what the streams of runs begin with.
const StreamPrefix = "run-"

// readPage is how many records one read of a stream asks for.
const readPage = 512

// wanted are the types that say something to a trace. The texts of a run are in others.
var wanted = types(
	run.Created{}, run.Queued{}, run.Claimed{}, run.Started{}, run.Disconnected{}, run.Finished{}, run.Failed{}, run.Cancelled{},
	run.ModelCallStarted{}, run.ModelCallRetrying{}, run.ModelCallCompleted{}, run.ModelCallFailed{}, run.ModelCallAbandoned{},
	run.ProgressCheckStarted{}, run.ProgressCheckCompleted{}, run.ApprovalRequested{}, run.ApprovalResolved{}, run.ToolBlocked{},
	run.DispatchIntended{}, run.DispatchSettled{}, run.ToolStarted{}, run.ShellCommand{}, run.ToolCompleted{}, run.ToolFailed{},
	run.ToolCancelled{}, run.ToolTimedOut{}, run.FilePatch{}, run.ArtifactRecorded{}, run.FinalAnswer{},
)

func types(payloads ...event.Payload) map[string]bool {
	out := map[string]bool{}
	for _, p := range payloads {
		out[p.EventType()] = true
	}
	return out
}

// Wants reports whether records of this type in the stream of a run belong to its trace.
func Wants(eventType string) bool { return wanted[eventType] }

// Record applies a record of the run's stream. Texts in blobs are not fetched. A record
// that is not understood says nothing.
func (r *Run) Record(rec eventstore.Record) []Span {
	if !Wants(rec.Type) {
		r.Version = rec.Version
		return nil
	}
	p, err := event.Decode(rec.Type, rec.Schema, rec.Data, nil)
	if err != nil {
		r.Version = rec.Version
		return nil
	}
	return r.Apply(event.Event{ID: rec.ID, Position: rec.Position, Version: rec.Version, At: rec.At, Payload: p})
}

// Catch brings the trace to a version of its stream, or to the end of that if the
// version is 0, and hands what ends on the way to each, which may be nil.
func (r *Run) Catch(ctx context.Context, log Log, version int64, each func(Span)) error {
	for version == 0 || r.Version < version {
		limit := readPage
		if version > 0 {
			limit = int(min(readPage, version-r.Version))
		}
		records, err := log.ReadStream(ctx, StreamPrefix+r.ID, r.Version, limit)
		if err != nil {
			return fmt.Errorf("read the trace of run %s: %w", r.ID, err)
		}
		for _, rec := range records {
			for _, s := range r.Record(rec) {
				if each != nil {
					each(s)
				}
			}
		}
		if len(records) < limit {
			break
		}
	}
	return nil
}
