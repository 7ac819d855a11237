package stored

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/internal/blobs"
)

// Row is one record as the database holds it.
type Row struct {
	eventstore.Record
	// Odd says what about the row no store writes: a column of the wrong length, or no data.
	Odd string
}

const rowColumns = `SELECT l.position, l.stream, l.version, {id}, l.type, l.schema, l.at,
	l.actor_kind, l.actor_name, l.actor_org, l.caused_by, l.command_id, l.trace, l.hash, p.salt, p.data
	FROM hecate_log l LEFT JOIN hecate_payload p ON p.position = l.position `

// Rows returns the records with positions after the first and up to the second one.
func (l *Log) Rows(ctx context.Context, after, upTo int64) ([]Row, error) {
	return l.rows(ctx, rowColumns+`WHERE l.position > ? AND l.position <= ? ORDER BY l.position`, after, upTo)
}

// StreamRows returns up to limit records of one stream after a version.
func (l *Log) StreamRows(ctx context.Context, stream string, after int64, limit int) ([]Row, error) {
	if !l.indexed {
		return l.rows(ctx, rowColumns+`WHERE l.stream = ? AND l.version > ? ORDER BY l.version LIMIT ?`, stream, after, limit)
	}
	// The end of the log is not in the table of streams yet.
	return l.rows(ctx, rowColumns+`WHERE l.position IN (
		SELECT position FROM hecate_streams WHERE stream = ?1 AND version > ?2
		UNION SELECT position FROM hecate_log WHERE position > (SELECT indexed FROM hecate_log_state) AND stream = ?1 AND version > ?2)
		ORDER BY l.version LIMIT ?3`, stream, after, limit)
}

func (l *Log) rows(ctx context.Context, query string, args ...any) (list []Row, err error) {
	err = l.each(ctx, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		list = append(list, r)
		return err
	}, query, args...)
	return list, err
}

func scanRow(rows *sql.Rows) (r Row, err error) {
	var id, hash, salt sql.RawBytes
	var micros int64
	err = rows.Scan(&r.Position, &r.Stream, &r.Version, &id, &r.Type, &r.Schema, &micros,
		&r.Actor.Kind, &r.Actor.Name, &r.Actor.Org, &r.CausedBy, &r.CommandID, &r.Trace, &hash, &salt, &r.Data)
	if err != nil {
		return r, err
	}
	r.At = time.UnixMicro(micros).UTC()
	switch {
	case len(id) != len(r.ID):
		r.Odd = fmt.Sprintf("its event id has %d bytes", len(id))
	case len(hash) != len(r.Hash):
		r.Odd = fmt.Sprintf("its hash has %d bytes", len(hash))
	case salt == nil && r.Data == nil:
		r.Odd = "its data is missing"
	case len(salt) != len(r.Salt):
		r.Odd = fmt.Sprintf("its salt has %d bytes", len(salt))
	}
	copy(r.ID[:], id)
	copy(r.Hash[:], hash)
	copy(r.Salt[:], salt)
	return r, nil
}

// Span is where the events of a command stand.
type Span struct{ First, Last int64 }

// Commands returns where the table of commands says that commands stand, as far as it knows them.
func (l *Log) Commands(ctx context.Context, ids []string) (map[string]Span, error) {
	arg, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Span, len(ids))
	err = l.each(ctx, func(rows *sql.Rows) error {
		var id string
		var s Span
		err := rows.Scan(&id, &s.First, &s.Last)
		found[id] = s
		return err
	}, `SELECT command_id, first, last FROM hecate_commands WHERE command_id IN {list}`, string(arg))
	return found, err
}

// Blob returns a large content as it is stored; eventstore.ErrNotFound if it is gone.
func (l *Log) Blob(ctx context.Context, digest string) (event.Blob, error) {
	var salt, content []byte
	var codec int64
	b := event.Blob{}
	err := l.row(ctx, `SELECT salt, size, media_type, codec, content FROM hecate_blobs WHERE digest = ?`, digest).
		Scan(&salt, &b.Size, &b.MediaType, &codec, &content)
	if errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("blob %.100q: %w", digest, eventstore.ErrNotFound)
	}
	if err != nil {
		return b, fmt.Errorf("read blob %.100q: %w", digest, err)
	}
	b.Digest = digest
	copy(b.Salt[:], salt)
	b.Content, err = blobs.Unpack(digest, salt, content, int(codec))
	return b, err
}

// RowsOfType returns all records of one type, in order. There is no index for that: it reads
// through the whole log.
func (l *Log) RowsOfType(ctx context.Context, eventType string) ([]Row, error) {
	return l.rows(ctx, rowColumns+`WHERE l.type = ? ORDER BY l.position`, eventType)
}
