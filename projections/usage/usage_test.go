package usage_test

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
	"hecate/projections/usage"
)

var update = flag.Bool("update", false, "write the golden file anew")

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func memory(t *testing.T) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, db)
	return db
}

func closeAfter(t *testing.T, db *readdb.DB) {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// project brings the model to the end of the log.
func project(t *testing.T, log eventstore.Store, db *readdb.DB) (*runner.Runner, *usage.Views) {
	t.Helper()
	r, err := runner.New(t.Context(), runner.Config{Log: log, DB: db, Models: []runner.Model{usage.Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, usage.NewViews(r, "memory")
}

// askAll is all that can be asked.
func askAll(t *testing.T, v *usage.Views) string {
	t.Helper()
	var all struct {
		Summaries []projections.UsageSummary
		Events    []projections.UsageEvent
	}
	for _, q := range [][3]string{
		{"", "", ""},
		{"provider", "acme", ""},
		{"provider", "other", ""},
		{"provider", "", ""},
		{"provider", "nobody", ""},
		{"nonsense", "acme", ""},
		{"global", "", "global:provider:acme"},
		{"", "", "global"},
		{"", "", "team"},
	} {
		s, err := v.Summary(t.Context(), q[0], q[1], q[2])
		if err != nil {
			t.Fatal(err)
		}
		all.Summaries = append(all.Summaries, s)
	}
	var err error
	if all.Events, err = v.Events(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// stories are those in which a model is asked, one after the other.
func stories(t *testing.T) *projectiontest.Log {
	t.Helper()
	log := projectiontest.New(t)
	all := projectiontest.Stories()
	for _, name := range []string{"answers", "recovered", "upstream", "broken", "repaired", "cancelled", "deleted", "shell", "checked"} {
		log.AddAll(all[name].Facts)
	}
	return log
}

// Every call is accounted for once, the deleted task's too, and what nobody knows is counted.
func TestSummariesAndEvents(t *testing.T) {
	_, v := project(t, stories(t), memory(t))
	got := askAll(t, v)
	path := filepath.Join("testdata", "usage.json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// The newest come first; no limit means none.
func TestEventsAreBounded(t *testing.T) {
	_, v := project(t, stories(t), memory(t))
	for limit, want := range map[int]int{0: 0, 3: 3} {
		events, err := v.Events(t.Context(), limit)
		if err != nil || events == nil || len(events) != want {
			t.Errorf("limit %d: %d events, %v", limit, len(events), err)
		}
		for i := 1; i < len(events); i++ {
			if events[i].Timestamp > events[i-1].Timestamp {
				t.Errorf("%s comes after %s", events[i].Timestamp, events[i-1].Timestamp)
			}
		}
	}
}

// Sums are exact: a thousand calls that each cost less than a micro-USD.
func TestSumsAreRoundedOnce(t *testing.T) {
	log := projectiontest.New(t)
	s := projectiontest.NewStory("cheap", run.KindAgentLoop)
	for i := range int64(1000) {
		s.Run(run.ModelCallCompleted{ModelCallIndex: i + 1, Route: run.Route{Provider: "acme"}, CostPicoUSD: 400_600, CostKnown: true})
	}
	log.AddAll(s.Facts)
	_, v := project(t, log, memory(t))
	got, err := v.Summary(t.Context(), "global", "", "")
	if err != nil || got.UsedMicroUSD != 401 || got.UsedUSD != "0.000401" || !got.CostKnown {
		t.Errorf("%+v, %v", got, err)
	}
}

// However the log is cut, restarted or rebuilt, and whichever database keeps it, the
// answers are the same to the byte.
func TestEveryWayGivesTheSameAnswers(t *testing.T) {
	log := projectiontest.New(t)
	log.AddAll(projectiontest.Mix(7))
	r, v := project(t, log, memory(t))
	want := askAll(t, v)
	same := func(how string, v *usage.Views) {
		t.Helper()
		if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
			t.Errorf("at once, then %s:\n%s", how, diff)
		}
	}
	if err := r.Rebuild(context.Background(), "", nil); err != nil {
		t.Fatal(err)
	}
	same("rebuilt", v)

	url := pgtest.URL(t)
	pg, err := readdb.OpenPostgres(t.Context(), url, "")
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, pg)
	for how, db := range map[string]*readdb.DB{"with restarts on SQLite": memory(t), "with restarts on PostgreSQL": pg} {
		for last := int64(1); last < int64(len(log.Records())); last += 17 {
			project(t, &projectiontest.UpTo{Store: log, Last: last}, db)
		}
		_, v := project(t, log, db)
		same(how, v)
	}
}
