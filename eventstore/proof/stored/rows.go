package stored

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// roomMax bounds the room that is made for rows before they come.
const roomMax = 2048

const rowColumns = `SELECT l.position, l.stream, l.version, {id}, l.type, l.schema, l.at,
	l.actor_kind, l.actor_name, l.actor_org, l.caused_by, l.command_id, l.trace, l.hash, p.salt, p.data
	FROM hecate_log l LEFT JOIN hecate_payload p ON p.position = l.position `

// Rows returns the records with positions after the first and up to the second one.
func (l *Log) Rows(ctx context.Context, after, upTo int64) ([]Row, error) {
	return l.rows(ctx, upTo-after, rowColumns+`WHERE l.position > ? AND l.position <= ? ORDER BY l.position`, after, upTo)
}

// StreamRows returns up to limit records of one stream after a version.
func (l *Log) StreamRows(ctx context.Context, stream string, after int64, limit int) ([]Row, error) {
	if !l.indexed {
		return l.rows(ctx, int64(limit), rowColumns+`WHERE l.stream = ? AND l.version > ? ORDER BY l.version LIMIT ?`, stream, after, int64(limit))
	}
	// The end of the log is not in the table of streams yet.
	return l.rows(ctx, int64(limit), rowColumns+`WHERE l.position IN (
		SELECT position FROM hecate_streams WHERE stream = ?1 AND version > ?2
		UNION SELECT position FROM hecate_log WHERE position > (SELECT indexed FROM hecate_log_state) AND stream = ?1 AND version > ?2)
		ORDER BY l.version LIMIT ?3`, stream, after, int64(limit))
}

// rows reads records by way of the driver: there are many of them, and the conversions of
// database/sql would cost more than their hashes.
func (l *Log) rows(ctx context.Context, expected int64, query string, args ...driver.Value) (list []Row, err error) {
	if !l.dollars {
		// A query of a file is over soon, and watching for its cancellation costs as much as its rows.
		defer func(ctx context.Context) { err = errors.Join(err, ctx.Err()) }(ctx)
		ctx = context.WithoutCancel(ctx)
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	err = conn.Raw(func(raw any) error {
		q, ok := raw.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("%T cannot query", raw)
		}
		list = make([]Row, 0, max(0, min(expected, roomMax)))
		list, err = collect(ctx, list, q, l.sql(query), args)
		return err
	})
	return list, err
}

func collect(ctx context.Context, list []Row, q driver.QueryerContext, query string, args []driver.Value) ([]Row, error) {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	rows, err := q.QueryContext(ctx, query, named)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return list, ctx.Err()
		case err != nil:
			return nil, err
		}
		r, err := rowOf(values)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
}

// fields takes the values of a row one after the other.
type fields struct {
	values []driver.Value
	odd    driver.Value // the first one of a type that no column has
}

func take[T any](f *fields) (v T) {
	v, ok := f.values[0].(T)
	if !ok && f.odd == nil {
		f.odd = f.values[0]
	}
	f.values = f.values[1:]
	return v
}

func rowOf(values []driver.Value) (r Row, err error) {
	missing := values[len(values)-1] == nil && values[len(values)-2] == nil
	if missing {
		values[len(values)-1], values[len(values)-2] = []byte(nil), []byte(nil)
	}
	f := &fields{values: values}
	r.Position, r.Stream, r.Version = take[int64](f), take[string](f), take[int64](f)
	id := take[[]byte](f)
	r.Type, r.Schema, r.At = take[string](f), int(take[int64](f)), time.UnixMicro(take[int64](f)).UTC()
	r.Actor = eventstore.Actor{Kind: take[string](f), Name: take[string](f), Org: take[string](f)}
	r.CausedBy, r.CommandID, r.Trace = take[int64](f), take[string](f), take[string](f)
	hash, salt := take[[]byte](f), take[[]byte](f)
	r.Data = bytes.Clone(take[[]byte](f)) // the driver may use its memory again
	if f.odd != nil {
		return r, fmt.Errorf("record %d holds a %T", r.Position, f.odd)
	}
	switch {
	case len(id) != len(r.ID):
		r.Odd = fmt.Sprintf("its event id has %d bytes", len(id))
	case len(hash) != len(r.Hash):
		r.Odd = fmt.Sprintf("its hash has %d bytes", len(hash))
	case missing:
		r.Odd = "its data is missing"
	case !r.SetSalt(salt):
		r.Odd = fmt.Sprintf("its salt has %d bytes", len(salt))
	}
	copy(r.ID[:], id)
	copy(r.Hash[:], hash)
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
	return l.rows(ctx, 0, rowColumns+`WHERE l.type = ? ORDER BY l.position`, eventType)
}
