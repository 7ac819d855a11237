//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/eventstore/postgres/pgtest"
)

// A node that is cut off from the database longer than its lease loses its runs and
// ends what it does for them; another one goes on, and nothing happens twice. When it
// is back it works again, under a new lease.
func TestNodeIsCutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*wire){"refused": (*wire).cut, "silent": (*wire).stall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodeIsCutOff(t, cut)
		})
	}
}

func nodeIsCutOff(t *testing.T, cut func(*wire)) {
	url, tmp := pgtest.URL(t), "TMPDIR="+t.TempDir()
	w := newWire(t, url)
	far := node(t, nil, append(onPostgres(w.url), tmp)...)
	dir := t.TempDir()
	marker := filepath.Join(dir, "m")
	sleep := nap(60)
	working, c := far.agentRun(t, []reply{asks(shell("c1", "echo 1 >> m; "+sleep+"; echo 2 >> m"), shell("c2", "echo 3 >> m")), says("done")}, in(dir))
	talking, tc := far.agentRun(t, []reply{{Text: "half", HangAfterText: true}, says("done")})
	tc.awaitRequests(t, 1)
	eventually(t, "the command runs", func() bool { return fileLines(marker) == 1 && runs(sleep) })

	near := node(t, far.model, append(onPostgres(url), tmp)...)
	cut(w)
	goneSoon(t, sleep) // before the other one may go on
	working.at(near).becomes(t, "completed")
	talking.at(near).becomes(t, "completed")
	equal(t, "side effects", read(t, marker), "1\n3\n")
	contains(t, "result", c.request(t, 1).answered(t, "c1", "c2")[0], "outcome unknown")
	equal(t, "model calls", tc.count(), 2)
	eventually(t, "the other node's model call has ended", func() bool { return far.model.busy.Load() == 0 })
	before := len(pages(t, near.client, "limit=500"))

	w.mend()
	eventually(t, "the node answers again", func() bool {
		a, err := far.send("GET", working.path(), nil)
		return err == nil && a.status == 200
	})
	for _, r := range []run{working, talking} {
		equal(t, "as seen by the node that was cut off", r.at(far).now(t).String(), r.at(near).now(t).String())
	}
	eventually(t, "both nodes have workers", func() bool { return len(strings.Fields(workersSeen(t, near))) == 2 })
	equal(t, "events after it came back", len(pages(t, near.client, "limit=500")), before)
	near.kill()
	again := far.begin(t, sh("echo x >> m"), in(dir))
	eventually(t, "the other node moves the read models", func() bool {
		a, err := far.send("GET", again.path(), nil)
		if err == nil && a.status == 404 {
			t.Fatal("a run that was opened is not found")
		}
		return err == nil && a.status == 200
	})
	again.becomes(t, "completed")
	equal(t, "side effects", read(t, marker), "1\n3\nx\n")
}

// A connection that breaks for less than the lease costs nothing: what goes on goes on.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	w := newWire(t, pgtest.URL(t))
	s := node(t, nil, append(onPostgres(w.url), "HECATE_TASK_QUEUE_LEASE_SECONDS=60")...)
	dir := t.TempDir()
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo 1 >> m; while [ ! -e go ]; do sleep 0.02; done; echo 2 >> m"), shell("c2", "echo 3 >> m")), says("done")}, in(dir))
	eventually(t, "the command runs", func() bool { return fileLines(filepath.Join(dir, "m")) == 1 })
	w.cut()
	write(t, filepath.Join(dir, "go"), "")
	eventually(t, "the command ends", func() bool { return fileLines(filepath.Join(dir, "m")) == 2 })
	time.Sleep(300 * time.Millisecond) // so that the result meets the outage
	w.mend()
	r.becomes(t, "completed")
	equal(t, "side effects", read(t, filepath.Join(dir, "m")), "1\n2\n3\n")
	contains(t, "result", c.request(t, 1).answered(t, "c1", "c2")[0], "status=completed")
	equal(t, "claims", len(ofType(r.events(t), "run.claimed")), 1)
	equal(t, "gaps", len(ofType(r.events(t), "gap.run_disconnected")), 0)
	equal(t, "settlements", len(ofType(r.events(t), "tool.dispatch.settled")), 2)
}

// While the database is away the nodes say so, with a status that means try again; then
// all of them go on. It runs alone: the database is everybody's.
func TestDatabaseRestarts(t *testing.T) {
	all := nodes(t, 2, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=100")
	dir := t.TempDir()
	const agents, rounds = 4, 30
	var open []run
	for a := range agents {
		c := all[0].model.script()
		c.each = counting(c, rounds, func(n int) reply {
			return asks(shell(fmt.Sprint("c", n), fmt.Sprintf("echo %d >> m%d", n, a)), call(fmt.Sprint("l", n), "list_dir", args{"path": "."}))
		})
		open = append(open, all[a%2].begin(t, agent(c, in(dir))))
	}
	marks := func(a int) []string {
		raw, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint("m", a))) // no file: nothing has happened
		return strings.Fields(string(raw))
	}
	for range 2 {
		before := len(marks(0))
		eventually(t, "the runs go on", func() bool { return len(marks(0)) > before+3 || open[0].now(t).str("status") != "running" })
		pgtest.Crash(t)
	}
	for a, r := range open {
		eventually(t, "the node answers again", func() bool {
			a, err := r.send("GET", r.path(), nil)
			if err == nil && a.status != 200 && a.status != 503 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			return err == nil && a.status == 200
		})
		r.becomes(t, "completed")
		equal(t, "different side effects", len(unique(marks(a))), len(marks(a)))
	}
	for _, s := range all {
		s.begin(t, sh("true")).becomes(t, "completed")
	}
	eventually(t, "both nodes have workers", func() bool { return len(strings.Fields(workersSeen(t, all[0]))) == 2 })
}

func unique(items []string) map[string]bool {
	out := map[string]bool{}
	for _, i := range items {
		out[i] = true
	}
	return out
}
