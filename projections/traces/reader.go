package traces

import (
	"context"
	"sync"

	"hecate/projections"
)

// keptMax bounds the items of ended runs that a Reader keeps.
const keptMax = 1024

// Reader tells traces from the log. A trace that has ended is told once: its item is
// kept. Its methods may be called concurrently.
type Reader struct {
	log     Log
	backend string

	mu   sync.Mutex
	kept map[string]projections.Trace
}

// NewReader returns a reader of the log. Backend is what holds the queue.
func NewReader(log Log, backend string) *Reader {
	return &Reader{log: log, backend: backend, kept: map[string]projections.Trace{}}
}

// Item returns the trace of a run without its spans.
func (r *Reader) Item(ctx context.Context, runID string) (projections.Trace, error) {
	r.mu.Lock()
	it, ok := r.kept[runID]
	r.mu.Unlock()
	if ok {
		return it, nil
	}
	t, err := Read(ctx, r.log, runID, r.backend)
	if err != nil {
		return it, err
	}
	it = t.Item()
	if t.Run.ended && len(t.Run.Open()) == 0 {
		r.keep(runID, it)
	}
	return it, nil
}

func (r *Reader) keep(runID string, it projections.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.kept {
		if len(r.kept) < keptMax {
			break
		}
		delete(r.kept, id)
	}
	r.kept[runID] = it
}

// Detail returns the trace of a run with its spans.
func (r *Reader) Detail(ctx context.Context, runID string) (projections.TraceDetail, error) {
	t, err := Read(ctx, r.log, runID, r.backend)
	return t.Detail(), err
}
