package worker_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/runtime/model"
)

// instant is a model without a network: it asks for one file, round after round,
// and notes when it was asked.
type instant struct {
	rounds int
	asked  []time.Time
}

func (*instant) Encode(m run.Message) (model.Encoded, error) {
	return model.Encoded{Role: m.Role, Body: []byte(m.Content.String())}, nil
}

func (*instant) EncodeTools([]model.ToolDefinition) ([]byte, error) { return nil, nil }

func (i *instant) Call(context.Context, model.Call) (*model.Response, error) {
	i.asked = append(i.asked, time.Now())
	m := run.Message{Role: run.RoleAssistant}
	if len(i.asked) > i.rounds {
		m.Content = event("done")
		return &model.Response{Message: m, FinishReason: "stop"}, nil
	}
	m.ToolCalls = []run.ToolCall{{ID: fmt.Sprint("c", len(i.asked)), Name: "read_file", Arguments: event(`{"path":"alpha.txt"}`)}}
	return &model.Response{Message: m, FinishReason: "tool_calls"}, nil
}

// BenchmarkRoundSQLite is the runtime's own time between two model calls of one
// run: two durable appends, the decision and one read tool. It reports the median
// at round 10 and at round 300, and the ratio to one raw durable insert made in the
// same run.
func BenchmarkRoundSQLite(b *testing.B) {
	dir := b.TempDir()
	floor := rawInsert(b, filepath.Join(dir, "floor.db"))
	store, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(dir, "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkRounds(b, store, floor)
}

// BenchmarkRoundPostgres is the same over PostgreSQL, beside one raw insert there.
func BenchmarkRoundPostgres(b *testing.B) {
	url := pgtest.DurableURL(b)
	floor := rawInsertPostgres(b, url)
	store, err := postgres.Open(b.Context(), postgres.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkRounds(b, store, floor)
}

func benchmarkRounds(b *testing.B, store eventstore.Store, floor time.Duration) {
	defer store.Close()
	var at10, at300, all []time.Duration
	for b.Loop() {
		n := newNodeOn(b, store)
		m := &instant{rounds: 310}
		n.route = model.Route{Provider: "instant", Kind: "local", Model: "instant", Client: m}
		n.executor.ModelCallsMax = 400
		if err := os.WriteFile(filepath.Join(n.source, "alpha.txt"), []byte("here is the needle\n"), 0o644); err != nil {
			b.Fatal(err)
		}
		r := n.start(task.Definition{Prompt: event("go")})
		stop := n.run(n.executor)
		<-n.ended(r.RunID)
		stop()
		gaps := make([]time.Duration, len(m.asked)-1)
		for i := range gaps {
			gaps[i] = m.asked[i+1].Sub(m.asked[i])
		}
		at10 = append(at10, gaps[5:15]...)
		at300 = append(at300, gaps[295:305]...)
		all = append(all, gaps...)
	}
	b.ReportMetric(ms(median(at10)), "ms/round-10")
	b.ReportMetric(ms(median(at300)), "ms/round-300")
	b.ReportMetric(ms(floor), "ms/raw-insert")
	b.ReportMetric(float64(median(all))/float64(floor), "x-raw-insert")
	b.ReportMetric(0, "ns/op")
}

func rawInsertPostgres(b *testing.B, url string) time.Duration {
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context()))
	if _, err := conn.Exec(b.Context(), `CREATE TABLE raw (id bigserial PRIMARY KEY, data bytea)`); err != nil {
		b.Fatal(err)
	}
	return medianOf(b, func(data []byte) error {
		_, err := conn.Exec(b.Context(), `INSERT INTO raw (data) VALUES ($1)`, data)
		return err
	})
}

// rawInsert is the median time of one durable insert of a round's bytes.
func rawInsert(b *testing.B, path string) time.Duration {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)`); err != nil {
		b.Fatal(err)
	}
	return medianOf(b, func(data []byte) error {
		_, err := db.Exec(`INSERT INTO t (data) VALUES (?)`, data)
		return err
	})
}

// medianOf is the median time of inserting about as many bytes as a round writes.
func medianOf(b *testing.B, insert func([]byte) error) time.Duration {
	var took []time.Duration
	data := make([]byte, 1024)
	for range 200 {
		began := time.Now()
		if err := insert(data); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	return median(took)
}

func median(d []time.Duration) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[len(s)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
