package readdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

const (
	readersMax = 4

	// Primary result codes of SQLite that say that the file is no good.
	sqliteCorrupt = 11
	sqliteNotADB  = 26
)

// OpenSQLite opens the file at path and makes it if there is none. A file that is
// broken is replaced by an empty one; replaced says so. One process may have it
// open, which the lock on the log sees to.
func OpenSQLite(ctx context.Context, path string) (db *DB, replaced bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, false, fmt.Errorf("open read models: %w", err)
	}
	db, err = openFile(ctx, path)
	if broken(err) {
		if err := remove(path); err != nil {
			return nil, false, fmt.Errorf("replace broken read models: %w", err)
		}
		replaced = true
		db, err = openFile(ctx, path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("open read models %s: %w", path, err)
	}
	return db, replaced, nil
}

// OpenMemory returns an empty database that is gone when it is closed.
func OpenMemory(ctx context.Context) (*DB, error) {
	// A database in memory belongs to one connection, which all share.
	pool := openPool(":memory:", 1)
	s := newSessions(pool, 1, true)
	db := &DB{pool: pool, write: s, read: s}
	if err := db.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open read models in memory: %w", err), db.Close())
	}
	return db, nil
}

func openFile(ctx context.Context, path string) (*DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	// NORMAL loses the last commits with the power and keeps the file whole. Before it, a file
	// that is made waits for no disk: nothing is in it yet, and a broken one is replaced.
	// What an erasure takes away is overwritten, not only unlinked.
	write := openPool(path, 1, "synchronous(off)", "journal_mode(wal)", "synchronous(normal)", "secure_delete(1)",
		"wal_autocheckpoint(4000)", "journal_size_limit(33554432)", "cache_size(-8192)")
	read := openPool(path, readersMax, "query_only(1)", "cache_size(-1024)")
	db := &DB{pool: write, readPool: read, write: newSessions(write, 1, true), read: newSessions(read, readersMax, true)}
	if err := db.start(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func openPool(path string, connections int, pragmas ...string) *sql.DB {
	q := url.Values{"_busy_timeout": {"5000"}}
	for _, p := range append(pragmas, "mmap_size(0)", "temp_store(memory)") {
		q.Add("_pragma", p)
	}
	pool := sql.OpenDB(connector{"file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path)) + "?" + q.Encode()})
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool
}

// connector opens connections without going through the global driver table.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (connector) Driver() driver.Driver { return sqliteDriver }

var sqliteDriver = &sqlite.Driver{}

func broken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqliteCorrupt || e.Code()&0xff == sqliteNotADB)
}

func remove(path string) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
