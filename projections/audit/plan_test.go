package audit

import (
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// statements are all that a search asks, with parameters that fit.
func statements() map[string][]any {
	at := time.Unix(1_800_000_000, 0)
	keys := func(n int) string {
		marks := make([]string, keysMax)
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", n+i)
		}
		return "(" + strings.Join(marks, ", ") + ")"
	}
	var numbers, values []any
	for i := range int64(keysMax) {
		numbers = append(numbers, i)
		values = append(values, []byte{byte(i)})
	}
	return map[string][]any{
		firstPiecesQuery(direction(NewestFirst)) + keys(2): append([]any{int64(900_000)}, numbers...),
		firstPiecesQuery(direction(OldestFirst)) + keys(2): append([]any{int64(900_000)}, numbers...),

		piecesQuery(direction(NewestFirst)): {int64(1), int64(900_000), aheadMax},
		piecesQuery(direction(OldestFirst)): {int64(1), int64(900_000), aheadMax},
		recordsQuery + keys(1):              numbers,
		namesQuery + keys(1):                numbers,
		kindsQuery + keys(1):                numbers,
		codesQuery + keys(2):                append([]any{kindType}, values...),
		topQuery:                            nil,
		spansQuery:                          spansArgs(at, at.Add(1000*time.Hour)),
		pieceQuery:                          {int64(1), int64(900_000)},
	}
}

// eachPlan hands over how a database would carry out all statements of searches.
func eachPlan(t *testing.T, r *runner.Runner, explain string, check func(query, plan string)) {
	t.Helper()
	ask := func(tx *readdb.Tx, query string, args ...any) error {
		var steps []string
		err := tx.Query(t.Context(), explain+query, func(rows *sql.Rows) error {
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			var step string
			values[len(values)-1] = &step
			err = rows.Scan(values...)
			steps = append(steps, step)
			return err
		}, args...)
		check(query, strings.Join(steps, "\n"))
		return err
	}
	err := r.View(t.Context(), Name, func(tx *readdb.Tx) error {
		for query, args := range statements() {
			if err := ask(tx, query, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func empty(t *testing.T, db *readdb.DB) *runner.Runner {
	t.Helper()
	r, err := runner.New(t.Context(), runner.Config{Log: projectiontest.New(t), DB: db, Models: []runner.Model{Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// No statement walks through a table or sorts: each finds its rows by their keys.
func TestPlansOfSQLite(t *testing.T) {
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eachPlan(t, empty(t, db), "EXPLAIN QUERY PLAN ", func(query, plan string) {
		if walks := strings.ReplaceAll(plan, "SCAN s", ""); strings.Contains(walks, "SCAN") || !strings.Contains(plan, "SEARCH") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nin\n%s", plan, query)
		}
	})
}

// The same on PostgreSQL, where no statement can become a join either: with empty tables of
// which the server knows nothing, and when it has looked at some thousand rows, where reading
// all of them looks cheap to it.
func TestPlansOfPostgres(t *testing.T) {
	db, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	check := func(query, plan string) {
		bad := []string{"Seq Scan", "Bitmap", "Join", "Hash", "Merge", "Nested", "Sort"}
		if i := slices.IndexFunc(bad, func(b string) bool { return strings.Contains(plan, b) }); i >= 0 || !strings.Contains(plan, "Index") {
			t.Errorf("%s\nin\n%s", plan, query)
		}
	}
	r := empty(t, db)
	eachPlan(t, r, "EXPLAIN ", check)
	err = db.Update(t.Context(), fmt.Sprintf("%s_v%dg1", Name, version), func(tx *readdb.Tx) error {
		for _, s := range []string{
			`INSERT INTO hecate_view_audit_names_@ SELECT 1, ('name ' || n)::bytea, n, 0 FROM generate_series(1, 20000) n`,
			`INSERT INTO hecate_view_audit_records_@ SELECT n, 'data' FROM generate_series(1, 20000) n`,
			`INSERT INTO hecate_view_audit_places_@ SELECT n % 100, n, 'data' FROM generate_series(1, 20000) n`,
			`INSERT INTO hecate_view_audit_spans_@ SELECT n % 3, n, n, n FROM generate_series(1, 20000) n`,
			`ANALYZE`,
		} {
			if err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	eachPlan(t, r, "EXPLAIN ", check)
}
