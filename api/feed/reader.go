package feed

import (
	"context"
	"math"
	"slices"

	"hecate/domain/fault"
	"hecate/eventstore"
)

// pageMax is how many records are read at once.
const pageMax = 512

// Filter chooses events of the cross-run feed. The zero value chooses all.
type Filter struct {
	TaskID string
	Types  []string // any of these; none means all
}

// Match reports whether the filter chooses i. Events of deleted tasks never match.
func (f Filter) Match(i *Item) bool {
	return !i.Hidden() && (f.TaskID == "" || i.TaskID == f.TaskID) && (len(f.Types) == 0 || slices.Contains(f.Types, i.Type))
}

// Reader answers questions about the feed from the log. Its methods may be called
// concurrently.
type Reader struct {
	log Log
	dir *directory
}

// NewReader returns a reader of log.
func NewReader(log Log) *Reader { return &Reader{log: log, dir: newDirectory(log)} }

// Run returns up to limit events of a run after a sequence, the caller's among them.
func (r *Reader) Run(ctx context.Context, runID string, after int64, limit int) ([]*Item, error) {
	m := merge{log: r.log, after: after, limit: limit}
	m.add("run-"+runID, 0)
	m.add("external-"+runID, 0)
	records, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	items, _, err := r.items(ctx, newPresenter(r.log), records, Filter{}, math.MaxInt)
	return items, err
}

// Check refuses a cursor beyond the newest event. It comes from another log, or from
// this one before it was set back, and what is appended up to it would be skipped.
func (r *Reader) Check(ctx context.Context, name string, cursor int64) error {
	if cursor == 0 {
		return nil
	}
	head, err := r.log.Head(ctx)
	if err != nil || cursor <= head {
		return err
	}
	return fault.Invalid("invalid_request", "%s %d is beyond the newest event, %d: it is not a cursor of this log; read again from the start", name, cursor, head)
}

// List returns up to limit events that f chooses after a sequence, in order.
func (r *Reader) List(ctx context.Context, after int64, limit int, f Filter) ([]*Item, error) {
	p := newPresenter(r.log)
	next := r.log.ReadAll
	if f.TaskID != "" {
		runs, err := r.dir.taskRuns(ctx, f.TaskID)
		if err != nil || len(runs) == 0 {
			return nil, err
		}
		next = func(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
			return readRuns(ctx, r.log, runs, after, limit)
		}
	}
	var out []*Item
	for len(out) < limit {
		records, err := next(ctx, after, pageMax)
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			break
		}
		after = records[len(records)-1].Position
		items, _, err := r.items(ctx, p, records, f, math.MaxInt)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
	}
	return out[:min(len(out), limit)], nil
}

// Present returns the public events among records of the log, which follow on each other,
// and how many records it has looked at. That is at least one, and not all where the
// events are large.
func (r *Reader) Present(ctx context.Context, records []eventstore.Record) (items []*Item, looked int, err error) {
	return r.items(ctx, newPresenter(r.log), records, Filter{}, pieceBytes)
}

// page reads one page of the log after a position, or a piece of it. It returns the
// events that f chooses and the position up to which it looked.
func (r *Reader) page(ctx context.Context, after int64, f Filter) ([]*Item, int64, error) {
	records, err := r.log.ReadAll(ctx, after, pageMax)
	if err != nil || len(records) == 0 {
		return nil, after, err
	}
	items, looked, err := r.items(ctx, newPresenter(r.log), records, f, pieceBytes)
	if err != nil {
		return nil, after, err
	}
	return items, records[looked-1].Position, nil
}

// items presents those of the records that are public and that f chooses, until they
// have so many bytes. It also returns how many records it looked at.
func (r *Reader) items(ctx context.Context, p *presenter, records []eventstore.Record, f Filter, bytesMax int) ([]*Item, int, error) {
	if err := r.dir.deleted.catchUp(ctx); err != nil {
		return nil, 0, err
	}
	out := make([]*Item, 0, min(len(records), pageMax))
	bytes := 0
	for i := range records {
		item, err := r.item(ctx, p, &records[i], f)
		if err != nil {
			return nil, 0, err
		}
		if item == nil {
			continue
		}
		out = append(out, item)
		if bytes += len(item.frame); bytes >= bytesMax {
			return out, i + 1, nil
		}
	}
	return out, len(records), nil
}

// item returns nil for what is not public, not chosen or deleted.
func (r *Reader) item(ctx context.Context, p *presenter, rec *eventstore.Record, f Filter) (*Item, error) {
	runID, ok := runOf(rec.Stream)
	if !ok {
		return nil, nil
	}
	if skips(f, rec) {
		p.responses.keep(rec)
		return nil, nil
	}
	if rec.Version == 1 {
		r.dir.note(runID, rec)
	}
	taskID, err := r.dir.taskOf(ctx, runID)
	if err != nil {
		return nil, err
	}
	if gone, err := r.dir.deleted.has(ctx, taskID); err != nil || gone {
		return nil, err
	}
	item, err := p.item(ctx, rec, taskID, runID)
	if err != nil || !f.Match(item) {
		return nil, err
	}
	return item, nil
}

// skips reports whether f cannot choose rec, as far as that can be told cheaply. A
// caller's event stands under another type in the log.
func skips(f Filter, rec *eventstore.Record) bool {
	return len(f.Types) > 0 && !slices.Contains(f.Types, rec.Type) && rec.Type != "external.event"
}
