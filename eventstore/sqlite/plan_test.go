package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
)

// No statement walks through a table, and no read sorts what it found: each finds its
// rows by their keys, so its cost does not grow with the log.
func TestPlans(t *testing.T) {
	s, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	harmless := []string{"SCAN json_each", "SCAN hecate_log_state", "VALUES CLAUSE", "SCAN CONSTANT ROW"} // as long as what was handed in
	check := func(query, bad string) {
		for _, step := range plan(t.Context(), t, s.reader, query) {
			known := slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(step, h) })
			if !known && (strings.Contains(step, "SCAN") || strings.Contains(step, bad)) {
				t.Errorf("%s\n%.300s", step, query)
			}
		}
	}
	reads := new(readStatements)
	for _, p := range reads.list() {
		if p.to != &reads.countOpen { // as long as there is work
			check(p.sql, "TEMP B-TREE")
		}
	}
	for _, p := range new(writeStatements).list() {
		check(p.sql, "SCAN")
	}
	check(headQuery, "TEMP B-TREE")
}

func plan(ctx context.Context, t *testing.T, db *sql.DB, query string) (steps []string) {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}
