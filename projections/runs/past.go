package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Moment is a point of the log's history: a position, or a time. The zero value is now.
type Moment struct {
	Position int64
	Time     time.Time
}

// before reports whether a record had been written by then.
func (m Moment) before(r *eventstore.Record) bool {
	return (m.Position == 0 || r.Position <= m.Position) && (m.Time.IsZero() || !r.At.After(m.Time))
}

// Streams is the part of the log that the past is folded from.
type Streams interface {
	Blobs
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)
}

// Past is a task with all its runs as it was at a moment: it answers what Views answers
// about that task. It is folded from the log, into memory, by what keeps the read model.
type Past struct {
	*Views
	TaskID   string
	Position int64 // of the newest event that counts
	db       *readdb.DB
}

// Close forgets it.
func (p *Past) Close() error { return p.db.Close() }

// pastBuild is the end of the names of its tables.
const pastBuild = "past"

// TaskAsOf folds a task as it was. One that did not exist then is a not-found fault, one
// that was deleted by then has nothing. Close it after use.
func TaskAsOf(ctx context.Context, log Streams, taskID string, at Moment) (*Past, error) {
	facts, err := factsOf(ctx, log, taskID, at)
	if err != nil {
		return nil, fmt.Errorf("fold task %s as it was: %w", taskID, err)
	}
	if len(facts) == 0 {
		return nil, fault.NotFound("not_found", "task not found")
	}
	db, err := readdb.OpenMemory(ctx)
	if err != nil {
		return nil, err
	}
	p := &Past{TaskID: taskID, Position: facts[len(facts)-1].Position, db: db}
	p.Views = &Views{runner: p, blobs: log, partial: noPartial}
	if err := db.Update(ctx, pastBuild, func(tx *readdb.Tx) error { return foldAll(ctx, tx, facts) }); err != nil {
		return nil, errors.Join(fmt.Errorf("fold task %s as it was: %w", taskID, err), db.Close())
	}
	return p, nil
}

// RunAsOf is TaskAsOf for the task of a run.
func RunAsOf(ctx context.Context, log Streams, runID string, at Moment) (*Past, error) {
	records, err := log.ReadStream(ctx, streamRun+runID, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || !at.before(&records[0]) {
		return nil, fault.NotFound("not_found", "task run not found")
	}
	first, err := event.Decode(records[0].Type, records[0].Schema, records[0].Data, nil)
	if err != nil {
		return nil, err
	}
	created, ok := first.(run.Created)
	if !ok {
		return nil, fault.NotFound("not_found", "task run not found")
	}
	return TaskAsOf(ctx, log, created.TaskID, at)
}

// View runs f on what was folded.
func (p *Past) View(ctx context.Context, _ string, f func(*readdb.Tx) error) error {
	return p.db.View(ctx, pastBuild, f)
}

func foldAll(ctx context.Context, tx *readdb.Tx, facts []runner.Fact) error {
	if err := tx.Script(ctx, pastBuild, Model{}.Schema()); err != nil {
		return err
	}
	f := newFold(nil)
	for _, fact := range facts {
		if err := f.Apply(ctx, tx, fact); err != nil {
			return err
		}
	}
	return f.Flush(ctx, tx)
}

// factsOf reads what had happened to a task and its runs, in the order of the log.
func factsOf(ctx context.Context, log Streams, taskID string, at Moment) ([]runner.Fact, error) {
	facts, err := streamFacts(ctx, log, streamTask+taskID, at)
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Clone(facts) {
		opened, ok := f.Payload.(task.RunOpened)
		if !ok {
			continue
		}
		more, err := streamFacts(ctx, log, streamRun+opened.RunID, at)
		if err != nil {
			return nil, err
		}
		facts = append(facts, more...)
	}
	slices.SortFunc(facts, func(a, b runner.Fact) int { return cmp.Compare(a.Position, b.Position) })
	return facts, nil
}

// pastPage is how many records are read at once.
const pastPage = 500

// streamFacts reads the facts of one stream that matter. Behind one that this build
// cannot read nothing counts, as in the read model.
func streamFacts(ctx context.Context, log Streams, stream string, at Moment) ([]runner.Fact, error) {
	var out []runner.Fact
	for after := int64(0); ; {
		records, err := log.ReadStream(ctx, stream, after, pastPage)
		if err != nil {
			return nil, err
		}
		for i := range records {
			r := &records[i]
			if after = r.Version; !at.before(r) {
				return out, nil
			}
			if !wanted[r.Type] {
				continue
			}
			p, err := event.Decode(r.Type, r.Schema, r.Data, nil)
			if _, unknown := p.(event.Unknown); unknown || err != nil {
				return out, nil //nolint:nilerr // see above
			}
			out = append(out, runner.Fact{Record: *r, Payload: p})
		}
		if len(records) < pastPage {
			return out, nil
		}
	}
}
