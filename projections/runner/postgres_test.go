package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

func node(t testing.TB, log *projectiontest.Log, url string) *runner.Runner {
	t.Helper()
	db, err := readdb.OpenPostgres(context.Background(), url, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, db) })
	return open(t, log, db, notes{})
}

// Of two nodes one writes and the other shows the same; a rebuild by either is seen by
// both; when the writer goes, the other takes over.
func TestNodes(t *testing.T) {
	t.Parallel()
	log, url := projectiontest.New(t), pgtest.URL(t)
	first, second := node(t, log, url), node(t, log, url)
	stop := start(t, first)
	start(t, second)
	var want []string
	add := func(n int) {
		for range n {
			want = append(want, fmt.Sprint("n", len(want)))
			log.Add("a-1", noted{want[len(want)-1]}, ignored{})
		}
	}
	seen := func(nodes ...*runner.Runner) {
		t.Helper()
		for _, n := range nodes {
			wait(t, n, int64(2*len(want)))
			expect(t, n, strings.Join(want, " "))
		}
	}
	add(20)
	seen(first, second)
	for _, n := range []*runner.Runner{first, second} {
		if err := n.Rebuild(context.Background(), "notes", nil); err != nil {
			t.Fatal(err)
		}
		add(5)
		seen(first, second)
	}
	stop()
	add(5)
	seen(second)
}

// The prefix keeps two installations in one database apart.
func TestPrefix(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	runners := map[string]*runner.Runner{}
	for _, prefix := range []string{"", "other"} {
		db, err := readdb.OpenPostgres(context.Background(), url, prefix)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { shut(t, db) })
		log := projectiontest.New(t)
		log.Add("a-1", noted{"of " + prefix})
		r := open(t, log, db, notes{})
		if err := r.CatchUp(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := r.Rebuild(context.Background(), "", nil); err != nil {
			t.Fatal(err)
		}
		runners[prefix] = r
	}
	for prefix, r := range runners {
		expect(t, r, "of "+prefix)
	}
}
