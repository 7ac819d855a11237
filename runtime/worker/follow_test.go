package worker_test

import (
	"context"
	"sync"
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/tools"
)

// effects counts how often each call was carried out. Its tools: count returns at
// once, wait goes on until it is told to end, in whatever way.
type effects struct {
	mu    sync.Mutex
	done  map[string]int // by run and call
	began chan string    // calls of wait that have begun
	end   chan struct{}  // closed to let them return
}

func newEffects(n *node) *effects {
	e := &effects{done: map[string]int{}, began: make(chan string, 64), end: make(chan struct{})}
	n.tools = append(n.tools,
		tool("count", func(_ context.Context, env *tools.Env) tools.Result {
			e.note(env)
			return ok("counted")
		}),
		tool("wait", func(ctx context.Context, env *tools.Env) tools.Result {
			e.note(env)
			e.began <- env.ToolCallID
			select {
			case <-e.end:
				return ok("waited")
			case <-ctx.Done():
				return tools.Cancelled(ctx, "wait")
			}
		}))
	return e
}

func (e *effects) note(env *tools.Env) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[env.ToolCallID]++
}

func (e *effects) of(call string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done[call]
}

func (e *effects) waiting(t testing.TB) {
	t.Helper()
	began := make(chan struct{})
	go func() {
		<-e.began
		close(began)
	}()
	await(t, "the call", began)
}

func call(id, tool string) scripted.Call { return scripted.ToolCall(id, tool, map[string]string{}) }

func shellCall(id, command string) scripted.Call {
	return scripted.ToolCall(id, "shell_exec", map[string]string{"command": command})
}

func calls(c ...scripted.Call) scripted.Reply { return scripted.Reply{Calls: c} }

func text(s string) scripted.Reply { return scripted.Reply{Text: s} }

// ending is a way in which a run ends and how the next one takes it up.
type ending struct {
	name     string
	replies  []scripted.Reply
	policies []permission.Policy
	callsMax int64
	lead     func(n *node, e *effects, r commands.RunResult) // to the end; nil: it gets there by itself

	resumed, continued string // first request of the run that follows; "" if it cannot
	open               []string
}

const more = "and now?"

var endings = []ending{
	{
		name:    "before it began",
		lead:    func(n *node, _ *effects, r commands.RunResult) { n.cancel(r) },
		resumed: "user:go",
	},
	{
		name: "in a model call", replies: []scripted.Reply{{HangAfterText: true, Text: "half an ans"}},
		lead: func(n *node, _ *effects, r commands.RunResult) {
			stop := n.run(n.executor)
			defer stop()
			eventually(n.t, "the model call", func() bool { return n.model.Count() == 1 })
			n.cancel(r)
		},
		resumed: "user:go", continued: "user:go user:" + more,
	},
	{
		name: "waiting for a person", replies: []scripted.Reply{calls(call("a", "count"), scripted.ToolCall("b", "shell_exec", map[string]string{"command": "true"}))},
		policies: []permission.Policy{permission.PolicyShell},
		lead: func(n *node, _ *effects, r commands.RunResult) {
			stop := n.run(n.executor)
			defer stop()
			n.parked(r.RunID)
			n.cancel(r)
		},
		resumed: "user:go a,b< a> b>", continued: "user:go a,b< a>(skipped) b>(skipped) user:" + more,
		open: []string{"a"},
	},
	{
		name: "in the midst of its calls", replies: []scripted.Reply{calls(call("a", "count"), call("b", "wait"), call("c", "count"))},
		lead: func(n *node, e *effects, r commands.RunResult) {
			stop := n.run(n.executor)
			defer stop()
			e.waiting(n.t)
			n.cancel(r)
			has(n, r.RunID, func(d run.DispatchSettled) bool { return d.ToolCallID == "b" })
		},
		resumed: "user:go a,b,c< a> b>(cancelled) c>", continued: "user:go a,b,c< a> b>(cancelled) c>(skipped) user:" + more,
		open: []string{"c"},
	},
	{
		name: "with a call that vanished", replies: []scripted.Reply{calls(call("a", "count"), call("b", "count"), call("c", "count"))},
		lead: func(n *node, _ *effects, r commands.RunResult) {
			d := newDying(n.store, afterIntentOf("b"))
			stop := n.run(n.on(d))
			await(n.t, "the crash", d.dead)
			stop()
			n.cancel(r)
		},
		resumed: "user:go a,b,c< a> b>(unknown) c>", continued: "user:go a,b,c< a> b>(unknown) c>(skipped) user:" + more,
		open: []string{"c"},
	},
	{
		name: "at the most model calls", replies: []scripted.Reply{calls(call("a", "count"))}, callsMax: 1,
		resumed: "user:go a< a>", continued: "user:go a< a> user:" + more,
	},
	{
		name: "with a blank answer", replies: []scripted.Reply{calls(call("a", "count")), text(" \n\t")},
		resumed: "user:go a< a>", continued: "user:go a< a> user:" + more,
	},
	{
		name: "with calls that cannot be told apart", replies: []scripted.Reply{calls(call("x", "count"), call("x", "count"))},
		resumed: "user:go", continued: "user:go user:" + more,
	},
	{
		name: "with a call without an id", replies: []scripted.Reply{calls(call("a", "count")), calls(call("", "count"))},
		resumed: "user:go a< a>", continued: "user:go a< a> user:" + more,
	},
	{
		name: "with a refused model call", replies: []scripted.Reply{calls(call("a", "count")), {HTTP: 400}},
		resumed: "user:go a< a>", continued: "user:go a< a> user:" + more,
	},
	{
		name: "with a broken answer", replies: []scripted.Reply{{Text: "half an ans", CloseAfterText: true}},
		resumed: "user:go", continued: "user:go user:" + more,
	},
	{
		name: "with broken arguments", replies: []scripted.Reply{calls(scripted.ToolCall("a", "read_file", `{"path": "a.txt`), call("b", "count"))}, callsMax: 1,
		resumed: "user:go a,b< a>(invalid) b>", continued: "user:go a,b< a>(invalid) b> user:" + more,
	},
	{
		name: "well", replies: []scripted.Reply{calls(call("a", "count")), text("fine")},
		continued: "user:go a< a> fine user:" + more,
	},
}

// However a run ends, another one takes up its conversation where it stopped: nothing
// is done twice, nothing is left out, and every request is one that a provider takes.
func TestARunTakesUpWhereAnotherEnded(t *testing.T) {
	for _, c := range endings {
		for _, way := range []string{"resume", "continue"} {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				takeUp(t, c, way)
			})
		}
	}
}

func takeUp(t *testing.T, c ending, way string) {
	n := newNode(t, scripted.Script{Replies: append(append([]scripted.Reply{}, c.replies...), text("second"), text("third"), text("fourth"))})
	e := newEffects(n)
	n.executor.Policies = c.policies
	if c.callsMax > 0 {
		n.executor.ModelCallsMax = c.callsMax
	}
	first := n.start(task.Definition{Prompt: event("go")})
	if c.lead != nil {
		c.lead(n, e, first)
	} else {
		stop := n.run(n.executor)
		n.end(first.RunID)
		stop()
	}
	close(e.end)
	n.executor.ModelCallsMax = 8
	before := n.model.Count()

	want := c.resumed
	if way == "continue" {
		want = c.continued
	}
	if want == "" {
		refused(t, n, way, first)
		return
	}
	defer n.run(n.executor)()
	var second commands.RunResult
	if way == "resume" {
		second = n.resume(first)
		for _, call := range c.open {
			if e.of(call) != 0 {
				t.Errorf("call %s ran although it was left open", call)
			}
		}
	} else {
		second = n.goOn(first, more)
	}
	if way == "resume" && c.policies != nil {
		n.parked(second.RunID)
		n.approve(second.RunID)
	}
	s := n.end(second.RunID)
	if got := n.lastAsked(); got != want || n.model.Count() != before+1 {
		t.Errorf("the second run asks %d times, last:\n%s\nwant:\n%s", n.model.Count()-before, got, want)
	}
	if s.Status != run.StatusCompleted || s.CallsDone != 1 || s.CallsStarted != 1 {
		t.Errorf("the second run is %s after %d calls: %s", s.Status, s.CallsDone, n.types(second.RunID))
	}
	third := n.goOn(second, "more")
	n.end(third.RunID)
	if got := n.lastAsked(); got != want+" second user:more" {
		t.Errorf("the third run asks:\n%s\nwant:\n%s", got, want+" second user:more")
	}
	fourth := n.branch(second, 1)
	n.end(fourth.RunID)
	if got := n.lastAsked(); got != want {
		t.Errorf("a branch of the second run asks:\n%s\nwant:\n%s", got, want)
	}
	e.mu.Lock()
	for call, times := range e.done {
		if times != 1 {
			t.Errorf("call %s ran %d times", call, times)
		}
	}
	e.mu.Unlock()
	for _, call := range c.open {
		if way == "continue" && e.of(call) != 0 {
			t.Errorf("call %s ran although the conversation went on without it", call)
		}
	}
}

// refused checks that a run cannot be followed in this way.
func refused(t *testing.T, n *node, way string, r commands.RunResult) {
	t.Helper()
	var err error
	if way == "resume" {
		_, err = n.executor.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: r.State.TaskID, RunID: r.RunID})
	} else {
		_, err = n.executor.ContinueRun(t.Context(), commands.Meta{}, r.State.TaskID, r.RunID, more, run.Ahead{})
	}
	if _, is := fault.Of(err); !is {
		t.Errorf("%s gives %v", way, err)
	}
}
