//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// When the node that executes dies, another one goes on once its lease is over: a model
// call is made again, a command is not, and what was done stays done.
func TestTakeover(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2)
	dir := t.TempDir()
	talking, c := all[0].agentRun(t, []reply{asks(shell("c1", "echo 1 >> m")), {Text: "half", HangAfterText: true}, says("done")}, in(dir))
	c.awaitRequests(t, 2)
	on, others := talking.executor(t, all)
	survivor := others[0]
	on.kill()
	done := talking.at(survivor).becomes(t, "completed")
	equal(t, "requests", c.count(), 3)
	equal(t, "lines", fileLines(filepath.Join(dir, "m")), 1)
	want{"model_call_count": 2, "number": 1, "cost_known": false}.check(t, "run", done)
	checkTakenOver(t, talking.at(survivor), on)

	on.start(t)
	sleep := nap(60)
	working, c := all[0].agentRun(t, []reply{asks(shell("c1", "echo 2 >> m; "+sleep), shell("c2", "echo 3 >> m")), says("done")}, in(dir))
	on, others = working.executor(t, all)
	survivor = others[0]
	eventually(t, "the command runs", func() bool { return fileLines(filepath.Join(dir, "m")) == 2 && runs(sleep) })
	on.kill()
	goneSoon(t, sleep)
	working.at(survivor).becomes(t, "completed")
	equal(t, "side effects", read(t, filepath.Join(dir, "m")), "1\n2\n3\n")
	contains(t, "result", c.request(t, 1).answered(t, "c1", "c2")[0], "outcome unknown")
	equal(t, "calls", shape(working.at(survivor).list(t, working.path()+"/tool-calls"), "tool_call_id", "state", "outcome"), "c1/unknown/unknown c2/finished/completed")
	checkTakenOver(t, working.at(survivor), on)
}

// checkTakenOver asserts what the log says of a run that another node took over from one.
func checkTakenOver(t *testing.T, r run, from *server) {
	t.Helper()
	gap := only(t, r, "gap.run_disconnected")
	want{
		"reason": "worker_lease_expired", "action": "requeued", "prior_status": "running", "recovered_status": "queued",
		"recovery_strategy": "periodic_requeue", "stale_threshold_ms": leaseSeconds * 1000,
	}.check(t, "gap", gap)
	claims := objects(ofType(r.events(t), "run.claimed"))
	if len(claims) != 2 || claims[0].num("epoch") >= claims[1].num("epoch") || claims[0].str("node_id") == claims[1].str("node_id") {
		t.Fatalf("claims: %s", claims)
	}
	contains(t, "gap", gap.str("message"), claims[0].str("node_id"))
	equal(t, "new node", claims[1].str("node_id"), r.server.id(t))
	if from.base == r.base {
		t.Error("it was executed by the same node")
	}
}

// A node that is started again takes its own runs back at once, whatever its lease was.
func TestRestartedNodeTakesItsRunsBack(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, endless)
	r, c := all[0].agentRun(t, []reply{{Hang: true}, says("done")})
	c.awaitRequests(t, 1)
	on, _ := r.executor(t, all)
	on.crash(t)
	r.becomes(t, "completed")
	equal(t, "requests", c.count(), 2)
	want{"reason": "boot_reconcile", "recovery_strategy": "requeue"}.check(t, "gap", only(t, r, "gap.run_disconnected"))
	claims := objects(ofType(r.events(t), "run.claimed"))
	equal(t, "nodes that had it", shape(claims, "node_id"), on.id(t)+" "+on.id(t))
}

// A run is not taken by a node that cannot reach its workspace: it says that it waits,
// and goes on when the node is back.
func TestRunsWaitForTheirWorkspace(t *testing.T) {
	t.Parallel()
	all := strangers(t, 2, "HECATE_TASK_RECONCILE_INTERVAL=500ms") // how often a run out of reach is looked at
	r, c := all[0].agentRun(t, []reply{asks(shell("c1", "echo here > file")), {Hang: true}, asks(call("c2", "read_file", args{"path": "file"})), says("done")})
	c.awaitRequests(t, 2)
	on, others := r.executor(t, all)
	there := r.at(others[0])
	on.kill()
	eventually(t, "the run waits for its workspace", func() bool {
		gaps := objects(ofType(there.events(t), "gap.run_disconnected"))
		return len(gaps) > 0 && gaps[len(gaps)-1].str("reason") == "workspace_unreachable"
	})
	there.becomes(t, "queued") // the read models, too, may have to be taken over first
	gaps := objects(ofType(there.events(t), "gap.run_disconnected"))
	want{"action": "waiting", "message": present}.check(t, "gap", gaps[len(gaps)-1])
	want{"waiting_workspace_runs": 1, "queued_runs": 1, "in_flight_jobs": 0}.check(t, "stats", others[0].get(t, api+"/system/stats"))
	equal(t, "requests meanwhile", c.count(), 2)

	other, oc := others[0].agentRun(t, []reply{says("done")}) // the node that stayed does what it can
	other.becomes(t, "completed")
	equal(t, "requests", oc.count(), 1)

	on.start(t)
	there.becomes(t, "completed")
	contains(t, "what was read", c.request(t, 3).answered(t, "c1", "c2")[1], "here")
	want{"waiting_workspace_runs": 0}.check(t, "stats", others[0].get(t, api+"/system/stats"))
	waits := 0
	for _, g := range objects(ofType(there.events(t), "gap.run_disconnected")) {
		if g.str("action") == "waiting" {
			waits++
		}
	}
	equal(t, "times that it said so", waits, 1)
}

// The read models go on when the node that moved them is gone.
func TestReadModelsFailOver(t *testing.T) {
	t.Parallel()
	all := nodes(t, 3)
	warm := all[0].begin(t, sh("true"))
	warm.becomes(t, "completed")
	for i, victim := range all[:2] { // one of them, at the latest the second, had moved them
		victim.kill()
		for _, s := range all[i+1:] {
			r := s.begin(t, sh(fmt.Sprint("echo ", i)))
			r.becomes(t, "completed")
			eventually(t, "nothing lags", func() bool {
				for _, p := range s.list(t, api+"/system/projections") {
					if p.num("lag") > 0 {
						return false
					}
				}
				return true
			})
			equal(t, "stdout", r.artifact(t, "stdout").str("content_text"), fmt.Sprint(i, "\n"))
		}
	}
}

// A feed that follows a run on another node goes on at a third when its own dies, by
// the last cursor, without a gap or a repetition.
func TestFeedsGoOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	all := nodes(t, 3, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=200")
	c := all[0].model.script()
	c.each = func(n int) reply {
		if n < 120 {
			return reply{Calls: asks(call(fmt.Sprint("c", n), "list_dir", args{"path": "."})).Calls, DelayMS: 20}
		}
		return says("done")
	}
	r := all[0].begin(t, agent(c))
	on, others := r.executor(t, all)
	feeder := &follower{path: api + "/events/stream?task_id=" + r.task}
	feeder.read(t, others[0], 60)
	others[0].kill()
	feeder.read(t, others[1], 60)
	feeder.read(t, on, 60)
	feeder.until(t, others[1], "run.finished")
	var list []string
	for _, e := range r.at(on).events(t) {
		list = append(list, fmt.Sprint(e.num("sequence")))
	}
	equal(t, "events of the feeds", strings.Join(feeder.seen, " "), strings.Join(list, " "))
}

// follower reads a feed of all events piece by piece, each at a node of one's choice.
type follower struct {
	path string
	seen []string // sequences
	kind string   // of the last event
}

func (f *follower) read(t *testing.T, s *server, n int) {
	t.Helper()
	f.while(t, s, func(read int) bool { return read < n })
}

func (f *follower) until(t *testing.T, s *server, kind string) {
	t.Helper()
	f.while(t, s, func(int) bool { return f.kind != kind })
}

func (f *follower) while(t *testing.T, s *server, more func(read int) bool) {
	t.Helper()
	var header []string
	if len(f.seen) > 0 {
		header = []string{"Last-Event-ID", f.seen[len(f.seen)-1]}
	}
	feed := s.follow(t, 2*patience, f.path, header...)
	defer feed.close()
	for read := 0; more(read); read++ {
		e, err := feed.event()
		if err != nil {
			t.Fatalf("after %d events: %v", len(f.seen), err)
		}
		f.seen, f.kind = append(f.seen, e.id), e.body(t).str("type")
	}
}

// Stopping the nodes one after the other, as for an upgrade, costs no run anything.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, endless, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=100")
	dir := t.TempDir()
	const agents, rounds = 6, 12
	var open []run
	for a := range agents {
		c := all[0].model.script()
		c.each = counting(c, rounds, func(n int) reply {
			return asks(shell(fmt.Sprint("c", n), fmt.Sprintf("echo %d >> m%d; sleep 0.05", n, a)), call(fmt.Sprint("l", n), "list_dir", args{"path": "."}))
		})
		open = append(open, all[a%2].begin(t, agent(c, in(dir))))
	}
	for _, s := range all {
		time.Sleep(300 * time.Millisecond)
		equal(t, "exit code", s.terminate(t), 0)
		s.start(t)
	}
	for a, r := range open {
		r.becomes(t, "completed")
		equal(t, "gaps", len(ofType(r.events(t), "gap.run_disconnected")), 0)
		equal(t, "side effects", strings.Join(strings.Fields(read(t, filepath.Join(dir, fmt.Sprint("m", a)))), ","), "0,1,2,3,4,5,6,7,8,9,10,11")
	}
}
