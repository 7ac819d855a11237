package worker_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"hecate/commands"
	"hecate/domain/clock"
	domainevent "hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/runtime/model"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
	"hecate/runtime/workspace"
	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/process"
)

func TestMain(m *testing.M) {
	process.SuperviseIfAsked()
	os.Exit(pgtest.Main(m))
}

// node is a log in memory, a scripted model over HTTP and the real tools.
type node struct {
	t        testing.TB
	store    eventstore.Store
	executor commands.Executor
	model    *scripted.Server
	route    model.Route
	source   string // the directory that runs work in
	temp     string
	tools    []tools.Tool // more than the real ones
}

func newNode(t *testing.T, scripts ...scripted.Script) *node {
	t.Helper()
	store, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return newNodeOn(t, store, scripts...)
}

func newNodeOn(t testing.TB, store eventstore.Store, scripts ...scripted.Script) *node {
	t.Helper()
	n := &node{t: t, store: store, model: scripted.New(scripts...), source: t.TempDir(), temp: t.TempDir()}
	base, stop, err := n.model.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	n.route = model.Route{Provider: "scripted", Kind: "local", Model: scripted.ModelName, Client: model.NewOpenAI(model.Endpoint{BaseURL: base})}
	n.executor = commands.Executor{
		Store: store, Clock: clock.System{}, NewID: func() [16]byte { return uuid.Must(uuid.NewV7()) },
		NewSalt: func() (s [16]byte) { rand.Read(s[:]); return s }, ModelCallsMax: 8,
	}
	return n
}

func event(s string) domainevent.Text { return domainevent.NewText(s) }

func (n *node) Candidates(context.Context, string, string) ([]model.Route, error) {
	return []model.Route{n.route}, nil
}

func (*node) Report(model.Route, time.Duration, error) {}
func (*node) Failover(model.Route, model.Route, error) {}

// start creates a task that works in place and opens its run.
func (n *node) start(d task.Definition) commands.RunResult {
	n.t.Helper()
	if d.ExecutionKind == "" {
		d.ExecutionKind = run.KindAgentLoop
	}
	d.WorkspaceMode, d.WorkingDirectory = "in_place", n.source
	t, err := n.executor.CreateTask(n.t.Context(), commands.Meta{}, d)
	if err != nil {
		n.t.Fatal(err)
	}
	r, err := n.executor.StartRun(n.t.Context(), commands.Meta{}, t.TaskID)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// run starts a pool that writes through x and returns what stops it.
func (n *node) run(x commands.Executor) (stop func()) {
	pool := worker.New(worker.Config{
		Executor: &x, Store: x.Store, Router: n, Tools: append(append(builtin.All(), builtin.Direct()...), n.tools...), Workspaces: workspace.NewManager(n.temp),
		Settings: tools.Settings{OutputMaxBytes: 4 << 20, Wrapper: "none"}, Clock: clock.System{}, Workers: 2, NodeID: "test", Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(n.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := pool.Run(ctx); err != nil {
			n.t.Errorf("pool: %v", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (n *node) state(id string) *run.State {
	n.t.Helper()
	s, err := n.executor.LoadRun(context.WithoutCancel(n.t.Context()), id)
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// until waits for the log to lead to a state.
func (n *node) until(id string, ok func(*run.State) bool) {
	n.t.Helper()
	for {
		head, err := n.store.Head(n.t.Context())
		if err != nil {
			n.t.Fatal(err)
		}
		if ok(n.state(id)) {
			return
		}
		if err := n.store.Wait(n.t.Context(), head); err != nil {
			n.t.Fatal(err)
		}
	}
}

// ended returns a channel that is closed when the log holds the run's end.
func (n *node) ended(id string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.follow(func(r eventstore.Record) bool {
			end := r.Type == "run.finished" || r.Type == "run.failed" || r.Type == "run.cancelled"
			return end && r.Stream == commands.RunStream(id)
		})
	}()
	return done
}

// follow reads the log from its start until a record is the one.
func (n *node) follow(is func(eventstore.Record) bool) {
	after := int64(0)
	for {
		recs, err := n.store.ReadAll(n.t.Context(), after, 512)
		if err != nil {
			n.t.Error(err)
			return
		}
		for _, r := range recs {
			if is(r) {
				return
			}
			after = r.Position
		}
		if len(recs) > 0 {
			continue
		}
		if err := n.store.Wait(n.t.Context(), after); err != nil {
			n.t.Error(err)
			return
		}
	}
}

// checkHistory asserts what must hold of every ended run.
func (n *node) checkHistory(id string) {
	n.t.Helper()
	s := n.state(id)
	if s.Status != run.StatusCompleted {
		n.t.Errorf("the run is %s", s.Status)
	}
	var results []string
	for _, m := range s.Conversation {
		if m.Role == run.RoleTool {
			results = append(results, m.ToolCallID)
		}
	}
	if want := []string{"c1", "c2", "c3", "c4"}; len(results) != 4 || results[0] != want[0] || results[1] != want[1] || results[2] != want[2] || results[3] != want[3] {
		n.t.Errorf("results are %v, want %v", results, want)
	}
}
