package audit

import (
	"database/sql"
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

// searches are the shapes that a search can have.
func searches() []search {
	from := time.Unix(1_800_000_000, 0)
	var out []search
	for _, newest := range []bool{false, true} {
		for _, lists := range [][][]int64{nil, {{1}}, {{1, 2}}, {{1}, {2}}, {{1, 2}, {3}, {4, 5}}} {
			out = append(out,
				search{newestFirst: newest, limit: 100, after: 900_000, before: 910_000, lists: lists},
				search{newestFirst: newest, limit: 100, after: 900_000, before: 910_000, lists: lists, from: from, to: from.Add(time.Hour)})
		}
	}
	return out
}

// eachPlan hands over how a database would carry out all statements of searches.
func eachPlan(t *testing.T, db *readdb.DB, explain string, settings []string, check func(query, plan string)) {
	t.Helper()
	r, err := runner.New(t.Context(), runner.Config{Log: projectiontest.New(t), DB: db, Models: []runner.Model{Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
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
	err = r.View(t.Context(), Name, func(tx *readdb.Tx) error {
		for _, s := range settings {
			if err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		for _, s := range searches() {
			query, args := s.query(0, s.limit)
			if err := ask(tx, query, args...); err != nil {
				return err
			}
			if err := ask(tx, s.endQuery(), int64(1), s.after, s.before); err != nil {
				return err
			}
		}
		return ask(tx, spansQuery, int64(1), int64(2))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// No statement walks through a table: each finds its rows by their keys. What is sorted
// is what several names of one choice gave, of which there is a bounded number.
func TestPlansOfSQLite(t *testing.T) {
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eachPlan(t, db, "EXPLAIN QUERY PLAN ", nil, func(query, plan string) {
		if strings.Contains(plan, "SCAN") || !strings.Contains(plan, "SEARCH") {
			t.Errorf("%s\nin\n%s", plan, query)
		}
		if strings.Contains(plan, "TEMP B-TREE") && !strings.Contains(query, "p.code IN ($3, $4)") {
			t.Errorf("it sorts: %s\nin\n%s", plan, query)
		}
	})
}

// The same on PostgreSQL, where no statement can become a join either.
func TestPlansOfPostgres(t *testing.T) {
	db, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	settings := []string{`SET LOCAL enable_seqscan = off`} // the tables are empty here
	eachPlan(t, db, "EXPLAIN ", settings, func(query, plan string) {
		bad := []string{"Seq Scan", "Bitmap", "Join", "Hash", "Merge", "Nested"}
		if !strings.Contains(query, "p.code IN ($3, $4)") {
			bad = append(bad, "Sort")
		}
		if i := slices.IndexFunc(bad, func(b string) bool { return strings.Contains(plan, b) }); i >= 0 || !strings.Contains(plan, "Index") {
			t.Errorf("%s\nin\n%s", plan, query)
		}
	})
}
