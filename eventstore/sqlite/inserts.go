package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"hecate/eventstore"
	"hecate/migrations"
)

const (
	insertLog = `INSERT INTO hecate_log (position, stream, version, event_id, type, schema, at,
		actor_kind, actor_name, actor_org, caused_by, command_id, trace, hash) VALUES `
	insertLogRow     = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	insertPayload    = `INSERT INTO hecate_payload (position, salt, data) VALUES `
	insertPayloadRow = `(?,?,?)`
	rowsMaxLog2      = 6 // up to 64 rows go into one statement
)

// writeStatements are prepared once on the writing connection. Of the inserts
// there is one for each power of two of rows: any number of rows is a few
// statements then.
type writeStatements struct {
	log, payload                        [rowsMaxLog2 + 1]*sql.Stmt
	version, command, index, indexed    *sql.Stmt
	opened                              *sql.Stmt
	blob, addCommand, openWork, endWork *sql.Stmt
	erase, eraseBlob, dropBlob          *sql.Stmt
	all                                 []*sql.Stmt
	args                                []any // reused
}

func (w *writeStatements) list() []statement {
	list := []statement{
		{&w.version, `SELECT version FROM hecate_streams WHERE stream = ? ORDER BY version DESC LIMIT 1`},
		{&w.command, `SELECT first, last FROM hecate_commands WHERE command_id = ?`},
		{&w.blob, `INSERT INTO hecate_blobs (digest, salt, size, media_type, codec, content) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING`},
		{&w.addCommand, `INSERT INTO hecate_commands (command_id, first, last) VALUES (?,?,?)`},
		{&w.openWork, `INSERT INTO hecate_open_work (stream, since) VALUES (?,?) ON CONFLICT (stream) DO UPDATE SET since = excluded.since`},
		{&w.index, `INSERT INTO hecate_streams (stream, version, position) SELECT stream, version, position FROM hecate_log
			WHERE position > (SELECT indexed FROM hecate_log_state) AND position <= ? ORDER BY stream, version`},
		{&w.indexed, `UPDATE hecate_log_state SET indexed = ?`},
		{&w.opened, `UPDATE hecate_log_state SET opened = opened + 1 RETURNING opened`},
		{&w.endWork, `DELETE FROM hecate_open_work WHERE stream = ?`},
		{&w.erase, `UPDATE hecate_payload SET salt = ?, data = ? WHERE position = ? AND salt = ?`},
		{&w.eraseBlob, `INSERT INTO hecate_erased (digest, erased_by) VALUES (?,?) ON CONFLICT DO NOTHING`},
		{&w.dropBlob, `DELETE FROM hecate_blobs WHERE digest = ?`},
	}
	for size := range w.log {
		list = append(list, statement{&w.log[size], rowsOf(insertLog, insertLogRow, 1<<size)},
			statement{&w.payload[size], rowsOf(insertPayload, insertPayloadRow, 1<<size)})
	}
	return list
}

func (w *writeStatements) prepare(ctx context.Context, db *sql.DB, prefix string) error {
	for _, p := range w.list() {
		stmt, err := db.PrepareContext(ctx, migrations.Rename(p.sql, prefix))
		if err != nil {
			return err
		}
		*p.to = stmt
		w.all = append(w.all, stmt)
	}
	return nil
}

func rowsOf(insert, row string, rows int) string {
	return insert + strings.TrimSuffix(strings.Repeat(row+",", rows), ",")
}

func (w *writeStatements) close() error {
	var err error
	for _, s := range w.all {
		err = errors.Join(err, s.Close())
	}
	return err
}

// insert writes the log rows and their payloads.
func (w *writeStatements) insert(ctx context.Context, tx *sql.Tx, records []eventstore.Record) error {
	for size := rowsMaxLog2; size >= 0; size-- {
		for len(records) >= 1<<size {
			if err := w.insertSome(ctx, tx, size, records[:1<<size]); err != nil {
				return err
			}
			records = records[1<<size:]
		}
	}
	return nil
}

func (w *writeStatements) insertSome(ctx context.Context, tx *sql.Tx, size int, records []eventstore.Record) error {
	args := w.args[:0]
	for i := range records {
		r := &records[i]
		args = append(args, r.Position, r.Stream, r.Version, r.ID[:], r.Type, r.Schema, r.At.UnixMicro(),
			r.Actor.Kind, r.Actor.Name, r.Actor.Org, r.CausedBy, r.CommandID, r.Trace, r.Hash[:])
	}
	if _, err := tx.StmtContext(ctx, w.log[size]).ExecContext(ctx, args...); err != nil {
		return err
	}
	clear(args)
	args = args[:0]
	for i := range records {
		r := &records[i]
		args = append(args, r.Position, r.Salt[:], r.Data)
	}
	_, err := tx.StmtContext(ctx, w.payload[size]).ExecContext(ctx, args...)
	clear(args) // don't keep the data alive
	w.args = args[:0]
	return err
}
