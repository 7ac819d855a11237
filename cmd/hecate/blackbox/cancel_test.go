//go:build linux

package blackbox_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A cancel is answered at once and ends everything that the command started, also
// what has left its session.
func TestCancelEndsTheProcessTree(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, start := range map[string]func(t *testing.T, command string, dir string) run{
		"shell task": func(t *testing.T, command, dir string) run { return s.begin(t, sh(command), in(dir)) },
		"shell_exec": func(t *testing.T, command, dir string) run {
			r, _ := s.agentRun(t, []reply{asks(shell("c1", command))}, in(dir))
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			a, b, c := nap(60), nap(61), nap(62)
			r := start(t, "setsid "+b+" & (setsid "+c+" &) ; trap '' TERM; echo begun; "+a+"; echo late >> late", dir)
			eventually(t, "all commands run", func() bool { return runs(a) && runs(b) && runs(c) })
			began := time.Now()
			want{"status": "cancelled", "last_error": "run cancelled: enough"}.check(t, "answer", r.cancel(t))
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the answer took %v", took)
			}
			goneSoon(t, a, b, c)
			checkCancelled(t, r)
			equal(t, "what the command would have done later", fileLines(filepath.Join(dir, "late")), 0)
		})
	}
}

func checkCancelled(t *testing.T, r run) {
	t.Helper()
	eventually(t, "the step is settled", func() bool {
		for _, step := range r.steps(t) {
			if step.str("status") == "running" {
				return false
			}
		}
		return true
	})
	want{"status": "cancelled", "last_error": "run cancelled: enough", "finished_at": present}.check(t, "run", r.now(t))
	want{"status": "cancelled"}.check(t, "task", r.get(t, r.taskPath()))
	n := len(r.steps(t))
	want{"status": "cancelled", "result": "error", "error_kind": "run_cancelled"}.check(t, "step", r.step(t, max(n-1, 0)))
	for _, a := range r.artifacts(t) {
		if a.str("status") == "streaming" {
			t.Errorf("artifact %s is still streaming", a.str("name"))
		}
	}
	events := r.events(t)
	equal(t, "run.cancelled", len(ofType(events, "run.cancelled")), 1)
	equal(t, "run.failed", len(ofType(events, "run.failed")), 0)
	want{"by": "operator", "reason": "run cancelled: enough"}.check(t, "event", first(t, events, "run.cancelled"))
	contains(t, "history", r.history(t), "run.cancelled task.updated")
	again := r.cancel(t)
	equal(t, "a second cancel", again.String(), r.now(t).String())
	equal(t, "events after it", len(ofType(r.events(t), "run.cancelled")), 1)
}

// Whenever a cancel comes, nothing of the run stays open or goes on.
func TestCancelAtRandomMoments(t *testing.T) {
	t.Parallel()
	s := open(t)
	const rounds, lanes = 32, 4
	ended := atOnce(lanes, func(lane int) (all []run) {
		for round := lane; round < rounds; round += lanes {
			c := s.model.script(asks(shell("c1", "echo a"), shell("c2", nap(90)), shell("c3", "echo c")), says("done"))
			task := s.mustPost(t, api+"/tasks", agent(c)).str("id")
			r := run{s, task, s.mustPost(t, api+"/tasks/"+task+"/start", nil).str("id")}
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
			equal(t, "answer", s.mustPost(t, r.path()+"/cancel", nil).str("status"), "cancelled")
			all = append(all, r)
		}
		return all
	})
	for _, r := range slices.Concat(ended...) {
		equal(t, "run", r.now(t).str("status"), "cancelled")
		eventually(t, "its steps are settled", func() bool {
			return !slices.ContainsFunc(r.steps(t), func(d doc) bool { return d.str("status") == "running" })
		})
		for _, a := range r.artifacts(t) {
			if a.str("status") == "streaming" {
				t.Errorf("artifact %s is still streaming", a.str("name"))
			}
		}
		equal(t, "run.cancelled", len(ofType(r.events(t), "run.cancelled")), 1)
	}
	eventually(t, "no sleep is left", func() bool { return len(processesWith("cmdline", "sleep\x0090.")) == 0 })
}

// Cancelling during a model call ends the call at the provider.
func TestCancelDuringAModelCall(t *testing.T) {
	t.Parallel()
	r, c := open(t).agentRun(t, []reply{{Hang: true}})
	c.awaitRequests(t, 1)
	equal(t, "status", r.cancel(t).str("status"), "cancelled")
	checkCancelledModelCall(t, r)
	equal(t, "requests", c.count(), 1)
}

func checkCancelledModelCall(t *testing.T, r run) {
	t.Helper()
	h := r.history(t)
	if !strings.HasSuffix(h, "run.cancelled task.updated") || strings.Contains(h, "run.failed") {
		t.Error(h)
	}
}

// A cancel without a body, or with one that cannot be read, still cancels.
func TestCancelNeedsNoBody(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, body := range map[string]any{"none": nil, "empty": "", "no JSON": "{"} {
		r := s.begin(t, sh(nap(60)))
		a := s.ask(t, "POST", r.path()+"/cancel", body).ok(t).envelope(t)
		want{"status": "cancelled", "last_error": "run cancelled"}.check(t, name, a.obj("data"))
	}
}

// A run that has ended is not changed by a cancel.
func TestCancelOfAFinishedRun(t *testing.T) {
	t.Parallel()
	r := open(t).begin(t, sh("true"))
	done := r.becomes(t, "completed")
	equal(t, "answer", r.cancel(t).String(), done.String())
	equal(t, "run", r.now(t).String(), done.String())
}

// A run that is cancelled in the queue never begins.
func TestCancelInTheQueue(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_QUEUE_WORKERS=1")
	busy, model := s.agentRun(t, []reply{{Hang: true}})
	model.awaitRequests(t, 1)
	queued := s.begin(t, sh("true"))
	equal(t, "status", queued.now(t).str("status"), "queued")
	equal(t, "answer", queued.cancel(t).str("status"), "cancelled")
	busy.cancel(t)
	last := s.begin(t, sh("true"))
	last.becomes(t, "completed") // so the queue has moved on
	equal(t, "history", queued.history(t), "run.created run.queued run.cancelled task.updated")
	equal(t, "steps", len(queued.steps(t)), 0)
}

// A command that takes too long is ended with its whole tree.
func TestTimeoutEndsTheProcessTree(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := nap(60), nap(61)
	command := "setsid " + b + " & echo begun; " + a
	direct := s.begin(t, sh(command, args{"timeout_ms": 5000}))
	want{"last_error": "context deadline exceeded"}.check(t, "run", direct.becomes(t, "failed"))
	want{"status": "failed", "exit_code": -1, "error_kind": "shell_timeout", "output_summary/hecate.tool.timed_out": true}.check(t, "step", direct.step(t, 0))
	want{"content_text": "begun\n"}.check(t, "stdout", direct.artifact(t, "stdout"))
	contains(t, "history", direct.history(t), "tool.shell.exited tool.timed_out run.failed")
	want{"after_ms": 5000}.check(t, "event", first(t, direct.events(t), "tool.timed_out"))
	goneSoon(t, a, b)

	c, d := nap(60), nap(61)
	r, model := s.agentRun(t, []reply{asks(shell("c1", "setsid "+d+" & echo begun; "+c)), says("done")}, args{"timeout_ms": 5000})
	r.becomes(t, "completed")
	texts := model.request(t, 1).answered(t, "c1")
	contains(t, "result", texts[0], "context deadline exceeded", "begun")
	goneSoon(t, c, d)
}

// Output without end is cut, and the command ended.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_MAX_OUTPUT_BYTES=100000")
	r := s.begin(t, sh("yes"))
	contains(t, "error", r.becomes(t, "failed").str("last_error"), "command output exceeded limit of 100000 bytes")
	equal(t, "size", r.artifact(t, "stdout").num("size_bytes"), 100000)
	want{"truncated": true}.check(t, "event", first(t, r.events(t), "tool.shell.exited"))
}
