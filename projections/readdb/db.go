// Package readdb is the database of the read models: SQLite in a file or in memory,
// or PostgreSQL. What it holds can be built again from the log, so it trades
// durability of the last moments for speed; it never trades consistency.
//
// SQL is written once for both: parameters are $1, $2 …; table names begin with
// hecate_view_; an @ in a name stands for the version and generation of the build,
// so that two builds of a model can stand side by side.
package readdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hecate/migrations"
	"hecate/migrations/readmodel"
)

// DB is an open database of read models. Its methods may be called concurrently.
type DB struct {
	pool     *sql.DB
	readPool *sql.DB // nil if readers share the pool of the writer
	write    *sessions
	read     *sessions
	postgres bool
	prefix   string
}

// Single reports whether only this process can use the database.
func (db *DB) Single() bool { return !db.postgres }

// Close releases the database. Transactions under way must have ended.
func (db *DB) Close() error {
	var err error
	db.write.close()
	if db.read != db.write {
		db.read.close()
	}
	if db.readPool != nil {
		err = db.readPool.Close()
	}
	return errors.Join(err, db.pool.Close())
}

// Update runs f in a transaction that may write, and commits it if f returns no
// error. On SQLite there is one such transaction at a time.
func (db *DB) Update(ctx context.Context, build string, f func(*Tx) error) error {
	begin := "BEGIN IMMEDIATE"
	if db.postgres {
		begin = "BEGIN"
	}
	return db.transact(ctx, db.write, begin, build, f)
}

// View runs f in a transaction that sees one state of the database.
func (db *DB) View(ctx context.Context, build string, f func(*Tx) error) error {
	begin := "BEGIN"
	if db.postgres {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	return db.transact(ctx, db.read, begin, build, f)
}

// transact notices a cancelled caller before it begins and not after: the SQLite
// driver would start a goroutine for each statement that can be cancelled.
func (db *DB) transact(ctx context.Context, from *sessions, begin, build string, f func(*Tx) error) error {
	s, err := from.take(ctx)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	// SQLite refuses to roll back only when there is nothing to roll back, so its
	// connections, one of which may be the whole database, stay usable.
	usable, open := !db.postgres, false
	defer func() {
		if open { // an error or a panic of f
			usable = s.exec(ctx, "ROLLBACK") == nil || !db.postgres
		}
		from.give(s, usable)
	}()
	if err := from.begin(ctx, s, begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	open = true
	if err := f(&Tx{session: s, db: db, build: build}); err != nil {
		return err
	}
	if err := s.exec(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	usable, open = true, false
	return nil
}

// start makes the tables that all models share.
func (db *DB) start(ctx context.Context) error {
	return db.Update(ctx, "", func(tx *Tx) error {
		if err := tx.Lock(ctx, "state"); err != nil { // nodes that start together take turns
			return err
		}
		return tx.Script(ctx, "", readmodel.State)
	})
}

// text puts what differs between builds into a piece of SQL.
func (db *DB) text(query, build string) string {
	if strings.Contains(query, "@") {
		query = strings.ReplaceAll(query, "@", build)
	}
	return migrations.Rename(query, db.prefix)
}

// ddl does the same for statements that make tables, and what differs between databases.
func (db *DB) ddl(script, build string) string {
	if db.postgres {
		script = strings.ReplaceAll(script, ") CLUSTERED;", ");")
	} else {
		script = strings.ReplaceAll(script, ") CLUSTERED;", ") WITHOUT ROWID;")
		script = strings.ReplaceAll(script, " bytea ", " BLOB ")
	}
	return db.text(script, build)
}
