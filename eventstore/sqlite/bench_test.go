package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hecate/eventstore"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			dir := b.TempDir()
			s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(dir, "log.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			storetest.BenchAppend(b, s, writers, rawInserts(b, filepath.Join(dir, "raw.db"), writers))
		})
	}
}

func BenchmarkAppendClaimed(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			dir := b.TempDir()
			s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(dir, "log.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			storetest.BenchAppendClaimed(b, s, writers, rawInserts(b, filepath.Join(dir, "raw.db"), writers))
		})
	}
}

func BenchmarkClaim(b *testing.B) {
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	storetest.BenchClaim(b, s)
}

// rawInserts inserts the same rows into one plain table, with the same durability:
// one transaction and one prepared statement for each batch.
func rawInserts(b *testing.B, path string, rows int) func([]eventstore.Record) error {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=journal_size_limit(16777216)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`CREATE TABLE raw (position INTEGER PRIMARY KEY, stream TEXT, version INTEGER, event_id BLOB, type TEXT, schema INTEGER,
		at INTEGER, kind TEXT, name TEXT, org TEXT, caused_by INTEGER, command_id TEXT, trace TEXT, hash BLOB, salt BLOB, data BLOB)`)
	if err != nil {
		b.Fatal(err)
	}
	row := "(" + strings.Repeat("?,", 15) + "?)"
	insert, err := db.Prepare("INSERT INTO raw VALUES " + strings.Repeat(row+",", rows-1) + row)
	if err != nil {
		b.Fatal(err)
	}
	return func(records []eventstore.Record) error {
		args := make([]any, 0, 16*len(records))
		for i := range records {
			r := &records[i]
			args = append(args, r.Position, r.Stream, r.Version, r.ID[:], r.Type, r.Schema, r.At.UnixMicro(),
				r.Actor.Kind, r.Actor.Name, r.Actor.Org, r.CausedBy, r.CommandID, r.Trace, r.Hash[:], r.Salt[:], r.Data)
		}
		_, err := insert.Exec(args...) // a transaction of its own
		return err
	}
}

const benchEvents = 1_000_000

// BenchmarkMillion builds a log of a million events once, and measures opening
// and reading it.
func BenchmarkMillion(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.db")
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	storetest.Fill(b, s, benchEvents)
	b.Run("read", func(b *testing.B) { storetest.BenchReadAll(b, s) })
	b.Run("stream", func(b *testing.B) { storetest.BenchReadStream(b, s, benchEvents) })
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
