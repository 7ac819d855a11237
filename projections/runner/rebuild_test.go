package runner_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hecate/domain/fault"
	"hecate/eventstore"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// While a model is rebuilt again and again, facts arrive and readers read: a reader
// never sees a gap and never goes back.
func TestRebuildWhileLive(t *testing.T) {
	log := projectiontest.New(t)
	r := open(t, log, file(t), notes{})
	start(t, r)
	const facts = 300
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() {
		for seen := 0; ctx.Err() == nil; {
			n := countNotes(t, r)
			if n < seen {
				t.Errorf("a reader saw %d notes, then %d", seen, n)
			}
			seen = n
		}
	})
	all.Go(func() {
		for ctx.Err() == nil {
			if err := r.Rebuild(context.Background(), "notes", nil); err != nil {
				t.Error(err)
			}
		}
	})
	var want []string
	for i := range facts {
		want = append(want, fmt.Sprint("n", i))
		log.Add("a-1", noted{want[i]})
		wait(t, r, int64(i+1))
	}
	stop()
	all.Wait()
	expect(t, r, strings.Join(want, " "))
	if got := status(t, r); got.Generation < 2 {
		t.Errorf("nothing was rebuilt: %+v", got)
	}
	if got := tables(t, r); len(got) != 1 {
		t.Errorf("tables that are left: %v", got)
	}
}

// countNotes reads in two statements and checks that they agree.
func countNotes(t *testing.T, r *runner.Runner) int {
	var n, last int
	err := r.View(context.Background(), "notes", func(tx *readdb.Tx) error {
		for _, q := range []struct {
			sql string
			to  *int
		}{{`SELECT count(*) FROM hecate_view_notes_@`, &n}, {`SELECT coalesce(max(position), 0) FROM hecate_view_notes_@`, &last}} {
			if _, err := tx.One(context.Background(), q.sql, nil, q.to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n != last {
		t.Errorf("%d notes up to position %d", n, last)
	}
	return n
}

// tables lists the tables of all builds.
func tables(t *testing.T, r *runner.Runner) []string {
	t.Helper()
	var names []string
	err := r.View(context.Background(), "notes", func(tx *readdb.Tx) error {
		return tx.Query(context.Background(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'hecate_view_notes_%' ORDER BY name`, func(rows *sql.Rows) error {
			var s string
			err := rows.Scan(&s)
			names = append(names, s)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A fact that the model cannot take ends a rebuild; readers keep what they had.
func TestPoisonStopsRebuild(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("a-1", noted{"one"}, noted{"poison"})
	log.Add("b-1", noted{"two"})
	r := open(t, log, file(t), notes{refuse: refuse("poison")})
	start(t, r)
	wait(t, r, 3)
	if err := r.Rebuild(context.Background(), "", nil); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	expect(t, r, "one two")
	if got := tables(t, r); len(got) != 1 {
		t.Errorf("tables that are left: %v", got)
	}
	log.Add("b-1", noted{"three"})
	wait(t, r, 4)
	expect(t, r, "one two three")
}

// A caller that gives up leaves the old tables and nothing else. One rebuild of a
// model goes on at a time.
func TestRebuildGivenUp(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("a-1", noted{"one"})
	r := open(t, log, file(t), notes{})
	start(t, r)
	wait(t, r, 1)
	ctx, stop := context.WithCancel(context.Background())
	err := r.Rebuild(ctx, "notes", func(p runner.Progress) {
		if p.Model != "notes" || p.Position != 1 || p.Head != 1 {
			t.Errorf("progress %+v", p)
		}
		if got := status(t, r); got.Rebuilding == nil {
			t.Error("the status does not tell of the rebuild")
		}
		if f, ok := fault.Of(r.Rebuild(context.Background(), "notes", nil)); !ok || f.Kind != fault.KindConflict {
			t.Error("a second rebuild went on")
		}
		stop()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	expect(t, r, "one")
	if got := tables(t, r); len(got) != 1 || status(t, r).Rebuilding != nil {
		t.Errorf("tables that are left: %v", got)
	}
	if f, ok := fault.Of(r.Rebuild(context.Background(), "nonsense", nil)); !ok || f.Kind != fault.KindNotFound {
		t.Error("rebuilt a model that does not exist")
	}
}

// A process that is killed in the midst of a rebuild leaves a file in which the old
// tables serve and the new ones are swept away.
func TestKilledInRebuild(t *testing.T) {
	log := projectiontest.New(t)
	for i := range 3000 { // more than one piece of a rebuild
		log.Add("a-1", noted{fmt.Sprint("n", i)})
	}
	dir, killed := t.TempDir(), t.TempDir()
	db, _, err := readdb.OpenSQLite(context.Background(), filepath.Join(dir, "read.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, db)
	r := open(t, log, db, notes{})
	if err := r.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := texts(t, r)
	var once sync.Once
	err = r.Rebuild(context.Background(), "notes", func(p runner.Progress) {
		// Between two transactions the files are what a kill would leave.
		once.Do(func() { copyFiles(t, dir, killed) })
	})
	if err != nil {
		t.Fatal(err)
	}
	after, replaced, err := readdb.OpenSQLite(context.Background(), filepath.Join(killed, "read.db"))
	if err != nil || replaced {
		t.Fatal(replaced, err)
	}
	defer shut(t, after)
	again := open(t, log, after, notes{})
	if got := status(t, again); got.Position != 3000 || got.Generation != 1 {
		t.Errorf("%+v", got)
	}
	if got := tables(t, again); len(got) != 1 {
		t.Errorf("tables that are left: %v", got)
	}
	expect(t, again, want)
}

func copyFiles(t *testing.T, from, to string) {
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), data, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// otherID is a log under another name, as after a restore.
type otherID struct{ eventstore.Store }

func (otherID) LogID(context.Context) (string, error) { return "log_other", nil }

// Tables that were not made from this log, by this version of the model, are made anew.
func TestMisfitsAreRebuilt(t *testing.T) {
	log, shorter, different := projectiontest.New(t), projectiontest.New(t), projectiontest.New(t)
	log.Add("a-1", noted{"one"}, noted{"two"})
	shorter.Add("a-1", noted{"uno"})
	different.Event("test.noted", nil) // takes an id, so that the ids differ from here on
	different.Add("a-1", noted{"eins"}, noted{"zwei"})
	id, err := log.LogID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		log   eventstore.Store
		model notes
		want  string
	}{
		"the same":      {log, notes{}, "one two"},
		"another id":    {otherID{log}, notes{}, ""},
		"beyond head":   {named{shorter, id}, notes{}, ""},
		"another event": {named{different, id}, notes{}, ""},
		"newer":         {log, notes{version: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db := file(t)
			first := open(t, log, db, notes{})
			if err := first.CatchUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			r := open(t, c.log, db, c.model)
			expect(t, r, c.want) // before anything is delivered
			if err := r.CatchUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := texts(t, r); got == "" {
				t.Error("nothing was rebuilt")
			}
			if got := tables(t, r); len(got) != 1 {
				t.Errorf("tables that are left: %v", got)
			}
		})
	}
}

// named is a log that says it is another one.
type named struct {
	eventstore.Store
	id string
}

func (n named) LogID(context.Context) (string, error) { return n.id, nil }

// A file that is no database is replaced.
func TestBrokenFileIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "read.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	db, replaced, err := readdb.OpenSQLite(context.Background(), path)
	if err != nil || !replaced {
		t.Fatal(replaced, err)
	}
	defer shut(t, db)
	log := projectiontest.New(t)
	log.Add("a-1", noted{"one"})
	r := open(t, log, db, notes{})
	if err := r.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	expect(t, r, "one")
}
