package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hecate/eventstore"
	"hecate/eventstore/internal/blobs"
	"hecate/eventstore/internal/groupcommit"
	"hecate/migrations"
)

const (
	recordColumns = `SELECT l.position, l.stream, l.version, l.event_id, l.type, l.schema, l.at,
	l.actor_kind, l.actor_name, l.actor_org, l.caused_by, l.command_id, l.trace, l.hash, p.salt, p.data `
	selectRecords = recordColumns + `FROM hecate_log l CROSS JOIN hecate_payload p ON p.position = l.position `
)

type readStatements struct {
	all, stream, some, blob, work *sql.Stmt
	isOpen, countOpen, at, erased *sql.Stmt
}

// statement is an SQL text and where it goes when it is prepared.
type statement struct {
	to  **sql.Stmt
	sql string
}

// list names the statements. A CROSS JOIN fixes the order of the loops, outermost
// first: without statistics SQLite would have to guess it, and the wrong one reads
// the whole log.
func (r *readStatements) list() []statement {
	return []statement{
		{&r.all, selectRecords + `WHERE l.position > ? ORDER BY l.position LIMIT ?`},
		{&r.stream, recordColumns + `FROM hecate_streams s CROSS JOIN hecate_log l ON l.position = s.position
			CROSS JOIN hecate_payload p ON p.position = s.position
			WHERE s.stream = ? AND s.version > ? AND s.version < ? ORDER BY s.version LIMIT ?`},
		{&r.some, selectRecords + `WHERE l.position IN (SELECT value FROM json_each(?)) ORDER BY l.position`},
		{&r.blob, `SELECT salt, content, codec FROM hecate_blobs WHERE digest = ?`},
		{&r.work, `SELECT stream, since FROM hecate_open_work WHERE since > ? ORDER BY since LIMIT ?`},
		{&r.isOpen, `SELECT 1 FROM hecate_open_work WHERE stream = ?`},
		{&r.countOpen, `SELECT count(*) FROM hecate_open_work`},
		{&r.at, `SELECT at FROM hecate_log WHERE position = ?`},
		{&r.erased, `SELECT erased_by FROM hecate_erased WHERE digest = ?`},
	}
}

func (r *readStatements) prepare(ctx context.Context, db *sql.DB, prefix string) error {
	for _, p := range r.list() {
		stmt, err := db.PrepareContext(ctx, migrations.Rename(p.sql, prefix))
		if err != nil {
			return err
		}
		*p.to = stmt
	}
	return nil
}

func (r *readStatements) close() error {
	var err error
	for _, s := range r.list() {
		if stmt := *s.to; stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	return err
}

// Append makes the batch durable and returns its place, see eventstore.Store.
func (s *Store) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	r, err := groupcommit.NewRequest(b)
	if err != nil {
		return eventstore.Appended{}, err
	}
	if err := s.queue.Do(ctx, r); err != nil {
		return eventstore.Appended{}, err
	}
	return groupcommit.Settle(ctx, s.ReadStream, r)
}

// ReadStream returns up to limit records of one stream after the given version.
// Recent ones come from memory and are shared: nobody may change them.
func (s *Store) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	records, err := s.readStream(ctx, stream, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", stream, s.closedOr(err))
	}
	return records, nil
}

func (s *Store) readStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	first, positions := s.append.recent.after(stream, after, limit)
	var records []eventstore.Record
	if after+1 < first {
		var err error
		if records, err = queryRecords(ctx, s.reads.stream, limit, stream, after, first, limit); err != nil {
			return nil, err
		}
	}
	positions = positions[:max(0, min(len(positions), limit-len(records)))]
	if len(positions) == 0 {
		return records, s.alive(ctx)
	}
	recent, err := s.readAt(ctx, positions)
	if err != nil {
		return nil, err
	}
	return append(records, recent...), s.alive(ctx)
}

// ReadAt returns the records at ascending positions. Recent ones come from memory and are
// shared: nobody may change them.
func (s *Store) ReadAt(ctx context.Context, positions []int64) ([]eventstore.Record, error) {
	records, err := s.readAt(ctx, positions)
	if err != nil {
		return nil, fmt.Errorf("read %d records: %w", len(positions), s.closedOr(err))
	}
	return records, s.alive(ctx)
}

func (s *Store) readAt(ctx context.Context, positions []int64) ([]eventstore.Record, error) {
	if records, ok := s.tail.Pick(positions); ok || len(positions) == 0 {
		return records, nil
	}
	list, err := json.Marshal(positions)
	if err != nil {
		return nil, err
	}
	return queryRecords(ctx, s.reads.some, len(positions), string(list))
}

// alive returns why a read that was answered from memory should not have been.
func (s *Store) alive(ctx context.Context) error {
	if s.tail.Closed() {
		return eventstore.ErrClosed
	}
	return ctx.Err()
}

// ReadAll returns up to limit records after the given position, in order, dense.
// Recent ones come from memory and are shared: nobody may change them.
func (s *Store) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	if records, ok := s.tail.Read(after, limit); ok {
		return records, ctx.Err()
	}
	return s.ReadStored(ctx, after, limit)
}

// ReadStored does what ReadAll does, always from the database.
func (s *Store) ReadStored(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	records, err := queryRecords(ctx, s.reads.all, limit, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the log after %d: %w", after, s.closedOr(err))
	}
	return records, nil
}

// Head returns the position of the newest record, 0 for an empty log.
func (s *Store) Head(ctx context.Context) (int64, error) { return s.tail.Head(), ctx.Err() }

// Wait returns once the head is beyond after, with ctx's error, or with eventstore.ErrClosed.
func (s *Store) Wait(ctx context.Context, after int64) error { return s.tail.Wait(ctx, after) }

// LogID identifies this log.
func (s *Store) LogID(context.Context) (string, error) { return s.logID, nil }

// Blob returns the content behind a reference, checked against its digest.
func (s *Store) Blob(ctx context.Context, digest string) ([]byte, error) {
	var salt, content []byte
	var codec int
	err := s.reads.blob.QueryRowContext(ctx, digest).Scan(&salt, &content, &codec)
	if errors.Is(err, sql.ErrNoRows) {
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
	err := s.reads.erased.QueryRowContext(ctx, digest).Scan(&by)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("read blob %.100q: %w", digest, eventstore.ErrNotFound)
	case err != nil:
		return fmt.Errorf("read blob %.100q: %w", digest, s.closedOr(err))
	}
	return fmt.Errorf("read blob %.100q: %w, see record %d", digest, eventstore.ErrErased, by)
}

// OpenWork returns streams with open work, oldest mark first.
func (s *Store) OpenWork(ctx context.Context, after int64, limit int) ([]eventstore.OpenStream, error) {
	rows, err := s.reads.work.QueryContext(ctx, after, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("read open work: %w", s.closedOr(err))
	}
	defer rows.Close()
	var out []eventstore.OpenStream
	for rows.Next() {
		var o eventstore.OpenStream
		if err := rows.Scan(&o.Stream, &o.Since); err != nil {
			return nil, fmt.Errorf("read open work: %w", err)
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// closedOr gives the error of a closed pool the name that callers know.
func (s *Store) closedOr(err error) error {
	if s.tail.Closed() {
		return eventstore.ErrClosed
	}
	return err
}

func queryRecords(ctx context.Context, stmt *sql.Stmt, limit int, args ...any) ([]eventstore.Record, error) {
	if limit <= 0 {
		return nil, ctx.Err()
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []eventstore.Record
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func scanRecord(rows *sql.Rows) (r eventstore.Record, err error) {
	var id, hash, salt sql.RawBytes
	var micros int64
	err = rows.Scan(&r.Position, &r.Stream, &r.Version, &id, &r.Type, &r.Schema, &micros,
		&r.Actor.Kind, &r.Actor.Name, &r.Actor.Org, &r.CausedBy, &r.CommandID, &r.Trace, &hash, &salt, &r.Data)
	if err != nil {
		return r, err
	}
	r.At = time.UnixMicro(micros).UTC()
	copy(r.ID[:], id)
	copy(r.Hash[:], hash)
	r.SetSalt(salt)
	return r, nil
}
