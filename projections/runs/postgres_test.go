package runs_test

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func postgresDB(t testing.TB, url string) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenPostgres(context.Background(), url, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(t, db) })
	return db
}

// PostgreSQL gives the same answers to the byte: at once, in pieces, after restarts
// and after a rebuild.
func TestPostgresAnswersAlike(t *testing.T) {
	log := projectiontest.New(t)
	mixed(t, log, 5)
	_, v := project(t, log, memory(t))
	want := askAll(t, v)

	url := pgtest.URL(t)
	db := postgresDB(t, url)
	head := int64(len(log.Records()))
	random := rand.New(rand.NewPCG(5, 5))
	for last := int64(1); last < head; last += 1 + random.Int64N(20) {
		project(t, &projectiontest.UpTo{Store: log, Last: last}, db)
	}
	r, v := project(t, log, db)
	if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
		t.Errorf("SQLite, then PostgreSQL with restarts:\n%s", diff)
	}
	if err := r.Rebuild(context.Background(), "", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
		t.Errorf("SQLite, then PostgreSQL rebuilt:\n%s", diff)
	}
	again := postgresDB(t, url)
	if _, v := project(t, log, again); cmp.Diff(want, askAll(t, v)) != "" {
		t.Error("a second connection answers differently")
	}
}
