package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
	"hecate/tools"
)

// A run that follows one that is still being brought to rest here waits for that, and
// then begins at once: they share a workspace.
func TestAFollowerWaitsForItsSourceToComeToRest(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{calls(call("a", "stubborn"), call("b", "count")), text("done")}})
	e := newEffects(n)
	began, rest := make(chan struct{}), make(chan struct{})
	n.tools = append(n.tools, tool("stubborn", func(ctx context.Context, _ *tools.Env) tools.Result {
		close(began)
		<-ctx.Done()
		<-rest
		return tools.Cancelled(ctx, "stubborn")
	}))
	first := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor, func(c *worker.Config) { c.Reconcile = time.Hour })()
	await(t, "the call", began)
	n.cancel(first)
	second := n.resume(first)
	// Another run shows that the workers have seen the second one by now.
	other := n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true")})
	n.end(other.RunID)
	if got := n.types(second.RunID); strings.Contains(got, "run.started") || e.of("b") != 0 {
		t.Errorf("the second run began before the first was at rest: %s", got)
	}
	close(rest)
	if s := n.end(second.RunID); s.Status != run.StatusCompleted || e.of("b") != 1 {
		t.Errorf("the run is %s: %s", s.Status, n.types(second.RunID))
	}
}

// At the limit of model calls every call has its result, and the run that resumes gets
// a count of its own.
func TestTheLimitOfModelCallsLeavesNoCallOpen(t *testing.T) {
	read := func(id string) scripted.Reply {
		return calls(scripted.ToolCall(id, "read_file", map[string]string{"path": "a"}))
	}
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{read("k1"), read("k2"), read("k3"), text("finally")}})
	if err := os.WriteFile(filepath.Join(n.source, "a"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.executor.ModelCallsMax = 3
	first := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	s := n.end(first.RunID)
	why := payloads[run.Failed](n, first.RunID)
	if s.Status != run.StatusFailed || n.model.Count() != 3 || why[0].Reason != "max_model_calls_exceeded" || why[0].ModelCallCount != 3 || !strings.Contains(why[0].Message, "maximum of 3") {
		t.Fatalf("%s after %d requests: %+v", s.Status, n.model.Count(), why)
	}
	second := n.resume(first)
	s = n.end(second.RunID)
	if got, want := n.lastAsked(), "user:go k1< k1> k2< k2> k3< k3>"; got != want || n.model.Count() != 4 {
		t.Errorf("request %d: %s, want %s", n.model.Count(), got, want)
	}
	if started := payloads[run.ModelCallStarted](n, second.RunID); s.Status != run.StatusCompleted || s.CallsDone != 1 || started[0].ModelCallIndex != 1 {
		t.Errorf("%s with %d calls, %+v", s.Status, s.CallsDone, started)
	}
}

// Calls that a run inherits are decided about and asked for anew, whatever was allowed
// before. What follows from that names the run whose model asked for them.
func TestInheritedCallsAreAskedForAgain(t *testing.T) {
	shell := func(id string) scripted.Call {
		return scripted.ToolCall(id, "shell_exec", map[string]string{"command": "echo " + id + " >> marker"})
	}
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{calls(shell("a"), call("b", "wait"), shell("c")), text("done")}})
	e := newEffects(n)
	defer close(e.end)
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	first := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	asked := n.parked(first.RunID).Approval
	n.approve(first.RunID)
	e.waiting(t)
	n.cancel(first)
	has(n, first.RunID, func(d run.DispatchSettled) bool { return d.ToolCallID == "b" })

	second := n.resume(first)
	s := n.parked(second.RunID)
	again := s.Approval
	if again.Digest == asked.Digest || again.ApprovalID == asked.ApprovalID || s.Granted != nil {
		t.Errorf("what was allowed is inherited: %+v, %+v", again, s.Granted)
	}
	if again.SourceRunID != first.RunID || again.SourceIndex != 1 || again.ModelCallIndex != 0 || len(again.Calls) != 1 || again.Calls[0].ToolCallID != "c" {
		t.Errorf("the request is %+v", again)
	}
	_, err := n.executor.ResolveApproval(t.Context(), commands.Meta{}, s.TaskID, run.Resolution{ApprovalID: asked.ApprovalID, Decision: "approve"})
	if f, is := fault.Of(err); !is || f.Kind != fault.KindConflict {
		t.Errorf("the old yes once more gives %v", err)
	}
	if marker, _ := os.ReadFile(filepath.Join(n.source, "marker")); string(marker) != "a\n" {
		t.Errorf("before the second yes: %q", marker)
	}
	n.approve(second.RunID)
	s = n.end(second.RunID)
	intents := payloads[run.DispatchIntended](n, second.RunID)
	if len(intents) != 1 {
		t.Fatalf("intents %+v", intents)
	}
	i := intents[0]
	_, own := i.Input["model_call_index"]
	if i.SourceRunID != first.RunID || i.SourceIndex != 1 || i.ModelCallIndex != 0 || i.ApprovalID != again.ApprovalID || own ||
		i.Input["source_run_id"] != first.RunID || fmt.Sprint(i.Input["source_model_call_index"]) != "1" {
		t.Errorf("the intent is %+v", i)
	}
	started := payloads[run.Started](n, second.RunID)
	if r := started[len(started)-1].Resume; r == nil || r.SourceRunID != first.RunID || r.SourceIndex != 1 || r.ModelCallIndex != 0 || !r.Approved || strings.Join(r.Tools, " ") != "shell_exec" {
		t.Errorf("the start goes on from %+v", r)
	}
	if marker, _ := os.ReadFile(filepath.Join(n.source, "marker")); string(marker) != "a\nc\n" || s.CallsDone != 1 || n.model.Count() != 2 {
		t.Errorf("marker %q after %d calls, %d requests", marker, s.CallsDone, n.model.Count())
	}
}

// Calls that are inherited over several runs keep the name of the run that their model
// answered in.
func TestCallsThatAreInheritedTwice(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		calls(scripted.ToolCall("a", "shell_exec", map[string]string{"command": "echo a >> marker"})), text("done"),
	}})
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	first := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	digests := map[string]bool{}
	last := first
	for range 4 {
		s := n.parked(last.RunID)
		if digests[s.Approval.Digest] || s.Approval.ModelCallIndex == 0 && s.Approval.SourceRunID != first.RunID {
			t.Errorf("the request is %+v", s.Approval)
		}
		digests[s.Approval.Digest] = true
		n.cancel(last)
		last = n.resume(last)
	}
	n.parked(last.RunID)
	n.approve(last.RunID)
	n.end(last.RunID)
	if got := n.asked(); len(got) != 2 || got[1] != "user:go a< a>" {
		t.Errorf("requests %q", got)
	}
	if marker, _ := os.ReadFile(filepath.Join(n.source, "marker")); string(marker) != "a\n" {
		t.Errorf("marker %q", marker)
	}
}

// Broken arguments are answered and go back to the provider as JSON; the call beside
// them runs, and the conversation can be continued.
func TestBrokenArgumentsSpoilNothing(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		calls(scripted.ToolCall("c1", "read_file", `{"path": "a.txt`), call("c2", "list_dir")), text("done"), text("ok"),
	}})
	first := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	s := n.end(first.RunID)
	if intents := payloads[run.DispatchIntended](n, first.RunID); s.Status != run.StatusCompleted || len(intents) != 1 || intents[0].ToolCallID != "c2" {
		t.Fatalf("the run is %s: %+v", s.Status, intents)
	}
	settled := payloads[run.DispatchSettled](n, first.RunID)
	if settled[0].ToolCallID != "c1" || !settled[0].ToolError || !strings.Contains(settled[0].Result.String(), "not valid JSON") {
		t.Errorf("c1 is told %q", settled[0].Result.String())
	}
	list, err := messages(n.model.Requests()[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				t.Errorf("call %s goes back with %q", c.ID, c.Function.Arguments)
			}
		}
	}
	second := n.goOn(first, "again")
	if s := n.end(second.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the second run is %s", s.Status)
	}
	if got := n.lastAsked(); got != "user:go c1,c2< c1>(invalid) c2> done user:again" {
		t.Errorf("request %s", got)
	}
}
