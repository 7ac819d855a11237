package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestUsageCommand(t *testing.T) {
	s := newContractServer(t, nil)
	events := []any{
		obj{"provider": "a", "model": "m", "run_id": "run_2", "amount_micros_usd": 4200, "cost_known": true, "prompt_tokens": 100, "completion_tokens": 20, "timestamp": "2026-01-02T03:04:05Z"},
		obj{"provider": "b", "model": "m", "run_id": "run_1", "detail": "abandoned"},
		obj{"provider": "a", "model": "m", "run_id": "run_1", "detail": "failed"},
	}
	s.answers = obj{
		"/usage/summary": obj{"used_micros_usd": 1_234_567, "cost_known": false, "unknown_cost_calls": 2},
		"/usage/summary?provider=a&scope=provider": obj{"used_micros_usd": 4200, "cost_known": true},
		"/usage/events?limit=20":                   events, "/usage/events?limit=1000": events, "/usage/events?limit=5": []any{},
	}
	check(t, succeed(t, "usage", "--server", s.URL), []string{"$1.2346 by all providers\n! the cost of 2 calls is not known; the true sum is higher\n"})
	if got := succeed(t, "usage", "--provider", "a", "--server", s.URL); got != "$0.0042 by a\n" {
		t.Errorf("of one provider: %s", got)
	}
	check(t, succeed(t, "usage", "--json", "--server", s.URL), []string{`"unknown_cost_calls": 2`})
	check(t, succeed(t, "usage", "--json", "--events", "--server", s.URL), []string{`"detail": "abandoned"`})
	check(t, succeed(t, "usage", "--events", "--limit", "5", "--server", s.URL), []string{"no model call was paid for yet"})
	check(t, succeed(t, "usage", "--events", "--server", s.URL), []string{
		"2026-01-02 03:04  a         m      100        20   $0.0042", "b         m      0          0    unknown (its worker vanished)", "unknown (the answer broke off)",
	})
	of := succeed(t, "usage", "--events", "--provider", "A", "--limit", "1", "--server", s.URL)
	if strings.Count(of, "\n") != 2 || !strings.Contains(of, "run_2") {
		t.Errorf("the latest call of one provider:\n%s", of)
	}
}

func TestStatsCommand(t *testing.T) {
	s := newContractServer(t, nil)
	s.answers = obj{"/system/stats": obj{
		"queue_depth": 3, "in_flight_jobs": 2, "worker_count": 2, "max_concurrent_runs": 2, "awaiting_approval_runs": 1, "waiting_workspace_runs": 1,
		"oldest_queued_age_seconds": 75, "store_backend": "postgres", "workers": []any{obj{"node": "runtime_1\x1b[2J", "claims": 2}},
	}}
	check(t, succeed(t, "system", "stats", "--server", s.URL), []string{
		"executed                 2, at most 2 at a time\n", "queued                   3, the oldest for 1m15s\n", "waiting for a person     1\n",
		"waiting for a workspace  1\n", `node                     runtime_1\x1b[2J, with 2 runs`,
	})
	check(t, succeed(t, "system", "stats", "--json", "--server", s.URL), []string{`"queue_depth": 3`})
	s.answers = obj{"/system/stats": obj{}}
	check(t, succeed(t, "system", "stats", "--server", s.URL), []string{"! no worker is running, so nothing is executed"})
}

// The server has ended when it neither answers nor holds its data any more.
func TestStop(t *testing.T) {
	s := newContractServer(t, nil)
	a, out, errs := testApp(t)
	dir := a.getenv("HECATE_DATA_DIR")
	file := filepath.Join(dir, runtimeFile)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"base_url":"`+s.URL+`","pid":`+strconv.Itoa(os.Getpid())+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.answers = obj{"/system/shutdown": obj{}}
	done := make(chan int)
	seen := make(chan struct{})
	a.out = onFirst(out, seen)
	go func() { done <- a.run([]string{"stop"}) }()
	<-seen
	s.CloseClientConnections()
	s.Listener.Close()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	check(t, s.requests(), []string{"POST /system/shutdown"})
	check(t, out.String(), []string{"the server at " + s.URL + " is ending\nit has ended\n"})
}

func TestStopThatDoesNotWork(t *testing.T) {
	t.Parallel()
	s := newContractServer(t, nil)
	s.answers = obj{"/system/shutdown": obj{}}
	a, _, errs := testApp(t)
	if code := a.run([]string{"stop", "--server", s.URL, "--wait", "3s"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	check(t, errs.String(), []string{"has not ended within 3s", "hecate system stats"})

	s.forbid = http.StatusForbidden
	a, _, errs = testApp(t)
	if code := a.run([]string{"stop", "--server", s.URL}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	check(t, errs.String(), []string{"not from here (403", "SIGTERM"})
}

// A file that a killed server left behind says nothing.
func TestStopIgnoresWhatIsLeftOver(t *testing.T) {
	if alive(1<<30) || !alive(os.Getpid()) || !alive(1) {
		t.Error("who lives and who doesn't is mixed up")
	}
}
