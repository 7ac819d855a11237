//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// What each level does over the wire, in a copy and in place.
func TestLevels(t *testing.T) {
	t.Parallel()
	s := gated(t)
	bundle := asks(
		call("c1", "read_file", args{"path": "a"}), call("c2", "stat", args{"path": "a"}), call("c3", "file_write", args{"path": "b", "content": "x"}),
		call("c4", "file_edit", args{"path": "a", "old_text": "A", "new_text": "B"}), program("c5", "true"), shell("c6", "true"), call("c7", "git_exec", args{"command": "status"}),
		call("c8", "web_fetch", args{"url": "https://other.invalid/"}), call("c9", "web_fetch", args{"url": "http://other.invalid/"}),
	)
	for name, x := range map[string]struct {
		where func(dir string) args
		edits string // what becomes of edits
	}{
		"in a copy": {func(dir string) args { return args{"working_directory": dir} }, "allow_visibly/1"},
		"in place":  {in, "ask/2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a"), "A\n")
			r, _ := s.agentRun(t, []reply{bundle, says("done")}, x.where(dir), levels)
			asked := r.question(t)
			for id, decision := range map[string]string{
				"c1": "allow/0", "c2": "allow/0", "c3": x.edits, "c4": x.edits, "c5": "ask/2", "c6": "ask/2", "c7": "ask/2", "c8": "ask/2", "c9": "ask/2",
			} {
				ruling := about(t, asked, id).obj("ruling")
				equal(t, id, fmt.Sprint(ruling.str("decision"), "/", ruling.num("level")), decision)
				equal(t, id+": posture", ruling.str("posture"), "levels")
			}
			equal(t, "offer of exec", about(t, asked, "c5").str("offer", "scope"), "exec(true) args(*)")
			equal(t, "offer of a shell", about(t, asked, "c6").str("offer", "scope"), "shell(true)")
			want{"offer/scope": "other.invalid", "offer/host": true}.check(t, "offer of a host", about(t, asked, "c8"))
			want{"offer": absent}.check(t, "plain http", about(t, asked, "c9"))
			equal(t, "answers to plain http", fmt.Sprint(about(t, asked, "c9")["answers"]), "[y n N]")
			r.cancel(t)
		})
	}
	runtime, _ := s.agentRun(t, []reply{asks(program("c1", "true")), says("done")})
	want{"ruling/posture": "runtime", "ruling/rule": "runtime-policy"}.check(t, "the other posture", about(t, runtime.question(t), "c1"))
	runtime.cancel(t)
}

// A server can forbid the posture; only agents have it.
func TestLevelsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_LEVELS_POSTURE=forbid")
	c := s.model.script(says("done"))
	if a := s.ask(t, "POST", api+"/tasks", agent(c, levels)); a.status != 400 && a.status != 403 {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.begin(t, agent(c)).becomes(t, "completed")
	open(t).ask(t, "POST", api+"/tasks", sh("true", levels)).refused(t, 400, "invalid_request")
	open(t).ask(t, "POST", api+"/tasks", agent(c, args{"permission_posture": "trust"})).refused(t, 400, "invalid_request")
}

// A grant of the session holds for the run, for those that continue and resume it, not for
// a retry, nor for another task; revoking ends it.
func TestSessionGrants(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	touch := func(id, name string) reply { return asks(program(id, "touch", name)) }
	r, _ := s.governed(t, dir, nil, touch("c1", "1"), touch("c2", "2"), says("done"), touch("c3", "3"), says("done"), touch("c4", "4"), says("done"), touch("c5", "5"), says("done"))
	r.say(t, remembering("c1", "session")).ok(t)
	r.becomes(t, "completed")
	equal(t, "answered", first(t, r.events(t), "approval.resolved").str("scope"), "session")
	equal(t, "questions", len(r.approvals(t)), 1)
	intent := part(t, ofType(r.events(t), "tool.dispatch.intended"), 1, 2)[0].obj("data")
	want{"ruling/grant": present, "ruling/layer": "answer", "ruling/decision": "allow_visibly", "approval_id": absent}.check(t, "covered", intent)

	next := r.again(t, "continue", args{"prompt": "go on"})
	next.becomes(t, "completed")
	equal(t, "questions after a continue", len(next.approvals(t)), 1)

	grant := part(t, s.get(t, api+"/permissions?task_id="+r.task).list("session"), 0, 1)[0]
	want{"scope": "exec(touch) args(*)", "host": false, "run_id": next.id}.check(t, "grant", grant)
	equal(t, "id", grant.str("id"), intent.str("ruling", "grant"))
	s.ask(t, "POST", r.taskPath()+"/permissions/revoke", args{"grant_id": "grant_nobody"}).refused(t, 404, "not_found")
	s.post(t, r.taskPath()+"/permissions/revoke", args{"grant_id": grant.str("id")})
	want{"grant_id": grant.str("id"), "by": "operator"}.check(t, "revoked", only(t, next, "permission.revoked"))
	equal(t, "session", len(s.get(t, api+"/permissions?task_id="+r.task).list("session")), 0)
	third := next.again(t, "continue", args{"prompt": "go on"})
	equal(t, "after a revoke", about(t, third.question(t), "c4").str("ruling", "decision"), "ask")
	third.say(t, remembering("c4", "session")).ok(t)
	third.becomes(t, "completed")

	retried := third.again(t, "retry", nil)
	equal(t, "after a retry", about(t, retried.question(t), "c5").str("ruling", "decision"), "ask")
	retried.cancel(t)
	other, _ := s.governed(t, dir, nil, touch("c1", "9"), says("done"))
	equal(t, "another task", about(t, other.question(t), "c1").str("ruling", "decision"), "ask")
	other.cancel(t)
}

// A grant for the project is written into its file, and is there for every later run until
// somebody takes it out.
func TestProjectGrants(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	touch := func(name string) reply { return asks(program("c1", "touch", name)) }
	r, _ := s.governed(t, dir, nil, touch("1"), says("done"))
	equal(t, "the file", r.question(t).str("remember_in"), projectFile(dir))
	r.say(t, remembering("c1", "project")).ok(t)
	r.becomes(t, "completed")
	want{"saved": true, "file": projectFile(dir), "problem": absent, "grant_id": present}.check(t, "change", only(t, r, "permission.changed"))
	contains(t, "the file", read(t, projectFile(dir)), "promoted", "exec(touch) args(*)")

	next, _ := s.governed(t, dir, nil, touch("2"), says("done"))
	next.becomes(t, "completed")
	want{"ruling/grant": present, "ruling/rule": "permissions.promoted"}.check(t, "covered", only(t, next, "tool.dispatch.intended"))
	in := part(t, s.get(t, api+"/permissions?dir="+dir).list("entries"), 0, 1)[0]
	want{"list": "permissions.promoted", "layer": "project", "text": "exec(touch) args(*)"}.check(t, "entry", in)
	equal(t, "id", in.str("id"), only(t, next, "tool.dispatch.intended").str("ruling", "grant"))

	s.post(t, api+"/permissions/revoke", args{"dir": dir, "id": in.str("id")})
	if strings.Contains(read(t, projectFile(dir)), "touch") {
		t.Errorf("the entry is still there: %s", read(t, projectFile(dir)))
	}
	last, _ := s.governed(t, dir, nil, touch("3"), says("done"))
	equal(t, "after it was taken out", about(t, last.question(t), "c1").str("ruling", "decision"), "ask")
	last.say(t, args{"decision": "approve", "calls": []args{{"tool_call_id": "c1", "decision": "approve", "scope": "project", "pattern": "exec(touch) args(3)"}}}).ok(t)
	last.becomes(t, "completed")
	contains(t, "an edited pattern", read(t, projectFile(dir)), "exec(touch) args(3)")
}

// An entry that is taken out is taken from every run, also from the one that it was given
// in: the next call of the same answer asks.
func TestProjectGrantsAreTakenFromRunsUnderWay(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	wait := program("c2", "sh", "-c", "until [ -e go ]; do sleep 0.02; done")
	r, _ := s.governed(t, dir, args{"allow_tools": []string{"exec(sh) args(*)"}},
		asks(program("c1", "touch", "1")), asks(wait, program("c3", "touch", "3")), says("done"))
	r.question(t)
	r.say(t, remembering("c1", "project")).ok(t)
	eventually(t, "it waits", func() bool { return r.intents(t) == "c1 c2" })
	in := part(t, s.get(t, api+"/permissions?dir="+dir+"&task_id="+r.task).list("entries"), 0, 1)[0]
	s.post(t, api+"/permissions/revoke", args{"dir": dir, "id": in.str("id")})
	write(t, filepath.Join(dir, "go"), "")
	equal(t, "the next call", about(t, r.question(t), "c3").str("ruling", "decision"), "ask")
	r.say(t, no).ok(t)
	r.becomes(t, "completed")
	equal(t, "dispatched", r.intents(t), "c1 c2")
}

// A grant that cannot be written holds for the session, and everybody is told.
func TestGrantsThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	foreign := "[permissions]\ndeny = [\"exec(rm) args(*)\"]\n" // of a clone that nobody accepted
	r, _ := s.governed(t, dir, nil, asks(program("c1", "touch", "1")), asks(program("c2", "touch", "2")), says("done"))
	r.question(t)
	put(t, projectFile(dir), foreign) // while the question waits
	r.say(t, remembering("c1", "project")).ok(t)
	r.becomes(t, "completed")
	want{"saved": false, "problem": present}.check(t, "change", only(t, r, "permission.changed"))
	equal(t, "the file", read(t, projectFile(dir)), foreign)
	equal(t, "dispatched", r.intents(t), "c1 c2")
	next, _ := s.governed(t, dir, nil, asks(program("c1", "touch", "3")), says("done"))
	asked := about(t, next.question(t), "c1")
	equal(t, "the next run", asked.str("ruling", "decision"), "ask")
	equal(t, "what it can be answered", fmt.Sprint(asked["answers"]), "[y a e n N]") // nothing is remembered in that file
	next.cancel(t)
}

// Where nobody can answer, what would ask is refused, the model is told, and the run goes on.
func TestUnattendedRuns(t *testing.T) {
	t.Parallel()
	s := gated(t)
	bundle := asks(
		program("c1", "touch", "1"), shell("c2", "touch 2"), call("c3", "list_dir", args{"path": "."}), call("c4", "web_fetch", args{"url": "https://other.invalid/"}),
		call("c5", "web_fetch", args{"url": "http://other.invalid/"}), call("c6", "config_edit", args{"file": "project", "list": "permissions.approve", "entry": "exec(x) args(*)"}),
	)
	for name, x := range map[string]struct {
		ahead      args
		dispatched string
	}{
		"nothing said":    {args{}, "c3"},
		"yes":             {args{"yes": true}, "c1 c2 c3"},
		"yes, really":     {args{"yes_really": true}, "c1 c2 c3 c4"},
		"tools by name":   {args{"allow_tools": []string{"exec(touch) args(1)"}}, "c1 c3"},
		"tools, fetching": {args{"allow_tools": []string{"web_fetch", "shell(touch 2)"}}, "c2 c3 c4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r, c := s.governed(t, dir, fields(args{"on_ask": "refuse"}, x.ahead), bundle, says("done"), asks(program("c7", "touch", "1")))
			r.becomes(t, "completed")
			equal(t, "dispatched", r.intents(t), x.dispatched)
			equal(t, "approvals", len(r.approvals(t)), 0)
			texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4", "c5", "c6")
			for i, text := range texts {
				if id := fmt.Sprint("c", i+1); !strings.Contains(x.dispatched, id) && id != "c6" {
					contains(t, id, text, "no one is present")
				}
			}
			for _, e := range ofType(r.events(t), "policy.tool_blocked") {
				if e.str("data", "tool_call_id") != "c6" {
					want{"policy": "unattended", "ruling/layer": "unattended", "ruling/decision": "deny", "gates": present}.check(t, "blocked", e.obj("data"))
				}
			}
			if strings.Contains(c.request(t, 0).tools(), "config_edit") {
				t.Error("config_edit is offered where nobody is")
			}
			next := r.again(t, "continue", args{"prompt": "go on"}) // what was said ahead is not inherited
			equal(t, "a run that was told nothing", about(t, next.question(t), "c7").str("ruling", "decision"), "ask")
			next.cancel(t)
		})
	}
}

// What is said ahead is checked before anything runs.
func TestPermissionsAheadThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := gated(t)
	id := s.create(t, agent(s.model.script(says("done")), levels)).str("id")
	for name, ahead := range map[string]args{
		"on_ask": {"on_ask": "perhaps"}, "a pattern": {"allow_tools": []string{"exec("}}, "a relative file": {"project_config": "x.toml"},
	} {
		if a := s.ask(t, "POST", api+"/tasks/"+id+"/start", args{"permissions": ahead}); a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	equal(t, "runs", len(s.list(t, api+"/tasks/"+id+"/runs")), 0)
}
