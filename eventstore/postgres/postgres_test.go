package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/storetest"
	"hecate/migrations"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestStore(t *testing.T) {
	// One database for all, which is quicker, and each log under a prefix of its own.
	url, logs := pgtest.URL(t), 0
	storetest.Run(t, func(*testing.T) storetest.Log {
		logs++
		prefix := fmt.Sprintf("log%d", logs)
		return storetest.Log{
			Durable: true,
			Shared:  true,
			Open: func(t *testing.T) eventstore.Store {
				t.Helper()
				s, err := postgres.Open(t.Context(), postgres.Options{URL: url, TablePrefix: prefix})
				if err != nil {
					t.Fatal(err)
				}
				return s
			},
			Pass: func(t *testing.T, d time.Duration) {
				t.Helper()
				mustExec(t, url, migrations.Rename(fmt.Sprintf(`UPDATE hecate_workers SET expires_at = expires_at - interval '%d microseconds';
					UPDATE hecate_open_work SET claimed_at = claimed_at - interval '%[1]d microseconds'`, d.Microseconds()), prefix))
			},
			Exec: func(t *testing.T, sql string) error { return behind(t, url, migrations.Rename(sql, prefix)) },
			Forge: func(t *testing.T, sql string) {
				t.Helper()
				mustExec(t, url, "SET session_replication_role = replica; "+migrations.Rename(sql, prefix))
			},
		}
	})
}

func TestCrash(t *testing.T) {
	url := os.Getenv("HECATE_STORETEST_CRASH")
	if url == "" {
		url = pgtest.URL(t)
	}
	storetest.Crash(t, url, openAt)
}

func openAt(url string) (eventstore.Store, error) {
	return postgres.Open(context.Background(), postgres.Options{URL: url})
}

// behind runs SQL as any other client would.
func behind(t *testing.T, url, sql string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	_, err = conn.PgConn().Exec(t.Context(), sql).ReadAll()
	return err
}

func TestTruncateRefused(t *testing.T) {
	url := pgtest.URL(t)
	s, err := openAt(url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, table := range []string{"log", "payload", "blobs", "commands"} {
		if err := behind(t, url, "TRUNCATE hecate_"+table); err == nil {
			t.Errorf("truncated %s", table)
		}
	}
}

// A log in which a position is missing. Nobody goes beyond the gap, and who waits for
// more is told.
func TestGap(t *testing.T) {
	url := pgtest.URL(t)
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := behind(t, url, "UPDATE hecate_log_state SET floor = 10"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	a, err := s.Append(ctx, storetest.To("run-1", 0, storetest.NewEvents(1)...))
	if err != nil || a.First != 11 {
		t.Fatalf("append: %+v, %v", a, err)
	}
	if err := s.CatchUp(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("catch up: %v, want an error at once", err)
	}
	if err := s.Wait(ctx, 0); err == nil || ctx.Err() != nil {
		t.Errorf("wait: %v, want an error at once", err)
	}
}

func TestNewerSchema(t *testing.T) {
	url := pgtest.URL(t)
	s, err := openAt(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := behind(t, url, "INSERT INTO hecate_schema VALUES ('log', 999, 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(url); !errors.Is(err, migrations.ErrNewer) {
		t.Errorf("open: %v, want ErrNewer", err)
	}
}
