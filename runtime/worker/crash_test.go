package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hecate/commands"
	domainevent "hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// dying is a log whose process dies: what was appended until then is durable, and
// nothing more is written, neither events nor leases.
type dying struct {
	eventstore.Store
	last func(eventstore.Batch) bool // whether the process dies after this append
	gone atomic.Bool
	dead chan struct{}
	once sync.Once
}

// newDying makes a process that dies right after the append.
func newDying(log eventstore.Store, last func(eventstore.Batch) bool) *dying {
	return &dying{Store: log, last: last, dead: make(chan struct{})}
}

// after is the nth append, from 1; with 0 the process dies before the first.
func after(n int64) func(eventstore.Batch) bool {
	var done atomic.Int64
	return func(eventstore.Batch) bool { return done.Add(1) >= n }
}

// appends is the first append that holds an event of the type; is may say which one.
func appends[P domainevent.Payload](is ...func(P) bool) func(eventstore.Batch) bool {
	return func(b eventstore.Batch) bool {
		for _, s := range b.Streams {
			for _, e := range s.Events {
				decoded, err := domainevent.Decode(e.Type, e.Schema, e.Data, nil)
				if p, ok := decoded.(P); err == nil && ok && (len(is) == 0 || is[0](p)) {
					return true
				}
			}
		}
		return false
	}
}

// afterIntentOf is the append that says that a call is about to be dispatched.
func afterIntentOf(call string) func(eventstore.Batch) bool {
	return appends(func(i run.DispatchIntended) bool { return i.ToolCallID == call })
}

func (d *dying) die() {
	d.gone.Store(true)
	d.once.Do(func() { close(d.dead) })
}

func (d *dying) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	if d.gone.Load() {
		return eventstore.Appended{}, eventstore.ErrClosed
	}
	done, err := d.Store.Append(ctx, b)
	if err == nil && d.last(b) {
		d.die()
		return eventstore.Appended{}, eventstore.ErrClosed // the answer gets nowhere
	}
	return done, err
}

func (d *dying) Claim(ctx context.Context, instance, stream string, claimsMax int) (int64, error) {
	if d.gone.Load() {
		return 0, eventstore.ErrClosed
	}
	return d.Store.Claim(ctx, instance, stream, claimsMax)
}

func (d *dying) Renew(ctx context.Context, instance string) error {
	if d.gone.Load() {
		return eventstore.ErrClosed
	}
	return d.Store.Renew(ctx, instance)
}

func (d *dying) Release(ctx context.Context, instance string) error {
	if d.gone.Load() {
		return eventstore.ErrClosed
	}
	return d.Store.Release(ctx, instance)
}

func (d *dying) Unclaim(ctx context.Context, instance, stream string) error {
	if d.gone.Load() {
		return eventstore.ErrClosed
	}
	return d.Store.Unclaim(ctx, instance, stream)
}

// story is a run that is taken through a crash at each of its appends.
type story struct {
	name     string
	appends  int64 // that it makes at least
	policies []permission.Policy
	task     task.Definition
	script   scripted.Script
	lead     func(n *node, r commands.RunResult) commands.RunResult // to the run that is meant; nil: the first
	results  string                                                 // of its conversation
	commands []string                                               // that append to the marker; each runs at most once
	unknown  bool                                                   // it may fail, because nobody knows what became of its one call
}

func echo(id, line string) scripted.Call { return shellCall(id, "echo "+line+" >> marker") }

var stories = []story{
	{
		name: "two answers with calls", appends: 4,
		script: scripted.Script{ByTurn: true, Replies: []scripted.Reply{
			calls(echo("c1", "1"), echo("c2", "2"), call("c3", "list_dir")), calls(echo("c4", "4")), text("done"),
		}},
		results: "c1 c2 c3 c4", commands: []string{"1", "2", "4"},
	},
	{
		name: "an approval in the midst", appends: 4, policies: []permission.Policy{permission.PolicyShell},
		script: scripted.Script{ByTurn: true, Replies: []scripted.Reply{
			calls(call("c1", "list_dir")), calls(echo("c2", "2"), echo("c3", "3")), text("done"),
		}},
		results: "c1 c2 c3", commands: []string{"2", "3"},
	},
	{
		name: "a model call that is tried again", appends: 4,
		script: scripted.Script{Func: func(k int, r scripted.Request) scripted.Reply {
			list, _ := messages(r)
			switch {
			case k%2 == 0:
				return scripted.Reply{HTTP: 500}
			case len(list) > 2 && list[len(list)-1].Role == "tool":
				return text("done")
			}
			return calls(echo("c1", "1"))
		}},
		results: "c1", commands: []string{"1"},
	},
	{
		name: "a run that resumes another", appends: 4,
		script: scripted.Script{ByTurn: true, Replies: []scripted.Reply{
			calls(echo("c1", "1"), call("c2", "wait"), echo("c3", "3")), calls(echo("c4", "4")), text("done"),
		}},
		lead: func(n *node, r commands.RunResult) commands.RunResult {
			e := newEffects(n)
			stop := n.run(n.executor)
			defer stop()
			e.waiting(n.t)
			n.cancel(r)
			has(n, r.RunID, func(d run.DispatchSettled) bool { return d.ToolCallID == "c2" })
			return n.resume(r)
		},
		results: "c1 c2 c3 c4", commands: []string{"1", "3", "4"},
	},
	{
		name: "a command of its own", appends: 2, unknown: true,
		task: task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("echo 1 >> marker"), WorkspaceMode: "in_place"}, commands: []string{"1"},
	},
}

// The worker dies after every single append in turn; a second one finishes the
// run. Whatever the point: no command runs twice, the model is told about a call
// whose outcome is unknown, every call has one result, and the run ends.
func TestACrashAfterAnyAppendRepeatsNothing(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			for point := int64(0); ; point++ {
				died := false
				t.Run(fmt.Sprintf("after %d", point), func(t *testing.T) { died = crashAt(t, story, point) })
				if t.Failed() || !died {
					if point < story.appends {
						t.Fatalf("the run needed only %d appends", point)
					}
					return
				}
			}
		})
	}
}

func crashAt(t *testing.T, st story, point int64) (died bool) {
	n := newNode(t, st.script)
	n.executor.Policies = st.policies
	if st.task.ExecutionKind == "" {
		st.task.Prompt = event("go")
	}
	r := n.start(st.task)
	if st.lead != nil {
		r = st.lead(n, r)
	}
	d := newDying(n.store, after(point))
	if point == 0 {
		d.die()
	}
	again := func(c *worker.Config) {
		c.Retry = func(attempt int, err *model.Error) (time.Duration, bool) { return 0, attempt < 3 && !err.Begun }
	}
	stop := n.run(n.on(d), again)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.approveAll(r)
	}()
	select {
	case <-d.dead:
		died = true
	case <-ended:
	}
	stop()
	if died {
		defer n.run(n.executor, again)()
		await(t, "the run's end", ended)
	}
	n.checkStory(st, r.RunID)
	return died
}

// approveAll says yes to whatever a run asks, until it ends.
func (n *node) approveAll(r commands.RunResult) {
	for {
		s := n.until(r.RunID, func(s *run.State) bool { return s.Status.Terminal() || s.Status == run.StatusAwaitingApproval })
		if s.Status.Terminal() {
			return
		}
		n.must(n.executor.ResolveApproval(n.t.Context(), commands.Meta{}, s.TaskID, run.Resolution{ApprovalID: s.Approval.ApprovalID, Decision: "approve"}))
	}
}

// checkStory asserts what must hold of a run, wherever its worker died.
func (n *node) checkStory(st story, id string) {
	n.t.Helper()
	s := n.state(id)
	if s.Status != run.StatusCompleted {
		why := payloads[run.Failed](n, id)
		if !st.unknown || len(why) != 1 || why[0].Reason != "tool_dispatch_outcome_unknown" {
			n.t.Errorf("the run is %s: %+v", s.Status, why)
		}
	}
	var results []string
	for _, m := range s.Conversation {
		if m.Role == run.RoleTool {
			results = append(results, m.ToolCallID)
		}
	}
	if got := strings.Join(results, " "); got != st.results {
		n.t.Errorf("results are %s, want %s", got, st.results)
	}
	marker, err := os.ReadFile(filepath.Join(n.source, "marker"))
	if err != nil && !os.IsNotExist(err) {
		n.t.Fatal(err)
	}
	for _, line := range st.commands {
		if c := strings.Count(string(marker), line+"\n"); c > 1 {
			n.t.Errorf("command %s ran %d times", line, c)
		}
	}
}

// A run that waits for a person survives its process; nothing runs before the yes,
// the model is not asked again, and the same run goes on after it.
func TestAnApprovalSurvivesTheProcess(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		{Calls: []scripted.Call{
			scripted.ToolCall("r1", "list_dir", map[string]string{}),
			scripted.ToolCall("w1", "shell_exec", map[string]string{"command": "echo x >> marker"}),
		}},
		{Text: "done"},
	}})
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	r := n.start(task.Definition{Prompt: event("go")})
	stop := n.run(n.executor)
	n.until(r.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval })
	stop()

	s := n.state(r.RunID)
	if s.Batch.Intents != nil || n.model.Count() != 1 {
		t.Fatalf("before the yes: %d intents, %d model calls", len(s.Batch.Intents), n.model.Count())
	}
	defer n.run(n.executor)()
	_, err := n.executor.ResolveApproval(t.Context(), commands.Meta{}, s.TaskID, run.Resolution{ApprovalID: s.Approval.ApprovalID, Decision: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	<-n.ended(r.RunID)
	if got := n.state(r.RunID); got.Status != run.StatusCompleted || n.model.Count() != 2 {
		t.Fatalf("the run is %s after %d model calls", got.Status, n.model.Count())
	}
	if marker, _ := os.ReadFile(filepath.Join(n.source, "marker")); string(marker) != "x\n" {
		t.Fatalf("marker is %q", marker)
	}
}
