package runs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

// What was erased goes from a model that has it, at once and whatever had been folded by
// then, and one that is built later answers the same to the byte.
func TestErasure(t *testing.T) {
	log := projectiontest.New(t)
	mixed(t, log, 5)
	pg, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(t, pg) })
	dbs := map[string]*readdb.DB{"memory": memory(t), "file": file(t, filepath.Join(t.TempDir(), "read.db")), "postgres": pg}
	half := int64(len(log.Records())) / 2
	for _, db := range dbs {
		project(t, &projectiontest.UpTo{Store: log, Last: half}, db)
	}
	_, v := project(t, log, dbs["memory"])
	before := askAll(t, v)
	stories := projectiontest.Stories()
	var erased []string
	for _, name := range []string{"answers", "shell", "large", "resumed", "chained", "stated", "checked", "deleted", "repaired"} {
		log.Erase(stories[name].TaskID)
		erased = append(erased, stories[name].TaskID)
	}
	_, fresh := project(t, log, memory(t))
	want := askAll(t, fresh)
	for name, db := range dbs {
		r, v := project(t, log, db)
		if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
			t.Errorf("built after the erasure, then %s:\n%s", name, diff)
		}
		if err := r.Rebuild(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
			t.Errorf("built after the erasure, then %s rebuilt:\n%s", name, diff)
		}
	}
	for _, id := range erased {
		name := strings.TrimPrefix(id, "task_")
		for _, gone := range []string{"please " + name, "do " + name} {
			if name == "deleted" || !strings.Contains(before, gone) && strings.HasPrefix(gone, "please") {
				continue // never shown
			}
			if !strings.Contains(before, gone) || strings.Contains(want, gone) {
				t.Errorf("%q is among the answers: %t before, %t after", gone, strings.Contains(before, gone), strings.Contains(want, gone))
			}
		}
	}
}
