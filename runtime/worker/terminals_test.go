package worker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hecate/commands"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
	"hecate/tools"
)

// server is a script that detaches a child and then answers what it reads.
const server = `(setsid sh -c 'trap "" TERM HUP INT; echo $$ >>pids; sleep 300' &)
until [ -s pids ]; do sleep 0.01; done
echo $$ >>pids; echo ready
while read l; do echo "got $l"; [ "$l" = end ] && exit 3; done
`

var idInText = regexp.MustCompile(`terminal_id=(terminal_\w+)`)

// talk is a model that hands the id of the terminal it has opened to its later turns.
func talk(turns ...func(id string) scripted.Reply) scripted.Script {
	return scripted.Script{Func: func(k int, r scripted.Request) scripted.Reply {
		id := "none"
		if all := idInText.FindAllSubmatch(r.Body, -1); len(all) > 0 {
			id = string(all[len(all)-1][1])
		}
		return turns[k](id)
	}}
}

// does is a turn that makes one call about the terminal; more are pairs of further arguments.
func does(callID, tool string, more ...any) func(string) scripted.Reply {
	return func(id string) scripted.Reply {
		args := map[string]any{"terminal_id": id}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return calls(scripted.ToolCall(callID, tool, args))
	}
}

// opens is a turn that opens a terminal.
func opens(callID, command string, args ...string) func(string) scripted.Reply {
	return func(string) scripted.Reply {
		return calls(scripted.ToolCall(callID, "terminal_open", map[string]any{"command": command, "args": args}))
	}
}

func says(what string) func(string) scripted.Reply {
	return func(string) scripted.Reply { return text(what) }
}

// serving is a governed node with the script in its source.
func newServing(t *testing.T, turns ...func(string) scripted.Reply) *governed {
	t.Helper()
	g := newGoverned(t, talk(turns...))
	g.write(filepath.Join(g.source, "server"), server)
	return g
}

// pids are the processes that the script has named; it waits for all of them.
func (n *node) pids() (out []string) {
	n.t.Helper()
	eventually(n.t, "the start of the script", func() bool {
		data, _ := os.ReadFile(filepath.Join(n.source, "pids"))
		out = strings.Fields(string(data))
		return len(out) >= 2
	})
	return out
}

// living reports whether a process is there and no zombie.
func living(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(b), ") ")
	return (err == nil || errors.Is(err, syscall.ESRCH)) && !strings.HasPrefix(rest, "Z") && rest != ""
}

// dead checks that none of the script's processes is left, or will be in a moment.
func (n *node) dead(pids []string) {
	n.t.Helper()
	for _, pid := range pids {
		eventually(n.t, "the end of process "+pid, func() bool { return !living(pid) })
	}
}

func allLive(t *testing.T, pids []string) {
	t.Helper()
	for _, pid := range pids {
		if !living(pid) {
			t.Errorf("process %s has ended", pid)
		}
	}
}

func plainly() task.Definition { return task.Definition{Prompt: event("go")} }

// A terminal goes on while other calls are made, and ends with the run, which keeps the
// end of what it wrote.
func TestATerminalLivesAsLongAsItsRun(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), does("b", "terminal_write", "input", "hi\n"),
		func(string) scripted.Reply { return calls(call("c", "look")) }, does("d", "terminal_read"), says("done"))
	var pids []string
	g.tools = append(g.tools, tool("look", func(_ context.Context, env *tools.Env) tools.Result {
		pids = g.pids()
		allLive(t, pids)
		x, _ := env.Terminals.OpenedBy(payloads[run.DispatchIntended](g.node, env.RunID)[0].StepID)
		eventually(t, "the answer", func() bool { written, _ := x.Tail(100); return strings.Contains(written, "got hi") })
		return ok("seen")
	}))
	r := g.start(plainly())
	defer g.run(g.executor)()
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	for _, pid := range pids {
		if living(pid) {
			t.Errorf("process %s outlives the run", pid)
		}
	}
	g.told(r.RunID, "a", "completed terminal_id=terminal_", " running=true")
	g.told(r.RunID, "d", "completed terminal_id=terminal_", " running=true\n--- output ---\nready\n")
	kept := payloads[run.ArtifactRecorded](g.node, r.RunID)
	if len(kept) != 1 || kept[0].Content.String() != "ready\ngot hi\n" || kept[0].Kind != "stdout" || kept[0].Description != "Last output of sh server" {
		t.Errorf("kept is %+v", kept)
	}
	i := payloads[run.DispatchIntended](g.node, r.RunID)
	if len(i) != 4 || i[1].Input["input_chars"] != 3.0 || i[1].Input["input"] != nil {
		t.Errorf("the intents are %+v", i)
	}
}

// While a run waits for a person nobody executes it, and its terminal goes on.
func TestATerminalOutlivesAWaitForAPerson(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), does("b", "terminal_write", "input", "end\n"), does("c", "terminal_wait"), says("done"))
	r := g.start(levels())
	defer g.run(g.executor, g.obey)()
	if s := g.parked(r.RunID); len(s.Approval.Calls) != 1 || s.Approval.Calls[0].Offer == nil || s.Approval.Calls[0].Offer.Scope != "background(sh server)" {
		t.Errorf("it is asked as %+v", s.Approval)
	}
	g.approve(r.RunID)
	g.until(r.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval && s.Batch.Index == 2 })
	allLive(t, g.pids())
	if s := g.state(r.RunID); s.Claim != nil {
		t.Errorf("a parked run is claimed by %+v", s.Claim)
	}
	g.approve(r.RunID)
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	g.told(r.RunID, "c", " running=false exit_code=3\n--- output ---\nready\ngot end\n")
	g.dead(g.pids())
}

// Whatever happens to a run that waits for a person, its terminal does not outlive it.
func TestATerminalEndsWithAParkedRun(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(g *governed, id string, stop func()){
		"cancelled": func(g *governed, id string, _ func()) {
			g.must(g.executor.CancelRun(g.t.Context(), commands.Meta{}, g.state(id).TaskID, id, ""))
		},
		"rejected":       func(g *governed, id string, _ func()) { g.resolve(id, run.Resolution{Decision: "reject"}) },
		"server stopped": func(_ *governed, _ string, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newServing(t, opens("a", "sh", "server"), does("b", "terminal_write", "input", "x\n"))
			r := g.openWith(levels(), run.Ahead{})
			stop := g.run(g.executor, g.obey)
			defer stop()
			g.parked(r.RunID)
			g.approve(r.RunID)
			g.until(r.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval && s.Batch.Index == 2 })
			pids := g.pids()
			allLive(t, pids)
			begun := time.Now()
			ends(g, r.RunID, stop)
			g.dead(pids)
			if took := time.Since(begun); took > patience {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A run that is cancelled while it waits for its terminal ends with that at once.
func TestACancelEndsATerminal(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), does("b", "terminal_wait", "timeout_ms", 60_000))
	r := g.start(plainly())
	defer g.run(g.executor)()
	has(g.node, r.RunID, func(i run.DispatchIntended) bool { return i.ToolCallID == "b" })
	pids := g.pids()
	g.cancel(r)
	g.dead(pids)
	has(g.node, r.RunID, func(a run.ArtifactRecorded) bool { return a.Content.String() == "ready\n" })
}

// A process that stops does not wait for a terminal; the run goes on without it, and is
// told what became of it.
func TestAStoppedServerEndsItsTerminals(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), does("b", "terminal_wait", "timeout_ms", 60_000), does("c", "terminal_read"), says("done"))
	r := g.start(plainly())
	slow := func(c *worker.Config) { c.DrainMax = time.Hour }
	p := g.begin(g.executor, slow)
	has(g.node, r.RunID, func(i run.DispatchIntended) bool { return i.ToolCallID == "b" })
	pids := g.pids()
	p.tell()
	await(t, "the end of the pool", p.done)
	for _, pid := range pids {
		if living(pid) {
			t.Errorf("process %s outlives the server", pid)
		}
	}
	if s := g.state(r.RunID); s.Status != run.StatusQueued {
		t.Errorf("the run is %s", s.Status)
	}
	defer g.run(g.executor)()
	g.end(r.RunID)
	g.told(r.RunID, "b", "failed terminal_wait: the server stopped")
	g.told(r.RunID, "c", "failed terminal_read: terminal \"terminal_", "\" not found; its worker stopped or lost the run, and the process was ended")
}

// Without a lease nothing of it may go on: somebody else may have the run.
func TestALostLeaseEndsTerminals(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), func(string) scripted.Reply { return calls(call("b", "lose")) }, does("c", "terminal_read"), says("done"))
	var pids []string
	g.tools = append(g.tools, tool("lose", func(_ context.Context, env *tools.Env) tools.Result {
		pids = g.pids()
		env.Settings.Lease.End()
		return ok("lost")
	}))
	r := g.start(plainly())
	defer g.run(g.executor, as("a", long))()
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	g.dead(pids)
	g.told(r.RunID, "c", "failed terminal_read: terminal \"terminal_", "the process was ended")
}

// A parked run that another process goes on with loses its terminal.
func TestAnotherWorkersClaimEndsTerminals(t *testing.T) {
	t.Parallel()
	onEachLog(t, func(t *testing.T, c *cluster) {
		c.model = scripted.New(
			scripted.Script{Marker: "elsewhere", Replies: []scripted.Reply{calls(call("x", "hold")), text("done")}},
			talk(opens("a", "sh", "server"), does("b", "terminal_write", "input", "x\n"), says("done")))
		base, stop, err := c.model.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		c.route.Client = clientOf(base)
		if err := os.WriteFile(filepath.Join(c.source, "server"), []byte(server), 0o600); err != nil {
			t.Fatal(err)
		}
		held, free := make(chan struct{}), make(chan struct{})
		c.tools = append(c.tools, tool("hold", func(context.Context, *tools.Env) tools.Result {
			close(held)
			<-free
			return ok("held")
		}))
		one := func(w *worker.Config) { w.Workers = 1 }
		r := c.start(levels())
		defer c.run(c.on(c.stores[0]), as("a", long), one)()
		defer close(free)
		c.parked(r.RunID)
		c.approve(r.RunID)
		c.until(r.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval && s.Batch.Index == 2 })
		pids := c.pids()
		c.start(task.Definition{Prompt: event("elsewhere")})
		await(t, "the other run", held) // node a is busy with it
		defer c.run(c.on(c.stores[1]), as("b", long), one)()
		c.approve(r.RunID)
		c.end(r.RunID)
		c.dead(pids)
		d := payloads[run.DispatchSettled](c.node, r.RunID)
		if len(d) != 2 || !strings.Contains(d[1].Result.String(), "not found; its worker stopped or lost the run") {
			t.Errorf("settlements %+v", d)
		}
	})
}

// A handle is worth nothing in another run.
func TestForeignTerminalsAreNotFound(t *testing.T) {
	t.Parallel()
	id := make(chan string, 1)
	g := newGoverned(t,
		scripted.Script{Marker: "alpha", Func: talk(opens("a", "sh", "server"), func(x string) scripted.Reply {
			id <- x
			return calls(call("b", "hold"))
		}, says("done")).Func},
		scripted.Script{Func: func(k int, _ scripted.Request) scripted.Reply {
			if k > 0 {
				return text("done")
			}
			return does("c", "terminal_write", "input", "end\n")(<-id)
		}})
	g.write(filepath.Join(g.source, "server"), server)
	free := make(chan struct{})
	g.tools = append(g.tools, tool("hold", func(context.Context, *tools.Env) tools.Result { <-free; return ok("held") }))
	first := g.start(task.Definition{Prompt: event("alpha")})
	defer g.run(g.executor)()
	second := g.start(task.Definition{Prompt: event("beta")})
	g.end(second.RunID)
	allLive(t, g.pids())
	if got := g.results(second.RunID)["c"]; !strings.HasPrefix(got, `failed terminal_write: terminal "terminal_`) || !strings.HasSuffix(got, `" not found`) {
		t.Errorf("told is %q", got)
	}
	close(free)
	g.end(first.RunID)
}

// The locks of a call that opened a terminal are held until that ends. They block
// other runs, and no call of this one.
func TestATerminalHoldsItsLocks(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), opens("b", "sh", "server"), does("c", "terminal_kill"),
		func(string) scripted.Reply { return calls(call("d", "look")) }, says("done"))
	g.own("[[locks]]\nname = \"port\"\npatterns = [\"background(sh server)\"]\n")
	var steps []string
	g.tools = append(g.tools, tool("look", func(ctx context.Context, _ *tools.Env) tools.Result {
		eventually(t, "the end of one hold", func() bool {
			held, err := g.store.HeldLocks(ctx)
			steps = nil
			for _, h := range held {
				if h.Name == "port" { // the run has its share of the workspace as well
					steps = append(steps, h.Name+" "+h.Holder.Call)
				}
			}
			return err == nil && len(steps) == 1
		})
		return ok("seen")
	}))
	r := g.openWith(levels(), run.Ahead{YesReally: true})
	defer g.run(g.executor, g.obey)()
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	i := payloads[run.DispatchIntended](g.node, r.RunID)
	if len(i) != 4 || len(i[0].Locks) != 1 || len(i[1].Locks) != 1 || len(i[2].Locks) != 0 {
		t.Fatalf("the intents are %+v", i)
	}
	if len(steps) != 1 || steps[0] != "port "+i[0].StepID {
		t.Errorf("with the second one killed these are held: %v", steps)
	}
	eventually(t, "the end of the last hold", func() bool {
		held, err := g.store.HeldLocks(t.Context())
		return err == nil && len(held) == 0
	})
}

// Looking at a process that runs is a poll, and a read once it has ended.
func TestPollsOfATerminal(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh", "server"), does("b", "terminal_wait", "timeout_ms", 1), does("c", "terminal_kill"), does("d", "terminal_read"), says("done"))
	r := g.openWith(levels(), run.Ahead{YesReally: true})
	defer g.run(g.executor, g.obey)()
	g.end(r.RunID)
	var kinds []repetition.Kind
	for _, d := range payloads[run.DispatchSettled](g.node, r.RunID) {
		if d.Repeat != nil {
			kinds = append(kinds, d.Repeat.Kind)
		}
	}
	if len(kinds) != 4 || kinds[1] != repetition.Poll || kinds[3] != repetition.Read {
		t.Errorf("the calls are %v: %s", kinds, g.types(r.RunID))
	}
}

// What is typed into a shell is denied as if it had been a command, also in pieces.
func TestDenyEntriesHoldForWhatIsTyped(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "sh"), does("b", "terminal_write", "input", "touch made; np"), does("c", "terminal_write", "input", "m install\n"),
		opens("d", "npm", "ci"), opens("e", "env", "npm"), says("done"))
	g.own(pnpm)
	g.executor.Policies = nil
	r := g.start(plainly())
	defer g.run(g.executor, g.obey)()
	// A shell that reads commands could run npm: that asks.
	g.parked(r.RunID)
	g.approve(r.RunID)
	g.end(r.RunID)
	g.told(r.RunID, "a", "completed")
	g.told(r.RunID, "b", "completed")
	for _, id := range []string{"c", "d", "e"} {
		g.told(r.RunID, id, "blocked", "This project uses pnpm.")
	}
	g.absent("made")
}

func TestReadOnlyTasksHaveNoTerminals(t *testing.T) {
	t.Parallel()
	g := newServing(t, opens("a", "cat"), says("done"))
	d := plainly()
	d.ReadOnly = true
	r := g.start(d)
	defer g.run(g.executor)()
	g.end(r.RunID)
	g.told(r.RunID, "a", "blocked", "the task is read-only")
	if offered := offeredTools(t, g.model); strings.Contains(offered, "terminal_") || !strings.Contains(offered, "read_file") {
		t.Errorf("the model is offered %s", offered)
	}
}
