package pgtest

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// DurableURL is URL on a server that syncs its writes like a real one, for
// benchmarks. A server that was named by the environment is taken as it is.
func DurableURL(t testing.TB) string {
	t.Helper()
	url := URL(t)
	if os.Getenv(envURL) != "" {
		return url
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range []string{"ALTER SYSTEM SET fsync = on", "ALTER SYSTEM SET full_page_writes = on", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return url
}
