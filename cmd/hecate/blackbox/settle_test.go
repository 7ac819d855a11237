//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Each call can be seen as not started, running, finished or unknown. What an operator
// finds out about an unknown one is told to the model of the run that goes on.
func TestUnknownCallIsSettledByHand(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	marker, sleep := filepath.Join(dir, "marker"), nap(60)
	r, c := s.agentRun(t, []reply{
		asks(call("c1", "list_dir", args{"path": "."}), shell("c2", "echo x >> marker; "+sleep), call("c3", "read_file", args{"path": "marker"})),
		refusal("not now"), says("I know."), says("I still know."),
	}, in(dir))
	eventually(t, "the command runs", func() bool { return fileLines(marker) == 1 && runs(sleep) })
	calls := func() string {
		return shape(r.list(t, r.path()+"/tool-calls"), "tool_call_id", "tool_name", "model_call_index", "state", "outcome")
	}
	equal(t, "calls under way", calls(), "c1/list_dir/1/finished/completed c2/shell_exec/1/running/<nil> c3/read_file/1/not_started/<nil>")
	running := r.stepOf(t, "shell_exec").str("id")
	r.ask(t, "POST", r.path()+"/steps/"+running+"/settle", args{"outcome": "done"}).refused(t, 409, "invalid_request")
	s.crash(t)
	r.becomes(t, "failed")
	equal(t, "calls at the end", calls(), "c1/list_dir/1/finished/completed c2/shell_exec/1/unknown/unknown c3/read_file/1/finished/completed")

	settle := func(step string, body any) answer { return r.ask(t, "POST", r.path()+"/steps/"+step+"/settle", body) }
	for _, body := range []any{nil, "", "{", args{}, args{"outcome": "perhaps"}, args{"outcome": "done", "note": strings.Repeat("n", 5000)}} {
		settle(running, body).refused(t, 400, "invalid_request")
	}
	settle("step_0", args{"outcome": "done"}).refused(t, 404, "not_found")
	settle(r.stepOf(t, "list_dir").str("id"), args{"outcome": "done"}).refused(t, 409, "invalid_request")
	history := r.history(t)
	statuses := atOnce(6, func(int) int {
		a, err := s.send("POST", r.path()+"/steps/"+running+"/settle", args{"outcome": "done", "note": "the marker is there"})
		if err != nil {
			return 0
		}
		return a.status
	})
	equal(t, "successes", count(statuses, 200), 1)
	equal(t, "conflicts", count(statuses, 409), 5)
	equal(t, "history", r.history(t), history)
	equal(t, "operator's word", r.list(t, r.path()+"/tool-calls")[1].str("operator_outcome"), "done")
	want{"status": "failed", "error_kind": "tool_dispatch_outcome_unknown"}.check(t, "step", r.stepOf(t, "shell_exec"))
	s.crash(t) // it is a fact like any other

	next := r.again(t, "resume", args{})
	next.becomes(t, "completed")
	contains(t, "request", c.request(t, 2).raw, "took effect", "the marker is there", "outcome unknown")
	c.request(t, 2).answered(t, "c1", "c2", "c3")
	last := next.again(t, "continue", args{"prompt": "and then?"})
	last.becomes(t, "completed")
	equal(t, "times that it is told", strings.Count(c.request(t, 3).raw, "the marker is there"), 1)
	equal(t, "lines", fileLines(marker), 1)
}

// A command task whose outcome is unknown fails, and can be settled too.
func TestUnknownCommandIsSettledByHand(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	sleep := nap(60)
	r := s.begin(t, sh("echo x >> marker; "+sleep), in(dir))
	eventually(t, "the command runs", func() bool { return runs(sleep) })
	s.crash(t)
	r.becomes(t, "failed")
	call := part(t, r.list(t, r.path()+"/tool-calls"), 0, 1)[0]
	want{"tool_name": "shell", "state": "unknown", "outcome": "unknown", "step_id": present}.check(t, "call", call)
	d := s.post(t, r.path()+"/steps/"+call.str("step_id")+"/settle", args{"outcome": "not_done"})
	want{"id": call.str("step_id"), "status": "failed"}.check(t, "step", d)
	equal(t, "calls", fmt.Sprint(shape(r.list(t, r.path()+"/tool-calls"), "state", "operator_outcome")), "unknown/not_done")
	want{"status": "failed"}.check(t, "run", r.now(t))
}
