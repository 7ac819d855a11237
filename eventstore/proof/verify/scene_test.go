package verify_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// said is an event with a text that may be large.
type said struct {
	Text event.Text `json:"text"`
}

func (said) EventType() string       { return "test.said" }
func (s *said) Texts() []*event.Text { return []*event.Text{&s.Text} }

var _ = event.Define(said{})

// scene is a log with a bit of everything, and what somebody has kept of it elsewhere.
type scene struct {
	public string
	early  []byte // checkpoints
	kept   []byte
	blob   string // digest
	keys   []proof.Key
	before []eventstore.Record // as they were before some were erased
}

// What the scene is made of, by position:
//
//	1-3 run-1 (command cmd-1)   4 lone   5-8 run-2   9 run-1, large   10-12 run-3 (command cmd-2)
//	13-20 run-1   21-22 run-2
const (
	sealedEarly = 12
	sealedLast  = 20
	sceneLast   = 22
)

func play(t *testing.T, s eventstore.Store) scene { t.Helper(); return playWith(t, s) }

// playWith is play with more behind it, which is sealed too.
func playWith(t *testing.T, s eventstore.Store, more ...func(*testing.T, eventstore.Store, *scene)) (sc scene) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	id, err := s.LogID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := proof.OpenKey(filepath.Join(t.TempDir(), "audit.key"), proof.Origin(id))
	if err != nil {
		t.Fatal(err)
	}
	sc.public = key.Public
	sealer, err := proof.NewSealer(ctx, s.(proof.Log), key, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	add := func(stream, command string, events ...eventstore.Event) {
		b := storetest.To(stream, eventstore.AnyVersion, events...)
		b.CommandID = command
		if stream == "run-2" {
			b.Streams[0].Work = eventstore.WorkOpen
		}
		if _, err := s.Append(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	seal := func() []byte {
		if err := sealer.Seal(ctx); err != nil {
			t.Fatal(err)
		}
		last, _, err := s.(eventstore.Tree).LastSeal(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return last.Note
	}
	add("run-1", "cmd-1", storetest.NewEvents(3)...)
	add("lone", "", storetest.NewEvents(1)...)
	seal()
	add("run-2", "", storetest.NewEvents(4)...)
	large, digest := largeEvent(t)
	sc.blob = digest
	add("run-1", "", large)
	add("run-3", "cmd-2", storetest.NewEvents(3)...)
	sc.early = seal()
	add("run-1", "", storetest.NewEvents(8)...)
	sc.kept = seal()
	add("run-2", "", storetest.NewEvents(2)...)
	for _, do := range more {
		do(t, s, &sc)
		sc.kept = seal()
	}
	return sc
}

func largeEvent(t *testing.T) (eventstore.Event, string) {
	t.Helper()
	encoded, err := event.Encode(said{event.NewText(strings.Repeat("large ", 5000))}, func() [16]byte { return [16]byte{1} })
	if err != nil || len(encoded.Blobs) != 1 {
		t.Fatal(err, len(encoded.Blobs))
	}
	e := storetest.NewEvent(encoded.Type, string(encoded.Data))
	e.Blobs = encoded.Blobs
	return e, encoded.Blobs[0].Digest
}

// backend is one kind of database with the scene in it.
type backend struct {
	scene
	// tamper makes a copy of the log without triggers and runs SQL on it.
	tamper func(t *testing.T, sql string) *stored.Log
	hex    func([]byte) string // a literal
	double string              // SQL that lets a version stand in the log twice
}

func backends(t *testing.T) map[string]backend {
	return map[string]backend{"sqlite": onSQLite(t, play), "postgres": onPostgres(t, play)}
}

func onSQLite(t *testing.T, play func(*testing.T, eventstore.Store) scene) backend {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "log.db")
	open := func() *sqlite.Store {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	b := backend{scene: play(t, s), hex: func(raw []byte) string { return "x'" + hex.EncodeToString(raw) + "'" }}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open().Close(); err != nil { // brings the table of streams up to the end
		t.Fatal(err)
	}
	dropTriggers(t, path)
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b.tamper = func(t *testing.T, query string) *stored.Log {
		t.Helper()
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(path, original, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		l, err := stored.OpenSQLite(t.Context(), path, "", 3)
		return opened(t, l, err)
	}
	return b
}

func dropTriggers(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"log", "payload", "blobs", "commands", "tree", "checkpoints", "log_keys", "erased"} {
		for _, what := range []string{"update", "delete"} {
			if _, err := db.Exec("DROP TRIGGER hecate_" + table + "_no_" + what); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func onPostgres(t *testing.T, play func(*testing.T, eventstore.Store) scene) backend {
	t.Helper()
	url := pgtest.URL(t)
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	b := backend{scene: play(t, s), double: "ALTER TABLE hecate_log DROP CONSTRAINT IF EXISTS hecate_log_stream_version_key; ", hex: func(raw []byte) string { return `'\x` + hex.EncodeToString(raw) + "'::bytea" }}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	// One copy for all: tables without triggers, which are filled anew each time.
	var create, fill strings.Builder
	for _, table := range []string{"log", "payload", "blobs", "commands", "open_work", "log_state", "tree", "checkpoints", "log_keys", "erased"} {
		fmt.Fprintf(&create, "CREATE UNLOGGED TABLE copy_%s (LIKE hecate_%[1]s INCLUDING ALL); ", table)
		fmt.Fprintf(&fill, "DELETE FROM copy_%s; INSERT INTO copy_%[1]s SELECT * FROM hecate_%[1]s; ", table)
	}
	if _, err := db.Exec(create.String()); err != nil {
		t.Fatal(err)
	}
	b.tamper = func(t *testing.T, query string) *stored.Log {
		t.Helper()
		if _, err := db.Exec(fill.String() + strings.ReplaceAll(query, "hecate_", "copy_")); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		l, err := stored.OpenPostgres(t.Context(), url, "copy", 3)
		return opened(t, l, err)
	}
	return b
}

func opened(t *testing.T, l *stored.Log, err error) *stored.Log {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (b backend) verify(t *testing.T, l *stored.Log, o verify.Options) verify.Report {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	o.Parallel = 2
	r, err := verify.Log(ctx, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rehash returns SQL that gives a record the hash of what it says after a change, as
// somebody would who knows how hashes are made.
func (b backend) rehash(t *testing.T, change string, positions ...int64) string {
	t.Helper()
	l := b.tamper(t, change)
	for _, p := range positions {
		rows, err := l.Rows(t.Context(), p-1, p)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		hash := eventstore.Hash(rows[0].Record)
		if bytes.Equal(hash[:], rows[0].Hash[:]) {
			t.Fatalf("the change did not change record %d: %s", p, change)
		}
		change += fmt.Sprintf("; UPDATE hecate_log SET hash = %s WHERE position = %d", b.hex(hash[:]), p)
	}
	return change
}
