package readdb

import (
	"context"
	"database/sql"
	"strings"
)

// Tx is a transaction. It ends with the function that it was given to.
type Tx struct {
	session *session
	db      *DB
	build   string
	failed  bool
}

// Failed reports whether the database refused a statement of the transaction, which
// tells a fault of the database from one of the data.
func (t *Tx) Failed() bool { return t.failed }

func (t *Tx) note(err error) error {
	if err != nil {
		t.failed = true
	}
	return err
}

// Exec runs a statement.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) error {
	return t.note(t.session.exec(ctx, t.db.text(query, t.build), args...))
}

// Changed runs a statement and returns how many rows it touched.
func (t *Tx) Changed(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := t.session.execResult(ctx, t.db.text(query, t.build), args...)
	if err != nil {
		return 0, t.note(err)
	}
	return r.RowsAffected()
}

// Script runs statements that make the tables of a build.
func (t *Tx) Script(ctx context.Context, build, script string) error {
	_, err := t.session.conn.ExecContext(ctx, t.db.ddl(script, build))
	return t.note(err)
}

// Lock keeps other processes that ask for the same name waiting until the
// transaction ends. SQLite has one writer anyway.
func (t *Tx) Lock(ctx context.Context, name string) error {
	if !t.db.postgres {
		return nil
	}
	return t.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, t.db.text("hecate_view_", "")+name)
}

// Drop drops the tables of a build.
func (t *Tx) Drop(ctx context.Context, build string) error {
	list := `SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, -length($1)) = $1 ORDER BY name`
	if t.db.postgres {
		list = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND right(tablename, length($1)) = $1 ORDER BY 1`
	}
	var names []string
	err := t.Query(ctx, list, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if strings.HasPrefix(name, t.db.text("hecate_view_", "")) { // another prefix is another Hecate
			names = append(names, name)
		}
		return nil
	}, "_"+build)
	if err != nil {
		return err
	}
	for _, name := range names {
		// Not prepared, and so not kept: it runs once.
		if _, err := t.session.conn.ExecContext(ctx, `DROP TABLE IF EXISTS "`+name+`"`); err != nil {
			return t.note(err)
		}
	}
	return nil
}

// Query calls scan for each row. scan must not use the transaction.
func (t *Tx) Query(ctx context.Context, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := t.session.query(ctx, t.db.text(query, t.build), args...)
	if err != nil {
		return t.note(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return t.note(rows.Err())
}

// One scans the first row into dest and reports whether there was one.
func (t *Tx) One(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := t.Query(ctx, query, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dest...)
	}, args...)
	return found, err
}
