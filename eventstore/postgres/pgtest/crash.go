package pgtest

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Crash kills one process of the server, which then ends all sessions at once and
// recovers from its write-ahead log, and returns when it answers again. A server that
// was named by the environment is not ours to crash: the test is skipped.
func Crash(t testing.TB) {
	t.Helper()
	if os.Getenv(envURL) != "" {
		t.Skip("the server at " + envURL + " is not ours to crash")
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), statementMax)
	defer stop()
	victim, witness := mustConnect(ctx, t), mustConnect(ctx, t)
	defer victim.Close(ctx)
	defer witness.Close(ctx)
	var pid int
	if err := victim.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := witness.Exec(ctx, "SELECT pg_sleep(3600)"); err == nil || ctx.Err() != nil {
		t.Fatal("the server did not notice")
	}
	if err := shared.server.ready(new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
}

func mustConnect(ctx context.Context, t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx, shared.admin.String())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
