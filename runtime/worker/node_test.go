package worker_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
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
	"hecate/tools/sandbox"
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
	workers  int          // runs at a time; 2 if zero
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
	n.model.Rule = n.strict
	base, stop, err := n.model.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	n.route = model.Route{Provider: "scripted", Kind: "local", Model: scripted.ModelName, Client: clientOf(base)}
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

func (*node) AwaitModels(context.Context) {}

func (*node) Report(model.Route, time.Duration, error) {}
func (*node) Failover(model.Route, model.Route, error) {}

// on is the node's executor with another store between it and the log.
func (n *node) on(store eventstore.Store) commands.Executor {
	x := n.executor
	x.Store = store
	return x
}

// create makes a task that works in place.
func (n *node) create(d task.Definition) string {
	n.t.Helper()
	if d.ExecutionKind == "" {
		d.ExecutionKind = run.KindAgentLoop
	}
	if d.WorkspaceMode == "" {
		d.WorkspaceMode = "in_place"
	}
	if d.WorkingDirectory == "" {
		d.WorkingDirectory = n.source
	}
	if d.TimeoutMS == 0 {
		d.TimeoutMS = 2 * patience.Milliseconds() // commands that end by themselves are not to be ended
	}
	t, err := n.executor.CreateTask(n.t.Context(), commands.Meta{}, d)
	if err != nil {
		n.t.Fatal(err)
	}
	return t.TaskID
}

// start creates a task and opens its run.
func (n *node) start(d task.Definition) commands.RunResult {
	n.t.Helper()
	return n.must(n.executor.StartRun(n.t.Context(), commands.Meta{}, n.create(d), run.Ahead{}))
}

func (n *node) must(r commands.RunResult, err error) commands.RunResult {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

func (n *node) resume(r commands.RunResult) commands.RunResult {
	n.t.Helper()
	return n.must(n.executor.ResumeRun(n.t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: r.State.TaskID, RunID: r.RunID}))
}

func (n *node) goOn(r commands.RunResult, prompt string) commands.RunResult {
	n.t.Helper()
	return n.must(n.executor.ContinueRun(n.t.Context(), commands.Meta{}, r.State.TaskID, r.RunID, prompt, run.Ahead{}))
}

func (n *node) branch(r commands.RunResult, index int64) commands.RunResult {
	n.t.Helper()
	return n.must(n.executor.RetryFromModelCall(n.t.Context(), commands.Meta{}, commands.RetryFromModelCall{TaskID: r.State.TaskID, RunID: r.RunID, ModelCallIndex: index}))
}

func (n *node) cancel(r commands.RunResult) {
	n.t.Helper()
	n.must(n.executor.CancelRun(n.t.Context(), commands.Meta{}, r.State.TaskID, r.RunID, ""))
}

func (n *node) approve(id string) {
	n.t.Helper()
	s := n.state(id)
	if s.Approval == nil {
		n.t.Fatalf("the run is %s and asks for nothing: %v", s.Status, n.types(id))
	}
	n.must(n.executor.ResolveApproval(n.t.Context(), commands.Meta{}, s.TaskID, run.Resolution{ApprovalID: s.Approval.ApprovalID, Decision: "approve"}))
}

// config is a pool that writes through x.
func (n *node) config(x commands.Executor) worker.Config {
	return worker.Config{
		Executor: &x, Store: x.Store, Router: n, Tools: append(append(builtin.All(), builtin.Direct()...), n.tools...), Workspaces: workspace.NewManager(n.temp),
		Settings: tools.Settings{OutputMaxBytes: 4 << 20, Wrapper: sandbox.Wrapper{Kind: sandbox.WrapperNone}}, Clock: clock.System{}, Workers: max(2, n.workers), NodeID: "test", Log: slog.New(slog.DiscardHandler),
	}
}

// running is a pool at work.
type running struct {
	tell context.CancelFunc // to stop
	done chan struct{}      // closed when it has stopped
}

// run starts a pool that writes through x and returns what stops it.
func (n *node) run(x commands.Executor, changes ...func(*worker.Config)) (stop func()) {
	p := n.begin(x, changes...)
	return func() {
		p.tell()
		<-p.done
	}
}

// begin starts a pool that writes through x.
func (n *node) begin(x commands.Executor, changes ...func(*worker.Config)) running {
	c := n.config(x)
	for _, change := range changes {
		change(&c)
	}
	pool := worker.New(c)
	ctx, cancel := context.WithCancel(n.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := pool.Run(ctx); err != nil {
			n.t.Errorf("pool: %v", err)
		}
	}()
	return running{cancel, done}
}

func (n *node) state(id string) *run.State {
	n.t.Helper()
	s, err := n.executor.LoadRun(context.WithoutCancel(n.t.Context()), id)
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// events returns the run's own events.
func (n *node) events(id string) (out []domainevent.Event) {
	n.t.Helper()
	err := n.executor.Load(context.WithoutCancel(n.t.Context()), commands.RunStream(id), 0, func(e domainevent.Event) { out = append(out, e) })
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// payloads returns the run's events of one type, in order.
func payloads[P domainevent.Payload](n *node, id string) (out []P) {
	n.t.Helper()
	for _, e := range n.events(id) {
		if p, is := e.Payload.(P); is {
			out = append(out, p)
		}
	}
	return out
}

// types lists the types of the run's events, for messages.
func (n *node) types(id string) string {
	n.t.Helper()
	var out []string
	for _, e := range n.events(id) {
		out = append(out, e.Payload.EventType())
	}
	return strings.Join(out, " ")
}

// patience is how long a test waits for what must happen, on a machine that has much to do.
const patience = 2 * time.Minute

// until waits for the log to lead to a state.
func (n *node) until(id string, ok func(*run.State) bool) *run.State {
	n.t.Helper()
	ctx, stop := context.WithTimeout(n.t.Context(), patience)
	defer stop()
	for {
		head, err := n.store.Head(ctx)
		if err != nil {
			n.t.Fatal(err)
		}
		s := n.state(id)
		if ok(s) {
			return s
		}
		if err := n.store.Wait(ctx, head); err != nil {
			n.t.Fatalf("%v; the run is %s: %s", err, s.Status, n.types(id))
		}
	}
}

// end waits for a run to end and returns where it stands.
func (n *node) end(id string) *run.State {
	n.t.Helper()
	return n.until(id, func(s *run.State) bool { return s.Status.Terminal() })
}

// parked waits for a run to ask a person.
func (n *node) parked(id string) *run.State {
	n.t.Helper()
	return n.until(id, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval })
}

// has waits for the run to have an event that is the one.
func has[P domainevent.Payload](n *node, id string, is func(P) bool) {
	n.t.Helper()
	n.until(id, func(*run.State) bool {
		for _, p := range payloads[P](n, id) {
			if is(p) {
				return true
			}
		}
		return false
	})
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
	ctx, stop := context.WithTimeout(n.t.Context(), patience)
	defer stop()
	after := int64(0)
	for {
		recs, err := n.store.ReadAll(ctx, after, 512)
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
		if err := n.store.Wait(ctx, after); err != nil {
			n.t.Error(err)
			return
		}
	}
}

// await waits for something that is not in the log.
func await(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s does not happen", what)
	}
}

// eventually waits for something that nobody is told of.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
	}
}

// clientOf is a client of a model server.
func clientOf(base string) model.Client { return model.NewOpenAI(model.Endpoint{BaseURL: base}) }
