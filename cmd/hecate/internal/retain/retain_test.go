package retain_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"hecate/cmd/hecate/internal/retain"
	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/retention"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/projections/audit"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// bench is a log with its audit model and a clock.
type bench struct {
	log    *projectiontest.Log
	models *runner.Runner
	clock  *clock.Fixed
}

// each runs a test on every kind of log.
func each(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db")})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newBench(t, store))
	})
	t.Run("postgres", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), postgres.Options{URL: pgtest.URL(t)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newBench(t, store))
	})
}

func newBench(t testing.TB, store eventstore.Store) *bench {
	t.Helper()
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	log := projectiontest.Over(t, store)
	models, err := runner.New(t.Context(), runner.Config{Log: log, DB: db, Models: []runner.Model{audit.Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{log: log, models: models, clock: &clock.Fixed{T: projectiontest.Start.Add(time.Hour)}}
}

func (b *bench) worker(policies ...retain.Policy) *retain.Worker {
	x := &commands.Executor{
		Store: b.log, Clock: b.clock, NewID: func() [16]byte { return uuid.Must(uuid.NewV7()) },
		NewSalt: func() (s [16]byte) { rand.Read(s[:]); return s },
	}
	return retain.New(x, audit.NewViews(b.models), policies, time.Hour, slog.New(slog.DiscardHandler))
}

func (b *bench) catchUp(t testing.TB) {
	t.Helper()
	if err := b.models.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// manual has a pass that somebody asked for.
func (b *bench) manual(t *testing.T, w *retain.Worker, only ...string) commands.RetentionResult {
	t.Helper()
	b.catchUp(t)
	r, err := w.Manual(t.Context(), commands.Meta{RequestID: "req_1"}, only)
	if err != nil || r.Trigger != retention.TriggerManual || r.RequestID != "req_1" || r.Position == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

func (b *bench) scheduled(t *testing.T, w *retain.Worker) commands.RetentionResult {
	t.Helper()
	b.catchUp(t)
	r, err := w.Scheduled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	said   = "SAID"   // in the conversation
	raw    = "RAW"    // of a provider
	output = "OUTPUT" // of a command
)

// run adds a run that has called a model and a command, and has ended if it has an end.
func (b *bench) run(id string, end event.Payload) {
	facts := []event.Payload{
		run.Created{TaskID: "task_1", Number: 1, Status: run.StatusQueued, Kind: run.Orchestrator},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText(said)}}},
		run.ModelResponseRecorded{ModelCallIndex: 1, FinishReason: "stop", Message: run.Message{Role: run.RoleAssistant, Content: event.NewText(said)}},
		run.ModelCallCompleted{ModelCallIndex: 1, StepID: "step_1", CostPicoUSD: 7, CostKnown: true, Usage: &run.Usage{Input: 5, Output: 3, Raw: json.RawMessage(`{"x":"` + raw + `"}`)}},
		run.ShellOutput{ToolCallID: "c1", Stream: "stdout", Data: event.NewText(output), ArtifactID: "artifact_1"},
		run.DispatchSettled{ToolCallID: "c1", ToolName: "shell_exec", Result: event.NewText(said)},
		run.ArtifactRecorded{ArtifactID: "artifact_1", Kind: "stdout", Name: "o", Status: "ready", Content: event.NewText(strings.Repeat(output, 5000))},
		run.ArtifactRecorded{ArtifactID: "artifact_2", Kind: "summary", Name: "s", Status: "ready", Content: event.NewText(said)},
	}
	if end != nil {
		facts = append(facts, end)
	}
	b.log.Add("run-"+id, facts...)
}

// left counts the records that still say what stands in the constants above.
func (b *bench) left(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, r := range b.log.Records() {
		if err := eventstore.Verify(r); err != nil {
			t.Error(err)
		}
		text := slices.Clone(r.Data)
		_, err := event.Decode(r.Type, r.Schema, r.Data, func(ref event.Ref) ([]byte, error) {
			content, err := b.log.Blob(t.Context(), ref.Digest)
			text = append(text, content...)
			return content, err
		})
		if err != nil {
			t.Error(err)
		}
		for _, word := range []string{said, raw, output} {
			if bytes.Contains(text, []byte(word)) {
				out[word]++
			}
		}
	}
	return out
}

func (b *bench) check(t *testing.T, wantSaid, wantRaw, wantOutput int) {
	t.Helper()
	if got := b.left(t); got[said] != wantSaid || got[raw] != wantRaw || got[output] != wantOutput {
		t.Errorf("left: %v, want %d said, %d raw, %d output", got, wantSaid, wantRaw, wantOutput)
	}
}

// after is a clock's time at which the first n records of the log are older than a minute.
func after(n int) time.Time {
	return projectiontest.Start.Add(time.Minute + time.Duration(n)*time.Millisecond - 1)
}

// What is too old goes, once; its cost and everything that was said stay.
func TestModelCallsByAge(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for i := range 3 {
			b.run(fmt.Sprint(i), nil)
		}
		b.clock.T = after(16) // two runs
		w := b.worker(retain.Policy{Name: retention.UsageEvents, MaxAge: time.Second}, retain.Policy{Name: retention.ModelCallEvents, MaxAge: time.Minute})
		r := b.manual(t, w)
		if got := r.Result(retention.ModelCallEvents); got.Deleted != 2 || got.Skipped || got.MaxAgeMS != 60_000 || got.Through != 12 || got.Error != "" {
			t.Errorf("%+v", got)
		}
		if got := r.Result(retention.UsageEvents); !got.Skipped || got.Deleted != 0 {
			t.Errorf("%+v", got)
		}
		b.check(t, 12, 1, 6)
		for _, rec := range b.log.Records() {
			if rec.Type != "model.call.completed" {
				continue
			}
			p, err := event.Decode(rec.Type, rec.Schema, rec.Data, nil)
			c, ok := p.(run.ModelCallCompleted)
			if err != nil || !ok || c.CostPicoUSD != 7 || !c.CostKnown || c.StepID != "step_1" || c.Usage.Input != 5 || c.Usage.Output != 3 {
				t.Errorf("%+v, %v", p, err)
			}
		}
		if again := b.manual(t, w); again.Deleted() != 0 || again.Result(retention.ModelCallEvents).Through != 12 {
			t.Errorf("again: %+v", again)
		}
		// Another process goes on where this one stopped.
		b.clock.T = b.clock.T.Add(time.Hour)
		if next := b.scheduled(t, b.worker(retain.Policy{Name: retention.ModelCallEvents, MaxAge: time.Minute})); next.Deleted() != 1 || next.Position == 0 {
			t.Errorf("%+v", next)
		}
		b.check(t, 12, 0, 6)
	})
}

// The newest ones stay, whatever their age.
func TestModelCallsByCount(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for i := range 5 {
			b.run(fmt.Sprint(i), nil)
		}
		w := b.worker(retain.Policy{Name: retention.ModelCallEvents, MaxCount: 3})
		if r := b.manual(t, w); r.Deleted() != 2 {
			t.Errorf("%+v", r)
		}
		b.check(t, 20, 3, 10)
		b.run("5", nil)
		if r := b.manual(t, w); r.Deleted() != 1 {
			t.Errorf("%+v", r)
		}
		if r := b.manual(t, b.worker(retain.Policy{Name: retention.ModelCallEvents, MaxCount: 100})); r.Deleted() != 0 {
			t.Errorf("%+v", r)
		}
		b.check(t, 24, 3, 12)
	})
}

// What commands have put out goes with the end of their run, never before.
func TestRunContents(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.run("open", nil)
		b.run("done", run.Finished{})
		b.run("failed", run.Failed{Message: "e"})
		b.run("cancelled", run.Cancelled{})
		w := b.worker(retain.Policy{Name: retention.RunContents, MaxCount: 1})
		if r := b.scheduled(t, w); r.Deleted() != 4 {
			t.Errorf("%+v", r)
		}
		b.check(t, 16, 4, 4)
		if r := b.manual(t, b.worker(retain.Policy{Name: retention.RunContents, MaxAge: time.Second})); r.Deleted() != 2 {
			t.Errorf("%+v", r)
		}
		b.check(t, 16, 4, 2)
	})
}

// A pass that somebody asks for leaves a record, whatever it did and chose; one of the server does if it did something.
func TestRecords(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.run("1", nil)
		policies := []retain.Policy{{Name: retention.ModelCallEvents, MaxAge: time.Minute}, {Name: retention.RunContents}}
		w := b.worker(policies...)
		b.clock.T = after(0)
		if r := b.scheduled(t, w); r.Position != 0 || len(r.Results) != 2 || r.Results[0].Skipped || !r.Results[1].Skipped {
			t.Errorf("nothing to do: %+v", r)
		}
		b.clock.T = after(100)
		if r := b.manual(t, w, "nonsense"); r.Deleted() != 0 || !r.Results[0].Skipped || !r.Results[1].Skipped {
			t.Errorf("nothing chosen: %+v", r)
		}
		meta := commands.Meta{CommandID: "once", Actor: eventstore.Actor{Kind: "operator", Name: "ada"}}
		first, err := w.Manual(t.Context(), meta, []string{retention.ModelCallEvents})
		if err != nil || first.Deleted() != 1 {
			t.Fatalf("%+v, %v", first, err)
		}
		b.catchUp(t)
		again, err := w.Manual(t.Context(), meta, nil)
		if err != nil || again.Position != first.Position || again.Deleted() != 1 || !again.FinishedAt.Equal(first.FinishedAt) {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		records := b.log.Records()
		last := records[len(records)-1]
		if last.Type != retention.Type || last.Stream != retention.Stream || last.Actor != meta.Actor || records[len(records)-2].Type != "log.erased" || records[len(records)-2].Actor != meta.Actor {
			t.Errorf("%+v", last)
		}
		if got := records[len(records)-2].Data; !bytes.Contains(got, []byte(`"policy":"model_call_events","reason":"older than 1m0s"`)) {
			t.Errorf("%s", got)
		}
	})
}

// A pass is bounded, and the next one goes on. Records without anything to erase are gone past, too.
func TestPiecemeal(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for i := range 5 {
			b.log.Add(fmt.Sprintf("run-empty%d", i), run.ModelCallCompleted{ModelCallIndex: 1})
		}
		for i := range 4 {
			b.run(fmt.Sprint(i), nil)
		}
		policy := retain.Policy{Name: retention.ModelCallEvents, MaxAge: time.Minute}
		var deleted []int64
		for range 4 {
			w := b.worker(policy)
			w.Look(3)
			r := b.scheduled(t, w)
			deleted = append(deleted, r.Deleted())
			if r.Results[0].Incomplete != (len(deleted) < 3) {
				t.Errorf("%d: %+v", len(deleted), r)
			}
		}
		if fmt.Sprint(deleted) != "[0 1 3 0]" {
			t.Errorf("deleted %v", deleted)
		}
	})
}

// A caller may call its events as it likes in logs of earlier versions.
func TestCallersEvents(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.log.Add("run-1", run.Created{TaskID: "task_1", Number: 1})
		b.log.Add("external-1", run.ExternalEvent{RunID: "1", TaskID: "task_1", Type: "model.call.completed", Data: map[string]any{"note": said}})
		if r := b.manual(t, b.worker(retain.Policy{Name: retention.ModelCallEvents, MaxAge: time.Minute})); r.Deleted() != 0 {
			t.Errorf("%+v", r)
		}
		b.check(t, 1, 0, 0)
	})
}

// Several processes prune one log at the same time: each record goes once.
func TestAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		const n = 60
		for i := range n {
			b.run(fmt.Sprint(i), nil)
		}
		b.catchUp(t)
		var wg sync.WaitGroup
		results := make([]commands.RetentionResult, 4)
		for i := range results {
			w := b.worker(retain.Policy{Name: retention.ModelCallEvents, MaxAge: time.Minute})
			wg.Go(func() {
				var err error
				if results[i], err = w.Manual(t.Context(), commands.Meta{}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		sum := int64(0)
		for _, r := range results {
			sum += r.Deleted()
			if r.Results[0].Error != "" {
				t.Errorf("%+v", r)
			}
		}
		if sum != n {
			t.Errorf("%d deleted: %+v", sum, results)
		}
		b.check(t, 4*n, 0, 2*n)
	})
}

// A pass that is broken off says so, and Run ends with its context.
func TestBrokenOff(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.run("1", nil)
		b.catchUp(t)
		ctx, cancel := context.WithCancel(t.Context())
		places := &cancelling{Places: audit.NewViews(b.models), cancel: cancel}
		x := &commands.Executor{Store: b.log, Clock: b.clock, NewID: func() [16]byte { return uuid.Must(uuid.NewV7()) }, NewSalt: func() (s [16]byte) { return s }}
		w := retain.New(x, places, []retain.Policy{{Name: retention.ModelCallEvents, MaxAge: time.Minute, MaxCount: 5}}, time.Hour, slog.New(slog.DiscardHandler))
		r, err := w.Manual(ctx, commands.Meta{}, nil)
		if err != nil || !strings.Contains(r.Results[0].Error, "broken off") || r.Position == 0 {
			t.Errorf("%+v, %v", r, err)
		}
		b.check(t, 4, 1, 2)
		if err := w.Run(ctx); err == nil {
			t.Error("Run goes on")
		}
	})
}

// cancelling cancels while a pass is under way.
type cancelling struct {
	retain.Places
	cancel func()
}

func (c *cancelling) Nth(ctx context.Context, n int64, types ...string) (int64, error) {
	defer c.cancel()
	return c.Places.Nth(ctx, n, types...)
}
