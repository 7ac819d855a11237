package retain_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/retain"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/retention"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
)

// benchmark has passes over logs of 10,000 model calls in 100 runs.
func benchmark(b *testing.B, open func() (eventstore.Store, error)) {
	const runs, calls = 100, 100
	for b.Loop() {
		b.StopTimer()
		store, err := open()
		if err != nil {
			b.Fatal(err)
		}
		w := newBench(b, store)
		for i := range runs {
			facts := []event.Payload{run.Created{TaskID: fmt.Sprint("task_", i), Number: 1}}
			for n := range int64(calls) {
				facts = append(facts, run.ModelCallCompleted{ModelCallIndex: n + 1, CostKnown: true, Usage: &run.Usage{Input: 5, Raw: json.RawMessage(`{"prompt_tokens":5,"completion_tokens":3}`)}})
			}
			w.log.Add(fmt.Sprint("run-", i), facts...)
		}
		w.catchUp(b)
		worker := w.worker(retain.Policy{Name: retention.ModelCallEvents, MaxAge: time.Minute, MaxCount: 5000})
		b.StartTimer()
		r, err := worker.Manual(b.Context(), commands.Meta{}, nil)
		if err != nil || r.Deleted() != runs*calls {
			b.Fatalf("%+v, %v", r, err)
		}
	}
	b.ReportMetric(float64(b.N)*runs*calls/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkSQLite(b *testing.B) {
	benchmark(b, func() (eventstore.Store, error) {
		return sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")})
	})
}

func BenchmarkPostgres(b *testing.B) {
	benchmark(b, func() (eventstore.Store, error) {
		return postgres.Open(b.Context(), postgres.Options{URL: pgtest.DurableURL(b)})
	})
}
