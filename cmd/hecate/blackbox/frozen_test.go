//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A node that stands still, as a suspended machine does, and comes back when another
// one has its runs: its commands are ended before the other goes on, and what it still
// thinks that it may do is not done.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2)
	dir := t.TempDir()
	marker := filepath.Join(dir, "m")
	sleep := nap(60)
	working, c := all[0].agentRun(t, []reply{asks(shell("c1", "echo 1 >> m; "+sleep), shell("c2", "echo 2 >> m")), says("done")}, in(dir))
	on, others := working.executor(t, all)
	survivor := others[0]
	eventually(t, "the command runs", func() bool { return runs(sleep) })
	signal(t, on, syscall.SIGSTOP)
	t.Cleanup(func() { _ = on.cmd.Process.Signal(syscall.SIGCONT) }) // it may have ended
	working.at(survivor).becomes(t, "completed")
	goneSoon(t, sleep)
	equal(t, "side effects", read(t, marker), "1\n2\n")
	contains(t, "result", c.request(t, 1).answered(t, "c1", "c2")[0], "outcome unknown")
	before := len(working.at(survivor).events(t))
	signal(t, on, syscall.SIGCONT)
	eventually(t, "both nodes have workers", func() bool { return len(strings.Fields(workersSeen(t, survivor))) == 2 })
	equal(t, "events of the run", len(working.at(survivor).events(t)), before)
	equal(t, "model calls", c.count(), 2)
	survivor.kill()
	again := on.begin(t, sh("echo 3 >> m"), in(dir))
	again.becomes(t, "completed")
	equal(t, "side effects", read(t, marker), "1\n2\n3\n")
}

// A model call that takes longer than the lease is made once: the node shows that it lives.
func TestLongModelCallKeepsItsLease(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, "HECATE_TASK_RECONCILE_INTERVAL=500ms")
	r, c := all[0].agentRun(t, []reply{{Text: "slow", DelayMS: 1000 * (leaseSeconds + 4)}})
	r.at(all[1]).becomes(t, "completed")
	equal(t, "requests", c.count(), 1)
	for kind, n := range map[string]int{"gap.run_disconnected": 0, "run.claimed": 1, "run.started": 1, "run.finished": 1} {
		equal(t, kind, len(ofType(r.events(t), kind)), n)
	}
}

// What stands in the directory of a task itself goes on only on its machine, unless the
// directory is named as one that all machines reach.
func TestSharedDirectories(t *testing.T) {
	t.Parallel()
	shared, own := t.TempDir(), t.TempDir()
	far := strangers(t, 1, "HECATE_TASK_SHARED_ROOTS="+shared, "HECATE_TASK_RECONCILE_INTERVAL=500ms")[0]
	here, hc := far.agentRun(t, []reply{asks(shell("c1", "echo 1 >> m")), {Hang: true}, says("done")}, in(own))
	there, tc := far.agentRun(t, []reply{asks(shell("c1", "echo 1 >> m")), {Hang: true}, asks(shell("c2", "echo 2 >> m")), says("done")}, in(shared))
	hc.awaitRequests(t, 2)
	tc.awaitRequests(t, 2)

	near := elsewhere(t, far.model, sameDatabase(far)...)
	far.kill()
	there.at(near).becomes(t, "completed")
	equal(t, "side effects in the shared directory", read(t, filepath.Join(shared, "m")), "1\n2\n")
	eventually(t, "the other run waits", func() bool {
		gaps := objects(ofType(here.at(near).events(t), "gap.run_disconnected"))
		return len(gaps) > 0 && gaps[len(gaps)-1].str("reason") == "workspace_unreachable"
	})
	equal(t, "requests", hc.count(), 2)
	far.start(t)
	here.at(near).becomes(t, "completed")
	equal(t, "side effects in the other one", read(t, filepath.Join(own, "m")), "1\n")
}

// elsewhere starts a node that takes itself for one on another machine: it has another
// name, in a namespace for names of its own.
func elsewhere(t *testing.T, model *fakeModel, env ...string) *server {
	t.Helper()
	if err := exec.Command("unshare", namespaces()...).Run(); err != nil {
		t.Skipf("another machine needs a namespace of its own: unshare %v: %v", namespaces(), err)
	}
	s, err := prepareWith(model, append([]string{lease}, env...)...)
	if err != nil {
		t.Fatal(err)
	}
	s.wrap = append(append([]string{"unshare"}, namespaces()[:len(namespaces())-1]...), "sh", "-c", `hostname elsewhere && exec "$@"`, "sh")
	t.Cleanup(s.end)
	s.start(t)
	return s
}

func namespaces() []string {
	if os.Getuid() == 0 {
		return []string{"--uts", "true"}
	}
	return []string{"--user", "--map-root-user", "--uts", "true"}
}

// A node may leave the work to others.
func TestNodeWithoutWorkers(t *testing.T) {
	t.Parallel()
	worker := nodes(t, 1)[0]
	front := node(t, worker.model, append(sameDatabase(worker), "HECATE_TASK_WORKERS_ENABLED=false")...)
	want{"worker_count": 0}.check(t, "stats", front.get(t, api+"/system/stats"))
	r, _ := front.agentRun(t, []reply{{Text: "half an answer", HangAfterText: true}})
	eventually(t, "the half answer is seen", func() bool {
		a := r.artifact(t, "agent_conversation")
		return strings.Contains(a.str("content_text"), "half an answer") && a.str("status") == "streaming"
	})
	feed := front.follow(t, patience, r.path()+"/stream")
	r.cancel(t)
	checkFrames(t, r, feed.rest(t))
	eventually(t, "the model call has ended", func() bool { return worker.model.busy.Load() == 0 })
	shot := front.begin(t, sh("echo x"))
	shot.becomes(t, "completed")
	equal(t, "worker", only(t, shot, "run.started").str("worker_id"), worker.id(t))
	worker.kill()
	waiting := front.begin(t, sh("echo x"))
	equal(t, "status", waiting.now(t).str("status"), "queued")
	worker.start(t)
	waiting.becomes(t, "completed")
}

// sameDatabase are the settings of a node that another one over the same data needs.
func sameDatabase(s *server) (out []string) {
	for _, pair := range s.env {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "HECATE_BACKEND", "HECATE_POSTGRES_URL", "HECATE_TASK_SHARED_ROOTS", "HECATE_TASK_RECONCILE_INTERVAL":
			out = append(out, pair)
		}
	}
	return out
}

// Each node has a data directory of its own; a second one in it is refused.
func TestNodesShareNoDataDirectory(t *testing.T) {
	t.Parallel()
	first := nodes(t, 1)[0]
	second, err := prepareWith(first.model, append(sameDatabase(first), "HECATE_DATA_DIR="+first.dir)...)
	if err != nil {
		t.Fatal(err)
	}
	second.endsAtStart(t, first.dir, "one of its own")
}

// A request that is named is carried out once, whichever nodes it is sent to.
func TestNamedRequestsAtSeveralNodes(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, endless)
	r := all[0].begin(t, sh("exit 1"))
	r.becomes(t, "failed")
	ids := atOnce(10, func(i int) string {
		a, err := all[i%2].send("POST", r.path()+"/retry", nil, "Idempotency-Key", "once")
		if err != nil || a.status != 200 {
			return fmt.Sprint(a.status, " ", string(a.body), " ", err)
		}
		d, _ := parse(a.body)
		return d.str("data", "id")
	})
	equal(t, "answers that name one run", count(ids, ids[0]), len(ids))
	equal(t, "runs", len(all[1].list(t, r.taskPath()+"/runs")), 2)
}
