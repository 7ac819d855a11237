package worker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/commands"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model/scripted"
)

// levels is a task in the levels posture.
func levels() task.Definition {
	return task.Definition{Prompt: event("go"), Posture: permission.PostureLevels}
}

// openWith starts a task's run with answers given ahead.
func (n *node) openWith(d task.Definition, ahead run.Ahead) commands.RunResult {
	n.t.Helper()
	return n.must(n.executor.StartRun(n.t.Context(), commands.Meta{}, n.create(d), ahead))
}

// resolve answers what the run asks.
func (n *node) resolve(id string, r run.Resolution) {
	n.t.Helper()
	s := n.state(id)
	r.ApprovalID = s.Approval.ApprovalID
	n.must(n.executor.ResolveApproval(n.t.Context(), commands.Meta{}, s.TaskID, r))
}

func execCall(id, program string, args ...string) scripted.Call {
	return scripted.ToolCall(id, "exec", map[string]any{"program": program, "args": args})
}

func TestABundleIsAnsweredCallByCall(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "touch one"), shellCall("b", "touch two"), shellCall("c", "touch three")), text("done")))
	r := g.start(levels())
	defer g.run(g.executor, g.obey)()
	g.parked(r.RunID)
	g.resolve(r.RunID, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "b", Decision: "deny", Note: "two is not wanted"}}})
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	g.told(r.RunID, "a", "completed")
	g.told(r.RunID, "b", "blocked", "denied by the user: two is not wanted")
	g.told(r.RunID, "c", "completed")
	g.absent("two")
	for _, i := range payloads[run.DispatchIntended](g.node, r.RunID) {
		if i.ApprovalID == "" || i.Ruling.Posture != permission.PostureLevels || i.Ruling.Level != 2 {
			t.Errorf("the intent says %+v", i)
		}
	}
	if len(payloads[run.ToolBlocked](g.node, r.RunID)) != 0 {
		t.Error("a person's no looks like a policy")
	}
}

// An answer for good is written into the project's file, and the next run of another
// task does not ask.
func TestAnAnswerForGoodIsRemembered(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(execCall("a", "touch", "one")), text("done"), calls(execCall("b", "touch", "two")), text("done")))
	r := g.start(levels())
	defer g.run(g.executor, g.obey)()
	asked := g.parked(r.RunID).Approval
	file := filepath.Join(g.source, permission.ProjectFile)
	if c := asked.Calls[0]; c.Offer == nil || c.Offer.Scope != "exec(touch) args(*)" || strings.Join(c.Answers, "") != "yaAenN" || asked.RememberIn != file {
		t.Fatalf("it is asked as %+v", asked)
	}
	g.resolve(r.RunID, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeProject, Pattern: "exec(touch) args(o*)"}}})
	g.end(r.RunID)
	saved := payloads[run.PermissionChanged](g.node, r.RunID)
	if len(saved) != 1 || !saved[0].Saved || saved[0].File != file {
		t.Fatalf("what was saved is %+v", saved)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), `exec(touch) args(o*)`) {
		t.Fatalf("the file is %q, %v", data, err)
	}
	again := g.start(levels())
	if s := g.parked(again.RunID); s.Approval.Calls[0].Ruling.Config == "" {
		t.Error("the configuration that was asked under is not named")
	}
	g.resolve(again.RunID, run.Resolution{Decision: "reject"})
}

// What cannot be saved holds for the session: the chain of runs that go on.
func TestAGrantThatCannotBeSavedHoldsForTheSession(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(execCall("a", "touch", "one")), text("done"), calls(execCall("b", "touch", "two")), text("done")))
	r := g.start(levels())
	defer g.run(g.executor, g.obey)()
	g.parked(r.RunID)
	g.project("[permissions]\napprove = [\"exec(rm) args(*)\"]\n") // from whoever wrote the project
	g.resolve(r.RunID, run.Resolution{Decision: "approve", Calls: []run.CallChoice{{ToolCallID: "a", Decision: "approve", Scope: run.ScopeProject}}})
	g.end(r.RunID)
	if saved := payloads[run.PermissionChanged](g.node, r.RunID); len(saved) != 1 || saved[0].Saved || !strings.Contains(saved[0].Problem, "accept") {
		t.Errorf("what was saved is %+v", saved)
	}
	next := g.goOn(r, "more")
	if s := g.end(next.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run that goes on is %s: %s", s.Status, g.types(next.RunID))
	}
	intents := payloads[run.DispatchIntended](g.node, next.RunID)
	if len(intents) != 1 || intents[0].Ruling.Rule != "session" || intents[0].Ruling.Grant == "" {
		t.Errorf("the intents are %+v", intents)
	}
	retried := g.must(g.executor.RetryRun(t.Context(), commands.Meta{}, r.State.TaskID, next.RunID, "", run.Ahead{}))
	if s := g.state(retried.RunID); len(s.Session) != 0 {
		t.Errorf("a retry, which begins anew, has %+v", s.Session)
	}
	g.cancel(retried)
}

// Where nobody can answer a call is refused, the run goes on, and flags are no
// inheritance.
func TestAnUnattendedRunRefuses(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "touch one"), execCall("b", "touch", "two")), text("done"), calls(execCall("c", "touch", "three")), text("done")))
	r := g.openWith(levels(), run.Ahead{OnAsk: permission.OnAskRefuse, AllowTools: []string{"exec(touch) args(*)"}})
	defer g.run(g.executor, g.obey)()
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s", s.Status)
	}
	g.told(r.RunID, "a", "blocked", "no one is present to approve this call; run hecate interactively, or pass --yes for Level 2 tools")
	g.told(r.RunID, "b", "completed")
	if b := payloads[run.ToolBlocked](g.node, r.RunID); len(b) != 1 || b[0].Policy != "unattended" {
		t.Errorf("blocked was %+v", b)
	}
	next := g.goOn(r, "more")
	g.parked(next.RunID)
	g.resolve(next.RunID, run.Resolution{Decision: "reject"})
}

// While a question waits no worker has the run; the answer is found by another process.
func TestAnAnswerFindsAnotherNode(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "echo x >> marker")), text("done")))
	r := g.start(levels())
	stop := g.run(g.executor, g.obey)
	before := g.parked(r.RunID).Approval.ApprovalID
	stop()
	g.resolve(r.RunID, run.Resolution{Decision: "approve"})
	if g.state(r.RunID).Granted.ApprovalID != before {
		t.Error("another question was answered")
	}
	defer g.run(g.executor, g.obey)()
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	if data, err := os.ReadFile(filepath.Join(g.source, "marker")); err != nil || string(data) != "x\n" {
		t.Errorf("the command ran as %q, %v", data, err)
	}
}

// What an operator allows while a run waits for an answer does not widen the answer,
// and what is denied meanwhile holds.
func TestAPolicyThatChangesUnderAQuestion(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "touch one"), shellCall("b", "touch two")), text("done")))
	r := g.start(levels())
	defer g.run(g.executor, g.obey)()
	g.parked(r.RunID)
	g.own("[permissions]\ndeny = [{ pattern = \"shell(touch two)\", reason = \"Not two.\" }]\n")
	g.resolve(r.RunID, run.Resolution{Decision: "approve"})
	g.end(r.RunID)
	g.told(r.RunID, "a", "completed")
	g.told(r.RunID, "b", "blocked", "denied by config pattern shell(touch two): Not two.")
}

func TestConfigEditAsksAndEdits(t *testing.T) {
	t.Parallel()
	edit := func(id string) scripted.Call {
		return scripted.ToolCall(id, "config_edit", map[string]any{"file": "project", "list": "permissions.deny", "entry": "exec(npm) args(*)", "reason": "pnpm"})
	}
	g := newGoverned(t, replies(calls(edit("a")), calls(shellCall("b", "npm i")), text("done")))
	r := g.openWith(levels(), run.Ahead{Attended: true, Yes: true, YesReally: true})
	defer g.run(g.executor, g.obey)()
	c := g.parked(r.RunID).Approval.Calls[0]
	if c.Offer != nil || strings.Join(c.Answers, "") != "ynN" {
		t.Errorf("it is asked as %+v", c)
	}
	g.resolve(r.RunID, run.Resolution{Decision: "approve"})
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	g.told(r.RunID, "a", "completed")
	g.told(r.RunID, "b", "blocked", "pnpm")
	if changed := payloads[run.PermissionChanged](g.node, r.RunID); len(changed) != 1 || changed[0].ToolCallID != "a" || !changed[0].Saved {
		t.Errorf("the log says %+v", changed)
	}
	if offered := offeredTools(t, g.model); !strings.Contains(offered, "config_edit") {
		t.Errorf("the model was offered %s", offered)
	}
}

// offeredTools are the tools of the first request, as JSON.
func offeredTools(t *testing.T, m *scripted.Server) string {
	t.Helper()
	var body struct {
		Tools json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(m.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Tools)
}

const buildLock = "[[locks]]\nname = \"build-output\"\npatterns = [\"exec(sh) args(*)\"]\n"

// Two runs that need one lock take turns; the wait can be seen, is no attempt, and is
// decided about again when it is over.
func TestRunsTakeTurnsAtALock(t *testing.T) {
	t.Parallel()
	hold := execCall("a", "sh", "-c", "echo in >> order; while [ ! -e go ]; do sleep 0.01; done; echo out >> order")
	blocked := execCall("b", "sh", "-c", "echo in >> order; echo out >> order")
	g := newGoverned(t, scripted.Script{Marker: "alpha", Replies: []scripted.Reply{calls(hold), text("done")}}, replies(calls(blocked), text("done")))
	g.own(buildLock)
	defer g.run(g.executor, g.obey)()
	d := levels()
	d.TimeoutMS, d.Prompt = 60_000, event("alpha")
	first := g.openWith(d, run.Ahead{Yes: true})
	has(g.node, first.RunID, func(i run.DispatchIntended) bool { return len(i.Locks) == 1 && i.Locks[0] == "build-output" })
	d.Prompt = event("beta")
	second := g.openWith(d, run.Ahead{Yes: true})
	has(g.node, second.RunID, func(w run.LockWaiting) bool {
		return w.Lock == "build-output" && w.HeldByRun == first.RunID && w.HeldByStep != ""
	})
	if n := len(payloads[run.DispatchIntended](g.node, second.RunID)); n != 0 {
		t.Fatalf("the second run has %d intents", n)
	}
	g.own(buildLock + "[permissions]\ndeny = [{ pattern = \"exec(sh) args(*)\", reason = \"No more.\" }]\n")
	g.write(filepath.Join(g.source, "go"), "")
	g.end(first.RunID)
	g.end(second.RunID)
	g.told(second.RunID, "b", "blocked", "No more.")
	if data, _ := os.ReadFile(filepath.Join(g.source, "order")); string(data) != "in\nout\n" {
		t.Errorf("the order was %q", data)
	}
	held, err := g.store.HeldLocks(t.Context()) // shares of the workspace are given back a moment after the end
	if err != nil || slices.ContainsFunc(held, func(h eventstore.HeldLock) bool { return h.Name == "build-output" }) {
		t.Errorf("still held are %+v, %v", held, err)
	}
}

func TestAWaitForALockEndsWithTheRun(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(execCall("a", "sh", "-c", "true")), text("done")))
	g.own(buildLock)
	if err := g.store.Register(t.Context(), eventstore.Worker{Instance: "other", Node: "other", TTL: long}); err != nil {
		t.Fatal(err)
	}
	if err := g.store.TakeLocks(t.Context(), "other", eventstore.Holder{Run: "run_other", Call: "step_1"}, []string{"build-output"}); err != nil {
		t.Fatal(err)
	}
	defer g.run(g.executor, g.obey)()
	r := g.openWith(levels(), run.Ahead{Yes: true})
	has(g.node, r.RunID, func(w run.LockWaiting) bool { return w.HeldByRun == "run_other" })
	g.cancel(r)
	g.end(r.RunID)
	if n := len(payloads[run.DispatchIntended](g.node, r.RunID)); n != 0 {
		t.Errorf("the cancelled run has %d intents", n)
	}
}

// A script is run as it is when its call starts. The log says what it held when
// somebody was asked, and right before it ran.
func TestTheLogKnowsAScriptThatChanged(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(execCall("a", "sh", "./build.sh")), text("done")))
	g.write(filepath.Join(g.source, "build.sh"), "echo one\n")
	r := g.start(levels())
	defer g.run(g.executor, g.obey)()
	asked := g.parked(r.RunID).Approval.Calls[0]
	g.write(filepath.Join(g.source, "build.sh"), "echo two\n")
	g.approve(r.RunID)
	g.end(r.RunID)
	ran := payloads[run.DispatchIntended](g.node, r.RunID)[0].Files
	if len(asked.Files) != 1 || len(ran) != 1 || asked.Files[0].SHA256 == "" || asked.Files[0].Path != "./build.sh" || asked.Files[0].SHA256 == ran[0].SHA256 {
		t.Errorf("asked about %+v, ran %+v", asked.Files, ran)
	}
	if len(asked.Notes) != 1 || !strings.Contains(asked.Notes[0], "run as it is when the call starts") {
		t.Errorf("a person sees %q", asked.Notes)
	}
}
