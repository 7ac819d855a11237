package runs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// fullOf is a read model with so many tasks, written as rows.
func fullOf(t *testing.T, db *readdb.DB, n int) *Views {
	t.Helper()
	r, err := runner.New(t.Context(), runner.Config{Log: projectiontest.New(t), DB: db, Models: []runner.Model{Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), fmt.Sprintf("%s_v%dg1", Name, version), func(tx *readdb.Tx) error {
		rows := readdb.Rows{Table: tasksTable}
		for i := range n {
			rows.Add(fmt.Sprintf("t%d", i), int64(i+1), "", "", fmt.Sprintf("t%d words", i), []byte("{}"))
		}
		if err := tx.Put(t.Context(), &rows); err != nil {
			return err
		}
		return tx.Exec(t.Context(), `ANALYZE`)
	})
	if err != nil {
		t.Fatal(err)
	}
	return NewViews(r, nil, nil)
}

// plans hands over how the database would carry out what lists of tasks ask.
func plans(t *testing.T, v *Views, explain string, check func(query, plan string)) {
	t.Helper()
	_, err := view(t.Context(), v, func(q query) (int, error) {
		texts := map[string][]any{floorQuery: {int64(15_000), searchMax - 1}}
		for _, f := range []TaskFilter{{Limit: 50}, {Limit: 50, Before: 15_000}, {Limit: 50, Before: 15_000, Search: "t1 words"}} {
			text, args := f.query(10_000)
			texts[text] = args
		}
		for text, args := range texts {
			steps, err := list(t.Context(), q, explain+text, lastColumn, args...)
			if err != nil {
				return 0, err
			}
			check(text, strings.Join(steps, "\n"))
		}
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func lastColumn(rows *sql.Rows) (step string, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	values[len(values)-1] = &step
	return step, rows.Scan(values...)
}

const planTasks = searchMax * 4

// Lists of tasks walk along the positions, and neither read all tasks nor sort.
func TestPlansOfTaskLists(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		db, err := readdb.OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		v := fullOf(t, db, planTasks)
		plans(t, v, "EXPLAIN QUERY PLAN ", func(query, plan string) {
			if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "hecate_view_tasks_pos") {
				t.Errorf("%s\nin\n%s", plan, query)
			}
		})
		boundedSearch(t, v)
	})
	t.Run("postgres", func(t *testing.T) {
		db, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		v := fullOf(t, db, planTasks)
		plans(t, v, "EXPLAIN ", func(query, plan string) {
			if strings.Contains(plan, "Seq Scan on hecate_view_tasks") || strings.Contains(plan, "Sort") || !strings.Contains(plan, "hecate_view_tasks_pos") {
				t.Errorf("%s\nin\n%s", plan, query)
			}
		})
		boundedSearch(t, v)
	})
}

// A search looks at so many tasks and says where to go on, until it has seen all.
func boundedSearch(t *testing.T, v *Views) {
	t.Helper()
	f := TaskFilter{Search: "t42", Limit: 50, Before: planTasks}
	var pages, found int
	for {
		page, err := v.Tasks(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, item := range page.Tasks {
			if item.ID == "t42" {
				found++
			}
		}
		if f.Before = page.Next; f.Before == 0 {
			break
		}
		if pages > 40 {
			t.Fatal("the search does not end")
		}
	}
	if found != 1 || pages < planTasks/searchMax {
		t.Errorf("found %d times in %d pages", found, pages)
	}
}
