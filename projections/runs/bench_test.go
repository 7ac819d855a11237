package runs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/sqlite"
	"hecate/projections/projectiontest"
	"hecate/projections/runs"
)

// fill appends runs of the given number of rounds, several at a time, and returns how
// many events that made. A round is a model call that reads a file.
func fill(b *testing.B, log *projectiontest.Log, tasks, rounds, together int) int {
	b.Helper()
	var facts []projectiontest.Fact
	for first := 0; first < tasks; first += together {
		stories := make([]*projectiontest.Story, together)
		for i := range stories {
			stories[i] = projectiontest.NewStory(fmt.Sprintf("%06d", first+i), run.KindAgentLoop)
			stories[i].Seed("fix the test and tell me what was wrong with it")
		}
		for round := range rounds {
			for _, s := range stories {
				c := projectiontest.Call(fmt.Sprintf("call_%d", round), "read_file", `{"path":"internal/service/handler.go","max_bytes":4096}`)
				s.Ask(int64(round+1), "I will look at the handler next, since the failing assertion points there.", "tool_calls", c)
				s.Read(int64(round+1), c, "package service\n\nfunc handle(w http.ResponseWriter, r *http.Request) {\n\tw.WriteHeader(http.StatusTeapot)\n}\n")
			}
		}
		for _, s := range stories {
			s.Ask(int64(rounds+1), "The handler answered with the wrong status.", "stop")
			facts = append(facts, s.Facts...)
			s.Facts = nil
		}
	}
	log.AddAll(facts)
	return len(facts)
}

func fileLog(b *testing.B) eventstore.Store {
	b.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	return store
}

// Events per second of a rebuild beside the live tables, in files as in production.
func BenchmarkRebuildSQLite(b *testing.B) {
	log := projectiontest.Over(b, fileLog(b))
	events := fill(b, log, 100, 100, 10)
	r, _ := project(b, log, file(b, filepath.Join(b.TempDir(), "read.db")))
	b.ResetTimer()
	for b.Loop() {
		if err := r.Rebuild(context.Background(), runs.Name, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
