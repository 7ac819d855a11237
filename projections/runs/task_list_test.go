package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runs"
)

// tasksLog is a log with these tasks, each named by its place: t1, t2, …
func tasksLog(t *testing.T, all ...task.Definition) eventstore.Store {
	t.Helper()
	log := projectiontest.New(t)
	for i, d := range all {
		log.Add(fmt.Sprintf("task-t%d", i+1), task.Created{Definition: d})
	}
	return log
}

func ids(page runs.TaskPage) string {
	var out []string
	for _, t := range page.Tasks {
		out = append(out, t.ID)
	}
	return strings.Join(out, " ")
}

func bothDatabases(t *testing.T, test func(t *testing.T, db *readdb.DB)) {
	t.Run("sqlite", func(t *testing.T) { test(t, memory(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, postgresDB(t, pgtest.URL(t))) })
}

// Pages follow each other without a gap, whatever is added meanwhile, and the last one says so.
func TestTaskPages(t *testing.T) {
	bothDatabases(t, func(t *testing.T, db *readdb.DB) {
		_, v := project(t, tasksLog(t, make([]task.Definition, 5)...), db)
		var got []string
		for f := (runs.TaskFilter{Limit: 2}); ; {
			page := must[runs.TaskPage](t)(v.Tasks(t.Context(), f))
			got = append(got, ids(page))
			if f.Before = page.Next; f.Before == 0 {
				break
			}
		}
		if diff := cmp.Diff([]string{"t5 t4", "t3 t2", "t1"}, got); diff != "" {
			t.Error(diff)
		}
		if page := must[runs.TaskPage](t)(v.Tasks(t.Context(), runs.TaskFilter{Limit: 5})); page.Next != 0 {
			t.Errorf("all there are, and yet a next page: %d", page.Next)
		}
	})
}

// A search finds words and pieces of them, in any case and order, in title, prompt, names and
// id. Signs that mean something to SQL mean themselves.
func TestTaskSearch(t *testing.T) {
	bothDatabases(t, func(t *testing.T, db *readdb.DB) {
		_, v := project(t, tasksLog(t,
			task.Definition{Title: "Ärger mit 100% CPU", Prompt: event.NewText("Find the\nbusy loop.")},
			task.Definition{Title: "tidy_up", WorkingDirectory: "/home/ada/Project"},
			task.Definition{Title: "long", Prompt: event.NewText(strings.Repeat("ü", 600) + " hidden")},
			task.Definition{Title: "broken \xff\x00 text!", ShellCommand: event.NewText("make check")},
		), db)
		for search, want := range map[string]string{
			"":               "t4 t3 t2 t1",
			"ÄRGER":          "t1",
			"loop find":      "t1",
			"find the busy":  "t1",
			"loop tidy":      "",
			"%":              "t1",
			"_":              "t2",
			"!":              "t4",
			"project":        "t2",
			"T3":             "t3",
			"üü":             "t3",
			"hidden":         "",
			"make":           "t4",
			"broken \xff":    "t4",
			"\x00":           "t4",
			"' OR 1=1 --":    "",
			"tidy\\":         "",
			"tidy_up' \t\n ": "",
		} {
			page := must[runs.TaskPage](t)(v.Tasks(t.Context(), runs.TaskFilter{Search: search, Limit: 10}))
			if got := ids(page); got != want || page.Next != 0 {
				t.Errorf("%q finds %q, next %d; want %q", search, got, page.Next, want)
			}
		}
		page := must[runs.TaskPage](t)(v.Tasks(t.Context(), runs.TaskFilter{Search: "i", Limit: 1}))
		if ids(page) != "t2" || page.Next == 0 {
			t.Errorf("the first of two: %q, next %d", ids(page), page.Next)
		}
		page = must[runs.TaskPage](t)(v.Tasks(t.Context(), runs.TaskFilter{Search: "i", Limit: 1, Before: page.Next}))
		if ids(page) != "t1" || page.Next != 0 {
			t.Errorf("the second of two: %q, next %d", ids(page), page.Next)
		}
	})
}
