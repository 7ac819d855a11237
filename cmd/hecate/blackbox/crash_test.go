//go:build linux

package blackbox_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A command that ran when the server died is never run again: the model is told
// that it may have happened, and the run goes on.
func TestCrashDuringACommand(t *testing.T) {
	t.Parallel()
	crashDuringACommand(t, serve(t))
}

func crashDuringACommand(t *testing.T, s *server) {
	t.Helper()
	dir := t.TempDir()
	marker, sleep := filepath.Join(dir, "marker"), nap(60)
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker; "+sleep)), says("done")}, in(dir))
	eventually(t, "the command runs", func() bool { return fileLines(marker) == 1 && runs(sleep) })
	s.crash(t)
	goneSoon(t, sleep)
	r.becomes(t, "completed")
	equal(t, "lines", fileLines(marker), 1)
	equal(t, "requests", c.count(), 2)
	texts := c.request(t, 1).answered(t, "c1")
	contains(t, "result", texts[0], "may")
	want{
		"status": "failed", "result": "error", "phase": "recovery", "error_kind": "tool_dispatch_outcome_unknown",
		"output_summary/automatic_replay_denied": true, "output_summary/recovery_result_missing": true,
	}.check(t, "step", r.stepOf(t, "shell_exec"))
	equal(t, "said", fmt.Sprint(r.said(t)), "[ done]")
	want{
		"reason": "boot_reconcile", "action": "requeued", "prior_status": "running", "recovered_status": "queued", "recovery_strategy": "requeue",
	}.check(t, "gap", only(t, r, "gap.run_disconnected"))
}

// only returns the data of the one event of this type.
func only(t *testing.T, r run, kind string) doc {
	t.Helper()
	found := ofType(r.events(t), kind)
	if len(found) != 1 {
		t.Fatalf("%d events of type %s", len(found), kind)
	}
	return found[0].obj("data")
}

// A batch that dies in its second call keeps the first, gives up the second and
// runs the third.
func TestCrashInABatch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	m, sleep := filepath.Join(dir, "m"), nap(60)
	r, c := s.agentRun(t, []reply{
		asks(shell("c1", "echo 1 >> m; echo first"), shell("c2", "echo 2 >> m; "+sleep), shell("c3", "echo 3 >> m; echo third")), says("done"),
	}, in(dir))
	eventually(t, "the second command runs", func() bool { return fileLines(m) == 2 && runs(sleep) })
	s.crash(t)
	r.becomes(t, "completed")
	equal(t, "side effects", read(t, m), "1\n2\n3\n")
	texts := c.request(t, 1).answered(t, "c1", "c2", "c3")
	contains(t, "c1", texts[0], "status=completed", "first")
	contains(t, "c3", texts[2], "status=completed", "third")
	equal(t, "tool steps", shape(kinds(r.steps(t), "tool"), "status"), "completed failed completed")
	control := kinds(r.steps(t), "control")
	if len(control) != 1 {
		t.Fatalf("control steps: %v", control)
	}
	want{"tool_name": "builtin.agent_loop_resume", "input/recovered_tools": present, "input/model_call_index": 1}.check(t, "recovery", control[0])
	goneSoon(t, sleep)
}

func kinds(steps []doc, kind string) (out []doc) {
	for _, s := range steps {
		if s.str("kind") == kind {
			out = append(out, s)
		}
	}
	return out
}

// Half an answer that was seen before a crash is not the answer, nor part of what
// the model is asked again.
func TestCrashInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, c := s.agentRun(t, []reply{{Text: "Partial answer that stops ", HangAfterText: true}, says("Complete answer.")})
	eventually(t, "the partial text is in the conversation", func() bool {
		a := r.artifact(t, "agent_conversation")
		return strings.Contains(a.str("content_text"), "that stops") && a.str("status") == "streaming"
	})
	s.crash(t)
	want{"model_call_count": 1}.check(t, "run", r.becomes(t, "completed"))
	equal(t, "answer", r.artifact(t, "summary").str("content_text"), "Complete answer.")
	if strings.Contains(c.request(t, 1).raw, "Partial") {
		t.Errorf("the partial answer is sent back: %s", c.request(t, 1).raw)
	}
	equal(t, "said", fmt.Sprint(r.said(t)), "[Complete answer.]")
	equal(t, "accounts", len(ofType(r.events(t), "model.call.completed")), 1)
	equal(t, "conversation", r.artifact(t, "agent_conversation").str("status"), "ready")
}

// A blank answer that was saved before a crash fails the run as it would have without one.
func TestCrashAroundABlankAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for round := range 6 {
		c := s.model.script()
		c.each = func(int) reply { return reply{Text: "  "} }
		r := s.begin(t, agent(c))
		c.awaitRequests(t, 1)
		time.Sleep(time.Duration(rand.IntN(6000)) * time.Microsecond)
		s.crash(t)
		r.becomes(t, "failed")
		accounts := len(ofType(r.events(t), "model.call.completed"))
		if accounts != 1 || c.count() > 2 {
			t.Errorf("round %d: %d accounts, %d requests", round, accounts, c.count())
		}
		if r.artifact(t, "summary") != nil || strings.Contains(r.history(t), "assistant.final_answer") {
			t.Errorf("round %d: a final answer: %s", round, r.history(t))
		}
	}
}

// An approval that waits when the server dies waits afterwards, and works.
func TestCrashWhileAnApprovalWaits(t *testing.T) {
	t.Parallel()
	crashWhileAnApprovalWaits(t, serve(t, "HECATE_TASK_APPROVAL_POLICIES=UNSET", "HECATE_TASK_RECONCILE_INTERVAL=200ms"))
}

func crashWhileAnApprovalWaits(t *testing.T, s *server) {
	t.Helper()
	dir := t.TempDir()
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	before := r.parked(t)
	s.crash(t)
	time.Sleep(500 * time.Millisecond) // two reconcile intervals, in which nothing must happen
	equal(t, "the approval", r.parked(t).String(), before.String())
	equal(t, "approvals", len(r.approvals(t)), 1)
	equal(t, "requests", c.count(), 1)
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
	r.resolve(t, before.str("id"), "approve").ok(t)
	r.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	equal(t, "requests", c.count(), 2)
}

// A yes that was acknowledged is never lost, even if no worker was free and the
// server died right after.
func TestCrashRightAfterAYes(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_APPROVAL_POLICIES=UNSET", "HECATE_TASK_QUEUE_WORKERS=1")
	dir := t.TempDir()
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	id := r.parked(t).str("id")
	busy := s.model.script()
	busy.each = func(n int) reply {
		if n == 0 {
			return reply{Hang: true}
		}
		return says("done")
	}
	hanging := s.begin(t, agent(busy))
	busy.awaitRequests(t, 1)
	r.resolve(t, id, "approve").ok(t)
	s.crash(t)
	r.becomes(t, "completed")
	hanging.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	equal(t, "answers", len(ofType(r.events(t), "approval.resolved")), 1)
}

// Killed again and again at random moments under several runs, the server keeps every
// event that it has shown, repeats no side effect and brings every run to an end.
func TestCrashesAtRandomMoments(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=100")
	const agents, rounds, kills = 6, 15, 5
	dir := t.TempDir()
	var all []run
	for a := range agents {
		c := s.model.script()
		c.each = counting(c, rounds, func(n int) reply {
			return asks(shell(fmt.Sprint("c", n), fmt.Sprintf("echo %d.%d >> m%d", a, n, a)), call(fmt.Sprint("l", n), "list_dir", args{"path": "."}))
		})
		all = append(all, s.begin(t, agent(c, in(dir))))
	}
	w := &witness{seen: map[int64]string{}}
	for range kills {
		w.watch(t, s, time.Duration(30+rand.IntN(200))*time.Millisecond)
		s.crash(t)
		w.check(t, s)
	}
	for a, r := range all {
		r.becomes(t, "completed")
		effects := strings.Fields(read(t, filepath.Join(dir, fmt.Sprint("m", a))))
		slices.Sort(effects)
		if once := slices.Compact(slices.Clone(effects)); len(once) != len(effects) {
			t.Errorf("a side effect happened twice: %s", effects)
		}
	}
	w.check(t, s)
	t.Logf("%d events were seen before a kill", len(w.seen))
}

// counting answers a request by how many tool results it holds, so that a repeated
// request gets the same answer, and ends after the given number of rounds.
func counting(c *conversation, rounds int, round func(n int) reply) func(int) reply {
	return func(int) reply {
		requests := c.asked()
		ids, _ := requests[len(requests)-1].results()
		if n := len(ids) / 2; n < rounds {
			return round(n)
		}
		return says("done")
	}
}

// witness remembers, byte for byte, every event that a server has shown.
type witness struct {
	seen   map[int64]string
	cursor int64
}

// watch follows the list of all events for a while.
func (w *witness) watch(t *testing.T, s *server, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		page, next := rawPage(t, s, w.cursor)
		for sequence, raw := range page {
			w.seen[sequence] = raw
		}
		w.cursor = max(w.cursor, next)
	}
}

// check asserts that the list still has every event that was seen, unchanged.
func (w *witness) check(t *testing.T, s *server) {
	t.Helper()
	now := map[int64]string{}
	for page, next := rawPage(t, s, 0); len(page) > 0; page, next = rawPage(t, s, next) {
		maps.Copy(now, page)
	}
	for sequence, raw := range w.seen {
		if now[sequence] != raw {
			t.Fatalf("event %d was\n%s\nand is\n%s", sequence, raw, now[sequence])
		}
	}
}

// rawPage maps the sequences of a page of the cross-run list to what was sent for them.
func rawPage(t *testing.T, s *server, after int64) (events map[int64]string, next int64) {
	t.Helper()
	body := s.ask(t, "GET", fmt.Sprintf("%s/events?limit=500&after_sequence=%d", api, after), nil).ok(t).body
	events, next, err := rawEvents(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return events, next
}

// Much at once on SQLite: nothing fails because something else is being written.
func TestSQLiteUnderLoad(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_APPROVAL_POLICIES=UNSET", "HECATE_TASK_QUEUE_WORKERS=16")
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Second)
	defer stop()
	var mu sync.Mutex
	var started []run
	judge := func(a answer, err error) doc {
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if a.status >= 500 || strings.Contains(string(a.body), "locked") {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		d, _ := parse(a.body) // a list of nothing if there is no body
		return d
	}
	atOnce(12, func(lane int) int {
		for n := 0; ctx.Err() == nil && !t.Failed(); n++ {
			c := s.model.script(asks(shell("c1", "echo x")), says("done"))
			task := api + "/tasks/" + judge(s.send("POST", api+"/tasks", agent(c))).str("data", "id")
			r := run{s, strings.TrimPrefix(task, api+"/tasks/"), judge(s.send("POST", task+"/start", nil)).str("data", "id")}
			mu.Lock()
			started = append(started, r)
			mu.Unlock()
			judge(s.send("POST", r.path()+"/events", args{"type": "load.note"}))
			if (lane+n)%3 == 0 {
				judge(s.send("POST", r.path()+"/cancel", nil))
				continue
			}
			soon(func() bool {
				list := judge(s.send("GET", task+"/approvals", nil)).list("data")
				if len(list) > 0 {
					judge(s.send("POST", task+"/approvals/"+list[0].str("id")+"/resolve", args{"decision": "approve"}))
				}
				return len(list) > 0 || ctx.Err() != nil
			})
			if feed, err := s.connect(ctx, r.path()+"/stream"); err == nil {
				_, _ = feed.event() // reading is what counts
				feed.close()
			}
		}
		return 0
	})
	for _, r := range started {
		d := r.now(t)
		if d.str("status") == "awaiting_approval" {
			r.cancel(t)
		}
		d = r.ends(t)
		if d.str("status") == "failed" || strings.Contains(d.String(), "locked") {
			t.Errorf("run: %s", d)
		}
	}
	t.Logf("%d runs", len(started))
}
