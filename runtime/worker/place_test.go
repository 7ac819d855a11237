package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/worker"
	"hecate/runtime/workspace"
)

// at puts a pool on a machine of its own, with its own directory of workspaces.
func at(host, temp string, shared ...string) func(*worker.Config) {
	return func(c *worker.Config) {
		c.Host, c.Shared, c.Workspaces = host, shared, workspace.NewManager(temp)
		c.Reconcile = 20 * time.Millisecond // looks again and again
	}
}

// looks is a log that counts how often each stream is read from its beginning: a look
// at a run.
type looks struct {
	eventstore.Store
	mu      sync.Mutex
	n       map[string]int
	claimed map[string]int // looks before the first claim
}

func newLooks(log eventstore.Store) *looks {
	return &looks{Store: log, n: map[string]int{}, claimed: map[string]int{}}
}

func (l *looks) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	if after == 0 {
		l.mu.Lock()
		l.n[stream]++
		l.mu.Unlock()
	}
	return l.Store.ReadStream(ctx, stream, after, limit)
}

func (l *looks) Claim(ctx context.Context, instance, stream string, claimsMax int) (int64, error) {
	l.mu.Lock()
	if _, before := l.claimed[stream]; !before {
		l.claimed[stream] = l.n[stream]
	}
	l.mu.Unlock()
	return l.Store.Claim(ctx, instance, stream, claimsMax)
}

func (l *looks) at(runID string) (n, beforeClaim int, claimed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	beforeClaim, claimed = l.claimed["run-"+runID]
	return l.n["run-"+runID], beforeClaim, claimed
}

// A run whose workspace stands where no living process gets to is left alone and says
// so, once; it goes on when a process gets there again.
func TestARunOutOfReachWaits(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		for _, mode := range []string{"ephemeral", "in_place"} {
			here, there := t.TempDir(), t.TempDir()
			c.script(replies(calls(call("a", "count"), shellCall("b", "echo b >> marker")), text("done")))
			c.tools = nil
			e := newEffects(c.node)
			c.executor.Policies = []permission.Policy{permission.PolicyShell}
			r := c.start(task.Definition{Prompt: event("go"), WorkspaceMode: mode})
			stop := c.run(c.on(c.stores[0]), as("a", long), at("here", here))
			c.parked(r.RunID)
			stop()

			log := newLooks(c.stores[1])
			stopB := c.run(c.on(log), as("b", long), at("there", there))
			c.approve(r.RunID)
			has(c.node, r.RunID, func(d run.Disconnected) bool { return d.Action == run.ActionWaiting })
			before, _, _ := log.at(r.RunID)
			eventually(t, "another look", func() bool { n, _, _ := log.at(r.RunID); return n > before+2 })
			g := c.gaps(r.RunID)
			if _, _, claimed := log.at(r.RunID); claimed || len(g) != 1 || g[0].Reason != "workspace_unreachable" || !strings.Contains(g[0].Message, "node a") && !strings.Contains(g[0].Message, "the node that has it") {
				t.Errorf("%s: claimed: %t, gaps %+v", mode, claimed, g)
			}
			if s := c.state(r.RunID); !s.Waiting || s.Status != run.StatusQueued || e.of("a") != 0 {
				t.Errorf("%s: the run is %s, waits: %t", mode, s.Status, s.Waiting)
			}
			stop = c.run(c.on(c.stores[0]), as("a", long), at("here", here))
			s := c.end(r.RunID)
			stop()
			stopB()
			if len(c.gaps(r.RunID)) != 1 || s.Status != run.StatusCompleted || s.Waiting || e.of("a") != 1 {
				t.Errorf("%s: the run is %s: %s", mode, s.Status, c.types(r.RunID))
			}
		}
	})
}

// While a living process gets to the workspace, however busy it is, nobody says anything.
func TestARunWaitsForABusyNodeInSilence(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("b", "echo b >> marker")), text("done")))
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	here := t.TempDir()
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	one := func(c *worker.Config) { c.Workers = 1 }
	stop := n.run(n.executor, as("a", long), at("here", here), one)
	n.parked(r.RunID)
	stop()

	other := n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true"), WorkspaceMode: "ephemeral"})
	n.approve(other.RunID)
	// The one worker of node a is held up from here on.
	log := newLooks(n.store)
	gate := make(chan struct{})
	hold := &watched{Store: n.store, claiming: func(_ context.Context, stream string) {
		if stream == "run-"+other.RunID {
			<-gate
		}
	}}
	defer n.run(n.on(hold), as("a", long), at("here", here), one)()
	eventually(t, "node a", func() bool { live, _ := n.store.Workers(t.Context()); return len(live) == 1 })
	defer n.run(n.on(log), as("b", long), at("there", t.TempDir()))()
	n.approve(r.RunID)
	eventually(t, "some looks", func() bool { k, _, _ := log.at(r.RunID); return k > 3 })
	if g := payloads[run.Disconnected](n, r.RunID); len(g) != 0 {
		t.Errorf("gaps %+v", g)
	}
	close(gate)
	if s := n.end(r.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the run is %s", s.Status)
	}
}

// A directory that both machines reach by the same path takes a run from one to the other.
func TestASharedDirectoryIsReachedFromElsewhere(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("b", "echo b >> marker")), text("done")))
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	shared := filepath.Dir(n.source)
	r := n.start(task.Definition{Prompt: event("go")})
	stop := n.run(n.executor, as("a", long), at("here", t.TempDir(), shared))
	n.parked(r.RunID)
	stop()
	n.approve(r.RunID)
	defer n.run(n.executor, as("b", long), at("there", t.TempDir(), "/elsewhere", shared))()
	s := n.end(r.RunID)
	if marker, _ := os.ReadFile(filepath.Join(n.source, "marker")); s.Status != run.StatusCompleted || string(marker) != "b\n" || len(payloads[run.Disconnected](n, r.RunID)) != 0 {
		t.Errorf("the run is %s: %s", s.Status, n.types(r.RunID))
	}
}

// A run that follows another one begins where the other's workspace stands.
func TestAFollowerGoesWhereTheWorkspaceIs(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("b", "echo b >> marker")), text("one"), text("two")))
	here := t.TempDir()
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	stop := n.run(n.executor, as("a", long), at("here", here))
	n.end(r.RunID)
	stop()
	second := n.goOn(r, "more")
	stopB := n.run(n.executor, as("b", long), at("there", t.TempDir()))
	defer stopB()
	has(n, second.RunID, func(d run.Disconnected) bool { return d.Action == run.ActionWaiting })
	defer n.run(n.executor, as("a", long), at("here", here))()
	s := n.end(second.RunID)
	if marker, _ := os.ReadFile(filepath.Join(s.WorkspacePath, "marker")); s.Status != run.StatusCompleted || string(marker) != "b\n" || s.WorkspacePath != n.state(r.RunID).WorkspacePath {
		t.Errorf("the run is %s in %s: %s", s.Status, s.WorkspacePath, n.types(second.RunID))
	}
}

// A run whose source is not on this machine is left to others for a moment, and then
// fails with a word about what is missing.
func TestARunWhoseSourceIsMissing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	missing := filepath.Join(t.TempDir(), "missing")
	var ids []string
	for _, mode := range []string{"in_place", "ephemeral"} {
		ids = append(ids, n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true"), WorkingDirectory: missing, WorkspaceMode: mode}).RunID)
	}
	log := newLooks(n.store)
	defer n.run(n.on(log), as("a", long), at("here", t.TempDir()))()
	for _, id := range ids {
		s := n.end(id)
		why := payloads[run.Failed](n, id)
		if _, before, _ := log.at(id); before < 2 {
			t.Errorf("claimed at look %d", before)
		}
		if s.Status != run.StatusFailed || why[0].Reason != "workspace_unavailable" || !strings.Contains(why[0].Message, missing) || !strings.Contains(why[0].Message, "does not exist") {
			t.Errorf("the run is %s: %+v", s.Status, why)
		}
	}
}

// Another process had the run between this one's look at it and its claim: what it did
// in the workspace is not done away with.
func TestAClaimAfterSomebodyElsesWork(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("a", "echo a >> marker")), text("done")))
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	looked, claim := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := &watched{Store: n.store, claiming: func(context.Context, string) {
		once.Do(func() {
			close(looked)
			<-claim
		})
	}}
	temp := t.TempDir()
	defer n.run(n.on(slow), as("a", long), at("here", temp))()
	await(t, "the look", looked)
	b := n.begin(n.executor, as("b", long), at("here", temp))
	s := n.parked(r.RunID)
	b.tell()
	<-b.done
	keep := filepath.Join(s.WorkspacePath, "kept")
	if err := os.WriteFile(keep, []byte("by the other process"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.approve(r.RunID)
	close(claim)
	s = n.end(r.RunID)
	if text, err := os.ReadFile(keep); s.Status != run.StatusCompleted || err != nil || string(text) != "by the other process" {
		t.Errorf("the run is %s, the file %q, %v: %s", s.Status, text, err, n.types(r.RunID))
	}
}
