// Package sqlite keeps the log in one SQLite file, or in memory for tests and
// trials. It is made for one process: a second one on the same file is refused.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"hecate/domain/ident"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/internal/leases"
	"hecate/eventstore/internal/tail"
	"hecate/migrations"
)

const (
	// versionMin is the first SQLite without the race that could corrupt a
	// database when its write-ahead log starts over.
	versionMin = "3.51.3"

	readersMax          = 4
	busyTimeoutDefault  = 5 * time.Second
	journalBytesMax     = 16 << 20 // the write-ahead log is cut back to this after a checkpoint
	cacheKibibytesWrite = 4 << 10
	cacheKibibytesRead  = 1 << 10
)

// Options say where the log is.
type Options struct {
	Path        string        // the database file; its folder is made if it is missing
	TablePrefix string        // what table names begin with; "hecate" if empty
	BusyTimeout time.Duration // how long to wait for a lock of a foreign tool, e.g. a backup; 5 s if zero
}

// Store is a log in SQLite. It implements eventstore.Store and eventstore.StoredReader.
type Store struct {
	prefix string
	writer *sql.DB // one connection
	reader *sql.DB // the same as writer in memory
	lock   *fileLock
	logID  string
	reads  readStatements
	append appender
	queue  *groupcommit.Queue
	leases *leases.Table
	tail   *tail.Tail
	close  func() error
}

// Open opens the log at o.Path and creates it if it does not exist. It returns an
// error that wraps eventstore.ErrInUse if another process, or another store in
// this one, has it open, and migrations.ErrNewer if a newer build has changed it.
func Open(ctx context.Context, o Options) (*Store, error) {
	path, err := prepareFile(o.Path)
	if err != nil {
		return nil, fmt.Errorf("open log %s: %w", o.Path, err)
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, fmt.Errorf("open log %s: %w", path, err)
	}
	busy := o.BusyTimeout
	if busy <= 0 {
		busy = busyTimeoutDefault
	}
	writer := openDB(path, busy, 1, "_txlock=immediate",
		"journal_mode(wal)", "synchronous(full)", "fullfsync(1)", "checkpoint_fullfsync(1)", "recursive_triggers(1)",
		"secure_delete(1)", // only erasure frees anything
		"journal_size_limit("+strconv.Itoa(journalBytesMax)+")", "cache_size(-"+strconv.Itoa(cacheKibibytesWrite)+")")
	reader := openDB(path, busy, readersMax, "_query_only=1", "cache_size(-"+strconv.Itoa(cacheKibibytesRead)+")")
	s := &Store{writer: writer, reader: reader, lock: lock}
	if err := s.start(ctx, o.TablePrefix); err != nil {
		return nil, errors.Join(fmt.Errorf("open log %s: %w", path, err), s.release())
	}
	return s, nil
}

// OpenMemory returns an empty log that lives in memory and is gone when it is
// closed. It behaves like one in a file, without the waiting for a disk.
func OpenMemory(ctx context.Context) (*Store, error) {
	// A database in memory belongs to one connection, which readers and the writer share.
	db := openDB(":memory:", busyTimeoutDefault, 1, "_txlock=immediate", "recursive_triggers(1)")
	s := &Store{writer: db, reader: db}
	if err := s.start(ctx, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("open log in memory: %w", err), s.release())
	}
	return s, nil
}

// prepareFile makes the folder and the file, readable by the owner only, and
// returns the path without symbolic links, so that one file has one lock.
func prepareFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("no path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// openDB describes a pool of connections; the first use opens one.
func openDB(path string, busy time.Duration, connections int, param string, pragmas ...string) *sql.DB {
	q := url.Values{}
	q.Set("_busy_timeout", strconv.FormatInt(busy.Milliseconds(), 10))
	for _, p := range append(pragmas, "mmap_size(0)", "temp_store(memory)") {
		q.Add("_pragma", p)
	}
	dsn := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path)) + "?" + q.Encode() + "&" + param
	db := sql.OpenDB(connector{dsn})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

func (s *Store) start(ctx context.Context, prefix string) error {
	s.prefix = prefix
	if prefix != "" {
		if err := migrations.CheckPrefix(prefix); err != nil {
			return err
		}
	}
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		// As durable as the default fsync, without a journal commit for the timestamps.
		if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
			return err
		}
	}
	if err := checkVersion(ctx, s.writer); err != nil {
		return err
	}
	if err := migrations.SQLite(ctx, s.writer, migrations.SQLiteLog(), prefix); err != nil {
		return err
	}
	head, err := s.readState(ctx)
	if err != nil {
		return err
	}
	if err := s.reads.prepare(ctx, s.reader, prefix); err != nil {
		return err
	}
	s.append.db = s.writer
	if err := s.append.write.prepare(ctx, s.writer, prefix); err != nil {
		return err
	}
	if err := s.append.begin(ctx, head); err != nil {
		return err
	}
	s.tail = tail.New(head)
	s.append.head, s.append.tail = head, s.tail
	s.leases = s.append.leases
	s.queue = groupcommit.New(s.append.commit)
	s.close = sync.OnceValue(s.shutDown)
	return nil
}

func checkVersion(ctx context.Context, db *sql.DB) error {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	if olderThan(version, versionMin) {
		return fmt.Errorf("SQLite %s can corrupt a write-ahead log, %s or newer is needed", version, versionMin)
	}
	return nil
}

// olderThan compares dotted version numbers.
func olderThan(version, min string) bool {
	have, want := strings.Split(version, "."), strings.Split(min, ".")
	for i, w := range want {
		n, m := 0, 0
		if i < len(have) {
			n, _ = strconv.Atoi(have[i])
		}
		m, _ = strconv.Atoi(w)
		if n != m {
			return n < m
		}
	}
	return false
}

const headQuery = `SELECT log_id, max(floor, (SELECT coalesce(max(position), 0) FROM hecate_log)) FROM hecate_log_state`

// readState gives a new log its id and returns the last position given out.
func (s *Store) readState(ctx context.Context) (head int64, err error) {
	_, err = s.writer.ExecContext(ctx, migrations.Rename(
		`INSERT INTO hecate_log_state (one, log_id, floor, indexed) VALUES (1, ?, 0, 0) ON CONFLICT DO NOTHING`, s.prefix), ident.New("log"))
	if err != nil {
		return 0, err
	}
	err = s.writer.QueryRowContext(ctx, migrations.Rename(headQuery, s.prefix)).Scan(&s.logID, &head)
	return head, err
}

// Close ends waiting readers, finishes appends under way and releases the file.
func (s *Store) Close() error { return s.close() }

func (s *Store) shutDown() error {
	s.tail.Close()
	s.queue.Close()
	return s.release()
}

func (s *Store) release() error {
	err := errors.Join(s.reads.close(), s.append.write.close(), s.reader.Close())
	if s.writer != s.reader {
		err = errors.Join(err, s.writer.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.release())
	}
	return err
}
