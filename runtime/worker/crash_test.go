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

	"hecate/commands"
	domainevent "hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model/scripted"
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

// The worker dies after every single append in turn; a second one finishes the
// run. Whatever the point: no command runs twice, the model is told about a call
// whose outcome is unknown, every call has one result, and the run ends.
func TestACrashAfterAnyAppendRepeatsNothing(t *testing.T) {
	for point := int64(0); ; point++ {
		died := false
		t.Run(fmt.Sprintf("after %d", point), func(t *testing.T) { died = crashAt(t, point) })
		if t.Failed() || !died {
			if point < 4 {
				t.Fatalf("the run needed only %d appends", point)
			}
			return
		}
	}
}

func crashAt(t *testing.T, point int64) (died bool) {
	n := newNode(t, scripted.Script{ByTurn: true, Replies: []scripted.Reply{
		{Calls: []scripted.Call{
			scripted.ToolCall("c1", "shell_exec", map[string]string{"command": "echo 1 >> marker"}),
			scripted.ToolCall("c2", "shell_exec", map[string]string{"command": "echo 2 >> marker"}),
			scripted.ToolCall("c3", "list_dir", map[string]string{}),
		}},
		{Calls: []scripted.Call{scripted.ToolCall("c4", "shell_exec", map[string]string{"command": "echo 4 >> marker"})}},
		{Text: "done"},
	}})
	r := n.start(task.Definition{Prompt: event("go")})

	d := newDying(n.store, after(point))
	if point == 0 {
		d.die()
	}
	stop := n.run(n.on(d))
	ended := n.ended(r.RunID)
	select {
	case <-d.dead:
		died = true
	case <-ended:
	}
	stop()
	if died {
		defer n.run(n.executor)()
		await(t, "the run's end", ended)
	}
	n.checkHistory(r.RunID)
	marker, err := os.ReadFile(filepath.Join(n.source, "marker"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, line := range []string{"1", "2", "4"} {
		if c := strings.Count(string(marker), line+"\n"); c > 1 {
			t.Errorf("command %s ran %d times", line, c)
		}
	}
	return died
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
	_, err := n.executor.ResolveApproval(t.Context(), commands.Meta{}, commands.ResolveApproval{
		TaskID: s.TaskID, ApprovalID: s.Approval.ApprovalID, Decision: "approve",
	})
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
