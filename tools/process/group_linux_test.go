package process_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"hecate/tools/process"
)

// grouped skips where this process may make no control groups.
func grouped(t *testing.T) {
	t.Helper()
	if !process.Grouped() {
		t.Skip("this process may make no control groups: what kills its supervisor is not tried")
	}
}

// It leaves the session and its parent, and takes the supervisor with it.
const vanish = `echo $$ >>pids; setsid sh -c 'echo $$ >>pids; (setsid sleep 301 & echo $! >>pids) & sleep 302' & until [ $(wc -l <pids) -ge 3 ]; do sleep 0.01; done; kill -9 $PPID; exit 0`

// With a control group even a command that has killed its supervisor leaves nothing behind.
func TestWhatKillsItsSupervisorIsEnded(t *testing.T) {
	grouped(t)
	dir := t.TempDir()
	r, _, _ := shell(t, t.Context(), process.Command{Dir: dir}, vanish)
	if text(r.Err) != "the command's supervisor was killed" || len(pids(dir)) != 3 {
		t.Errorf("got %+v", r)
	}
	until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
}

// What was left by a server that died together with a supervisor is ended by the next one.
func TestAGroupWithoutAnOwnerIsEnded(t *testing.T) {
	grouped(t)
	dir := t.TempDir()
	server := func(command string) *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "HECATE_TEST_SERVER="+dir, "HECATE_TEST_COMMAND="+command)
		return c
	}
	first := server("server=$(cut -d' ' -f4 /proc/$PPID/stat); " + `setsid sh -c 'echo $$ >>pids; sleep 301' & until [ -s pids ]; do sleep 0.01; done; kill -9 $server $PPID`)
	_ = first.Run()                        // it is killed
	if left := pids(dir); len(left) != 1 { // another process that began meanwhile may have ended it already
		t.Fatalf("the command has not begun: %v", left)
	}
	if out, err := server("true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	until(t, "what was left is gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
}

// A group whose owner lives is left alone.
func TestAGroupWithAnOwnerStays(t *testing.T) {
	grouped(t)
	dir, other := t.TempDir(), t.TempDir()
	lease := process.NewLease()
	done := make(chan process.Result, 1)
	go func() {
		r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Lease: lease, Timeout: 4 * time.Minute}, "echo $$ >>pids; sleep 300")
		done <- r
	}()
	until(t, "the command has begun", func() bool { return len(pids(dir)) == 1 })
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "HECATE_TEST_SERVER="+other, "HECATE_TEST_COMMAND=true")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !alive(pids(dir)[0]) {
		t.Error("another server has ended it")
	}
	lease.End()
	<-done
}
