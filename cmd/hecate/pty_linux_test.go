package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalSession is a command that runs on a terminal of its own.
type terminalSession struct {
	cmd    *exec.Cmd
	master *os.File
	path   string       // of the terminal
	began  unix.Termios // the settings of the terminal before the command

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when output came
	said    bytes.Buffer
	closed  chan struct{} // closed when there is no more
}

// onPTY starts the hecate of this test binary on a pseudo terminal of 100 columns.
func onPTY(t *testing.T, environ []string, args ...string) *terminalSession {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", number)
	slave, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	s := &terminalSession{cmd: exec.Command(os.Args[0], args...), master: master, path: path, changed: make(chan struct{}), closed: make(chan struct{})}
	s.began = s.settings(t)
	s.cmd.Env = append(environ, asHecate+"=1")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	// A signal that is caught here is at its default in the child, also if whoever
	// started the tests ignored it, as nohup does.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	err = s.cmd.Start()
	signal.Stop(caught)
	if err != nil {
		t.Fatal(err)
	}
	go func() { defer close(s.closed); s.read() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended long ago
		_ = s.cmd.Wait()
		master.Close()
		<-s.closed
	})
	return s
}

// read collects the output until the terminal is closed, which reads as an error.
func (s *terminalSession) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.said.Write(buf[:n])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// waitFor returns once the command has said text, and fails the test if it ends without
// or takes too long.
func (s *terminalSession) waitFor(t *testing.T, text string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		s.mu.Lock()
		found, changed := strings.Contains(s.said.String(), text), s.changed
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("the command does not say %q:\n%q", text, s.output())
		case <-s.closed:
			t.Fatalf("the command ended without saying %q:\n%s", text, s.output())
		}
	}
}

func (s *terminalSession) typeIn(t *testing.T, text string) {
	t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// taken returns once the command has read all that was typed.
func (s *terminalSession) taken(t *testing.T) {
	t.Helper()
	slave, err := os.OpenFile(s.path, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	waitFor(t, "the end of what was typed", func() (bool, bool) {
		left, err := unix.IoctlGetInt(int(slave.Fd()), unix.TIOCINQ)
		return true, err == nil && left == 0
	})
}

// resize gives the terminal another size.
func (s *terminalSession) resize(t *testing.T, columns, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// exitCode waits for the end of the command and of its output. A command that does not end
// is killed, with -1 as its code.
func (s *terminalSession) exitCode() int {
	limit := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer limit.Stop()
	_ = s.cmd.Wait() // the code says more than the error
	<-s.closed
	return s.cmd.ProcessState.ExitCode()
}

func (s *terminalSession) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// settings are what the terminal does with what is typed.
func (s *terminalSession) settings(t *testing.T) unix.Termios {
	t.Helper()
	got, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

var modes = regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl])`)

// leftOn lists the modes of the screen that are not as a terminal begins: only the
// wrapping of lines and the cursor are on there.
func leftOn(output string) []string {
	on := map[string]bool{}
	for _, m := range modes.FindAllStringSubmatch(output, -1) {
		for mode := range strings.SplitSeq(m[1], ";") {
			on[mode] = m[2] == "h"
		}
	}
	var out []string
	for mode, is := range on {
		if usual := mode == "7" || mode == "25"; is != usual {
			out = append(out, mode)
		}
	}
	return out
}
