package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"hecate/eventstore/postgres/pgtest"
)

// Each statement finds its rows by their keys, however large the server takes the
// tables to be: a merge with the payloads, say, would walk through all before the page.
func TestPlans(t *testing.T) {
	s, err := Open(t.Context(), Options{URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := [16]byte{1}
	for _, c := range []struct {
		pool *pgxpool.Pool
		sql  string
		args []any
	}{
		{s.reader, s.sql.readAll, []any{900_000, 512}},
		{s.writer, s.sql.readAll, []any{900_000, 512}},
		{s.reader, s.sql.readAt, []any{[]int64{7, 900_000}}},
		{s.reader, s.sql.readStream, []any{"run-1", 90_000, 512}},
		{s.reader, s.sql.blob, []any{"d"}},
		{s.reader, s.sql.work, []any{900_000, 512}},
		{s.leaser, s.sql.claimable, []any{900_000, 512}},
		{s.reader, s.sql.head, nil},
		{s.writer, s.sql.findEvent, []any{"run-1", id}},
		{s.writer, s.sql.findAnswer, []any{"c"}},
	} {
		rows, _ := c.pool.Query(t.Context(), "EXPLAIN "+c.sql, c.args...)
		steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.ReplaceAll(strings.Join(steps, "\n"), "Seq Scan on hecate_log_state", "the one row of hecate_log_state")
		for _, bad := range []string{"Seq Scan", "Bitmap", "Merge", "Hash", "Sort"} {
			if strings.Contains(plan, bad) {
				t.Errorf("%s in\n%s", bad, plan)
			}
		}
	}
}
