package runs_test

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/activity"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
	"hecate/projections/runs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// memory opens an empty database of read models.
func memory(t testing.TB) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(t, db) })
	return db
}

func file(t testing.TB, path string) *readdb.DB {
	t.Helper()
	db, _, err := readdb.OpenSQLite(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(t, db) })
	return db
}

func close(t testing.TB, db *readdb.DB) {
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func newRunner(t testing.TB, log eventstore.Store, db *readdb.DB) *runner.Runner {
	t.Helper()
	r, err := runner.New(context.Background(), runner.Config{Log: log, DB: db, Models: []runner.Model{runs.Model{Log: log}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// project brings a fresh read model to the end of the log.
func project(t testing.TB, log eventstore.Store, db *readdb.DB) (*runner.Runner, *runs.Views) {
	t.Helper()
	r := newRunner(t, log, db)
	if err := r.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r, runs.NewViews(r, log, nil)
}

// answer is all that can be asked about a task.
type answer struct {
	Task      projections.Task
	Artifacts []projections.Artifact
	Approvals []projections.Approval
	Runs      []runAnswer
}

type runAnswer struct {
	Run          projections.Run
	Calls        []projections.Call `json:",omitempty"`
	Steps        []projections.Step
	Artifacts    []projections.Artifact
	Patches      []projections.Patch
	Activity     []projections.Activity
	Conversation []projections.Message `json:",omitempty"`
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ask(t testing.TB, v *runs.Views, taskID string) answer {
	t.Helper()
	ctx := context.Background()
	a := answer{
		Task:      must[projections.Task](t)(v.Task(ctx, taskID)),
		Artifacts: must[[]projections.Artifact](t)(v.TaskArtifacts(ctx, taskID)),
		Approvals: must[[]projections.Approval](t)(v.TaskApprovals(ctx, taskID)),
	}
	for _, r := range must[[]projections.Run](t)(v.Runs(ctx, taskID)) {
		full := must[runs.Snapshot](t)(v.Snapshot(ctx, taskID, r.ID, true))
		lean := must[runs.Snapshot](t)(v.Snapshot(ctx, taskID, r.ID, false))
		ra := runAnswer{
			Run: full.Run, Steps: full.Steps, Artifacts: full.Artifacts,
			Calls:    must[[]projections.Call](t)(v.Calls(ctx, taskID, r.ID)),
			Patches:  must[[]projections.Patch](t)(v.Patches(ctx, taskID, r.ID)),
			Activity: activity.Of(full.Run, full.Steps, full.Artifacts, full.Approvals, full.Notes...),
		}
		ra.Conversation, _ = v.Conversation(ctx, taskID, r.ID)
		if len(lean.Artifacts) != len(full.Artifacts) {
			t.Errorf("%s: %d artifacts without bodies, %d with", r.ID, len(lean.Artifacts), len(full.Artifacts))
		}
		a.Runs = append(a.Runs, ra)
	}
	return a
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// askAll asks about every task of the log.
func askAll(t testing.TB, v *runs.Views) string {
	t.Helper()
	tasks := must[runs.TaskPage](t)(v.Tasks(context.Background(), runs.TaskFilter{})).Tasks
	stats := must[projections.RunStats](t)(v.RunStats(context.Background(), projectiontest.Start.Add(time.Hour)))
	all := []any{tasks, stats}
	for _, task := range tasks {
		all = append(all, ask(t, v, task.ID))
	}
	return encode(t, all)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// mixed is a log in which all stories are under way at the same time.
func mixed(t testing.TB, log *projectiontest.Log, seed uint64) {
	t.Helper()
	log.AddAll(projectiontest.Mix(seed))
}
