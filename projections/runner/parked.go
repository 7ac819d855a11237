package runner

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hecate/eventstore"
	"hecate/projections/readdb"
)

const parkedErrorMax = 4096 // bytes of an error that are kept

// parking is a stream that waits since a version because the model could not take it.
type parking struct {
	since    int64 // version of the first event that is not in the rows
	position int64 // of that event
	cause    string
	attempts int64
	saved    bool
}

func parkingOf(e *poisonError) parking {
	cause := e.Error()
	if len(cause) > parkedErrorMax {
		cause = cause[:parkedErrorMax]
	}
	return parking{since: e.record.Version, position: e.record.Position, cause: strings.ToValidUTF8(cause, "?"), attempts: 1}
}

func insertParked(ctx context.Context, tx *readdb.Tx, b *build, stream string, p parking) error {
	err := tx.Exec(ctx, `INSERT INTO hecate_view_parked (model, version, generation, stream, since, position, error, attempts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (model, version, generation, stream) DO UPDATE SET since = $5, position = $6, error = $7, attempts = $8`,
		b.model.Name(), b.model.Version(), b.generation, stream, p.since, p.position, p.cause, p.attempts)
	if err != nil {
		return fmt.Errorf("park %s: %w", stream, err)
	}
	return nil
}

func readParked(ctx context.Context, tx *readdb.Tx, b *build) error {
	b.parked = map[string]parking{}
	return tx.Query(ctx, `SELECT stream, since, position, error, attempts FROM hecate_view_parked
		WHERE model = $1 AND version = $2 AND generation = $3`, func(rows *sql.Rows) error {
		var stream string
		p := parking{saved: true}
		if err := rows.Scan(&stream, &p.since, &p.position, &p.cause, &p.attempts); err != nil {
			return err
		}
		b.parked[stream] = p
		return nil
	}, b.model.Name(), b.model.Version(), b.generation)
}

// waiting lists the parked streams, those that stopped first first.
func (b *build) waiting() []Parked {
	if len(b.parked) == 0 {
		return nil
	}
	out := make([]Parked, 0, len(b.parked))
	for stream, p := range b.parked {
		out = append(out, Parked{Stream: stream, Position: p.position, Error: p.cause, Attempts: p.attempts})
	}
	slices.SortFunc(out, func(a, b Parked) int { return cmp.Compare(a.Position, b.Position) })
	return out
}

// unpark tries each parked stream again up to the build's position: in one
// transaction a stream goes on as a whole, or stays where it is with one more
// attempt counted. It returns how many streams go on.
func (b *build) unpark(ctx context.Context, log eventstore.Store) (int, error) {
	freed := 0
	for stream, p := range b.parked {
		err := b.replay(ctx, log, stream, p.since-1)
		var poison *poisonError
		switch {
		case err == nil:
			delete(b.parked, stream)
			freed++
		case errors.As(err, &poison):
			next := parkingOf(poison)
			next.since, next.position, next.attempts = p.since, p.position, p.attempts+1
			if err := b.db.Update(ctx, "", func(tx *readdb.Tx) error { return insertParked(ctx, tx, b, stream, next) }); err != nil {
				return freed, err
			}
			next.saved = true
			b.parked[stream] = next
		default:
			return freed, err
		}
	}
	return freed, nil
}

const replayRecords = 512 // of a stream that are read at a time

func (b *build) replay(ctx context.Context, log eventstore.Store, stream string, after int64) error {
	err := b.db.Update(ctx, b.suffix(), func(tx *readdb.Tx) error {
		if err := moveCheckpoint(ctx, tx, b, b.position, b.lastID); err != nil { // nobody else may move meanwhile
			return err
		}
		if err := b.replayStream(ctx, tx, log, stream, after); err != nil {
			return err
		}
		err := tx.Exec(ctx, `DELETE FROM hecate_view_parked WHERE model = $1 AND version = $2 AND generation = $3 AND stream = $4`,
			b.model.Name(), b.model.Version(), b.generation, stream)
		if err != nil {
			return err
		}
		return b.fold.Flush(ctx, tx)
	})
	if err != nil {
		b.fold.Forget()
		return err
	}
	b.saved = b.position
	return nil
}

// replayStream applies what the stream holds up to the build's position.
func (b *build) replayStream(ctx context.Context, tx *readdb.Tx, log eventstore.Store, stream string, after int64) error {
	for {
		records, err := log.ReadStream(ctx, stream, after, replayRecords)
		if err != nil {
			return err
		}
		for _, r := range records {
			if r.Position > b.position {
				return nil
			}
			after = r.Version
			d := decode(b.model, []eventstore.Record{r}, never)
			if d.bad != nil {
				return d.bad
			}
			for _, f := range d.facts {
				if err := b.applyOne(ctx, tx, f); err != nil {
					return err
				}
			}
		}
		if len(records) < replayRecords {
			return nil
		}
	}
}
