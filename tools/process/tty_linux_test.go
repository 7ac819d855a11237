package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hecate/tools/process"
)

// beginTTY starts a script with a terminal device.
func beginTTY(t *testing.T, lease *process.Lease, argv ...string) *session {
	t.Helper()
	return beginCommand(t, process.Command{Argv: argv, Lease: lease, TTY: true})
}

func TestATerminalDevice(t *testing.T) {
	s := beginTTY(t, nil, "sh", "-c", `test -t 0 && test -t 1 && test -t 2 && echo three; stty size; ps -o tty= -p $$ | grep -q pts && echo controlling
		read x; echo "got $x" >&2; exit 3`)
	s.says("three\r\n40 120\r\ncontrolling\r\n")
	if err := s.write("it\n"); err != nil {
		t.Fatal(err)
	}
	r := s.ends()
	if out := s.written(); r.ExitCode != 3 || r.Err == nil || !strings.HasSuffix(out, "it\r\ngot it\r\n") || r.Stdout != int64(len(out)) || r.Stderr != 0 {
		t.Errorf("got %+v after %q", r, out)
	}
	if _, err := s.Write(t.Context(), []byte("more"), time.Second); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write after the end: %v", err)
	}
}

// An interrupt reaches what runs in the foreground, and the shell goes on.
func TestInterruptsOnATerminalDevice(t *testing.T) {
	s := beginTTY(t, nil, "sh", "-i")
	for _, step := range [][2]string{{"sh -c 'echo be\"\"gun; exec sleep 300'\n", "begun\r\n"}, {"\x03", "^C"}, {"echo af''ter; exit 4\n", "after\r\n"}} {
		if err := s.write(step[0]); err != nil {
			t.Fatal(err)
		}
		s.says(step[1])
	}
	if r := s.ends(); r.ExitCode != 4 {
		t.Errorf("got %+v", r)
	}
}

// A shell with a terminal device gives jobs process groups of their own; daemons leave the
// session. Whatever ends the command ends them as well.
func TestNothingOutlivesATerminalDevice(t *testing.T) {
	for name, end := range map[string]func(*session, *process.Lease){
		"killed":      func(s *session, _ *process.Lease) { s.Kill() },
		"lease":       func(_ *session, l *process.Lease) { l.End() },
		"exit":        func(s *session, _ *process.Lease) { _ = s.write("exit 0\n") },
		"end of file": func(s *session, _ *process.Lease) { _ = s.write("\x04") },
	} {
		t.Run(name, func(t *testing.T) {
			lease := process.NewLease()
			defer lease.End()
			s := beginTTY(t, lease, "sh", "-i")
			_ = s.write("set -m; sleep 301 & echo $! >>pids; setsid sleep 302 & echo $! >>pids; (trap '' HUP TERM INT; exec sleep 303) & echo $! >>pids; echo rea''dy\n")
			s.says("ready\r\n")
			end(s, lease)
			s.ends()
			allGone(t, s.dir)
		})
	}
}

// Without its supervisor the session of the command is what can still be found.
func TestATerminalDeviceWithoutItsSupervisor(t *testing.T) {
	s := beginTTY(t, nil, "sh", "-i")
	_ = s.write("set -m; sleep 301 & echo $! >>pids; (trap '' HUP; exec sleep 302) & echo $! >>pids; echo $PPID >parent; echo rea''dy\n")
	s.says("ready\r\n")
	var supervisor int
	if b, err := os.ReadFile(filepath.Join(s.dir, "parent")); err != nil {
		t.Fatal(err)
	} else if supervisor, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := s.ends(); r.ExitCode != -1 || r.Err == nil {
		t.Errorf("got %+v", r)
	}
	if len(pids(s.dir)) != 2 {
		t.Errorf("processes: %d", len(pids(s.dir)))
	}
	until(t, "nothing is left", func() bool { return !slices.ContainsFunc(pids(s.dir), alive) })
}

// Output that nobody reads, and input that the command does not read, end like those of pipes.
func TestLimitsOfATerminalDevice(t *testing.T) {
	flood, err := process.Start(process.Command{Argv: []string{"yes"}, Dir: t.TempDir(), TTY: true, OutputMax: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	<-flood.Done()
	if r, _ := flood.Result(); !r.Truncated || r.Stdout != 100_000 {
		t.Errorf("a flood: %+v", r)
	}
	s := beginTTY(t, nil, "sh", "-c", "stty raw -echo; echo ready; sleep 300")
	s.says("ready")
	if n, err := s.Write(t.Context(), []byte(strings.Repeat("x", 1<<20)), 50*time.Millisecond); !errors.Is(err, process.ErrNotRead) || n >= 1<<20 {
		t.Errorf("wrote %d: %v", n, err)
	}
}

func TestAProgramThatIsNotThereLeavesNoTerminalDevice(t *testing.T) {
	if _, err := process.Start(process.Command{Argv: []string{"no-such-program"}, Dir: t.TempDir(), TTY: true}); err == nil {
		t.Error("it was started")
	}
}
