//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hecate/runtime/model/scripted"
)

// A command that brings the same again and again: a model looks, and only progress that it
// sees, or a person, lets the command run again. No flag does.
func TestRepeatedCommands(t *testing.T) {
	t.Parallel()
	s := gated(t)
	for name, x := range map[string]struct {
		says       string // by the model that looks
		assessment string
		onAsk      string
		answer     args // nil where nobody is asked
		dispatched string
	}{
		"progress":         {`{"assessment":"progress","observations":[{"round":1,"text":"it moves"}]}`, "progress", "refuse", nil, "c0 c1 c2 c3"},
		"a loop, allowed":  {`{"assessment":"loop","observations":[{"round":1,"text":"it stands still"}]}`, "loop", "park", yes, "c0 c1 c2 c3"},
		"a loop, refused":  {`{"assessment":"loop","observations":[{"round":1,"text":"it stands still"}]}`, "loop", "park", no, "c0 c1 c2"},
		"a loop, nobody":   {`{"assessment":"loop","observations":[{"round":1,"text":"it stands still"}]}`, "loop", "refuse", nil, "c0 c1 c2"},
		"no usable answer": {"I allow everything from here on.", "invalid", "park", no, "c0 c1 c2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := s.model.script()
			c.each = func(n int) reply {
				switch {
				case n < 4: // the mark brings the check to this conversation, too
					return asks(shell(fmt.Sprint("c", n), "echo "+c.mark))
				case n == 4:
					return costing(says(x.says), 7)
				}
				return says("done")
			}
			r := s.beginAhead(t, agent(c, in(dir), levels), args{"yes": true, "on_ask": x.onAsk})
			if x.answer != nil {
				asked := about(t, r.question(t), "c3")
				equal(t, "gates", strings.Join(gatesOf(asked), " "), "repetition")
				equal(t, "answers", fmt.Sprint(asked["answers"]), "[y n N]")
				want{"offer": absent}.check(t, "question", asked)
				r.say(t, remembering("c3", "session")).refused(t, 400, "invalid_request")
				r.say(t, x.answer).ok(t)
			}
			r.becomes(t, "completed")
			equal(t, "dispatched", r.intents(t), x.dispatched)
			want{"tool_call_id": "c3", "tool_name": "shell_exec", "count": 3}.check(t, "check", only(t, r, "repetition.check.started"))
			done := only(t, r, "repetition.check.completed")
			want{"tool_call_id": "c3", "asked": true, "cost_pico_usd": 7_000_000}.check(t, "result of the check", done)
			equal(t, "assessment", done.str("assessment"), x.assessment)
			contains(t, "the check", c.request(t, 4).raw, "not_executed", c.mark)
			if strings.Contains(c.request(t, 5).raw, x.says) || strings.Contains(c.request(t, 5).raw, "it stands still") {
				t.Error("the check is part of the conversation")
			}
			equal(t, "results", len(c.request(t, 5).answered(t, "c0", "c1", "c2", "c3")), 4)
		})
	}
}

// A call is the same however its arguments are spelled, and a look at a job that runs is the
// same however long it would wait.
func TestRepeatedCallsInOtherWords(t *testing.T) {
	t.Parallel()
	s := gated(t)
	for name, x := range map[string]struct {
		next  func(c *conversation, n int) scripted.Call
		count int64
		last  int // that may be dispatched
	}{
		"spelling": {func(c *conversation, n int) scripted.Call {
			return scripted.ToolCall(fmt.Sprint("c", n), "read_file", []string{`{"path":"notes","max_bytes":900}`, `{"max_bytes": 900, "path": "notes"}`, `{ "path":"n\u006ftes", "max_bytes":900 }`}[n%3])
		}, 2, 1},
		"patience": {func(c *conversation, n int) scripted.Call {
			if n == 0 {
				return call("c0", "terminal_open", args{"command": "sh", "args": []string{"-c", "echo " + c.mark + "; exec sleep 60"}})
			}
			_, texts := c.asked()[1].results()
			wait := args{"terminal_id": terminalID(texts[0]), "timeout_ms": n}
			if n == 1 { // the output is there
				wait["timeout_ms"] = 300
			}
			return call(fmt.Sprint("c", n), "terminal_wait", wait)
		}, 8, 9}, // the first look may come before the output
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := s.model.script()
			write(t, filepath.Join(dir, "notes"), c.mark+"\n")
			checked := false
			c.each = func(n int) reply {
				switch {
				case checked:
					return says("done")
				case strings.Contains(c.asked()[n].raw, "not_executed"):
					checked = true
					return says(`{"assessment":"uncertain","observations":[]}`)
				case n > 12:
					return says("nobody has looked")
				}
				return asks(x.next(c, n))
			}
			r := s.beginAhead(t, agent(c, in(dir), levels), args{"yes": true, "on_ask": "refuse"})
			r.becomes(t, "completed")
			if n := len(strings.Fields(r.intents(t))) - 1; n > x.last {
				t.Errorf("%d calls have passed", n+1)
			}
			equal(t, "what the check counts", only(t, r, "repetition.check.started").num("count"), x.count)
		})
	}
}

// TestNewReasonsAskAgain: a yes opens what it was asked for. What asks for another reason by
// the time its turn has come is asked about again, with the calls that are left.
func TestNewReasonsAskAgain(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	deny := "mkdir -p .hecate && echo 'permissions.deny = [\"exec(npm) args(*)\"]' > .hecate/config.toml"
	r, _ := s.governed(t, dir, nil, asks(program("c1", "sh", "-c", deny), shell("c2", "$TOOL; echo x >> marker"), program("c3", "true")), says("done"))
	before := r.question(t)
	equal(t, "gates", strings.Join(gatesOf(about(t, before, "c2")), " "), "level-2")
	r.say(t, yes).ok(t)
	eventually(t, "the second question", func() bool { p := r.pending(t); return p != "" && p != before.str("approval_id") })
	again := r.question(t)
	equal(t, "dispatched so far", r.intents(t), "c1")
	equal(t, "calls that are left", shape(again.list("calls"), "tool_call_id"), "c2 c3")
	equal(t, "gates", len(gatesOf(about(t, again, "c2"))), 2)
	equal(t, "digest", again.str("digest"), before.str("digest")) // it is the same bundle
	r.sayTo(t, before.str("approval_id"), yes).refused(t, 409, "invalid_request")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
	r.say(t, args{"decision": "approve", "calls": []args{{"tool_call_id": "c2", "decision": "deny"}}}).ok(t)
	r.becomes(t, "completed")
	equal(t, "dispatched", r.intents(t), "c1 c3")
}
