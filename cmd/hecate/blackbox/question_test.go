//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A question says what the arguments of its calls do not: where they work, what a shell
// without a name is, and which file a change is made in. What can come to nothing only is
// not asked about.
func TestQuestionsSayWhatArgumentsDoNot(t *testing.T) {
	t.Parallel()
	s := gated(t)
	under := t.TempDir()
	git(t, under, "init", "-q", "-b", "trunk")
	write(t, filepath.Join(under, "a"), "A\n")
	bundle := asks(
		call("c1", "terminal_open", args{}), call("c2", "terminal_open", args{"command": "cat"}),
		call("c3", "config_edit", args{"file": "project", "list": "permissions.approve", "entry": "exec(x) args(*)"}),
		call("c4", "config_edit", args{"file": "user", "list": "permissions.deny", "entry": "exec(x) args(*)"}),
		call("c5", "terminal_write", args{"terminal_id": "terminal_none", "input": "x\n"}), call("c6", "terminal_kill", args{"terminal_id": "terminal_none"}),
	)
	r, _ := s.agentRun(t, []reply{bundle, says("done")}, args{"working_directory": under}, levels)
	asked := r.question(t)
	want{"place/kind": "worktree", "place/source": under, "place/ref": "trunk", "place/path": present}.check(t, "place", asked)
	want{"program": present}.check(t, "a shell", about(t, asked, "c1"))
	want{"program": absent}.check(t, "a program that is named", about(t, asked, "c2"))
	equal(t, "the project's file", about(t, asked, "c3").str("config_file"), projectFile(under))
	equal(t, "the user's file", about(t, asked, "c4").str("config_file"), s.userFile())
	for _, id := range []string{"c5", "c6"} {
		want{"ruling/decision": "allow_visibly", "gates": absent}.check(t, id+", of no terminal", about(t, asked, id))
	}
	item := r.approvals(t)[0]
	want{"place/kind": "worktree", "place/ref": "trunk"}.check(t, "place in the list", item)
	equal(t, "file in the list", item.list("calls")[2].str("config_file"), projectFile(under))
	r.say(t, no).ok(t)
	r.becomes(t, "completed")
	equal(t, "dispatched", r.intents(t), "c5 c6")

	plain := t.TempDir()
	for name, x := range map[string]struct {
		where args
		want  want
	}{
		"a copy":   {args{"working_directory": plain}, want{"place/kind": "copy", "place/source": plain, "place/ref": absent}},
		"in place": {in(under), want{"place/kind": "in_place", "place/source": absent, "place/path": under, "place/ref": "trunk"}},
		"nothing":  {args{}, want{"place/kind": "empty", "place/source": absent}},
	} {
		r, _ := s.agentRun(t, []reply{asks(program("c1", "true")), says("done")}, x.where, levels)
		x.want.check(t, name, r.question(t))
		r.cancel(t)
	}
}

// What a program that was started is shows beside the calls that act on it.
func TestQuestionsNameTheProgramOfATerminal(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	c := s.model.script()
	c.each = func(n int) reply {
		if n == 0 {
			return asks(call("c1", "terminal_open", args{"command": "cat", "args": []string{"-u", "-"}}))
		}
		id := terminalID(c.request(t, 1).answered(t, "c1")[0])
		return asks(call("c2", "terminal_write", args{"terminal_id": id, "input": "x\n"}), call("c3", "terminal_kill", args{"terminal_id": id}))
	}
	r := s.beginAhead(t, agent(c, in(dir), levels), args{"allow_tools": []string{"background(cat -u -)"}})
	asked := r.question(t)
	for _, id := range []string{"c2", "c3"} {
		want{"program": "cat -u -", "ruling/decision": "ask"}.check(t, id, about(t, asked, id))
	}
	want{"calls/0/program": absent}.check(t, "the list, which shows no command", r.approvals(t)[0])
	r.cancel(t)
}

// Variables that the runtime sets for every command are refused before anybody is asked;
// those that choose what code runs ask.
func TestVariablesOfTheRuntimeAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	set := func(id, name string) reply {
		return asks(call(id, "exec", args{"program": "true", "env": args{name: "/tmp"}}))
	}
	r, c := s.governed(t, dir, nil, set("c1", "PATH"), set("c2", "HOME"), set("c3", "GIT_DIR"), set("c4", "HECATE_DATA_DIR"), set("c5", "LD_PRELOAD"), says("done"))
	asked := r.question(t)
	equal(t, "asked about", asked.list("calls")[0].str("tool_call_id"), "c5")
	for i, text := range c.request(t, 4).answered(t, "c1", "c2", "c3", "c4") {
		contains(t, fmt.Sprint("c", i+1), text, "cannot be set")
	}
	equal(t, "dispatched", r.intents(t), "")
	r.cancel(t)
}
