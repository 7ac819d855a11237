package runs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
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
	rebuild(b, projectiontest.Over(b, fileLog(b)), file(b, filepath.Join(b.TempDir(), "read.db")))
}

// The same on PostgreSQL, with the log in the same server.
func BenchmarkRebuildPostgres(b *testing.B) {
	url := pgtest.URL(b)
	store, err := postgres.Open(context.Background(), postgres.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	rebuild(b, projectiontest.Over(b, store), postgresDB(b, url))
}

func rebuild(b *testing.B, log *projectiontest.Log, db *readdb.DB) {
	b.Helper()
	events := fill(b, log, 100, 100, 10)
	r, _ := project(b, log, db)
	b.ResetTimer()
	for b.Loop() {
		if err := r.Rebuild(context.Background(), runs.Name, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// One round of a run, event by event, as a run that is alone makes it: the cost is the
// same at the beginning and at the end of a long run.
func BenchmarkRound(b *testing.B) {
	for _, before := range []int{10, 100, 300} {
		b.Run(fmt.Sprint("after ", before), func(b *testing.B) {
			log := projectiontest.New(b)
			s := projectiontest.NewStory("long", run.KindAgentLoop)
			s.Seed("go on")
			round := func(n int) {
				c := projectiontest.Call(fmt.Sprintf("call_%d", n), "read_file", `{"path":"a.go"}`)
				s.Ask(int64(n), "I will look at the handler next.", "tool_calls", c)
				s.Read(int64(n), c, "package service")
			}
			for n := range before {
				round(n + 1)
			}
			log.AddAll(s.Facts)
			r, _ := project(b, log, file(b, filepath.Join(b.TempDir(), "read.db")))
			n := before
			for b.Loop() {
				b.StopTimer()
				s.Facts = nil
				n++
				round(n)
				for _, f := range s.Facts {
					log.Add(f.Stream, f.Payload)
					b.StartTimer()
					if err := r.CatchUp(context.Background()); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
				}
				b.StartTimer()
			}
		})
	}
}

// A look at a run of 300 rounds with all that it made.
func BenchmarkSnapshot(b *testing.B) {
	log := projectiontest.New(b)
	fill(b, log, 1, 300, 1)
	_, v := project(b, log, file(b, filepath.Join(b.TempDir(), "read.db")))
	for _, bodies := range []bool{false, true} {
		b.Run(fmt.Sprint("bodies ", bodies), func(b *testing.B) {
			for b.Loop() {
				if _, err := v.Snapshot(context.Background(), "task_000000", "run_000000", bodies); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Counting the runs that are open while 10,000 of them wait for a person and as many
// have ended.
func BenchmarkRunStats(b *testing.B) {
	log := projectiontest.New(b)
	var facts []projectiontest.Fact
	for i := range 10_000 {
		facts = append(facts, parked(fmt.Sprintf("parked%d", i)).Facts...)
		ended := parked(fmt.Sprintf("ended%d", i))
		ended.Cancel("")
		facts = append(facts, ended.Facts...)
	}
	log.AddAll(facts)
	_, v := project(b, log, file(b, filepath.Join(b.TempDir(), "read.db")))
	for b.Loop() {
		s, err := v.RunStats(context.Background(), projectiontest.Start)
		if err != nil || s.AwaitingApproval != 10_000 {
			b.Fatalf("%+v, %v", s, err)
		}
	}
}

func parked(name string) *projectiontest.Story {
	s := projectiontest.NewStory(name, run.KindShell)
	s.Facts = s.Facts[:3]
	s.Run(run.AwaitingApproval{Status: run.StatusAwaitingApproval})
	return s
}

// The conversation of a run that 300 others precede, each with a prompt and an answer.
func BenchmarkInheritedConversation(b *testing.B) {
	log := projectiontest.New(b)
	s := projectiontest.NewStory("chat", run.KindAgentLoop)
	s.Seed("hello")
	s.Ask(1, "Hello.", "stop")
	for range 300 {
		c, err := s.State().Continue("and now?")
		if err != nil {
			b.Fatal(err)
		}
		s.Follow(run.SourceContinue, 0, "", c)
		s.Ask(1, "This and that.", "stop")
	}
	log.AddAll(s.Facts)
	_, v := project(b, log, file(b, filepath.Join(b.TempDir(), "read.db")))
	for b.Loop() {
		m, err := v.Conversation(context.Background(), s.TaskID, s.RunID)
		if err != nil || len(m) != 603 {
			b.Fatalf("%d messages, %v", len(m), err)
		}
	}
}
