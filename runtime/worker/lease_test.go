package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
	"hecate/tools"
	"hecate/tools/process"
)

// A process that stands still loses its runs when its lease is over, and what it had
// under way ends; another one goes on with them. When it moves again it takes part anew.
func TestAPausedPoolLosesItsRuns(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		const ttl = 5 * time.Second
		c.script(replies(calls(call("a", "hold")), text("done")))
		began, cause := make(chan struct{}), make(chan error, 1)
		c.tools = append(c.tools, tool("hold", func(ctx context.Context, _ *tools.Env) tools.Result {
			close(began)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return tools.Cancelled(ctx, "hold")
		}))
		r := c.start(task.Definition{Prompt: event("go")})
		frail := &paused{Store: c.stores[0]}
		defer c.run(c.on(frail), as("a", ttl))()
		await(t, "the call", began)
		defer c.run(c.on(c.stores[1]), as("b", long))()
		frail.on.Store(true)
		s := c.end(r.RunID)
		if err := <-cause; !errors.Is(err, tools.ErrLeaseLost) {
			t.Errorf("the call ended because of %v", err)
		}
		g := c.gaps(r.RunID)
		if len(g) != 1 || g[0].Reason != "worker_lease_expired" || g[0].Action != run.ActionRequeued || g[0].RecoveryStrategy != "periodic_requeue" ||
			g[0].StaleThresholdMS != ttl.Milliseconds() || !strings.Contains(g[0].Message, "node a") || g[0].PriorStatus != run.StatusRunning {
			t.Errorf("gaps %+v", g)
		}
		if got := c.lastAsked(); s.Status != run.StatusCompleted || got != "user:go a< a>(unknown)" || c.model.Count() != 2 {
			t.Errorf("the run is %s, %d requests, last %s", s.Status, c.model.Count(), got)
		}
		if w := c.writers(r.RunID); !slices.Equal(w, []string{"b"}) {
			t.Errorf("after the takeover %v wrote", w)
		}
		frail.on.Store(false)
		eventually(t, "the return of node a", func() bool { return c.lives("a") })
	})
}

// A process that lost its lease without knowing it records nothing and does nothing
// more for the run, whatever comes of what it had under way.
func TestAZombieWritesNothing(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		c.script(replies(calls(call("a", "wait"), call("b", "count")), text("done")))
		e := newEffects(c.node)
		r := c.start(task.Definition{Prompt: event("go")})
		defer c.run(c.on(c.stores[0]), as("a", long))()
		e.waiting(t)
		c.expel("a")
		stop := c.run(c.on(c.stores[1]), as("b", long))
		s := c.end(r.RunID)
		stop()
		if got := c.lastAsked(); s.Status != run.StatusCompleted || got != "user:go a,b< a>(unknown) b>" {
			t.Errorf("the run is %s, asks %s", s.Status, got)
		}
		close(e.end) // the first process gets its result now
		// It learns of its loss, comes back under a new name and takes the next run.
		other := c.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true")})
		c.end(other.RunID)
		if w := c.writers(r.RunID); !slices.Equal(w, []string{"b"}) || e.of("a") != 1 || e.of("b") != 1 || c.model.Count() != 2 {
			t.Errorf("after the takeover %v wrote; a ran %d times, b %d, %d requests", w, e.of("a"), e.of("b"), c.model.Count())
		}
		if d := payloads[run.DispatchSettled](c.node, r.RunID); len(d) != 2 || d[0].Outcome != run.OutcomeUnknown {
			t.Errorf("settlements %+v", d)
		}
	})
}

// The same in the midst of a model call: its answer comes to nothing.
func TestAZombiesAnswerComesToNothing(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		asked, answer := make(chan struct{}), make(chan struct{})
		c.script(scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply {
			if k > 0 {
				return text("done")
			}
			close(asked)
			<-answer
			return calls(call("late", "count"))
		}})
		e := newEffects(c.node)
		r := c.start(task.Definition{Prompt: event("go")})
		defer c.run(c.on(c.stores[0]), as("a", long))()
		await(t, "the model call", asked)
		c.expel("a")
		stop := c.run(c.on(c.stores[1]), as("b", long))
		s := c.end(r.RunID)
		stop()
		close(answer)
		other := c.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true")})
		c.end(other.RunID)
		if w := c.writers(r.RunID); !slices.Equal(w, []string{"b"}) || s.Status != run.StatusCompleted || s.CallsDone != 1 || e.of("late") != 0 {
			t.Errorf("%v wrote; the run is %s after %d calls", w, s.Status, s.CallsDone)
		}
		if len(payloads[run.ModelCallAbandoned](c.node, r.RunID)) != 1 {
			t.Errorf("events %s", c.types(r.RunID))
		}
	})
}

// The lease is lost between the intent and the effect: the effect does not happen, and
// is reported as unknown.
func TestALeaseLostBeforeTheEffect(t *testing.T) {
	n := newNode(t, replies(calls(call("a", "lease"), call("b", "count"), call("c", "count")), text("done")))
	e := newEffects(n)
	var lease *process.Lease
	n.tools = append(n.tools, tool("lease", func(_ context.Context, env *tools.Env) tools.Result {
		lease = env.Settings.Lease
		return ok("here")
	}))
	intent := afterIntentOf("b")
	log := &watched{Store: n.store, appended: func(b eventstore.Batch) {
		if intent(b) {
			lease.End()
		}
	}}
	r := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.on(log), as("a", long))()
	s := n.end(r.RunID)
	if got := n.lastAsked(); s.Status != run.StatusCompleted || got != "user:go a,b,c< a> b>(unknown) c>" || e.of("b") != 0 || e.of("c") != 1 {
		t.Errorf("the run is %s, b ran %d times: %s", s.Status, e.of("b"), got)
	}
	// The process goes on under another name; it was not restarted.
	if g := payloads[run.Disconnected](n, r.RunID); len(g) != 1 || g[0].Reason != "worker_lease_expired" || g[0].Message != "" {
		t.Errorf("gaps %+v", g)
	}
}

// A node that was restarted takes its own runs back at once, long before its lease is
// over; until then nobody else gets them.
func TestARestartedNodeTakesItsRunsBack(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		c.script(replies(calls(call("a", "count"), call("b", "count")), text("done")))
		e := newEffects(c.node)
		r := c.start(task.Definition{Prompt: event("go")})
		d := newDying(c.stores[0], afterIntentOf("a"))
		stop := c.run(c.on(d), as("a", long))
		await(t, "the crash", d.dead)
		stop()

		defer c.run(c.on(c.stores[1]), as("b", long))()
		other := c.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true")})
		c.end(other.RunID) // node b is at work
		if got := c.gaps(r.RunID); len(got) != 0 {
			t.Errorf("somebody took the run over: %+v", got)
		}
		defer c.run(c.on(c.stores[0]), as("a", long))()
		s := c.end(r.RunID)
		g := c.gaps(r.RunID)
		if s.Status != run.StatusCompleted || len(g) != 1 || g[0].Reason != "boot_reconcile" || g[0].RecoveryStrategy != "requeue" || g[0].Action != run.ActionRequeued {
			t.Errorf("the run is %s: %+v", s.Status, g)
		}
		if w := c.writers(r.RunID); !slices.Equal(w, []string{"a"}) || e.of("b") != 1 {
			t.Errorf("%v wrote, b ran %d times", w, e.of("b"))
		}
	})
}

// However many processes there are, no more runs are executed at a time than allowed,
// in the order in which they were queued, and all of them are.
func TestTheBoundOfAllPools(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		const bound, runs = 3, 24
		var now, most atomic.Int64
		c.tools = append(c.tools, tool("crowd", func(ctx context.Context, _ *tools.Env) tools.Result {
			here := now.Add(1)
			defer now.Add(-1)
			for seen := most.Load(); here > seen && !most.CompareAndSwap(seen, here); seen = most.Load() {
			}
			live, err := c.store.Workers(ctx)
			held := 0
			for _, w := range live {
				held += w.Claims
			}
			if err != nil || held > bound {
				t.Errorf("%d runs are held, %v", held, err)
			}
			return ok("here")
		}))
		c.script(scripted.Script{ByTurn: true, Replies: []scripted.Reply{calls(call("a", "crowd")), text("done")}})
		bounded := func(w *worker.Config) { w.ClaimsMax, w.Workers = bound, 4 }
		defer c.run(c.on(c.stores[0]), as("a", long), bounded)()
		defer c.run(c.on(c.stores[1]), as("b", long), bounded)()
		var ids []string
		for range runs {
			ids = append(ids, c.start(task.Definition{Prompt: event("go")}).RunID)
		}
		for _, id := range ids {
			if s := c.end(id); s.Status != run.StatusCompleted {
				t.Errorf("a run is %s", s.Status)
			}
		}
		if most.Load() > bound || c.model.Count() != 2*runs {
			t.Errorf("%d at a time, %d requests", most.Load(), c.model.Count())
		}
	})
}

// One at a time, runs are executed in the order in which they were queued.
func TestFirstInFirstOut(t *testing.T) {
	t.Parallel()
	for name, workers := range map[string]int{"one worker": 1, "many workers that may not": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			var mu sync.Mutex
			var order []string
			log := &watched{Store: n.store}
			log.appended = func(b eventstore.Batch) {
				for _, s := range b.Streams {
					for _, e := range s.Events {
						if e.Type == "run.claimed" {
							mu.Lock()
							order = append(order, s.Stream)
							mu.Unlock()
						}
					}
				}
			}
			var queued []string
			for range 12 {
				queued = append(queued, "run-"+n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true")}).RunID)
			}
			defer n.run(n.on(log), func(c *worker.Config) { c.Workers, c.ClaimsMax = workers, 1 })()
			for _, stream := range queued {
				n.end(strings.TrimPrefix(stream, "run-"))
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(order, queued) {
				t.Errorf("they were executed in the order %v", positions(order, queued))
			}
		})
	}
}

func positions(order, queued []string) (out []int) {
	for _, s := range order {
		out = append(out, slices.Index(queued, s))
	}
	return out
}

// A hundred runs over two processes: each is executed once, by one of them.
func TestAHundredRunsOverTwoPools(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		const runs = 100
		var mu sync.Mutex
		times := map[string]int{}
		c.tools = append(c.tools, tool("mark", func(_ context.Context, env *tools.Env) tools.Result {
			mu.Lock()
			defer mu.Unlock()
			times[env.RunID]++
			return ok("marked")
		}))
		c.script(scripted.Script{ByTurn: true, Replies: []scripted.Reply{calls(call("a", "mark")), text("done")}})
		four := func(w *worker.Config) { w.Workers = 4 }
		defer c.run(c.on(c.stores[0]), as("a", long), four)()
		defer c.run(c.on(c.stores[1]), as("b", long), four)()
		ids := make([]string, runs)
		var wg sync.WaitGroup
		for part := range 4 {
			wg.Go(func() {
				for i := part; i < runs; i += 4 {
					ids[i] = c.start(task.Definition{Prompt: event("go")}).RunID
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			s := c.end(id)
			if claims := payloads[run.Claimed](c.node, id); s.Status != run.StatusCompleted || len(claims) != 1 || len(c.gaps(id)) != 0 || len(payloads[run.Started](c.node, id)) != 1 {
				t.Errorf("a run is %s: %s", s.Status, c.types(id))
			}
			mu.Lock()
			if times[id] != 1 {
				t.Errorf("its call ran %d times", times[id])
			}
			mu.Unlock()
		}
		if c.model.Count() != 2*runs {
			t.Errorf("%d requests, want %d", c.model.Count(), 2*runs)
		}
		if stats, err := c.store.WorkStats(t.Context()); err != nil || stats.Waiting+stats.Claimed != 0 {
			t.Errorf("left over: %+v, %v", stats, err)
		}
	})
}

// A run that takes its worker down again and again without getting anywhere ends with
// a word that says so; one that gets somewhere in between does not.
func TestARunThatTakesItsWorkerDown(t *testing.T) {
	n := newNode(t, scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply { return calls(call(fmt.Sprint("k", k), "count")) }})
	newEffects(n)
	n.executor.ModelCallsMax = 40
	r := n.start(task.Definition{Prompt: event("go")})
	crash := func(at func(eventstore.Batch) bool) {
		t.Helper()
		d := newDying(n.store, at)
		stop := n.run(n.on(d), as("a", long))
		await(t, "the crash", d.dead)
		stop()
	}
	for range 5 {
		crash(appends[run.ModelCallStarted]())
	}
	crash(appends[run.DispatchSettled]()) // it gets somewhere
	for range 5 {                         // with the one before six without a new fact
		crash(appends[run.ModelCallStarted]())
	}
	before := n.model.Count()
	defer n.run(n.executor, as("a", long))()
	s := n.end(r.RunID)
	if why := payloads[run.Failed](n, r.RunID); s.Status != run.StatusFailed || why[0].Reason != "recovery_exhausted" || n.model.Count() != before {
		t.Errorf("the run is %s: %+v", s.Status, why)
	}
}
