package runner_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const patience = 2 * time.Minute

// noted and ignored are the two kinds of facts of these tests.
type noted struct {
	Text string `json:"text"`
}

func (noted) EventType() string { return "test.noted" }

type ignored struct{}

func (ignored) EventType() string { return "test.ignored" }

var (
	_ = event.Define(noted{Text: "x"})
	_ = event.Define(ignored{})
)

// notes is a model that keeps every note. refuse makes it refuse a text.
type notes struct {
	version int64
	refuse  func(text string) error
	flush   func() error
}

func (notes) Name() string                { return "notes" }
func (n notes) Version() int64            { return max(n.version, 1) }
func (notes) Wants(eventType string) bool { return eventType == "test.noted" }
func (n notes) NewFold() runner.Fold      { return &notesFold{model: n} }
func (notes) Schema() string {
	return `CREATE TABLE hecate_view_notes_@ (position bigint NOT NULL PRIMARY KEY, stream text NOT NULL, note text NOT NULL);`
}

type note struct {
	position     int64
	stream, text string
}

type notesFold struct {
	model notes
	rows  []note
}

func (f *notesFold) Apply(_ context.Context, _ *readdb.Tx, fact runner.Fact) error {
	text := fact.Payload.(noted).Text
	if f.model.refuse != nil {
		if err := f.model.refuse(text); err != nil {
			return err
		}
	}
	f.rows = append(f.rows, note{fact.Position, fact.Stream, text})
	return nil
}

func (f *notesFold) Flush(ctx context.Context, tx *readdb.Tx) error {
	if f.model.flush != nil {
		if err := f.model.flush(); err != nil {
			return err
		}
	}
	for _, r := range f.rows {
		// Without a conflict clause: the same fact twice is an error.
		if err := tx.Exec(ctx, `INSERT INTO hecate_view_notes_@ (position, stream, note) VALUES ($1, $2, $3)`, r.position, r.stream, r.text); err != nil {
			return err
		}
	}
	f.rows = nil
	return nil
}

func (f *notesFold) Forget() { f.rows = nil }

// texts reads what the model shows, in order.
func texts(t testing.TB, r *runner.Runner) string {
	t.Helper()
	var out []string
	err := r.View(context.Background(), "notes", func(tx *readdb.Tx) error {
		out = nil
		return tx.Query(context.Background(), `SELECT note FROM hecate_view_notes_@ ORDER BY position`, func(rows *sql.Rows) error {
			var s string
			err := rows.Scan(&s)
			out = append(out, s)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func memory(t testing.TB) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, db) })
	return db
}

func file(t testing.TB) *readdb.DB {
	t.Helper()
	db, _, err := readdb.OpenSQLite(context.Background(), filepath.Join(t.TempDir(), "read.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, db) })
	return db
}

func shut(t testing.TB, c io.Closer) {
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func open(t testing.TB, log eventstore.Store, db *readdb.DB, m notes) *runner.Runner {
	t.Helper()
	r, err := runner.New(context.Background(), runner.Config{Log: log, DB: db, Models: []runner.Model{m}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// start runs r until the test ends or stop is called.
func start(t testing.TB, r *runner.Runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func wait(t testing.TB, r *runner.Runner, position int64) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := r.WaitFor(ctx, position); err != nil {
		t.Fatalf("waiting for %d: %v", position, err)
	}
}

func status(t testing.TB, r *runner.Runner) runner.Status {
	t.Helper()
	s, err := r.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

func expect(t testing.TB, r *runner.Runner, want string) {
	t.Helper()
	if got := texts(t, r); got != want {
		t.Errorf("the model shows %q, want %q", got, want)
	}
}

// bad is a note that cannot be decoded.
func bad(l *projectiontest.Log) eventstore.Event {
	return l.Event("test.noted", json.RawMessage(`{"text": 7}`))
}

var errRefused = errors.New("cannot take this")

func refuse(text string) func(string) error {
	return func(s string) error {
		if s == text {
			return fmt.Errorf("%w: %s", errRefused, s)
		}
		return nil
	}
}
