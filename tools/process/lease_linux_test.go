package process_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hecate/tools/process"
)

func TestALeaseThatIsOverStartsNothing(t *testing.T) {
	dir := t.TempDir()
	lease := process.NewLease()
	lease.Extend(time.Now().Add(-time.Second))
	r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Lease: lease}, "touch begun")
	if !errors.Is(r.Err, process.ErrLeaseOver) || text(r.Err) != "start sh: the lease is over" || r.ExitCode != -1 || r.Cancelled || r.TimedOut {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
		t.Error("the command has run")
	}
}

func TestACommandEndsWithItsLease(t *testing.T) {
	for name, end := range map[string]func(*process.Lease){
		"ended":      (*process.Lease).End,
		"time is up": func(l *process.Lease) { l.Extend(time.Now().Add(100 * time.Millisecond)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, lease := t.TempDir(), process.NewLease()
			r := process.Run(t.Context(), process.Command{
				Argv: []string{"sh", "-c", fmt.Sprintf(escapes["setsid"], waitForPids+"echo ready; sleep 300")}, Dir: dir, Lease: lease,
				Output: func(string, []byte) error { end(lease); return nil },
			})
			if !errors.Is(r.Err, process.ErrLeaseOver) || text(r.Err) != "the lease is over" || r.ExitCode != -1 || r.Signal != "" || r.Cancelled {
				t.Errorf("got %+v", r)
			}
			allGone(t, dir)
		})
	}
}

func TestAnExtendedLeaseKeepsACommandAlive(t *testing.T) {
	lease := process.NewLease()
	defer lease.End()
	r := process.Run(t.Context(), process.Command{
		Argv: []string{"sh", "-c", "echo ready; sleep 2.5; exit 5"}, Dir: t.TempDir(), Lease: lease,
		Output: func(string, []byte) error {
			lease.Extend(time.Now().Add(2 * time.Second))
			lease.Extend(time.Now().Add(time.Hour))
			return nil
		},
	})
	if r.ExitCode != 5 {
		t.Errorf("got %+v", r)
	}
}

// A lease that is extended for hours does not keep what has ended under it.
func TestALeaseForgetsTheCommandsThatHaveEnded(t *testing.T) {
	dir, lease := t.TempDir(), process.NewLease()
	defer lease.End()
	if r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Lease: lease}, "exit 0"); r.Err != nil {
		t.Error(r.Err)
	}
	if r := process.Run(t.Context(), process.Command{Argv: []string{"sh"}, Dir: dir + "/gone", Lease: lease}); r.Err == nil {
		t.Error("a command was started in a directory that is not there")
	}
	if n := process.Followers(lease); n > 0 {
		t.Errorf("%d commands are kept", n)
	}
}

// A server that is stopped can do nothing; its commands end all the same, while it is
// still stopped, and it learns of that when it goes on.
func TestAStoppedServerLosesItsCommands(t *testing.T) {
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var out bytes.Buffer
			server := exec.Command(os.Args[0])
			server.Stdout = &out
			server.Env = append(os.Environ(), "HECATE_TEST_SERVER="+dir, "HECATE_TEST_LEASE=300ms",
				"HECATE_TEST_COMMAND="+fmt.Sprintf(script, waitForPids+"echo ready; sleep 300"))
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Process.Kill() })
			until(t, "the server has stopped itself", func() bool { return stopped(server.Process.Pid) })
			until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
			if len(pids(dir)) == 0 || !stopped(server.Process.Pid) {
				t.Error("the server was not stopped all the time")
			}
			_ = server.Process.Signal(syscall.SIGCONT)
			if err := server.Wait(); err != nil || out.String() != "ready\nthe lease is over\n" {
				t.Errorf("%v: %q", err, &out)
			}
		})
	}
}

func stopped(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(b), ") T ")
}

// A supervisor that is told of no end to the extensions, and reads none, holds nobody up.
func TestExtendDoesNotWaitForAStoppedSupervisor(t *testing.T) {
	dir, lease := t.TempDir(), process.NewLease()
	r := process.Run(t.Context(), process.Command{
		Argv: []string{"sh", "-c", "echo $$ >>pids; kill -STOP $PPID; echo ready; sleep 300"}, Dir: dir, Lease: lease,
		Output: func(string, []byte) error {
			end := time.Now().Add(time.Hour)
			for i := range 10_000 { // more than a pipe holds
				lease.Extend(end.Add(time.Duration(i)))
			}
			lease.End()
			return nil
		},
	})
	if !errors.Is(r.Err, process.ErrLeaseOver) {
		t.Errorf("got %+v", r)
	}
	until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
}

// Many commands share a lease that is extended all the time, and end with it. Nothing
// of them stays open in this process.
func TestManyCommandsUnderOneLease(t *testing.T) {
	const commands = 64
	files, routines := open(t), runtime.NumGoroutine()
	dir, lease := t.TempDir(), process.NewLease()
	first := time.Now().Add(2 * time.Second)
	lease.Extend(first)
	lease.Extend(time.Now().Add(2 * patience))
	var ready, ended atomic.Int32
	var all sync.WaitGroup
	for range commands {
		all.Go(func() {
			r := process.Run(t.Context(), process.Command{
				Argv: []string{"sh", "-c", "setsid sleep 300 & echo $! >>pids; echo ready; sleep 300"}, Dir: dir, Lease: lease,
				Output: func(string, []byte) error { ready.Add(1); return nil },
			})
			ended.Add(1)
			if !errors.Is(r.Err, process.ErrLeaseOver) {
				t.Errorf("got %+v", r)
			}
		})
	}
	until(t, "all have begun and the first limit has passed", func() bool {
		lease.Extend(time.Now().Add(2 * patience))
		return ready.Load() == commands && time.Now().After(first) || ended.Load() > 0
	})
	if n := ended.Load(); n > 0 {
		t.Errorf("%d commands have ended early", n)
	}
	lease.End()
	all.Wait()
	if n := len(pids(dir)); n != commands {
		t.Errorf("%d commands have begun", n)
	}
	allGone(t, dir)
	until(t, "nothing is left open", func() bool { return open(t) <= files && runtime.NumGoroutine() <= routines })
}

// open is how many files this process has open.
func open(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A supervisor goes by the deadlines on its control pipe, whoever else is there.
func TestASupervisorKeepsItsDeadlines(t *testing.T) {
	now := func(in time.Duration) int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano() + int64(in)
	}
	const none = 0
	for name, c := range map[string]struct {
		deadlines []int64
		script    string
		want      string
	}{
		"none":                {[]int64{none}, "exit 7", "exit 7\n"},
		"far":                 {[]int64{now(1000 * time.Hour)}, "exit 7", "exit 7\n"},
		"the end of time":     {[]int64{1<<63 - 1}, "exit 7", "exit 7\n"},
		"past":                {[]int64{now(-1)}, "touch begun", "late 0\n"},
		"long past":           {[]int64{1}, "touch begun", "late 0\n"},
		"a limit after none":  {[]int64{none, 1}, "touch begun", "late 0\n"},
		"extended":            {[]int64{1, now(time.Hour)}, "exit 7", "exit 7\n"},
		"overtaken":           {[]int64{now(time.Hour), 1}, "exit 7", "exit 7\n"},
		"overtaken by none":   {[]int64{1, none}, "touch begun", "late 0\n"},
		"the server has gone": {nil, "touch begun", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			control, status := supervise(t, dir, c.script, c.deadlines...)
			if c.deadlines == nil {
				control.Close()
			}
			if got, err := io.ReadAll(status); err != nil || string(got) != c.want {
				t.Errorf("%v: got %q, want %q", err, got, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				t.Error("the command has run")
			}
		})
	}
	t.Run("passing", func(t *testing.T) {
		t.Parallel()
		for limit := 200 * time.Millisecond; ; limit *= 3 {
			dir := t.TempDir()
			_, status := supervise(t, dir, fmt.Sprintf(escapes["double fork"], waitForPids+"sleep 300"), now(limit))
			got, err := io.ReadAll(status)
			if len(pids(dir)) == 0 && limit < 10*time.Second {
				continue // it did not get so far
			}
			if err != nil || !strings.HasPrefix(string(got), "over 0\n") {
				t.Errorf("%v: got %q", err, got)
			}
			allGone(t, dir)
			return
		}
	})
}

// supervise starts a supervisor as Run does, with what it is to find in its control
// pipe.
func supervise(t *testing.T, dir, script string, deadlines ...int64) (control, status *os.File) {
	t.Helper()
	control, controlW := pipe(t)
	status, statusW := pipe(t)
	for _, d := range deadlines {
		if err := binary.Write(controlW, binary.NativeEndian, d); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Args = []string{"hecate-supervise", "/bin/sh", "sh", "-c", script}
	cmd.Dir, cmd.Env = dir, append([]string{"GOMAXPROCS=1", "GOGC=off", "GORACE=atexit_sleep_ms=0"}, process.Environ()...)
	cmd.ExtraFiles = []*os.File{control, statusW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	control.Close()
	statusW.Close()
	t.Cleanup(func() {
		controlW.Close()
		_ = cmd.Wait()
	})
	return controlW, status
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// BenchmarkExtend is one extension with 16 commands that hear of it.
func BenchmarkExtend(b *testing.B) {
	lease := process.NewLease()
	var ready, all sync.WaitGroup
	for range 16 {
		ready.Add(1)
		all.Go(func() {
			process.Run(b.Context(), process.Command{
				Argv: []string{"sh", "-c", "echo ready; sleep 300"}, Dir: b.TempDir(), Lease: lease,
				Output: func(string, []byte) error { ready.Done(); return nil },
			})
		})
	}
	ready.Wait()
	until := time.Now().Add(time.Hour)
	for b.Loop() {
		until = until.Add(1)
		lease.Extend(until)
	}
	lease.End()
	all.Wait()
}
