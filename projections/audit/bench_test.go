package audit_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/domain/run"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/projections/audit"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

var benchEvents = flag.Int64("events", 200_000, "records of the log that the benchmarks search")

// onFile is a database in a file, with the bytes that it takes.
func onFile(b *testing.B) (*readdb.DB, func() int64) {
	file := filepath.Join(b.TempDir(), "read.db")
	db, _, err := readdb.OpenSQLite(b.Context(), file)
	if err != nil {
		b.Fatal(err)
	}
	return db, func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			b.Fatal(err)
		}
		return info.Size()
	}
}

// onPostgres is a database on a server of its own, with the bytes that it takes.
func onPostgres(b *testing.B) (*readdb.DB, func() int64) {
	url := pgtest.URL(b)
	db, err := readdb.OpenPostgres(b.Context(), url, "")
	if err != nil {
		b.Fatal(err)
	}
	return db, func() int64 {
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(b.Context())
		if _, err := conn.Exec(b.Context(), "ANALYZE"); err != nil { // as the server does by itself, but not this one
			b.Fatal(err)
		}
		var bytes int64
		if err := conn.QueryRow(b.Context(), "SELECT pg_database_size(current_database())").Scan(&bytes); err != nil {
			b.Fatal(err)
		}
		return bytes
	}
}

// Records per second that the model takes, its size, and pages of 100 of each kind of
// question, in either order. With -events 10000000 it takes five minutes and 3 GB.
func BenchmarkSearchSQLite(b *testing.B) {
	db, size := onFile(b)
	search(b, db, size)
}

// The same on PostgreSQL.
func BenchmarkSearchPostgres(b *testing.B) {
	db, size := onPostgres(b)
	search(b, db, size)
}

// questions are what people ask of the workload: about what is common, what is rare and
// what never comes together.
func questions(last int64) map[string]audit.Filter {
	run := last / 2 / (runsTogether * runLength) * runsTogether
	middle := workBegin.Add(time.Duration(last/2) * gap)
	call := int64(0)
	for p := last / 2; ; p++ {
		if r := workRecord(p); r.Type == "approval.requested" {
			call = (p-1)/(runsTogether*runLength)*runsTogether + (p-1)%runsTogether
			call = call*runRounds + (r.Version-4)/roundLength
			break
		}
	}
	return map[string]audit.Filter{
		"all":                    {},
		"all in the middle":      {After: last/2 - 50_000, Before: last/2 + 50_000},
		"common type":            {Types: []string{"model.call.started"}},
		"rare type":              {Types: []string{"approval.resolved"}},
		"six types":              {Types: []string{"approval.requested", "approval.resolved", "run.created", "run.finished", "workspace.changed", "run.started"}},
		"common actor":           {Actor: "worker:node_1"},
		"kind of actor":          {Actor: "operator"},
		"rare actor":             {Actor: "person30"},
		"common tool":            {Tool: "read_file"},
		"rare tool":              {Tool: "config_edit"},
		"common file":            {Path: workFile(0)},
		"rare file":              {Path: workFile(workFiles - 7)},
		"directory":              {Path: "internal/area3/"},
		"common host":            {Host: workHost(0)},
		"rare host":              {Host: workHost(workHosts - 7)},
		"approval":               {ApprovalID: fmt.Sprintf("approval_%d", call)},
		"run":                    {RunID: fmt.Sprintf("run_%08d", run)},
		"task":                   {TaskID: workTask(run)},
		"task and type":          {TaskID: workTask(run), Types: []string{"tool.dispatch.settled"}},
		"an hour":                {From: middle, To: middle.Add(time.Hour)},
		"second":                 {From: middle, To: middle.Add(time.Second)},
		"tool in an hour":        {Tool: "web_fetch", From: middle, To: middle.Add(time.Hour)},
		"common tool and type":   {Tool: "shell_exec", Types: []string{"tool.dispatch.settled"}},
		"rare tool, common type": {Tool: "config_edit", Types: []string{"tool.dispatch.settled"}},
		"never: file, person":    {Path: workFile(0), Actor: "person1"},
		"never: tool, type":      {Tool: "read_file", Types: []string{"model.call.started"}},
		"never: actor, type":     {Actor: "worker:node_1", Types: []string{"run.created"}},
		"never: tool, host":      {Tool: "read_file", Host: workHost(0)},
		"hardly: directory, tool, actor": {
			Path: "internal/area3/", Tool: "file_edit", Actor: "worker:node_0", Types: []string{"tool.invoked", "workspace.changed"},
		},
	}
}

func search(b *testing.B, db *readdb.DB, size func() int64) {
	closeAfter(b, db)
	log := &workload{last: *benchEvents}
	begin, used := time.Now(), processorTime(b)
	_, v := project(b, log, db)
	took, used := time.Since(begin), processorTime(b)-used
	b.Logf("%d records, %.0f in a second, %.0f in a second of processor time, %.0f bytes for each",
		log.last, float64(log.last)/took.Seconds(), float64(log.last)/used.Seconds(), float64(size())/float64(log.last))
	all := questions(log.last)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		for order, way := range map[string]audit.Order{"newest": audit.NewestFirst, "oldest": audit.OldestFirst} {
			b.Run(strings.ReplaceAll(what, " ", "_")+"/"+order, func(b *testing.B) {
				measure(b, func() (int, error) {
					p, err := v.Page(b.Context(), all[what], way, 100)
					return len(p.Found), err
				})
			})
		}
	}
	b.Run("effects", func(b *testing.B) {
		measure(b, func() (int, error) {
			p, err := v.Effects(b.Context(), log.last/2+16, 0, 100)
			return len(p.Found), err
		})
	})
}

// measure reports the middle and the 99th of 100 durations, in milliseconds, and the
// processor time that this process took for each, which a busy machine does not change.
func measure(b *testing.B, ask func() (int, error)) {
	var took []time.Duration
	found, used := 0, processorTime(b)
	for b.Loop() {
		begin := time.Now()
		n, err := ask()
		if err != nil {
			b.Fatal(err)
		}
		took, found = append(took, time.Since(begin)), n
	}
	used = processorTime(b) - used
	b.ReportMetric(used.Seconds()*1000/float64(len(took)), "cpu-ms")
	slices.Sort(took)
	at := func(part float64) float64 { return took[int(float64(len(took)-1)*part)].Seconds() * 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(float64(found), "found")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
	db, _ := onFile(b)
	closeAfter(b, db)
	r, _ := project(b, log, db)
	for b.Loop() {
		if err := r.Rebuild(b.Context(), audit.Name, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(facts))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
