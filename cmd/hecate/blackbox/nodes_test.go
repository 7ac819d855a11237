//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hecate/eventstore/postgres/pgtest"
)

// How long a node of these tests holds what it has without a sign of life. A lease is short
// for those who wait for its end, and yet long enough for a busy machine; where no node dies
// it is as good as endless.
const (
	leaseSeconds = 8
	lease        = "HECATE_TASK_QUEUE_LEASE_SECONDS=8"
	endless      = "HECATE_TASK_QUEUE_LEASE_SECONDS=600"
)

// nodes starts servers over one PostgreSQL database, each with a data directory of its
// own, that share a model and a directory for workspaces. They end with the test.
func nodes(t *testing.T, n int, env ...string) []*server {
	t.Helper()
	return nodesOn(t, pgtest.URL(t), n, append([]string{"TMPDIR=" + t.TempDir()}, env...)...)
}

// strangers are nodes that share the database and the model, and no directory.
func strangers(t *testing.T, n int, env ...string) []*server {
	t.Helper()
	return nodesOn(t, pgtest.URL(t), n, env...)
}

func nodesOn(t *testing.T, url string, n int, env ...string) []*server {
	t.Helper()
	var all []*server
	for range n {
		var model *fakeModel
		if len(all) > 0 {
			model = all[0].model
		}
		all = append(all, node(t, model, append(onPostgres(url), env...)...))
	}
	return all
}

// node starts one server with a model that others may use too; nil is one of its own.
func node(t *testing.T, model *fakeModel, env ...string) *server {
	t.Helper()
	if model == nil {
		var err error
		if model, err = startModel(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.stop)
	}
	s, err := prepareWith(model, append([]string{lease, "HECATE_POSTGRES_MAX_OPEN_CONNS=3"}, env...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	s.start(t)
	return s
}

// at is the same run, asked about at another node.
func (r run) at(s *server) run { return run{s, r.task, r.id} }

// id is what the node is called in the log.
func (s *server) id(t *testing.T) string {
	t.Helper()
	return s.get(t, api+"/whoami").str("runtime_host", "id")
}

// executor waits until a worker has the run, and returns its node and the others.
func (r run) executor(t *testing.T, all []*server) (*server, []*server) {
	t.Helper()
	var name string
	eventually(t, "a node executes the run", func() bool {
		started := ofType(r.events(t), "run.started")
		if len(started) > 0 {
			name = started[len(started)-1].str("data", "worker_id")
		}
		return name != ""
	})
	for i, s := range all {
		if s.id(t) == name {
			return s, append(append([]*server{}, all[:i]...), all[i+1:]...)
		}
	}
	t.Fatalf("no node is called %s", name)
	return nil, nil
}

// workersSeen are the ids of the nodes whose workers are alive, as a server tells.
func workersSeen(t *testing.T, s *server) string {
	t.Helper()
	return shape(s.get(t, api+"/system/stats").list("workers"), "node")
}

// Every node serves the whole API, whoever executes: what one was told, the others show.
func TestEveryNodeServesEverything(t *testing.T) {
	t.Parallel()
	all := nodes(t, 3, "HECATE_TASK_QUEUE_WORKERS=2", endless)
	ids := map[string]int{}
	var runs []run
	for i := range 12 { // begun here, followed there
		c := all[0].model.script(asks(shell("c1", fmt.Sprint("echo ", i))), says("done"))
		r := all[i%3].begin(t, agent(c))
		runs = append(runs, r.at(all[(i+1)%3]))
	}
	for _, r := range runs {
		r.becomes(t, "completed")
		equal(t, "claims", len(ofType(r.events(t), "run.claimed")), 1)
		ids[only(t, r, "run.started").str("worker_id")]++
	}
	if len(ids) < 2 {
		t.Errorf("all runs were executed by %v", ids)
	}
	for _, path := range []string{runs[0].path() + "/steps", runs[0].path() + "/artifacts", runs[0].path() + "/events", api + "/tasks", api + "/usage/summary", api + "/usage/events?limit=100"} {
		here := string(all[0].ask(t, "GET", path, nil).ok(t).body)
		for _, s := range all[1:] {
			equal(t, path, string(s.ask(t, "GET", path, nil).ok(t).body), here)
		}
	}
	equal(t, "live workers", len(strings.Fields(workersSeen(t, all[1]))), 3)

	direct := all[0].begin(t, sh("exit 3")).at(all[2])
	direct.becomes(t, "failed")
	again := run{all[1], direct.task, all[1].post(t, direct.path()+"/retry", nil).str("id")}.at(all[0])
	again.becomes(t, "failed")
	equal(t, "delete", all[2].ask(t, "DELETE", direct.taskPath(), nil).status, 204)
	all[0].ask(t, "GET", direct.taskPath(), nil).refused(t, 404, "not_found")
}

// A cancel ends what goes on at another node; so it is with an approval that lets it go on.
func TestAnswersReachTheNodeThatExecutes(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, "HECATE_TASK_APPROVAL_POLICIES=git_exec", endless)
	sleep := nap(60)
	r, c := all[0].agentRun(t, []reply{asks(shell("c1", sleep)), says("never")})
	on, others := r.executor(t, all)
	eventually(t, "the command runs", func() bool { return runs(sleep) })
	equal(t, "answer", r.at(others[0]).cancel(t).str("status"), "cancelled")
	goneSoon(t, sleep)
	checkCancelled(t, r.at(on))
	equal(t, "requests", c.count(), 1)

	waits, c := all[0].agentRun(t, []reply{{Hang: true}})
	c.awaitRequests(t, 1)
	_, others = waits.executor(t, all)
	equal(t, "answer", waits.at(others[0]).cancel(t).str("status"), "cancelled")
	eventually(t, "the model call has ended", func() bool { return all[0].model.busy.Load() == 0 })

	dir := t.TempDir()
	asking, c := all[1].agentRun(t, []reply{asks(call("c1", "git_status", args{}), shell("c2", "echo x >> marker")), says("done")}, in(dir))
	id := asking.at(all[0]).parked(t).str("id")
	asking.at(all[0]).resolve(t, id, "approve").ok(t)
	asking.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	equal(t, "requests", c.count(), 2)
}

// Of many requests at once to open a run of a task, of every kind and at several nodes,
// one succeeds.
func TestOneOpenRunOverAllNodes(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, endless)
	c, answered := all[0].model.script(), make(chan struct{})
	c.each = func(n int) reply {
		if n == 0 {
			return refusal("not today")
		}
		<-answered // the run that is opened stays open
		return says("ok")
	}
	first := all[0].begin(t, agent(c))
	first.becomes(t, "failed")
	ways := []string{first.path() + "/resume", first.path() + "/retry", first.path() + "/continue", first.taskPath() + "/start"}
	opened := atOnce(40, func(i int) doc {
		a, err := all[i/4%2].send("POST", ways[i%4], args{"prompt": "again"})
		if err != nil || a.status != 200 {
			return doc{"status": a.status, "body": string(a.body), "error": err}
		}
		d, _ := parse(a.body)
		return d.obj("data")
	})
	close(answered)
	var won []run
	for _, d := range opened {
		if d.str("id") != "" {
			won = append(won, run{all[1], first.task, d.str("id")})
		} else if d["status"] != 409 {
			t.Errorf("refused with %v", d)
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d runs were opened", len(won))
	}
	equal(t, "the task's run", all[0].get(t, first.taskPath()).str("latest_run_id"), won[0].id)
	want{"number": 2}.check(t, "run", won[0].becomes(t, "completed"))
	equal(t, "requests", c.count(), 2)
	equal(t, "runs", len(all[0].list(t, first.taskPath()+"/runs")), 2)
}

// HECATE_TASK_MAX_CONCURRENT bounds what all nodes execute at a time, whatever workers they have.
func TestConcurrencyLimitOverNodes(t *testing.T) {
	t.Parallel()
	const limit = 3
	all := nodes(t, 2, fmt.Sprint("HECATE_TASK_MAX_CONCURRENT=", limit), endless)
	dir := t.TempDir()
	var runs []run
	for i := range 10 {
		// Each looks how many there are, itself included.
		command := fmt.Sprintf("touch on.%d; ls | grep -c '^on' >> seen; sleep 0.3; rm on.%d", i, i)
		runs = append(runs, all[i%2].begin(t, sh(command), in(dir)))
	}
	want{"max_concurrent_runs": limit}.check(t, "stats", all[0].get(t, api+"/system/stats"))
	for _, r := range runs {
		r.becomes(t, "completed")
	}
	seen := strings.Fields(read(t, filepath.Join(dir, "seen")))
	equal(t, "commands", len(seen), len(runs))
	for _, n := range seen {
		if n > fmt.Sprint(limit) || len(n) > 1 {
			t.Errorf("%s at a time", n)
		}
	}
}
