//go:build linux

package blackbox_test

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const (
	retentionRun  = api + "/system/retention/run"
	retentionRuns = api + "/system/retention/runs"
)

// pruning are settings by which everything is too old at once.
var pruning = []string{"HECATE_TASK_APPROVAL_POLICIES=", "HECATE_RETENTION_MODEL_CALL_EVENTS_MAX_AGE=1us", "HECATE_RETENTION_RUN_CONTENTS_MAX_AGE=1us"}

// prune has a pass and returns what it deleted of each subsystem that was not skipped.
func (s *server) prune(t *testing.T, body any) string {
	t.Helper()
	d := s.post(t, retentionRun, body)
	want{"trigger": "manual", "actor": "operator:" + d.str("request_id"), "request_id": present, "started_at": present, "finished_at": present}.check(t, "pass", d)
	equal(t, "subsystems", shape(d.list("results"), "name"), "trace_snapshots usage_events audit_events provider_history model_call_events chat_approvals run_contents")
	var out []string
	for _, r := range d.list("results") {
		if !r.flag("skipped") {
			out = append(out, fmt.Sprint(r.str("name"), "=", r.num("deleted")))
		}
		want{"error": absent, "incomplete": absent}.check(t, "result", r)
	}
	return strings.Join(out, " ")
}

// What is no longer kept goes, and neither what things cost nor what was said, to people
// or to the model, is another than before.
func TestRetention(t *testing.T) {
	t.Parallel()
	for name, env := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, append(env(t), pruning...)...)
			long := "for i in $(seq 3000); do echo line $i; done"
			r, c := s.agentRun(t, []reply{costing(asks(shell("c1", long)), 70), costing(says("done"), 3), costing(says("again"), 2)})
			r.becomes(t, "completed")
			s.begin(t, sh("sleep 600")).becomes(t, "running") // what goes on is not touched
			kept := func() string {
				return fmt.Sprint(s.get(t, api+"/usage/summary"), s.list(t, api+"/usage/events"), r.now(t), r.conversation(t), r.steps(t), r.history(t), r.artifact(t, "summary"))
			}
			before, chunks := kept(), len(ofType(r.events(t), "tool.shell.output_chunk"))
			contains(t, "output", r.artifact(t, "stdout").str("content_text"), "line 3000")
			equal(t, "unknown", s.prune(t, args{"subsystems": []string{"nonsense"}}), "")
			equal(t, "first pass", s.prune(t, nil), fmt.Sprint("model_call_events=2 run_contents=", chunks))
			equal(t, "second pass", s.prune(t, args{}), "model_call_events=0 run_contents=0")
			equal(t, "third pass", s.prune(t, args{"subsystems": []string{"run_contents"}}), "run_contents=0")
			equal(t, "kept", kept(), before)
			equal(t, "rebuild", s.ask(t, "POST", api+"/system/projections/rebuild", args{}).status, 200)
			equal(t, "kept, built anew", kept(), before)
			account := first(t, r.events(t), "model.call.completed")
			want{"cost_micros_usd": 70, "cost_known": true, "model_call_index": 1}.check(t, "account", account)
			if text := r.artifact(t, "stdout").str("content_text"); strings.Contains(text, "line") {
				t.Errorf("the output is there: %.100q", text)
			}
			r.again(t, "continue", args{"prompt": "go on"}).becomes(t, "completed")
			if told := c.request(t, 2).raw; !strings.Contains(told, "line 99") || !strings.Contains(told, "Do what is scripted") {
				t.Error("the model is not told what was said before")
			}

			list := s.list(t, retentionRuns)
			equal(t, "passes", shape(list, "trigger"), "manual manual manual manual")
			equal(t, "limited", len(s.list(t, retentionRuns+"?limit=2")), 2)
			for _, bad := range []string{"NaN", "-1"} {
				a := s.ask(t, "GET", retentionRuns+"?limit="+bad, nil)
				a.refused(t, 400, "invalid_request")
				contains(t, "limit", string(a.body), "limit query parameter must be a non-negative integer")
			}
			s.ask(t, "POST", retentionRun, "{").refused(t, 400, "invalid_request")
			s.crash(t)
			equal(t, "kept after a crash", fmt.Sprint(s.list(t, retentionRuns)), fmt.Sprint(list))
			equal(t, "exit code", s.terminate(t), 0)
			s.verified(t)
		})
	}
}

// verified has the log of a server that has ended verified by the binary.
func (s *server) verified(t *testing.T) {
	t.Helper()
	cmd := exec.Command(binary, "audit", "verify")
	cmd.Env, cmd.SysProcAttr = s.env, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("hecate audit verify: %v\n%s", err, out)
	}
}

// The server pruning by itself if it is told to, keeps what it did, and stops with it.
func TestScheduledRetention(t *testing.T) {
	t.Parallel()
	s := serve(t, append(pruning, "HECATE_RETENTION_ENABLED=1", "HECATE_RETENTION_INTERVAL=150ms", "HECATE_TASK_WORKERS_ENABLED=1")...)
	r, _ := s.agentRun(t, []reply{costing(says("done"), 3)})
	r.becomes(t, "completed")
	var passes []doc
	eventually(t, "a pass has done something", func() bool { passes = s.list(t, retentionRuns); return len(passes) > 0 })
	want{"trigger": "scheduled", "actor": absent, "request_id": absent}.check(t, "pass", passes[0])
	equal(t, "deleted", passes[0].list("results")[4].num("deleted"), 1)
	equal(t, "nothing more", s.prune(t, nil), "model_call_events=0 run_contents=0")
	equal(t, "passes", shape(s.list(t, retentionRuns), "trigger"), "manual scheduled") // those that did nothing are not kept
	want{"total_cost_micros_usd": 3}.check(t, "run", r.now(t))
	equal(t, "exit code", s.terminate(t), 0)
	refuses(t, []string{"HECATE_RETENTION_ENABLED=1", "HECATE_RETENTION_INTERVAL=0s", "HECATE_RETENTION_TRACES_MAX_AGE=-1h", "HECATE_RETENTION_CHAT_APPROVALS_MAX_COUNT=many"},
		"HECATE_RETENTION_INTERVAL", "HECATE_RETENTION_TRACES_MAX_AGE", "HECATE_RETENTION_CHAT_APPROVALS_MAX_COUNT")
}
