package stored_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// What a store has written is read back as it was, while the store is open and after it.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log ?#%.db")
	url := pgtest.URL(t)
	for name, c := range map[string]struct {
		store func() (eventstore.Store, error)
		read  func() (*stored.Log, error)
	}{
		"sqlite": {
			func() (eventstore.Store, error) {
				return sqlite.Open(t.Context(), sqlite.Options{Path: path, TablePrefix: "other"})
			},
			func() (*stored.Log, error) { return stored.OpenSQLite(t.Context(), path, "other", 2) },
		},
		"postgres": {
			func() (eventstore.Store, error) {
				return postgres.Open(t.Context(), postgres.Options{URL: url, TablePrefix: "other"})
			},
			func() (*stored.Log, error) { return stored.OpenPostgres(t.Context(), url, "other", 2) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.store()
			if err != nil {
				t.Fatal(err)
			}
			b := storetest.To("run-1", 0, storetest.NewEvents(3)...)
			b.CommandID = "cmd-1"
			b.Streams[0].Work = eventstore.WorkOpen
			if _, err := s.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			seal := eventstore.Seal{
				Rows: []eventstore.TreeRow{{Hashes: make([]byte, 64)}, {Start: 2, Hashes: append(make([]byte, 32), 1)[1:]}},
				Key:  "key", Checkpoint: eventstore.Checkpoint{Size: 2, Note: []byte("note")},
			}
			if err := s.(eventstore.Tree).AddSeal(t.Context(), seal); err != nil {
				t.Fatal(err)
			}
			check(t, s, c.read)
			records, err := s.ReadStream(t.Context(), "run-1", 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			l, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			checkCancel(t, l)
			rows, err := l.StreamRows(t.Context(), "run-1", 1, 10)
			if err != nil || len(rows) != 2 || !reflect.DeepEqual(rows[1].Record, records[2]) {
				t.Errorf("the stream after its first version: %+v, %v", rows, err)
			}
		})
	}
}

func check(t *testing.T, s eventstore.Store, read func() (*stored.Log, error)) {
	t.Helper()
	ctx := context.Background()
	l, err := read()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want, err := s.ReadAll(ctx, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := l.Rows(ctx, 1, 3)
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	for i := range rows {
		if !reflect.DeepEqual(rows[i].Record, want[i]) || rows[i].Odd != "" {
			t.Errorf("record %d is read as %+v, want %+v", i, rows[i], want[i])
		}
	}
	stream, err := l.StreamRows(ctx, "run-1", 1, 10)
	if err != nil || len(stream) != 2 || !reflect.DeepEqual(stream[0].Record, want[0]) {
		t.Errorf("the stream: %+v, %v", stream, err)
	}
	id, err := l.ID(ctx)
	if mine, _ := s.LogID(ctx); id != mine || err != nil {
		t.Errorf("log id %q, %v, want %q", id, err, mine)
	}
	if b, err := l.Bounds(ctx); b != (stored.Bounds{First: 1, Last: 3, FirstPayload: 1, LastPayload: 3, Sealed: 2, TreeEnd: 3}) || err != nil {
		t.Errorf("bounds %+v, %v", b, err)
	}
	if c, err := l.Commands(ctx, []string{"cmd-1", "cmd-2"}); len(c) != 1 || c["cmd-1"] != (stored.Span{First: 1, Last: 3}) || err != nil {
		t.Errorf("commands %v, %v", c, err)
	}
	if f, err := l.Faults(ctx, 3); len(f) != 0 || err != nil {
		t.Errorf("faults %v, %v", f, err)
	}
	if k, err := l.Keys(ctx); len(k) != 1 || k[0] != (eventstore.LogKey{Since: 2, Public: "key"}) || err != nil {
		t.Errorf("keys %v, %v", k, err)
	}
	if c, err := l.Newest(ctx); c.Size != 2 || string(c.Note) != "note" || err != nil {
		t.Errorf("newest checkpoint %v, %v", c, err)
	}
	if r, err := l.TreeRows(ctx, 0, 10); len(r) != 2 || r[1].Start != 2 || err != nil {
		t.Errorf("rows of the tree %v, %v", r, err)
	}
	if h, err := l.TreeHashes(ctx, []int64{2, 0, 99}); len(h) != 3 || h[0][31] != 1 || h[1] != [32]byte{} || h[2] != [32]byte{} || err != nil {
		t.Errorf("hashes %v, %v", h, err)
	}
}

// Reading ends when nobody wants it any more, and the log can be read again after that.
func checkCancel(t *testing.T, l *stored.Log) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	seen := 0
	err := l.Each(ctx, 0, 3, func(*stored.Row) error {
		seen++
		stop()
		return nil
	})
	if seen == 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows, %v, want context.Canceled", seen, err)
	}
	if rows, err := l.RowsOfType(ctx, "test.happened"); !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows, %v, want context.Canceled", len(rows), err)
	}
	enough := errors.New("enough")
	if err := l.Each(t.Context(), 0, 3, func(*stored.Row) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v, want what the reader said", err)
	}
	if rows, err := l.Rows(t.Context(), 0, 3); len(rows) != 3 || err != nil {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// Two accounts are the same only if they say the same about each record.
func TestPlaces(t *testing.T) {
	type place struct {
		stream            string
		version, position int64
	}
	account := []place{{"a", 1, 1}, {"b", 1, 2}, {"a", 2, 3}}
	for name, c := range map[string]struct {
		other []place
		same  bool
	}{
		"in another order":  {[]place{{"a", 1, 1}, {"a", 2, 3}, {"b", 1, 2}}, true},
		"one less":          {account[:2], false},
		"one twice":         {append(account[:3:3], account[0]), false},
		"changed places":    {[]place{{"a", 1, 3}, {"b", 1, 2}, {"a", 2, 1}}, false},
		"changed streams":   {[]place{{"b", 1, 1}, {"a", 1, 2}, {"a", 2, 3}}, false},
		"another position":  {[]place{{"a", 1, 1}, {"b", 1, 2}, {"a", 2, 4}}, false},
		"sums of positions": {[]place{{"a", 1, 2}, {"b", 1, 2}, {"a", 2, 2}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := stored.NewPlaces()
			for _, p := range account {
				a.Add(p.stream, p.version, p.position)
			}
			for _, p := range c.other {
				b.Add(p.stream, p.version, p.position)
			}
			if a.Equal(&b) != c.same {
				t.Errorf("equal: %v", !c.same)
			}
		})
	}
}

// A file that cannot be written, in a folder that cannot be written, is read as it is.
func TestReadOnlyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "copy")
	path := filepath.Join(dir, "log.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), storetest.To("run-1", 0, storetest.NewEvents(3)...)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700) //nolint:errcheck // so that the folder can be removed
	l, err := stored.OpenSQLite(t.Context(), path, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if rows, err := l.Rows(t.Context(), 0, 10); len(rows) != 3 || err != nil {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestNoLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.db")
	if _, err := stored.OpenSQLite(t.Context(), path, "", 1); err == nil {
		t.Error("a file that is not there was opened")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := stored.OpenSQLite(t.Context(), path, "", 1); err == nil {
		t.Error("an empty file was opened as a log")
	}
	if _, err := stored.OpenPostgres(t.Context(), pgtest.URL(t), "", 1); err == nil {
		t.Error("an empty database was opened as a log")
	}
}
