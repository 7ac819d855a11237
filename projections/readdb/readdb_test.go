package readdb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/readdb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const schema = `CREATE TABLE hecate_view_x_@ (a text NOT NULL, b bigint NOT NULL, c bytea NOT NULL, PRIMARY KEY (a, b)) CLUSTERED;`

var table = &readdb.Table{Name: "hecate_view_x_@", Key: 2, Columns: []readdb.Column{{Name: "a", Type: readdb.Text}, {Name: "b", Type: readdb.Int}, {Name: "c", Type: readdb.Bytes}}}

// each runs a test on every kind of database.
func each(t *testing.T, test func(t *testing.T, db *readdb.DB)) {
	ctx := context.Background()
	kinds := map[string]func(t *testing.T) (*readdb.DB, error){
		"memory": func(*testing.T) (*readdb.DB, error) { return readdb.OpenMemory(ctx) },
		"file": func(t *testing.T) (*readdb.DB, error) {
			db, _, err := readdb.OpenSQLite(ctx, filepath.Join(t.TempDir(), "read?#%.db"))
			return db, err
		},
		"postgres": func(t *testing.T) (*readdb.DB, error) { return readdb.OpenPostgres(ctx, pgtest.URL(t), "") },
	}
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			db, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			err = db.Update(ctx, "", func(tx *readdb.Tx) error { return tx.Script(ctx, "one", schema) })
			if err != nil {
				t.Fatal(err)
			}
			test(t, db)
		})
	}
}

func count(t *testing.T, db *readdb.DB) (n int) {
	t.Helper()
	err := db.View(context.Background(), "one", func(tx *readdb.Tx) error {
		_, err := tx.One(context.Background(), `SELECT count(*) FROM hecate_view_x_@`, nil, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Any number of rows goes in; a row with the key of another takes its place; texts are
// made fit.
func TestPut(t *testing.T) {
	each(t, func(t *testing.T, db *readdb.DB) {
		ctx := context.Background()
		rows := readdb.Rows{Table: table}
		put := func(n int, body string) {
			t.Helper()
			for i := range n {
				rows.Add("k", int64(i), []byte(body))
			}
			if err := db.Update(ctx, "one", func(tx *readdb.Tx) error { return tx.Put(ctx, &rows) }); err != nil {
				t.Fatal(err)
			}
			if rows.Len() != 0 {
				t.Error("rows are left after they were written")
			}
		}
		for _, n := range []int{0, 1, 3, 85, 5000} {
			put(n, "old")
			if got := count(t, db); got != n {
				t.Errorf("%d rows, want %d", got, n)
			}
		}
		put(100, "new\x00\xff")
		rows.Add("a\x00\xffb", int64(0), []byte{})
		put(0, "")
		var fresh, fit int
		err := db.View(ctx, "one", func(tx *readdb.Tx) error {
			if _, err := tx.One(ctx, `SELECT count(*) FROM hecate_view_x_@ WHERE c = $1`, []any{[]byte("new\x00\xff")}, &fresh); err != nil {
				return err
			}
			_, err := tx.One(ctx, `SELECT count(*) FROM hecate_view_x_@ WHERE a = $1`, []any{"a\uFFFD\uFFFDb"}, &fit)
			return err
		})
		if err != nil || fresh != 100 || fit != 1 {
			t.Errorf("%d rows replaced, %d with a text made fit, %v", fresh, fit, err)
		}
	})
}

// What fails leaves nothing behind, and the next transaction goes on.
func TestFailureRollsBack(t *testing.T) {
	each(t, func(t *testing.T, db *readdb.DB) {
		ctx := context.Background()
		errOwn := errors.New("own")
		insert := func(tx *readdb.Tx, n int64) error {
			rows := readdb.Rows{Table: table}
			rows.Add("k", n, []byte("x"))
			return tx.Put(ctx, &rows)
		}
		err := db.Update(ctx, "one", func(tx *readdb.Tx) error {
			if err := insert(tx, 1); err != nil || tx.Failed() {
				return fmt.Errorf("insert: %w", err)
			}
			return errOwn
		})
		if !errors.Is(err, errOwn) {
			t.Errorf("got %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = db.Update(ctx, "one", func(tx *readdb.Tx) error {
				if err := insert(tx, 2); err != nil {
					return err
				}
				panic("a bug")
			})
		}()
		err = db.Update(ctx, "one", func(tx *readdb.Tx) error {
			err := tx.Exec(ctx, `SELECT nonsense FROM nowhere`)
			if !tx.Failed() {
				t.Error("the transaction does not know that it failed")
			}
			return err
		})
		if err == nil {
			t.Error("nonsense was accepted")
		}
		if n := count(t, db); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if err := db.Update(ctx, "one", func(tx *readdb.Tx) error { return insert(tx, 3) }); err != nil || count(t, db) != 1 {
			t.Errorf("the next transaction: %v", err)
		}
	})
}

// Dropping a build leaves the others.
func TestDrop(t *testing.T) {
	each(t, func(t *testing.T, db *readdb.DB) {
		ctx := context.Background()
		err := db.Update(ctx, "one", func(tx *readdb.Tx) error {
			if err := tx.Script(ctx, "two", schema); err != nil {
				return err
			}
			return tx.Drop(ctx, "two")
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, db); n != 0 {
			t.Errorf("%d rows", n)
		}
		if err := db.View(ctx, "two", func(tx *readdb.Tx) error {
			return tx.Query(ctx, `SELECT a FROM hecate_view_x_@`, func(*sql.Rows) error { return nil })
		}); err == nil {
			t.Error("the dropped table answers")
		}
	})
}

func TestClosed(t *testing.T) {
	db, err := readdb.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.View(context.Background(), "", func(*readdb.Tx) error { return nil }); !errors.Is(err, readdb.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A PostgreSQL that was restarted closes every connection; whoever reads or writes
// next does not notice.
func TestConnectionsThatDiedAreReplaced(t *testing.T) {
	ctx := t.Context()
	url := pgtest.URL(t)
	db, err := readdb.OpenPostgres(ctx, url, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	one := func(tx *readdb.Tx) error {
		var n int
		_, err := tx.One(ctx, `SELECT 1`, nil, &n)
		return err
	}
	for range 4 {
		for name, run := range map[string]func(context.Context, string, func(*readdb.Tx) error) error{"view": db.View, "update": db.Update} {
			if err := run(ctx, "", one); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
