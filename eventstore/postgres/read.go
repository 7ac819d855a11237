package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"hecate/eventstore"
	"hecate/eventstore/internal/blobs"
)

// ReadStream returns up to limit records of one stream after the given version.
func (s *Store) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	records, err := s.readRecords(ctx, s.sql.readStream, stream, after, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", stream, s.closedOr(err))
	}
	return records, nil
}

// ReadAll returns up to limit records after the given position, in order, dense.
// Recent ones come from memory and are shared: nobody may change them.
func (s *Store) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	// At its end the tail knows nothing: another node may have appended just now.
	if records, ok := s.tail.Read(after, limit); ok && len(records) > 0 {
		return records, ctx.Err()
	}
	return s.ReadStored(ctx, after, limit)
}

// ReadAt returns the records at ascending positions. Recent ones come from memory and are
// shared: nobody may change them.
func (s *Store) ReadAt(ctx context.Context, positions []int64) ([]eventstore.Record, error) {
	if records, ok := s.tail.Pick(positions); ok {
		return records, ctx.Err()
	}
	records, err := s.readRecords(ctx, s.sql.readAt, positions)
	if err != nil {
		return nil, fmt.Errorf("read %d records: %w", len(positions), s.closedOr(err))
	}
	slices.SortFunc(records, func(a, b eventstore.Record) int { return cmp.Compare(a.Position, b.Position) })
	return records, nil
}

// ReadStored does what ReadAll does, always from the database.
func (s *Store) ReadStored(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	records, err := s.readRecords(ctx, s.sql.readAll, after, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("read the log after %d: %w", after, s.closedOr(err))
	}
	return records, nil
}

// Head returns the position of the newest record, 0 for an empty log.
func (s *Store) Head(ctx context.Context) (head int64, err error) {
	err = s.tryTwice(ctx, func() error { return s.reader.QueryRow(ctx, s.sql.head).Scan(&head) })
	if err != nil {
		return 0, fmt.Errorf("read head: %w", s.closedOr(err))
	}
	return head, nil
}

// Wait returns once the head is beyond after, with ctx's error, with
// eventstore.ErrClosed, or with an error if a position is missing from the log.
func (s *Store) Wait(ctx context.Context, after int64) error { return s.tail.Wait(ctx, after) }

// LogID identifies this log.
func (s *Store) LogID(context.Context) (string, error) { return s.logID, nil }

// Blob returns the content behind a reference, checked against its digest.
func (s *Store) Blob(ctx context.Context, digest string) ([]byte, error) {
	var salt, content []byte
	var codec int
	err := s.tryTwice(ctx, func() error { return s.reader.QueryRow(ctx, s.sql.blob, digest).Scan(&salt, &content, &codec) })
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.noBlob(ctx, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %.100q: %w", digest, s.closedOr(err))
	}
	return blobs.Unpack(digest, salt, content, codec)
}

// noBlob says why there is no content under a digest.
func (s *Store) noBlob(ctx context.Context, digest string) error {
	var by int64
	err := s.tryTwice(ctx, func() error { return s.reader.QueryRow(ctx, s.sql.erased, digest).Scan(&by) })
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("read blob %.100q: %w", digest, eventstore.ErrNotFound)
	case err != nil:
		return fmt.Errorf("read blob %.100q: %w", digest, s.closedOr(err))
	}
	return fmt.Errorf("read blob %.100q: %w, see record %d", digest, eventstore.ErrErased, by)
}

// OpenWork returns streams with open work, oldest mark first.
func (s *Store) OpenWork(ctx context.Context, after int64, limit int) (out []eventstore.OpenStream, err error) {
	err = s.tryTwice(ctx, func() error {
		out, err = queryStreams(ctx, s.reader, s.sql.work, after, max(limit, 0))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read open work: %w", s.closedOr(err))
	}
	return out, nil
}

// tryTwice does what may be repeated on the pool for reading once more if the first
// connection turns out to be dead: a server that was restarted leaves only such ones behind.
func (s *Store) tryTwice(ctx context.Context, do func() error) error {
	err := do()
	if !lost(err) || errors.Is(err, pgx.ErrNoRows) || ctx.Err() != nil || s.tail.Closed() {
		return err
	}
	s.reader.Reset()
	return do()
}

func (s *Store) readRecords(ctx context.Context, sql string, args ...any) (out []eventstore.Record, err error) {
	err = s.tryTwice(ctx, func() error {
		out, err = queryRecords(ctx, s.reader, sql, args...)
		return err
	})
	return out, err
}

func queryStreams(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) ([]eventstore.OpenStream, error) {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var out []eventstore.OpenStream
	return pgx.AppendRows(out, rows, pgx.RowToStructByPos[eventstore.OpenStream])
}

// closedOr gives the error of a closed pool the name that callers know.
func (s *Store) closedOr(err error) error {
	if s.tail.Closed() {
		return eventstore.ErrClosed
	}
	return err
}

func queryRecords(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) ([]eventstore.Record, error) {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var out []eventstore.Record
	return pgx.AppendRows(out, rows, scanRecord)
}

func scanRecord(row pgx.CollectableRow) (r eventstore.Record, err error) {
	var hash, salt pgtype.DriverBytes // valid until the next row
	var micros int64
	err = row.Scan(&r.Position, &r.Stream, &r.Version, &r.ID, &r.Type, &r.Schema, &micros,
		&r.Actor.Kind, &r.Actor.Name, &r.Actor.Org, &r.CausedBy, &r.CommandID, &r.Trace, &hash, &salt, &r.Data)
	r.At = time.UnixMicro(micros).UTC()
	copy(r.Hash[:], hash)
	r.SetSalt(salt)
	return r, err
}
