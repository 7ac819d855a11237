package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
	"hecate/tools"
)

// handedBack checks that a run stands before the workers again, without a gap.
func (c *cluster) handedBack(id string) {
	c.t.Helper()
	s := c.state(id)
	q := payloads[run.Queued](c.node, id)
	if s.Status != run.StatusQueued || s.Claim != nil || len(q) < 2 || !q[len(q)-1].Resume || len(c.gaps(id)) != 0 {
		c.t.Errorf("the run is %s: %s", s.Status, c.types(id))
	}
}

// A pool that is told to stop gives a model call up at once; another process makes it
// again at once, long before any lease is over.
func TestStoppingInAModelCall(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		c.script(replies(scripted.Reply{Text: "half an ans", HangAfterText: true}, text("done")))
		r := c.start(task.Definition{Prompt: event("go")})
		a := c.begin(c.on(c.stores[0]), as("a", long))
		eventually(t, "the model call", func() bool { return c.model.Count() == 1 })
		a.tell()
		await(t, "the end of the pool", a.done) // it may take an hour to drain
		c.handedBack(r.RunID)
		if p := payloads[run.ModelCallAbandoned](c.node, r.RunID); len(p) != 1 || !strings.Contains(p[0].Reason, "server stopped") {
			t.Errorf("given up: %+v", p)
		}
		if c.lives("a") {
			t.Error("the lease was not given back")
		}
		defer c.run(c.on(c.stores[1]), as("b", long))()
		s := c.end(r.RunID)
		if got := c.asked(); s.Status != run.StatusCompleted || len(got) != 2 || got[1] != "user:go" || s.CallsDone != 1 || len(c.gaps(r.RunID)) != 0 {
			t.Errorf("the run is %s: %q", s.Status, got)
		}
	})
}

// A command under way may end while the pool stops, and its result is recorded. Nothing
// is begun after it; another process goes on behind it.
func TestStoppingInACommand(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		c.script(replies(calls(
			scripted.ToolCall("a", "shell_exec", map[string]string{"command": "touch begun; while [ ! -e go-on ]; do sleep 0.01; done; echo a >> marker"}),
			scripted.ToolCall("b", "shell_exec", map[string]string{"command": "echo b >> marker"}),
		), text("done")))
		r := c.start(task.Definition{Prompt: event("go"), TimeoutMS: 60_000})
		file := func(name string) string { return filepath.Join(c.source, name) }
		a := c.begin(c.on(c.stores[0]), as("a", long))
		eventually(t, "the command", func() bool {
			_, err := os.Stat(file("begun"))
			return err == nil
		})
		defer c.run(c.on(c.stores[1]), as("b", long))()
		a.tell()
		if err := os.WriteFile(file("go-on"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, "the end of the pool", a.done)
		s := c.end(r.RunID)
		marker, _ := os.ReadFile(file("marker"))
		if got := c.lastAsked(); s.Status != run.StatusCompleted || got != "user:go a,b< a> b>" || string(marker) != "a\nb\n" {
			t.Errorf("the run is %s, asks %s, marker %q", s.Status, got, marker)
		}
		if d := payloads[run.DispatchSettled](c.node, r.RunID); d[0].Outcome != run.OutcomeCompleted {
			t.Errorf("the command's outcome is %+v", d[0])
		}
		if claims := payloads[run.Claimed](c.node, r.RunID); len(claims) != 2 || claims[0].NodeID != "a" || claims[1].NodeID != "b" || len(c.gaps(r.RunID)) != 0 {
			t.Errorf("events %s", c.types(r.RunID))
		}
	})
}

// A call that does not end in time is ended, which is recorded; the run is handed back.
func TestACallThatOutlastsTheStop(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		c.script(replies(calls(scripted.ToolCall("a", "shell_exec", map[string]string{"command": "echo a >> marker; sleep 300"}), call("b", "count")), text("done")))
		e := newEffects(c.node)
		r := c.start(task.Definition{Prompt: event("go"), TimeoutMS: 600_000})
		marker := filepath.Join(c.source, "marker")
		a := c.begin(c.on(c.stores[0]), as("a", long), func(w *worker.Config) { w.DrainMax = time.Millisecond })
		eventually(t, "the command", func() bool {
			text, _ := os.ReadFile(marker)
			return string(text) == "a\n"
		})
		a.tell()
		await(t, "the end of the pool", a.done)
		c.handedBack(r.RunID)
		d := payloads[run.DispatchSettled](c.node, r.RunID)
		if len(d) != 1 || d[0].Outcome != run.OutcomeFailed || d[0].ErrorKind != tools.KindInterrupted || e.of("b") != 0 {
			t.Fatalf("settled %+v", d)
		}
		defer c.run(c.on(c.stores[1]), as("b", long))()
		s := c.end(r.RunID)
		text, _ := os.ReadFile(marker)
		if s.Status != run.StatusCompleted || string(text) != "a\n" || e.of("b") != 1 || len(c.gaps(r.RunID)) != 0 {
			t.Errorf("the run is %s: %s", s.Status, c.types(r.RunID))
		}
	})
}

// Runs that wait for a worker stay where they are when the pool stops.
func TestStoppingWithRunsThatWait(t *testing.T) {
	n := newNode(t, scripted.Script{ByTurn: true, Replies: []scripted.Reply{calls(call("a", "wait")), text("done")}})
	e := newEffects(n)
	one := func(c *worker.Config) { c.Workers, c.DrainMax = 1, time.Hour }
	var ids []string
	for range 5 {
		ids = append(ids, n.start(task.Definition{Prompt: event("go")}).RunID)
	}
	p := n.begin(n.executor, one)
	e.waiting(t)
	p.tell()
	close(e.end)
	await(t, "the end of the pool", p.done)
	for i, id := range ids {
		if got := n.types(id); i > 0 && got != "run.created run.queued" {
			t.Errorf("run %d: %s", i, got)
		}
	}
	defer n.run(n.executor, one)()
	for _, id := range ids {
		if s := n.end(id); s.Status != run.StatusCompleted {
			t.Errorf("a run is %s", s.Status)
		}
	}
}

// A pool whose log is away while it stops does not stand still.
func TestStoppingWithoutALog(t *testing.T) {
	n := newNode(t, replies(calls(call("a", "wait")), text("done")))
	e := newEffects(n)
	r := n.start(task.Definition{Prompt: event("go")})
	d := newDying(n.store, after(1<<30))
	p := n.begin(n.on(d), func(c *worker.Config) { c.DrainMax = time.Hour })
	e.waiting(t)
	d.die()
	p.tell()
	close(e.end)
	await(t, "the end of the pool", p.done)
	if s := n.state(r.RunID); s.Status != run.StatusRunning {
		t.Errorf("the run is %s", s.Status)
	}
	defer n.run(n.executor)()
	if s := n.end(r.RunID); s.Status != run.StatusCompleted || n.lastAsked() != "user:go a< a>(unknown)" {
		t.Errorf("then it is %s: %s", s.Status, n.lastAsked())
	}
}
