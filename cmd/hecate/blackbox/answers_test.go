//go:build linux

package blackbox_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTamperedCallsAskAgain: fc-ap-03, ah-approval-01. A yes is for what was shown. If the
// stored calls become others while it waits, nothing of them runs for it.
func TestTamperedCallsAskAgain(t *testing.T) {
	t.Parallel()
	const first, second = `{"id":"c1","name":"shell_exec","arguments":"{\"command\":\"touch one\"}"}`, `{"id":"c2","name":"shell_exec","arguments":"{\"command\":\"touch two\"}"}`
	for name, change := range map[string][2]string{
		"another command": {"touch one", "touch pwned"},
		"another order":   {first + "," + second, second + "," + first},
		"a call more":     {first, first + "," + strings.Replace(strings.Replace(first, "c1", "c9", 1), "one", "pwned", 1)},
		"another tool":    {`"id":"c1","name":"shell_exec"`, `"id":"c1","name":"git_exec"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := serve(t, "HECATE_TASK_APPROVAL_POLICIES=shell_exec,git_exec"), t.TempDir()
			r, _ := s.agentRun(t, []reply{asks(shell("c1", "touch one"), shell("c2", "touch two")), says("done")}, in(dir))
			shown := r.question(t)
			s.kill()
			tamper(t, s, change[0], change[1])
			s.start(t)
			r.sayTo(t, shown.str("approval_id"), yes).ok(t)
			eventually(t, "the run asks again", func() bool { p := r.pending(t); return p != "" && p != shown.str("approval_id") })
			again := r.question(t)
			if again.str("digest") == shown.str("digest") {
				t.Error("the digest is the same")
			}
			r.sayTo(t, shown.str("approval_id"), yes).refused(t, 409, "invalid_request")
			equal(t, "dispatched", r.intents(t), "")
			if left := entries(t, dir); len(left) > 0 {
				t.Errorf("something ran: %v", left)
			}
			r.cancel(t)
		})
	}
}

// pending is the id of the task's pending approval.
func (r run) pending(t *testing.T) string {
	t.Helper()
	for _, a := range r.approvals(t) {
		if a.str("status") == "pending" {
			return a.str("id")
		}
	}
	return ""
}

// tamper changes what models answered in the stored log of a server that does not run.
func tamper(t *testing.T, s *server, old, now string) {
	t.Helper()
	db := openDB(t, "sqlite", filepath.Join(s.dir, "hecate.db"))
	var position int64
	var data []byte
	if err := db.QueryRow(`SELECT l.position, p.data FROM hecate_log l JOIN hecate_payload p ON p.position = l.position WHERE l.type = 'model.response.recorded'`).Scan(&position, &data); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("nothing to change: %q is not in %s", old, data)
	}
	rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'hecate_payload'`)
	if err != nil {
		t.Fatal(err)
	}
	var triggers []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		triggers = append(triggers, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range triggers {
		if _, err := db.Exec("DROP TRIGGER " + name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`UPDATE hecate_payload SET data = ? WHERE position = ?`, bytes.Replace(data, []byte(old), []byte(now), 1), position); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCallsAreAnsweredOneByOne: some allowed, some refused, with a word to the model.
func TestCallsAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	bundle := asks(shell("c1", "echo 1 >> m"), shell("c2", "echo 2 >> m"), call("c3", "list_dir", args{"path": "."}), shell("c4", "echo 4 >> m"))
	single := func(id, decision, note string) args {
		return args{"tool_call_id": id, "decision": decision, "note": note}
	}
	for name, x := range map[string]struct {
		answer           args
		status           string
		dispatched, made string
		refused          map[string]string
	}{
		"one refused": {
			fields(yes, args{"calls": []args{single("c2", "deny", "use make instead")}}), "approved", "c1 c3 c4", "1\n4\n", map[string]string{"c2": "use make instead"},
		},
		"all refused": {fields(no, args{"note": "not here"}), "rejected", "c3", "", map[string]string{"c1": "not here", "c2": "not here", "c4": "not here"}},
		"one allowed": {
			fields(no, args{"calls": []args{single("c4", "approve", "")}}), "rejected", "c3 c4", "4\n", map[string]string{"c1": "denied", "c2": "denied"},
		},
		"a silent one refused": {
			fields(yes, args{"calls": []args{single("c3", "deny", "")}}), "approved", "c1 c2 c4", "1\n2\n4\n", map[string]string{"c3": "denied"},
		},
		"each by itself": {
			fields(yes, args{"calls": []args{single("c1", "deny", "a"), single("c2", "DENIED", "b"), single("c3", "approved", ""), single("c4", "approve", "")}}),
			"approved", "c3 c4", "4\n",
			map[string]string{"c1": "a", "c2": "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			put(t, filepath.Join(dir, "m"), "")
			r, c := s.agentRun(t, []reply{bundle, says("done")}, in(dir))
			answered := r.say(t, x.answer).ok(t).envelope(t).obj("data")
			equal(t, "status", answered.str("status"), x.status)
			r.becomes(t, "completed")
			equal(t, "dispatched", r.intents(t), x.dispatched)
			equal(t, "made", read(t, filepath.Join(dir, "m")), x.made)
			ids := []string{"c1", "c2", "c3", "c4"}
			texts := c.request(t, 1).answered(t, ids...)
			for i, id := range ids {
				if words, refused := x.refused[id]; refused {
					contains(t, id, texts[i], "denied by the user", words)
				} else if strings.Contains(texts[i], "denied") {
					t.Errorf("%s: %s", id, texts[i])
				}
			}
			if blocked := r.blocked(t); blocked != "" {
				t.Errorf("a person's no is no policy: %s", blocked)
			}
			for id := range x.refused {
				step := r.steps(t)[slices.IndexFunc(r.steps(t), func(d doc) bool { return d.str("input", "tool_call_id") == id && d.str("kind") == "tool" })]
				want{"result": "denied", "error_kind": "approval_denied", "output_summary/approval_id": answered.str("id")}.check(t, id, step)
			}
		})
	}
}

// TestAnswersThatMakeNoSense leave the question open.
func TestAnswersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	r, _ := gated(t).agentRun(t, []reply{asks(shell("c1", "true"), shell("c2", "true")), says("done")})
	digest := r.question(t).str("digest")
	single := func(more args) []args { return []args{fields(args{"tool_call_id": "c1", "decision": "approve"}, more)} }
	for name, x := range map[string]struct {
		body   args
		status int
	}{
		"no such call":            {fields(yes, args{"calls": single(args{"tool_call_id": "c9"})}), 400},
		"one call twice":          {fields(yes, args{"calls": append(single(nil), single(args{"decision": "deny"})...)}), 400},
		"a call without a word":   {fields(yes, args{"calls": single(args{"decision": "perhaps"})}), 400},
		"an end with exceptions":  {args{"decision": "reject", "calls": single(nil)}, 400},
		"an unknown scope":        {fields(yes, args{"calls": single(args{"scope": "forever"})}), 400},
		"a broken pattern":        {fields(yes, args{"calls": single(args{"scope": "session", "pattern": "shell(true"})}), 400},
		"a pattern of other tool": {fields(yes, args{"calls": single(args{"scope": "session", "pattern": "exec(x) args(*)"})}), 400},
		"another digest":          {fields(yes, args{"digest": strings.Repeat("0", 64)}), 409},
		"half a digest":           {fields(yes, args{"digest": digest[:32]}), 409},
		"a digest in capitals":    {fields(yes, args{"digest": strings.ToUpper(digest)}), 409},
		"a huge note":             {fields(yes, args{"note": strings.Repeat("x", 5000)}), 400},
	} {
		a := r.say(t, x.body)
		equal(t, name, a.status, x.status)
		equal(t, name+": type", a.envelope(t).str("error", "type"), "invalid_request")
	}
	equal(t, "answers", len(ofType(r.events(t), "approval.resolved")), 0)
	r.say(t, fields(yes, args{"digest": digest})).ok(t)
	r.becomes(t, "completed")
}

// TestOfTwoOperatorsOneDecides: different answers at once, one of them counts, whole.
func TestOfTwoOperatorsOneDecides(t *testing.T) {
	t.Parallel()
	s := gated(t)
	for round := range 5 {
		dir := t.TempDir()
		r, _ := s.agentRun(t, []reply{asks(shell("c1", "echo 1 >> m"), shell("c2", "echo 2 >> m")), says("done")}, in(dir))
		id := r.parked(t).str("id")
		answers := []args{
			yes, no,
			{"decision": "reject"},
			fields(yes, args{"calls": []args{{"tool_call_id": "c1", "decision": "deny"}}}),
			remembering("c2", "session"),
		}
		made := []string{"c1 c2", "", "", "c2", "c1 c2"}
		statuses := atOnce(len(answers), func(i int) int {
			a, err := s.send("POST", r.taskPath()+"/approvals/"+id+"/resolve", answers[i])
			if err != nil {
				return 0
			}
			return a.status
		})
		equal(t, fmt.Sprint(round, " successes"), count(statuses, 200), 1)
		equal(t, fmt.Sprint(round, " conflicts"), count(statuses, 409), len(answers)-1)
		won := slices.Index(statuses, 200)
		want := "completed"
		if won == 2 {
			want = "cancelled"
		}
		r.becomes(t, want)
		equal(t, "dispatched", r.intents(t), made[won])
		equal(t, "answers", len(ofType(r.events(t), "approval.resolved")), 1)
	}
}

// TestPolicyChangesWhileAQuestionWaits: a deny entry that is written meanwhile wins over the
// yes, a grant makes nothing of the question, and a new reason to ask asks again.
func TestPolicyChangesWhileAQuestionWaits(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	r, c := s.governed(t, dir, nil, asks(program("c1", "touch", "one"), program("c2", "touch", "two")), says("done"))
	asked := r.question(t)
	put(t, projectFile(dir), "[permissions]\ndeny = [{ pattern = \"exec(touch) args(two)\", reason = \"not two\" }]\n")
	r.say(t, fields(yes, args{"digest": asked.str("digest")})).ok(t)
	r.becomes(t, "completed")
	equal(t, "dispatched", r.intents(t), "c1")
	equal(t, "blocked", r.blocked(t), "c2:permissions.deny")
	contains(t, "c2", c.request(t, 1).answered(t, "c1", "c2")[1], "not two")
	intent := first(t, r.events(t), "tool.dispatch.intended")
	if intent.str("ruling", "config") == about(t, asked, "c1").str("ruling", "config") {
		t.Error("the digest of the configuration is that of before")
	}
}

// TestYesThenKill: an answered question is answered for good, with everything that was said to
// single calls, whenever the server dies. A call that it dies in may be left undone; it is not done twice.
func TestYesThenKill(t *testing.T) {
	t.Parallel()
	s, dir := serve(t, "HECATE_TASK_APPROVAL_POLICIES=UNSET"), t.TempDir()
	m := filepath.Join(dir, "m")
	write(t, m, "")
	c := s.model.script(asks(shell("c1", "echo 1 >> m"), shell("c2", "echo 2 >> m")), asks(shell("c3", "echo 3 >> m")), says("done"))
	c.byTurn = true // a model call that the crash cuts off is made again
	r := s.begin(t, agent(c, in(dir)))
	id := r.parked(t).str("id")
	r.sayTo(t, id, fields(yes, args{"calls": []args{{"tool_call_id": "c1", "decision": "deny", "note": "no"}}})).ok(t)
	s.crash(t)
	eventually(t, "the second question", func() bool { p := r.pending(t); return p != "" && p != id })
	r.sayTo(t, id, yes).refused(t, 409, "invalid_request")
	s.crash(t)
	r.say(t, remembering("c3", "session")).ok(t)
	s.crash(t)
	r.becomes(t, "completed")
	texts := c.request(t, c.count()-1).answered(t, "c1", "c2", "c3")
	contains(t, "c1", texts[0], "denied by the user", "no")
	want := ""
	for i, line := range []string{"2\n", "3\n"} {
		if !strings.Contains(texts[i+1], "outcome unknown") || strings.Contains(read(t, m), line) {
			want += line
		}
	}
	equal(t, "made", read(t, m), want)
	equal(t, "dispatched", r.intents(t), "c2 c3")
	equal(t, "grants", len(s.get(t, api+"/permissions?task_id="+r.task).list("session")), 1)
}

// TestQuestionsOutliveTheirNode: asked at one node that dies, answered at another, which does it.
func TestQuestionsOutliveTheirNode(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, "HECATE_TASK_APPROVAL_POLICIES=shell_exec")
	dir := t.TempDir()
	r, c := all[0].agentRun(t, []reply{asks(shell("c1", "echo 1 >> m"), shell("c2", "echo 2 >> m")), says("done")}, in(dir))
	on, others := r.executor(t, all)
	asked := r.question(t)
	on.kill()
	there := r.at(others[0])
	equal(t, "the question", there.question(t).String(), asked.String())
	there.say(t, fields(yes, args{"digest": asked.str("digest"), "calls": []args{{"tool_call_id": "c2", "decision": "deny"}}})).ok(t)
	there.becomes(t, "completed")
	equal(t, "made", read(t, filepath.Join(dir, "m")), "1\n")
	equal(t, "requests", c.count(), 2)
	started := ofType(there.events(t), "run.started")
	equal(t, "executed by", started[len(started)-1].str("data", "worker_id"), others[0].id(t))
}

// A call that is said to be covered by what is given with another one runs by that, and is
// asked about again if it is not covered.
func TestCallsThatAGrantCovers(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	r, _ := s.governed(t, dir, nil, asks(program("c1", "touch", "1"), program("c2", "touch", "2"), program("c3", "mkdir", "3")), says("done"))
	covered := func(id, by string) args { return args{"tool_call_id": id, "decision": "approve", "covered_by": by} }
	session := args{"tool_call_id": "c1", "decision": "approve", "scope": "session"}
	for name, calls := range map[string][]args{
		"by nothing":       {covered("c2", "c1")},
		"by itself":        {session, covered("c2", "c2")},
		"by another cover": {session, covered("c2", "c1"), covered("c3", "c2")},
		"and gives more":   {session, fields(covered("c2", "c1"), args{"scope": "session"})},
	} {
		if a := r.say(t, args{"decision": "approve", "calls": calls}); a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	asked := r.question(t).str("approval_id")
	r.sayTo(t, asked, args{"decision": "approve", "calls": []args{session, covered("c2", "c1"), covered("c3", "c1")}}).ok(t)
	eventually(t, "the run asks again", func() bool { p := r.pending(t); return p != "" && p != asked })
	for id, decision := range map[string]string{"c1": "allow_visibly", "c2": "allow_visibly", "c3": "ask"} {
		equal(t, id, about(t, r.question(t), id).str("ruling", "decision"), decision)
	}
	for _, a := range r.approvals(t) {
		if a.str("id") == asked {
			want{"answer": "approved", "scope": "session", "covered_by": "c1"}.check(t, "recorded", a.list("calls")[1])
		}
	}
	r.say(t, no).ok(t)
	r.becomes(t, "completed")
	intent := part(t, ofType(r.events(t), "tool.dispatch.intended"), 1, 2)[0].obj("data")
	want{"tool_call_id": "c2", "ruling/grant": present, "ruling/layer": "answer"}.check(t, "covered", intent)
	equal(t, "left", fmt.Sprint(entries(t, dir)), "[1 2]")
}
