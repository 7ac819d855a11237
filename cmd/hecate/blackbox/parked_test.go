//go:build linux

package blackbox_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore/postgres/pgtest"
)

// parkedRuns is how many runs wait at a time; HECATE_TEST_PARKED says another number.
const parkedRuns = 240

// A run that waits for a person costs nothing but its history: no goroutine, no thread,
// no file or connection, no lease and no place in the queue, however many wait.
func TestParkedRunsHoldNothing(t *testing.T) {
	t.Parallel()
	n := fromEnvironment("HECATE_TEST_PARKED", parkedRuns)
	url := pgtest.URL(t)
	all := nodesOn(t, url, 2, "TMPDIR="+t.TempDir(), "HECATE_TASK_APPROVAL_POLICIES=shell_exec")
	first := park(t, all, 8)
	idle := []usage{usageOf(t, all[0]), usageOf(t, all[1])}
	more := park(t, all, n-len(first))
	for i, s := range all {
		got := usageOf(t, s)
		for end := time.Now().Add(patience); got.files > idle[i].files+10 && time.Now().Before(end); { // connections may be closing
			got = usageOf(t, s)
		}
		t.Logf("node %d with %d parked runs: %+v; with %d: %+v", i, n, got, len(first), idle[i])
		if got.files > idle[i].files+10 { // it may keep a few connections more for what comes next
			t.Errorf("%d files are open, %d were", got.files, idle[i].files)
		}
		if got.threads > idle[i].threads+20 { // as many as have been in system calls at a time
			t.Errorf("%d threads, %d were", got.threads, idle[i].threads)
		}
		want{"awaiting_approval_runs": n, "queued_runs": 0, "running_runs": 0, "queue_depth": 0, "in_flight_jobs": 0}.check(t, "stats", s.get(t, api+"/system/stats"))
	}
	equal(t, "claims", shape(all[0].get(t, api+"/system/stats").list("workers"), "claims"), "0 0")
	equal(t, "rows of open work", countRows(t, url, "hecate_open_work"), 0)
	equal(t, "leases", countRows(t, url, "hecate_workers"), 2)

	if g := goroutines(t, all[0]); g > 150 {
		t.Errorf("%d goroutines", g)
	}
	all[0].start(t)
	for i, r := range []run{first[0], first[7], more[0], more[len(more)-1]} { // they are as alive as ever
		approval := r.at(all[i%2]).parked(t)
		r.at(all[i%2]).resolve(t, approval.str("id"), "approve").ok(t)
		r.at(all[(i+1)%2]).becomes(t, "completed")
	}
}

func fromEnvironment(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// park makes agents that wait for an answer in the midst of their loop.
func park(t *testing.T, all []*server, n int) []run {
	t.Helper()
	const lanes = 8
	var parked []run
	for _, lane := range atOnce(lanes, func(lane int) (out []run) {
		for i := lane; i < n; i += lanes {
			s := all[i%len(all)]
			c := s.model.script(asks(shell("c1", "true")), says("done"))
			task := s.mustPost(t, api+"/tasks", agent(c)).str("id")
			out = append(out, run{s, task, s.mustPost(t, api+"/tasks/"+task+"/start", nil).str("id")})
		}
		return out
	}) {
		parked = append(parked, lane...)
	}
	for end := time.Now().Add(patience + time.Duration(n)*20*time.Millisecond); ; time.Sleep(pollEvery) {
		d := all[0].get(t, api+"/system/stats")
		if d.num("queued_runs")+d.num("running_runs") == 0 && d.num("in_flight_jobs") == 0 {
			return parked
		}
		if time.Now().After(end) {
			t.Fatalf("not all runs are parked: %s", d)
		}
	}
}

// usage is what a process takes of the machine.
type usage struct{ threads, files, residentKB int }

func usageOf(t *testing.T, s *server) usage {
	t.Helper()
	s.hc.CloseIdleConnections()
	time.Sleep(50 * time.Millisecond) // for the server to notice
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	status := read(t, proc+"status")
	field := func(name string) int {
		_, rest, _ := strings.Cut(status, name+":")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return usage{threads: field("Threads"), files: len(files), residentKB: field("VmRSS")}
}

var goroutineHead = regexp.MustCompile(`(?m)^goroutine \d+ .*\[`)

// goroutines ends the process with a dump of its goroutines and counts them.
func goroutines(t *testing.T, s *server) int {
	t.Helper()
	signal(t, s, syscall.SIGQUIT)
	if _, err := s.wait(patience); err != nil {
		t.Fatal(err)
	}
	s.hc.CloseIdleConnections()
	dump := read(t, s.log)
	n := len(goroutineHead.FindAllString(dump, -1))
	if n == 0 {
		t.Fatalf("no dump: %s", s.printed())
	}
	t.Logf("%d goroutines", n)
	return n
}

func countRows(t *testing.T, url, table string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
