package worker_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/tools"
)

// A tool that panics, wherever, is an answer to the model.
func TestAToolThatPanics(t *testing.T) {
	n := newNode(t, replies(calls(call("a", "reads"), call("b", "acts"), call("c", "count")), text("done")))
	e := newEffects(n)
	n.tools = append(n.tools,
		tools.Tool{Name: "reads", Schema: json.RawMessage(`{"type":"object"}`), Prepare: func(json.RawMessage) (tools.Prepared, error) { panic("reading") }},
		tool("acts", func(context.Context, *tools.Env) tools.Result { panic("acting") }))
	r := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	s := n.end(r.RunID)
	d := payloads[run.DispatchSettled](n, r.RunID)
	if s.Status != run.StatusCompleted || len(d) != 3 || e.of("c") != 1 {
		t.Fatalf("the run is %s: %s", s.Status, n.types(r.RunID))
	}
	for i, word := range []string{"reading", "acting"} {
		if got := d[i].Result.String(); !d[i].ToolError || !strings.Contains(got, "internal error: "+word) {
			t.Errorf("the model is told %q", got)
		}
	}
}

// shaky is a client in which something panics once, when it first has a result to write.
type shaky struct {
	model.Client
	once atomic.Bool
}

func (s *shaky) Encode(m run.Message) (model.Encoded, error) {
	if m.Role == run.RoleTool && s.once.CompareAndSwap(false, true) {
		panic("shaken")
	}
	return s.Client.Encode(m)
}

// What was obtained before a panic in the runtime itself is kept: the model is not
// asked, and the tool not run, again.
func TestAPanicLosesNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t, replies(calls(call("a", "count")), text("done")))
	e := newEffects(n)
	n.route.Client = &shaky{Client: n.route.Client}
	r := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	s := n.end(r.RunID)
	g := payloads[run.Disconnected](n, r.RunID)
	if s.Status != run.StatusCompleted || n.model.Count() != 2 || n.lastAsked() != "user:go a< a>" || e.of("a") != 1 {
		t.Errorf("the run is %s after %d requests, the last %s", s.Status, n.model.Count(), n.lastAsked())
	}
	if len(g) != 1 || !strings.Contains(g[0].Message, "panic: shaken") {
		t.Errorf("gaps %+v", g)
	}
}

// Who has a run stands in the log before its workspace is made, which may take long and
// may take the process down.
func TestAClaimIsRecordedBeforeTheWorkspaceIsMade(t *testing.T) {
	n := newNode(t)
	first := appends[run.Claimed]()
	var made atomic.Bool
	log := &watched{Store: n.store, appended: func(b eventstore.Batch) {
		if first(b) {
			entries, _ := os.ReadDir(n.temp + "/hecate-workspaces")
			for _, e := range entries {
				made.Store(made.Load() || strings.HasPrefix(e.Name(), "task_"))
			}
		}
	}}
	r := n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true"), WorkspaceMode: "ephemeral"})
	defer n.run(n.on(log))()
	if s := n.end(r.RunID); s.Status != run.StatusCompleted || made.Load() {
		t.Errorf("the run is %s; there was a workspace: %t", s.Status, made.Load())
	}
}

// A process that goes down again and again before it has even begun with a run counts
// as one that goes down in it.
func TestARunThatTakesItsWorkerDownBeforeItBegins(t *testing.T) {
	n := newNode(t)
	r := n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true"), WorkspaceMode: "ephemeral"})
	for range 6 {
		d := newDying(n.store, appends[run.Claimed]())
		stop := n.run(n.on(d), as("a", long))
		await(t, "the crash", d.dead)
		stop()
		if s := n.state(r.RunID); s.Begun || s.Status != run.StatusQueued {
			t.Fatalf("the run is %s: %s", s.Status, n.types(r.RunID))
		}
	}
	defer n.run(n.executor, as("a", long))()
	s := n.end(r.RunID)
	if why := payloads[run.Failed](n, r.RunID); s.Status != run.StatusFailed || why[0].Reason != "recovery_exhausted" {
		t.Errorf("the run is %s: %+v", s.Status, why)
	}
}

// The result of a call whose run was cancelled meanwhile is recorded, also if the log
// is away for a moment.
func TestALateResultIsTriedAgain(t *testing.T) {
	t.Parallel()
	n := newNode(t, replies(calls(call("a", "wait"))))
	e := newEffects(n)
	late := appends[run.DispatchSettled]()
	log := &refusing{Store: n.store}
	var tries atomic.Int64
	log.refuse = func(b eventstore.Batch) bool {
		return late(b) && tries.Add(1) == 2 // the first meets the cancel
	}
	r := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.on(log))()
	e.waiting(t)
	n.cancel(r)
	has(n, r.RunID, func(d run.DispatchSettled) bool { return d.Outcome == run.OutcomeCancelled })
	if n := tries.Load(); n < 3 {
		t.Errorf("%d tries", n)
	}
}

// refusing is a log that cannot write now and then.
type refusing struct {
	eventstore.Store
	refuse func(eventstore.Batch) bool
}

func (r *refusing) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	if r.refuse(b) {
		return eventstore.Appended{}, context.DeadlineExceeded
	}
	return r.Store.Append(ctx, b)
}
