package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"hecate/commands"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/runtime/model"
)

// steady is a model without a network that serves any number of runs: each asks for
// one file, round after round.
type steady struct {
	instant

	rounds int
}

func (s *steady) Call(_ context.Context, c model.Call) (*model.Response, error) {
	results := 0
	for _, m := range c.Conversation {
		if m.Role == run.RoleTool {
			results++
		}
	}
	m := run.Message{Role: run.RoleAssistant}
	if results == s.rounds {
		m.Content = event("done")
		return &model.Response{Message: m, FinishReason: "stop"}, nil
	}
	m.ToolCalls = []run.ToolCall{{ID: fmt.Sprint("c", results), Name: "read_file", Arguments: event(`{"path":"alpha.txt"}`)}}
	return &model.Response{Message: m, FinishReason: "tool_calls"}, nil
}

// timed adds up how long workers wait for their appends.
type timed struct {
	eventstore.Store

	waited atomic.Int64 // nanoseconds
}

func (t *timed) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	began := time.Now()
	defer func() { t.waited.Add(int64(time.Since(began))) }()
	return t.Store.Append(ctx, b)
}

// BenchmarkRunsSQLite is what the runtime does in a second when models answer at once:
// runs of ten tool calls, four at a time, and how much of the time is the database's.
func BenchmarkRunsSQLite(b *testing.B) {
	store, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkRuns(b, store)
}

// BenchmarkRunsPostgres is the same over PostgreSQL.
func BenchmarkRunsPostgres(b *testing.B) {
	store, err := postgres.Open(b.Context(), postgres.Options{URL: pgtest.DurableURL(b)})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkRuns(b, store)
}

func benchmarkRuns(b *testing.B, store eventstore.Store) {
	const runs, rounds, workers = 80, 10, 4
	defer store.Close()
	t := &timed{Store: store}
	var took time.Duration
	n := newNodeOn(b, t)
	m := &steady{rounds: rounds}
	n.route = model.Route{Provider: "steady", Kind: "local", Model: "steady", Client: m}
	n.executor.ModelCallsMax = rounds + 1
	n.workers = workers
	if err := os.WriteFile(filepath.Join(n.source, "alpha.txt"), []byte("here is the needle\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	stop := n.run(n.executor)
	defer stop()
	for b.Loop() {
		began := time.Now()
		open := map[string]bool{}
		for range runs {
			open[commands.RunStream(n.start(task.Definition{Prompt: event("go")}).RunID)] = true
		}
		n.follow(func(r eventstore.Record) bool {
			if r.Type == "run.finished" {
				delete(open, r.Stream)
			}
			return len(open) == 0
		})
		took += time.Since(began)
	}
	seconds := took.Seconds() / float64(b.N)
	b.ReportMetric(runs/seconds, "runs/s")
	b.ReportMetric(runs*rounds/seconds, "steps/s") // durable: an intent and a settlement each
	b.ReportMetric(100*float64(t.waited.Load())/float64(took)/workers, "%-waiting-for-the-log")
	b.ReportMetric(0, "ns/op")
}
