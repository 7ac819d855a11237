package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/tools/process"
)

// session is a started script with what it has written.
type session struct {
	*process.Session
	t   *testing.T
	dir string
	mu  sync.Mutex
	out strings.Builder
}

func begin(t *testing.T, lease *process.Lease, script string) *session {
	t.Helper()
	return beginCommand(t, process.Command{Argv: []string{"sh", "-c", script}, Lease: lease})
}

func beginCommand(t *testing.T, c process.Command) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir()}
	c.Dir = s.dir
	c.Output = func(_ string, data []byte) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.out.Write(data)
		return nil
	}
	var err error
	if s.Session, err = process.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		<-s.Done()
	})
	return s
}

func (s *session) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// says waits until the script has written something.
func (s *session) says(text string) {
	s.t.Helper()
	until(s.t, "it says "+text, func() bool { return strings.Contains(s.written(), text) })
}

func (s *session) write(text string) error {
	_, err := s.Write(s.t.Context(), []byte(text), patience)
	return err
}

// ends waits for the end, which must come at once, and leave nothing.
func (s *session) ends() process.Result {
	s.t.Helper()
	begun := time.Now()
	<-s.Done()
	if took := time.Since(begun); took > patience {
		s.t.Errorf("took %v", took)
	}
	r, ended := s.Result()
	if !ended {
		s.t.Error("it has no result")
	}
	return r
}

func TestASessionReadsWhatIsWritten(t *testing.T) {
	s := begin(t, nil, "while read l; do echo got $l; [ $l = end ] && exit 7; done")
	for _, l := range []string{"a", "b"} {
		if err := s.write(l + "\n"); err != nil {
			t.Fatal(err)
		}
		s.says("got " + l)
	}
	if _, ended := s.Result(); ended {
		t.Error("it has ended")
	}
	if err := s.write("end\n"); err != nil {
		t.Fatal(err)
	}
	if r := s.ends(); r.ExitCode != 7 || r.Cancelled || r.Stdout != int64(len("got a\ngot b\ngot end\n")) {
		t.Errorf("got %+v", r)
	}
	if err := s.write("more\n"); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "file already closed") {
		t.Errorf("a write after the end: %v", err)
	}
}

// Who is written to must notice if nobody reads, at once or in time.
func TestWritesDoNotWaitForEver(t *testing.T) {
	s := begin(t, nil, "exec <&-; echo closed; sleep 300")
	s.says("closed")
	// Its supervisor lets go of the input a moment later.
	until(t, "the input is closed", func() bool { return errors.Is(s.write("x"), os.ErrClosed) })
	deaf := begin(t, nil, "echo ready; sleep 300")
	deaf.says("ready")
	much := make([]byte, 1<<20)
	n, err := deaf.Write(t.Context(), much, time.Second)
	if !errors.Is(err, process.ErrNotRead) || n == 0 || n >= len(much) {
		t.Errorf("wrote %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := deaf.Write(ctx, much, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that is given up says %v", err)
	}
}

// However a session ends, nothing of it is left, whatever it did to get away.
func TestASessionLeavesNothing(t *testing.T) {
	shapes := map[string]string{
		"ignores signals":               "trap '' TERM HUP INT; echo $$ >>pids; %s",
		"a grandchild holds the output": "(sh -c 'echo $$ >>pids; sleep 300' &) ; %s",
		"a grandchild reads the input":  "(sh -c 'echo $$ >>pids; exec cat' <&0 &) ; %s",
	}
	for name, script := range escapes {
		shapes[name] = script
	}
	for name, script := range shapes {
		t.Run(name+"/killed", func(t *testing.T) {
			s := begin(t, nil, fmt.Sprintf(script, waitForPids+"echo ready; sleep 300"))
			s.says("ready")
			s.Kill()
			if r := s.ends(); !r.Cancelled || r.ExitCode != -1 {
				t.Errorf("got %+v", r)
			}
			allGone(t, s.dir)
		})
		t.Run(name+"/after the lease", func(t *testing.T) {
			lease := process.NewLease()
			s := begin(t, lease, fmt.Sprintf(script, waitForPids+"echo ready; sleep 300"))
			s.says("ready")
			lease.End()
			if r := s.ends(); !errors.Is(r.Err, process.ErrLeaseOver) || r.Cancelled {
				t.Errorf("got %+v", r)
			}
			allGone(t, s.dir)
		})
		t.Run(name+"/after an exit", func(t *testing.T) {
			s := begin(t, nil, fmt.Sprintf(script, waitForPids+"exit 3"))
			if r := s.ends(); r.ExitCode != 3 || r.Cancelled {
				t.Errorf("got %+v", r)
			}
			allGone(t, s.dir)
		})
	}
}

func TestASessionDiesWithTheServer(t *testing.T) {
	dir := t.TempDir()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "HECATE_TEST_SERVER="+dir, "HECATE_TEST_SESSION=1", "HECATE_TEST_COMMAND="+fmt.Sprintf(escapes["setsid"], "cat"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the session has begun", func() bool { return len(pids(dir)) > 0 })
	_ = server.Process.Kill()
	_ = server.Wait()
	until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
}

func TestASessionThatCannotStart(t *testing.T) {
	if _, err := process.Start(process.Command{Argv: []string{"no-such-program"}, Dir: t.TempDir()}); text(err) != "start no-such-program: executable file not found in $PATH" {
		t.Error(err)
	}
	lease := process.NewLease()
	lease.End()
	if _, err := process.Start(process.Command{Argv: []string{"true"}, Dir: t.TempDir(), Lease: lease}); !errors.Is(err, process.ErrLeaseOver) {
		t.Error(err)
	}
}
