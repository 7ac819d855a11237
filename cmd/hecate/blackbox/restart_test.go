//go:build linux

package blackbox_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A shell task whose command may have happened is not run again: the run fails, and
// to retry is the operator's choice.
func TestCrashDuringAShellTask(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	marker, sleep := filepath.Join(dir, "marker"), nap(60)
	r := s.begin(t, sh("echo x >> marker; echo begun; "+sleep), in(dir))
	eventually(t, "the command runs", func() bool { return fileLines(marker) == 1 && runs(sleep) })
	s.crash(t)
	goneSoon(t, sleep)
	want{"last_error": present, "step_count": 1, "otel_status_code": "error"}.check(t, "run", r.becomes(t, "failed"))
	equal(t, "lines", fileLines(marker), 1)
	want{"status": "failed", "result": "error", "error_kind": "tool_dispatch_outcome_unknown", "finished_at": present}.check(t, "step", r.step(t, 0))
	for _, a := range r.artifacts(t) {
		if a.str("status") == "streaming" {
			t.Errorf("artifact %s is still streaming", a.str("name"))
		}
	}
	again := run{s, r.task, s.post(t, r.taskPath()+"/start", nil).str("id")}
	eventually(t, "the second run does it again", func() bool { return fileLines(marker) == 2 })
	again.cancel(t)
}

// A caller's note on a run that waits does not disturb the answer that it waits for.
func TestNotesOnAWaitingRun(t *testing.T) {
	t.Parallel()
	s := gated(t)
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "true")), says("done")})
	id := r.parked(t).str("id")
	atOnce(6, func(i int) doc {
		if i == 5 {
			return s.mustPost(t, r.taskPath()+"/approvals/"+id+"/resolve", args{"decision": "approve"})
		}
		return s.mustPost(t, r.path()+"/events", args{"type": "some.note"})
	})
	r.becomes(t, "completed")
	equal(t, "notes", len(ofType(r.events(t), "some.note")), 5)
}

// A deleted task is gone from every list, and its events from the feed.
func TestDeletedTasksAreGone(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("echo x"))
	r.becomes(t, "completed")
	equal(t, "delete", s.ask(t, "DELETE", r.taskPath(), nil).status, 204)
	for _, path := range []string{r.taskPath(), r.path(), r.path() + "/steps", r.path() + "/artifacts", r.path() + "/events", r.path() + "/stream", r.taskPath() + "/approvals"} {
		s.ask(t, "GET", path, nil).refused(t, 404, "not_found")
	}
	s.ask(t, "POST", r.taskPath()+"/start", nil).refused(t, 404, "not_found")
	s.ask(t, "POST", r.path()+"/events", args{}).refused(t, 404, "not_found")
	equal(t, "events", len(s.list(t, api+"/events?task_id="+r.task)), 0)
	for _, task := range s.list(t, api+"/tasks?limit=0") {
		if task.str("id") == r.task {
			t.Error("the list has the deleted task")
		}
	}
}

// Of a start and a delete at the same moment one wins.
func TestStartAndDeleteAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 15 {
		path := api + "/tasks/" + s.create(t, sh("true")).str("id")
		statuses := atOnce(2, func(i int) int {
			a, err := s.send([]string{"POST", "DELETE"}[i], []string{path + "/start", path}[i], nil)
			if err != nil {
				return 0
			}
			return a.status
		})
		started, deleted := statuses[0], statuses[1]
		if !(started == 200 && deleted == 409 || started == 404 && deleted == 204 || started == 200 && deleted == 204 && s.ask(t, "GET", path, nil).status == 404) {
			t.Errorf("start %d, delete %d", started, deleted)
		}
	}
}

// The data directory is private, and says where a running server is.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	s := serve(t)
	info, err := os.Stat(s.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	where := filepath.Join(s.dir, "hecate.runtime.json")
	d, err := parse([]byte(read(t, where)))
	if err != nil {
		t.Fatal(err)
	}
	want{"base_url": s.base, "listen_addr": strings.TrimPrefix(s.base, "http://"), "pid": s.cmd.Process.Pid, "updated_unix": present}.check(t, "runtime file", d)
	host := s.get(t, api+"/whoami").str("runtime_host", "id")
	equal(t, "exit code", s.terminate(t), 0)
	if _, err := os.Stat(where); err == nil {
		t.Error("the runtime file outlives the server")
	}
	s.start(t)
	equal(t, "host id", s.get(t, api+"/whoami").str("runtime_host", "id"), host)
	contains(t, "host id", host, "runtime_")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"version", "--version", "-v"} {
		out, err := exec.Command(binary, word).Output()
		if err != nil || strings.Count(string(out), "\n") != 1 || strings.TrimSpace(string(out)) == "" {
			t.Errorf("%s: %v %q", word, err, out)
		}
	}
}

// A server that was killed can be started again at once, also when it was just
// starting a command.
func TestStartRightAfterAKill(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=10000")
	for range 8 {
		c := s.model.script()
		c.each = func(n int) reply { return asks(shell(fmt.Sprint("c", n), "true")) }
		s.begin(t, agent(c))
	}
	for range 60 {
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		s.kill()
		if err := s.launch(); err != nil {
			t.Fatal(err)
		}
	}
}
