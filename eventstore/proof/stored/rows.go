package stored

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/internal/blobs"
)

// Row is one record as the database holds it.
type Row struct {
	eventstore.Record
	// Odd says what about the row no store writes: a column of another type or length, or no data.
	Odd string
}

const rowColumns = `SELECT l.position, l.stream, l.version, {id}, l.type, l.schema, l.at,
	l.actor_kind, l.actor_name, l.actor_org, l.caused_by, l.command_id, l.trace, l.hash, p.salt, p.data
	FROM hecate_log l LEFT JOIN hecate_payload p ON p.position = l.position `

// Each hands the records with positions after the first and up to the second one to do, in
// order. A row and its data are only good until do returns.
func (l *Log) Each(ctx context.Context, after, upTo int64, do func(*Row) error) error {
	return l.records(ctx, do, rowColumns+`WHERE l.position > ? AND l.position <= ? ORDER BY l.position`, after, upTo)
}

// Rows returns what Each hands out.
func (l *Log) Rows(ctx context.Context, after, upTo int64) ([]Row, error) {
	return collect(func(do func(*Row) error) error { return l.Each(ctx, after, upTo, do) })
}

// StreamRows returns up to limit records of one stream after a version.
func (l *Log) StreamRows(ctx context.Context, stream string, after int64, limit int) ([]Row, error) {
	query := rowColumns + `WHERE l.stream = ? AND l.version > ? ORDER BY l.version LIMIT ?`
	if l.indexed { // the end of the log is not in the table of streams yet
		query = rowColumns + `WHERE l.position IN (
			SELECT position FROM hecate_streams WHERE stream = ?1 AND version > ?2
			UNION SELECT position FROM hecate_log WHERE position > (SELECT indexed FROM hecate_log_state) AND stream = ?1 AND version > ?2)
			ORDER BY l.version LIMIT ?3`
	}
	return collect(func(do func(*Row) error) error { return l.records(ctx, do, query, stream, after, int64(limit)) })
}

// RowsOfType returns all records of one type, in order. There is no index for that: it reads
// through the whole log.
func (l *Log) RowsOfType(ctx context.Context, eventType string) ([]Row, error) {
	return collect(func(do func(*Row) error) error {
		return l.records(ctx, do, rowColumns+`WHERE l.type = ? ORDER BY l.position`, eventType)
	})
}

func collect(each func(do func(*Row) error) error) (list []Row, err error) {
	err = each(func(r *Row) error {
		list = append(list, *r)
		list[len(list)-1].Data = bytes.Clone(r.Data)
		return nil
	})
	return list, err
}

func (l *Log) records(ctx context.Context, do func(*Row) error, query string, args ...any) error {
	var d decoder
	return l.scan(ctx, l.sql(query), args, func(cells []cell) error { return do(d.decode(cells)) })
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

// Contents returns which of the large contents are stored.
func (l *Log) Contents(ctx context.Context, digests []string) (there []string, err error) {
	arg, err := json.Marshal(digests)
	if err != nil {
		return nil, err
	}
	err = l.each(ctx, func(rows *sql.Rows) error {
		var digest string
		err := rows.Scan(&digest)
		there = append(there, digest)
		return err
	}, `SELECT digest FROM hecate_blobs WHERE digest IN {list} ORDER BY digest`, string(arg))
	return there, err
}

// ErasedContents returns the digests of the large contents that were erased, each with the
// position of the record that is said to name it.
func (l *Log) ErasedContents(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	if !l.hasErased {
		return out, nil
	}
	err := l.each(ctx, func(rows *sql.Rows) error {
		var digest string
		var by int64
		err := rows.Scan(&digest, &by)
		out[digest] = by
		return err
	}, `SELECT digest, erased_by FROM hecate_erased`)
	return out, err
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
