package commands_test

import (
	"crypto/rand"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/eventstore/sqlite"
)

func newExecutor(t *testing.T, policies ...permission.Policy) *commands.Executor {
	t.Helper()
	store, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	x := executorOn(store)
	x.Policies = policies
	return x
}

func executorOn(store eventstore.Store) *commands.Executor {
	return &commands.Executor{
		Store: store, Clock: clock.System{}, ModelCallsMax: 8,
		NewID:   func() [16]byte { return uuid.Must(uuid.NewV7()) },
		NewSalt: func() (s [16]byte) { rand.Read(s[:]); return s },
	}
}

func newTask(t *testing.T, x *commands.Executor, d task.Definition) string {
	t.Helper()
	r, err := x.CreateTask(t.Context(), commands.Meta{}, d)
	if err != nil {
		t.Fatal(err)
	}
	return r.TaskID
}

func agent() task.Definition {
	return task.Definition{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("go")}
}

func shellTask() task.Definition {
	return task.Definition{ExecutionKind: run.KindShell, ShellCommand: event.NewText("echo hi")}
}

// types lists a stream's event types in order.
func types(t *testing.T, x *commands.Executor, stream string) []string {
	t.Helper()
	var out []string
	if err := x.Load(t.Context(), stream, 0, func(e event.Event) { out = append(out, e.Payload.EventType()) }); err != nil {
		t.Fatal(err)
	}
	return out
}

func count(list []string, s string) (n int) {
	for _, l := range list {
		if l == s {
			n++
		}
	}
	return n
}

func isKind(err error, k fault.Kind) bool {
	f, ok := fault.Of(err)
	return ok && f.Kind == k
}

// atOnce calls f n times at the same moment.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}

func TestOfConcurrentStartsExactlyOneOpensARun(t *testing.T) {
	x := newExecutor(t)
	id := newTask(t, x, agent())
	errs := make([]error, 16)
	atOnce(len(errs), func(i int) { _, errs[i] = x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{}) })
	started := 0
	for _, err := range errs {
		switch {
		case err == nil:
			started++
		case !isKind(err, fault.KindConflict):
			t.Errorf("a loser gets %v", err)
		}
	}
	if started != 1 || count(types(t, x, commands.TaskStream(id)), "task.run.opened") != 1 {
		t.Fatalf("%d starts succeeded; the task's events are %v", started, types(t, x, commands.TaskStream(id)))
	}
}

func TestOfConcurrentAnswersExactlyOneCounts(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	id := newTask(t, x, shellTask())
	r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	if r.State.Status != run.StatusAwaitingApproval {
		t.Fatalf("a gated run starts as %s", r.State.Status)
	}
	errs := make([]error, 20)
	atOnce(len(errs), func(i int) {
		_, errs[i] = x.ResolveApproval(t.Context(), commands.Meta{}, id, run.Resolution{ApprovalID: r.State.Approval.ApprovalID, Decision: "approve"})
	})
	yes := 0
	for _, err := range errs {
		switch {
		case err == nil:
			yes++
		case !isKind(err, fault.KindConflict):
			t.Errorf("a late answer gets %v", err)
		}
	}
	got := types(t, x, commands.RunStream(r.RunID))
	if yes != 1 || count(got, "approval.resolved") != 1 || count(got, "run.queued") != 1 {
		t.Fatalf("%d answers counted; events are %v", yes, got)
	}
}

// Approving and cancelling at once ends either way, but never with a cancelled run
// that is queued again.
func TestApprovingARunThatIsBeingCancelled(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	for range 100 {
		id := newTask(t, x, shellTask())
		r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
		if err != nil {
			t.Fatal(err)
		}
		atOnce(2, func(i int) {
			if i == 0 {
				_, err := x.CancelRun(t.Context(), commands.Meta{}, id, r.RunID, "")
				if err != nil {
					t.Errorf("cancel: %v", err)
				}
				return
			}
			_, err := x.ResolveApproval(t.Context(), commands.Meta{}, id, run.Resolution{ApprovalID: r.State.Approval.ApprovalID, Decision: "approve"})
			if err != nil && !isKind(err, fault.KindConflict) {
				t.Errorf("approve: %v", err)
			}
		})
		s, err := x.LoadRun(t.Context(), r.RunID)
		if err != nil {
			t.Fatal(err)
		}
		got := types(t, x, commands.RunStream(r.RunID))
		if s.Status != run.StatusCancelled || s.Approval != nil || got[len(got)-2] != "run.cancelled" || count(got, "approval.resolved") != 1 {
			t.Fatalf("the run is %s: %v", s.Status, got)
		}
	}
}

func TestAnApprovalBelongsToItsTask(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	a, b := newTask(t, x, shellTask()), newTask(t, x, shellTask())
	ra, _ := x.StartRun(t.Context(), commands.Meta{}, a, run.Ahead{})
	rb, err := x.StartRun(t.Context(), commands.Meta{}, b, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	c := run.Resolution{ApprovalID: rb.State.Approval.ApprovalID, Decision: "approve"}
	if _, err := x.ResolveApproval(t.Context(), commands.Meta{}, a, c); !isKind(err, fault.KindNotFound) {
		t.Fatalf("another task's approval gives %v", err)
	}
	for _, id := range []string{ra.RunID, rb.RunID} {
		if s, _ := x.LoadRun(t.Context(), id); s.Status != run.StatusAwaitingApproval {
			t.Errorf("run %s is %s", id, s.Status)
		}
	}
}

func TestATaskWithAnOpenRunStays(t *testing.T) {
	x := newExecutor(t)
	id := newTask(t, x, agent())
	r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.DeleteTask(t.Context(), commands.Meta{}, id); !isKind(err, fault.KindConflict) {
		t.Fatalf("deleting gives %v", err)
	}
	if _, err := x.CancelRun(t.Context(), commands.Meta{}, id, r.RunID, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.DeleteTask(t.Context(), commands.Meta{}, id); err != nil {
		t.Fatal(err)
	}
	if _, err := x.DeleteTask(t.Context(), commands.Meta{}, id); !isKind(err, fault.KindNotFound) {
		t.Fatalf("deleting twice gives %v", err)
	}
	if _, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{}); !isKind(err, fault.KindNotFound) {
		t.Fatalf("starting a deleted task gives %v", err)
	}
}

func TestCallersCannotSpeakInTheRuntimesName(t *testing.T) {
	x := newExecutor(t)
	id := newTask(t, x, agent())
	r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	before := types(t, x, commands.RunStream(r.RunID))
	for _, typ := range []string{"run.finished", "RUN.finished", "approval.resolved", "tool.dispatch.settled", "task.deleted", "a\x00b"} {
		if _, err := x.PostEvent(t.Context(), commands.Meta{}, commands.PostEvent{TaskID: id, RunID: r.RunID, Type: typ}); !isKind(err, fault.KindInvalid) {
			t.Errorf("%q gives %v", typ, err)
		}
	}
	for _, typ := range []string{"", "ci.build", "note"} {
		if _, err := x.PostEvent(t.Context(), commands.Meta{}, commands.PostEvent{TaskID: id, RunID: r.RunID, Type: typ, Data: map[string]any{"run": 1, "x": 2}}); err != nil {
			t.Errorf("%q gives %v", typ, err)
		}
	}
	if after := types(t, x, commands.RunStream(r.RunID)); len(after) != len(before) {
		t.Errorf("the run's own stream grew: %v", after)
	}
}

func TestBadDefinitions(t *testing.T) {
	x := newExecutor(t)
	bad := map[string]task.Definition{
		"nothing":           {},
		"no prompt":         {ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("  \n")},
		"no command":        {ExecutionKind: run.KindShell},
		"unknown kind":      {ExecutionKind: "dance", Prompt: event.NewText("x")},
		"no kind":           {Prompt: event.NewText("x")},
		"negative timeout":  {ExecutionKind: run.KindShell, ShellCommand: event.NewText("x"), TimeoutMS: -1},
		"negative budget":   {ExecutionKind: run.KindShell, ShellCommand: event.NewText("x"), BudgetMicroUSD: -1},
		"unknown mode":      {ExecutionKind: run.KindShell, ShellCommand: event.NewText("x"), WorkspaceMode: "cloud"},
		"relative in place": {ExecutionKind: run.KindShell, ShellCommand: event.NewText("x"), WorkspaceMode: "in_place", WorkingDirectory: "x"},
		"NUL in a path":     {ExecutionKind: run.KindFile, FilePath: "a\x00b"},
	}
	for name, d := range bad {
		if _, err := x.CreateTask(t.Context(), commands.Meta{}, d); !isKind(err, fault.KindInvalid) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if head, _ := x.Store.Head(t.Context()); head != 0 {
		t.Errorf("refused tasks left %d events", head)
	}
	d := agent()
	d.Provider = "p"
	if _, err := x.StartRun(t.Context(), commands.Meta{}, newTask(t, x, d), run.Ahead{}); !isKind(err, fault.KindUnprocessable) {
		t.Errorf("a provider without a model gives %v", err)
	}
}

// What a worker folded may be outdated: its append is refused and nothing is written.
func TestAWorkerThatIsBehindCannotWrite(t *testing.T) {
	x := newExecutor(t)
	id := newTask(t, x, agent())
	r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	stale, err := x.LoadRun(t.Context(), r.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.CancelRun(t.Context(), commands.Meta{}, id, r.RunID, ""); err != nil {
		t.Fatal(err)
	}
	_, err = x.Advance(t.Context(), commands.Meta{}, stale, run.Started{})
	var conflict *eventstore.ConflictError
	if !errors.As(err, &conflict) || conflict.Stream != commands.RunStream(r.RunID) {
		t.Fatalf("the stale worker gets %v", err)
	}
}

// What would have to be asked before a run, where nobody can answer, is an answer at once.
func TestARunThatWouldWaitForNobodyDoesNotStart(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	networked := agent()
	networked.Network = true
	for name, d := range map[string]task.Definition{"shell": shellTask()} {
		id := newTask(t, x, d)
		if _, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{OnAsk: permission.OnAskRefuse}); err != nil {
			t.Errorf("%s: %v", name, err) // the call is refused when it is made
		}
	}
	x.Policies = append(x.Policies, permission.PolicyNetwork)
	id := newTask(t, x, networked)
	if _, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{OnAsk: permission.OnAskRefuse}); !isKind(err, fault.KindConflict) {
		t.Errorf("a run that waits for nobody: %v", err)
	}
	r, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{Yes: true})
	if err != nil || r.State.Status != run.StatusQueued {
		t.Errorf("a run that was said yes to ahead: %+v, %v", r, err)
	}
}
