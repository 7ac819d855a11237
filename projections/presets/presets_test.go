package presets_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/fault"
	"hecate/domain/preset"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/presets"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

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
func project(t *testing.T, log eventstore.Store, db *readdb.DB) (*runner.Runner, *presets.Views) {
	t.Helper()
	r, err := runner.New(t.Context(), runner.Config{Log: log, DB: db, Models: []runner.Model{presets.Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, presets.NewViews(r)
}

// askAll is all that can be asked.
func askAll(t *testing.T, v *presets.Views) string {
	t.Helper()
	list, err := v.Presets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := []any{list}
	for _, p := range list {
		one, err := v.Preset(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func policy(name string) preset.Definition {
	return preset.Definition{
		Name: name, Surface: preset.SurfaceTask, ToolsEnabled: true, BrowserAllowed: true, BrowserOrigins: []string{"https://a.example"},
		Approval: preset.ApprovalRequire, ProjectMemory: "inherit", ContextSources: "inherit",
		SkillIDs: []string{"s"}, ExternalAgentOptions: map[string]string{"k": "v"},
	}
}

// lives is a log in which policies come, change, go and come again, among other facts.
func lives(t *testing.T) *projectiontest.Log {
	t.Helper()
	log := projectiontest.New(t)
	story := projectiontest.NewStory("beside", run.KindAgentLoop)
	log.AddAll(story.Facts)
	for i := range 40 {
		stream := fmt.Sprintf("preset-p%d", i%10)
		switch i / 10 {
		case 0:
			log.Add(stream, preset.Created{Definition: policy(stream)})
		case 1:
			log.Add(stream, preset.Updated{Definition: policy(stream + " again")}, preset.Updated{Definition: policy(stream + " at last")})
		case 2:
			if i%2 == 0 {
				log.Add(stream, preset.Deleted{})
			}
		case 3:
			if i%4 == 0 {
				log.Add(stream, preset.Created{Definition: policy(stream + " anew")}, preset.Deleted{}, preset.Created{Definition: policy(stream + " thrice")})
			}
		}
	}
	return log
}

// What was written stands among the built-in ones, and what has gone does not.
func TestPresets(t *testing.T) {
	log := lives(t)
	_, v := project(t, log, memory(t))
	list, err := v.Presets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, last := map[string]string{}, ""
	for _, p := range list {
		if p.ID <= last {
			t.Errorf("%s comes after %s", p.ID, last)
		}
		last = p.ID
		if !p.BuiltIn {
			own[p.ID] = p.Name
		}
		if p.BuiltIn == (p.CreatedAt != "") {
			t.Errorf("%+v", p)
		}
	}
	want := map[string]string{
		"p1": "preset-p1 at last", "p2": "preset-p2 thrice", "p3": "preset-p3 at last", "p5": "preset-p5 at last", "p6": "preset-p6 thrice",
		"p7": "preset-p7 at last", "p9": "preset-p9 at last",
	}
	if diff := cmp.Diff(want, own); diff != "" || len(list) != len(own)+len(preset.BuiltIns()) {
		t.Errorf("%d policies, (-want +got):\n%s", len(list), diff)
	}
	p, err := v.Preset(t.Context(), "p1")
	if err != nil || p.CreatedAt >= p.UpdatedAt || len(p.BrowserOrigins) != 1 || p.ExternalAgentOptions["k"] != "v" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, id := range []string{"p0", "p4", "p8", "nobody", ""} {
		if _, err := v.Preset(t.Context(), id); err == nil {
			t.Errorf("%q is found", id)
		} else if f, ok := fault.Of(err); !ok || f.Kind != fault.KindNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// However the log is cut, restarted or rebuilt, and whichever database keeps it, the
// answers are the same to the byte.
func TestEveryWayGivesTheSameAnswers(t *testing.T) {
	log := lives(t)
	r, v := project(t, log, memory(t))
	want := askAll(t, v)
	same := func(how string, v *presets.Views) {
		t.Helper()
		if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
			t.Errorf("at once, then %s:\n%s", how, diff)
		}
	}
	if err := r.Rebuild(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	same("rebuilt", v)

	pg, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, pg)
	for how, db := range map[string]*readdb.DB{"with restarts on SQLite": memory(t), "with restarts on PostgreSQL": pg} {
		for last := int64(1); last < int64(len(log.Records())); last += 7 {
			project(t, &projectiontest.UpTo{Store: log, Last: last}, db)
		}
		_, v := project(t, log, db)
		same(how, v)
	}
}

// A policy that a newer build wrote waits with its stream; the others go on.
func TestAFactThatCannotBeTaken(t *testing.T) {
	log := projectiontest.New(t)
	log.Raw("preset-odd", log.Event(preset.Created{}.EventType(), []byte(`{"definition": 7}`)))
	log.Add("preset-good", preset.Created{Definition: policy("Good")})
	_, v := project(t, log, memory(t))
	if p, err := v.Preset(t.Context(), "good"); err != nil || p.Name != "Good" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := v.Preset(t.Context(), "odd"); err == nil {
		t.Error("what cannot be read is shown")
	}
}
