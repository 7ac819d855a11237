package worker_test

import (
	"testing"

	"hecate/commands"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
)

// told is what a model hears of a call that an operator looked into.
const told = "user:The operator has looked into the call count (id a), whose outcome was unknown: it took effect. The operator's note: it is there"

// vanished leaves a cancelled run behind whose call a was dispatched and never heard of
// again, and whose call b was not.
func vanished(n *node) commands.RunResult {
	n.t.Helper()
	newEffects(n)
	r := n.start(task.Definition{Prompt: event("go")})
	d := newDying(n.store, afterIntentOf("a"))
	stop := n.run(n.on(d))
	await(n.t, "the crash", d.dead)
	stop()
	n.cancel(r)
	return r
}

// say states what became of call a in a run.
func say(n *node, r commands.RunResult) {
	n.t.Helper()
	s := n.state(r.RunID)
	step := s.Batch.Intents["a"].StepID
	if len(s.Doubtful) > 0 {
		step = s.Doubtful[0].Call.StepID
	}
	n.must(n.executor.StateOutcome(n.t.Context(), commands.Meta{}, commands.StateOutcome{
		TaskID: s.TaskID, RunID: r.RunID, StepID: step, Outcome: "done", Note: "it is there",
	}))
}

// What an operator says of a call that vanished reaches the model once: after the
// results of the batch and before it is asked again.
func TestAStatementReachesTheModelOnceWhenResumed(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		calls(call("a", "count"), call("b", "count")), calls(call("c", "count")), text("fine"), text("well"), text("good"),
	}})
	first := vanished(n)
	say(n, first)
	defer n.run(n.executor)()
	second := n.resume(first)
	n.end(second.RunID)
	want := "user:go a,b< a>(unknown) b> " + told
	got := n.asked()
	if len(got) != 3 || got[1] != want || got[2] != want+" c< c>" {
		t.Fatalf("requests %q", got)
	}
	third := n.goOn(second, "more")
	n.end(third.RunID)
	if got := n.lastAsked(); got != want+" c< c> fine user:more" {
		t.Errorf("later: %s", got)
	}
	// Another run that goes on from the first is told as well.
	fourth := n.goOn(first, "anew")
	n.end(fourth.RunID)
	if got := n.lastAsked(); got != "user:go a,b< a>(unknown) b>(skipped) "+told+" user:anew" {
		t.Errorf("beside it: %s", got)
	}
}

// A run that ends before it has told the model leaves that to the next one.
func TestAStatementThatWasNotToldYet(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{calls(call("a", "count"), scripted.ToolCall("b", "shell_exec", map[string]string{"command": "true"})), text("fine")}})
	n.executor.ModelCallsMax = 1
	first := vanished(n)
	say(n, first)
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	defer n.run(n.executor)()
	second := n.resume(first)
	n.parked(second.RunID)
	n.cancel(second)
	third := n.resume(second)
	n.parked(third.RunID)
	n.approve(third.RunID)
	n.end(third.RunID)
	if got := n.asked(); len(got) != 2 || got[1] != "user:go a,b< a>(unknown) b> "+told {
		t.Errorf("requests %q", got)
	}
}

// A call that was settled as unknown when the run went on by itself can be stated once
// that has ended.
func TestAStatementAboutARunThatWentOn(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{calls(call("a", "count")), text("fine"), text("good")}})
	newEffects(n)
	r := n.start(task.Definition{Prompt: event("go")})
	d := newDying(n.store, afterIntentOf("a"))
	stop := n.run(n.on(d))
	await(t, "the crash", d.dead)
	stop()
	defer n.run(n.executor)()
	if s := n.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s", s.Status)
	}
	say(n, r)
	second := n.goOn(r, "more")
	n.end(second.RunID)
	if got := n.lastAsked(); got != "user:go a< a>(unknown) fine "+told+" user:more" {
		t.Errorf("request %s", got)
	}
}
