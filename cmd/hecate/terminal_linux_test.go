package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// terminalEnviron is an environment with a project to work on.
func terminalEnviron(t *testing.T) (environ []string, project string) {
	t.Helper()
	dir := t.TempDir()
	environ, stop, err := e2eEnviron(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	project = filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	return environ, project
}

// On a terminal the question is asked there, in colours, and what was typed before
// it is no answer to it.
func TestTerminalApproval(t *testing.T) {
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "gated: make a file")
	s.typeIn(t, "y\ny\n")
	s.waitFor(t, "y approve")
	s.typeIn(t, "what?\n")
	s.waitFor(t, "please type y or n")
	s.typeIn(t, "y\n")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"\x1b[33m?\x1b[0m \x1b[1mapproval needed\x1b[0m", "cat made.txt", "by the agent", "The file is there."})
}

func TestTerminalWithoutColours(t *testing.T) {
	environ, project := terminalEnviron(t)
	s := onPTY(t, append(environ, "NO_COLOR=1"), "run", "--yes", "--dir", project, "gated: make a file")
	s.exitCode()
	if out := strings.ReplaceAll(s.output(), "\r\x1b[2K", ""); strings.Contains(out, "\x1b") || !strings.Contains(out, "✓ completed") {
		t.Errorf("output:\n%q", out)
	}
}

// Ctrl-C at the question cancels the run.
func TestTerminalInterrupt(t *testing.T) {
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "gated: make a file")
	s.waitFor(t, "y approve")
	s.typeIn(t, "\x03")
	if code := s.exitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"cancelling the run", "no answer: run cancelled: interrupted with Ctrl-C", "cancelled"})
	if strings.Contains(s.output(), "by system") {
		t.Errorf("it does not say who ended it:\n%s", s.output())
	}
}

// The demo cleans up after itself however it is ended: while it makes its project,
// and at its question.
func TestTerminalDemoEnded(t *testing.T) {
	for _, c := range []struct {
		at  string
		end syscall.Signal
	}{{"$ go test", syscall.SIGINT}, {"y approve", syscall.SIGTERM}, {"y approve", syscall.SIGHUP}} {
		t.Run(c.at+"/"+c.end.String(), func(t *testing.T) {
			environ, project := terminalEnviron(t)
			s := onPTY(t, environ, "demo")
			s.waitFor(t, c.at)
			if err := s.cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			if code := s.exitCode(); code != exitInterrupted {
				t.Errorf("exit code %d:\n%s", code, s.output())
			}
			left, err := os.ReadDir(filepath.Join(filepath.Dir(project), "tmp"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// After a no the command has not run, and the demo says so.
func TestTerminalDemoRejected(t *testing.T) {
	environ, _ := terminalEnviron(t)
	s := onPTY(t, environ, "demo")
	s.waitFor(t, "y approve")
	s.typeIn(t, "n\n")
	if code := s.exitCode(); code != exitRefused {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"the command did not run", "read from the log; --keep keeps it"})
	if strings.Contains(s.output(), "tool.shell.command") {
		t.Errorf("it ran:\n%s", s.output())
	}
}

// The demo asks once.
func TestTerminalDemo(t *testing.T) {
	environ, _ := terminalEnviron(t)
	s := onPTY(t, environ, "demo")
	s.waitFor(t, "y approve")
	s.typeIn(t, "y\n")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"The model is scripted", "exited with status 0", "\x1b[32m+\t\treturn (sorted[middle-1] + sorted[middle]) / 2", "with a real model"})
	if n := strings.Count(s.output(), "y approve"); n != 1 {
		t.Errorf("it asked %d times", n)
	}
}
