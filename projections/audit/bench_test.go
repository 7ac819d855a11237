package audit_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/projections/audit"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

var benchEvents = flag.Int64("events", 200_000, "records of the log that the benchmarks search")

// synthetic is a log that is made up as it is read: runs of 50 events, several at a time.
type synthetic struct {
	eventstore.Store
	last int64
}

func (s *synthetic) LogID(context.Context) (string, error) { return "synthetic", nil }

func (s *synthetic) Head(context.Context) (int64, error) { return s.last, nil }

func (s *synthetic) ReadAll(_ context.Context, after int64, limit int) ([]eventstore.Record, error) {
	n := min(s.last-after, int64(limit))
	if n <= 0 {
		return nil, nil
	}
	out := make([]eventstore.Record, n)
	for i := range out {
		out[i] = synthesize(after + 1 + int64(i))
	}
	return out, nil
}

var kinds = []string{
	"model.call.started", "model.response.recorded", "model.call.completed", "assistant.tool_call_proposed", "tool.dispatch.intended",
	"tool.invoked", "tool.shell.output_chunk", "tool.shell.exited", "tool.completed", "tool.dispatch.settled",
}

func synthesize(p int64) eventstore.Record {
	const together, length = 8, 50
	runNo := p/(together*length)*together + p%together
	r := eventstore.Record{
		Position: p, Stream: fmt.Sprintf("run-run_%08d", runNo), Version: p/together%length + 1, Schema: 1,
		At: time.Unix(1_800_000_000, 0).Add(time.Duration(p) * 100 * time.Millisecond), Actor: eventstore.Actor{Kind: "worker", Name: "node_1"}, CausedBy: max(p-together, 0),
	}
	binary.BigEndian.PutUint64(r.ID[8:], uint64(p))
	switch {
	case r.Version == 1:
		r.Type, r.Actor = "run.created", eventstore.Actor{Kind: "operator", Name: "ada"}
		r.Data = fmt.Appendf(nil, `{"task_id":"task_%07d"}`, runNo/3)
	case p%9973 == 0:
		r.Type, r.Data = "approval.requested", fmt.Appendf(nil, `{"approval_id":"approval_%d","calls":[{"tool_name":"exec"}]}`, p)
	default:
		r.Type = kinds[p%int64(len(kinds))]
		r.Data = fmt.Appendf(nil, `{"tool_call_id":"call_%d","tool_name":"%s","input":{"path":"internal/pkg%d/file%d.go","url":"https://host%d.example/x"}}`,
			p, []string{"read_file", "shell_exec", "file_edit", "web_fetch"}[p%4], p%97, p%1009, p%501)
	}
	return r
}

func onFile(b *testing.B) *readdb.DB {
	db, _, err := readdb.OpenSQLite(b.Context(), filepath.Join(b.TempDir(), "read.db"))
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func onPostgres(b *testing.B) *readdb.DB {
	db, err := readdb.OpenPostgres(b.Context(), pgtest.URL(b), "")
	if err != nil {
		b.Fatal(err)
	}
	return db
}

// Records per second that the model takes, and one page of each kind of question.
func BenchmarkSQLite(b *testing.B) { search(b, onFile(b)) }

// The same on PostgreSQL.
func BenchmarkPostgres(b *testing.B) { search(b, onPostgres(b)) }

func search(b *testing.B, db *readdb.DB) {
	closeAfter(b, db)
	log := &synthetic{last: *benchEvents}
	begin := time.Now()
	_, v := project(b, log, db)
	b.Logf("%d records, %.0f in a second", log.last, float64(log.last)/time.Since(begin).Seconds())
	half := time.Unix(1_800_000_000, 0).Add(time.Duration(log.last/2) * 100 * time.Millisecond)
	for what, f := range map[string]audit.Filter{
		"all":               {},
		"run":               {RunID: fmt.Sprintf("run_%08d", log.last/800)},
		"task and type":     {TaskID: "task_0000010", Types: []string{"tool.dispatch.intended", "tool.dispatch.settled"}},
		"tool":              {Tool: "web_fetch"},
		"tool and type":     {Tool: "shell_exec", Types: []string{"tool.dispatch.settled"}},
		"never together":    {Tool: "read_file", Types: []string{"run.created"}},
		"directory":         {Path: "internal/pkg7/"},
		"file and tool":     {Path: "internal/pkg7/file7.go", Tool: "file_edit"},
		"host":              {Host: "host7.example"},
		"approvals by type": {Types: []string{"approval.requested"}},
		"actor and type":    {Actor: "ada", Types: []string{"run.created"}},
		"actor kind in time": {
			Actor: "operator", To: half,
		},
		"tool in time": {Tool: "exec", From: half.Add(-time.Hour), To: half},
	} {
		b.Run(what, func(b *testing.B) {
			var found int
			for b.Loop() {
				p, err := v.Page(b.Context(), f, audit.NewestFirst, 100)
				if err != nil {
					b.Fatal(err)
				}
				found = len(p.Found)
			}
			b.ReportMetric(float64(found), "found")
		})
	}
}

// Records per second of runs as they are: rounds of a model call and a file that is read.
func BenchmarkRebuild(b *testing.B) {
	store, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	log := projectiontest.Over(b, store)
	var facts []projectiontest.Fact
	for i := range 100 {
		s := projectiontest.NewStory(fmt.Sprintf("%06d", i), run.KindAgentLoop)
		s.Seed("fix the test and tell me what was wrong with it")
		for round := range int64(100) {
			c := projectiontest.Call(fmt.Sprintf("call_%d", round), "read_file", `{"path":"internal/service/handler.go","max_bytes":4096}`)
			s.Ask(round+1, "I will look at the handler next, since the failing assertion points there.", "tool_calls", c)
			s.Read(round+1, c, "package service\n\nfunc handle(w http.ResponseWriter, r *http.Request) {\n}\n")
		}
		facts = append(facts, s.Facts...)
	}
	log.AddAll(facts)
	db := onFile(b)
	closeAfter(b, db)
	r, _ := project(b, log, db)
	for b.Loop() {
		if err := r.Rebuild(b.Context(), audit.Name, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(facts))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
