package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"hecate/eventstore"
	"hecate/projections/readdb"
)

// errLost says that the checkpoint was not where this process had left it: another
// one moves the model, or a rebuild has taken its place.
var errLost = errors.New("the checkpoint was moved by somebody else")

// GapError says that a reader of the log skipped records, which must never happen.
type GapError struct{ Want, Got int64 }

func (e *GapError) Error() string {
	return fmt.Sprintf("the log jumped from position %d to %d", e.Want-1, e.Got)
}

// unsavedMax bounds how far a checkpoint in the database may be behind when only
// records that the model does not want have passed. They would be read again. Where
// other processes follow the checkpoint it is never behind.
const unsavedMax = 4096

// build is one set of tables of a model with its place in the log. Its methods must
// not be called concurrently.
type build struct {
	db         *readdb.DB
	model      Model
	generation int64
	strict     bool // a poison event stops the build instead of parking its stream

	position int64 // everything up to here is in the rows
	saved    int64 // what the checkpoint in the database says
	lastID   [16]byte
	fold     Fold
	parked   map[string]parking
}

func (b *build) suffix() string { return suffix(b.model, b.generation) }

func suffix(m Model, generation int64) string {
	return fmt.Sprintf("%s_v%dg%d", m.Name(), m.Version(), generation)
}

// isParked reports whether the record waits with its stream.
func (b *build) isParked(r eventstore.Record) bool {
	p, ok := b.parked[r.Stream]
	return ok && r.Version >= p.since
}

// fresh cuts off what the build has already and checks that nothing is missing.
func (b *build) fresh(records []eventstore.Record) ([]eventstore.Record, error) {
	for len(records) > 0 && records[0].Position <= b.position {
		records = records[1:]
	}
	return records, dense(records, b.position)
}

// dense checks that records are all that stands behind a position, up to the last one.
func dense(records []eventstore.Record, after int64) error {
	for i, r := range records {
		if want := after + 1 + int64(i); r.Position != want {
			return &GapError{Want: want, Got: r.Position}
		}
	}
	return nil
}

// apply brings the build to the end of the records, in one transaction. Records that
// it has already do no harm.
func (b *build) apply(ctx context.Context, records []eventstore.Record) error {
	records, err := b.fresh(records)
	if err != nil || len(records) == 0 {
		return err
	}
	return b.take(ctx, records, decode(b.model, records, b.isParked))
}

// take is apply for records that were decoded elsewhere.
func (b *build) take(ctx context.Context, records []eventstore.Record, batch batch) error {
	if batch.first != b.position+1 {
		return &GapError{Want: b.position + 1, Got: batch.first}
	}
	for {
		if len(batch.facts) == 0 && b.db.Single() && batch.last-b.saved < unsavedMax {
			b.position, b.lastID = batch.last, batch.lastID
			return nil
		}
		err := b.commit(ctx, batch)
		var poison *poisonError
		if !errors.As(err, &poison) {
			return err
		}
		if b.strict {
			return err
		}
		b.parked[poison.record.Stream] = parkingOf(poison)
		batch = decode(b.model, records, b.isParked)
	}
}

func (b *build) commit(ctx context.Context, batch batch) error {
	err := b.db.Update(ctx, b.suffix(), func(tx *readdb.Tx) error {
		return b.write(ctx, tx, batch)
	})
	if err != nil {
		b.fold.Forget()
		return err
	}
	b.position, b.saved, b.lastID = batch.last, batch.last, batch.lastID
	for stream, p := range b.parked {
		p.saved = true
		b.parked[stream] = p
	}
	return nil
}

// write does the work of one transaction.
func (b *build) write(ctx context.Context, tx *readdb.Tx, batch batch) error {
	if err := moveCheckpoint(ctx, tx, b, batch.last, batch.lastID); err != nil {
		return err
	}
	for _, f := range batch.facts {
		if batch.bad != nil && f.Position == batch.bad.record.Position {
			return batch.bad
		}
		if err := b.applyOne(ctx, tx, f); err != nil {
			return err
		}
	}
	for stream, p := range b.parked {
		if p.saved {
			continue
		}
		if err := insertParked(ctx, tx, b, stream, p); err != nil {
			return err
		}
	}
	return b.fold.Flush(ctx, tx)
}

// applyOne tells a fact that the model cannot take from a database that fails.
func (b *build) applyOne(ctx context.Context, tx *readdb.Tx, f Fact) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &poisonError{record: f.Record, cause: fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	if err := b.fold.Apply(ctx, tx, f); err != nil {
		if tx.Failed() {
			return err
		}
		return &poisonError{record: f.Record, cause: err}
	}
	return nil
}
