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

const (
	// asksNow is on the screen once the dialog takes an answer.
	asksNow = "\x1b[33mapprove?\x1b[m"
	// opens and closes switch to the screen of the dialog and back.
	opens, closes = "\x1b[?1049h", "\x1b[?1049l"
)

// On a terminal a dialog asks. When it is answered, what was on the screen before is
// there again, and below it what was answered.
func TestTerminalDialog(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "gated: make a file")
	s.waitFor(t, asksNow)
	s.typeIn(t, "y")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	dialog, after, _ := strings.Cut(s.output(), closes)
	check(t, dialog, []string{
		"\x1b]9;hecate: approve? shell_exec cat made.txt\a\a", opens, "Level 2 (approve)", "shell (shell_exec)   in a copy",
		"│ cat made.txt", "why: Now a look at it.", "shell(cat made.txt)",
	})
	check(t, after, []string{"shell_exec cat made.txt", "y: this call only", "by the agent", "The file is there."})
	if strings.Contains(s.output(), "\x1b]0;") || strings.Contains(s.output(), "\x1b]2;") {
		t.Error("it sets the title of the window")
	}
}

// What was typed before the question is no answer to it. A no lets the run go on, and the
// model is told why.
func TestTerminalDenied(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "gated: make a file")
	s.typeIn(t, "y\nyyy")
	s.waitFor(t, asksNow)
	s.typeIn(t, "N")
	s.waitFor(t, "The model is told this.")
	s.typeIn(t, "use another tool\r")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"N: denied, use another tool", "The file is there."})
	if strings.Contains(s.output(), "by the agent") {
		t.Errorf("it ran:\n%s", s.output())
	}
	check(t, hecate(t, environ, "log", "--json"), []string{"denied by the user: use another tool"})
}

// What is allowed for the session is not asked about again.
func TestTerminalSession(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "twice: say it")
	s.waitFor(t, asksNow)
	s.typeIn(t, "a")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"exec(echo) args(*)", "a: this session, exec(echo) args(*)", "one three", "Both said."})
	if n := strings.Count(s.output(), opens); n != 1 {
		t.Errorf("it asked %d times:\n%s", n, s.output())
	}
}

// What is remembered is written, as it was edited, into the project's file.
func TestTerminalRemember(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "twice: say it")
	s.waitFor(t, asksNow)
	s.typeIn(t, "e")
	s.waitFor(t, "Enter takes it")
	s.typeIn(t, "\x7f\x7fone *)\r")
	s.waitFor(t, "whose arguments are one, alone or followed by any others")
	s.typeIn(t, "A")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"A: remember exec(echo) args(one *)", "remembered exec(echo) args(one *) in [permissions] promoted of ", "one three"})
	raw, err := os.ReadFile(filepath.Join(project, ".hecate", "config.toml"))
	if err != nil || !strings.Contains(string(raw), "exec(echo) args(one *)") {
		t.Errorf("the file holds %q (%v)", raw, err)
	}
}

// A terminal that can only print is asked on line by line, in colours if it has them, and
// what was typed before the question is no answer to it.
func TestTerminalLines(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, append(environ, "TERM=dumb"), "run", "--dir", project, "gated: make a file")
	s.typeIn(t, "y\ny\n")
	s.waitFor(t, "approve? y, a, A, e, n, N or q: ")
	s.typeIn(t, "what?\n")
	s.waitFor(t, "please type one of y a A e n N q.")
	s.typeIn(t, "y\n")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"? approval needed", "Level 2 (approve)", "│ cat made.txt", "by the agent", "The file is there."})
	if strings.Contains(s.output(), opens) {
		t.Errorf("a dialog on a terminal that can only print:\n%s", s.output())
	}
}

func TestTerminalWithoutColours(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, append(environ, "NO_COLOR=1"), "run", "--yes", "--dir", project, "gated: make a file")
	s.exitCode()
	if out := s.output(); strings.Contains(out, "\x1b") || !strings.Contains(out, "✓ completed") {
		t.Errorf("output:\n%q", out)
	}
}

// A command that repaints itself, and text that does, are seen as what they are,
// wherever they are shown.
func TestTerminalDeceit(t *testing.T) {
	t.Parallel()
	for terminal, at := range map[string]string{"xterm": asksNow, "dumb": "or q: "} {
		t.Run(terminal, func(t *testing.T) {
			t.Parallel()
			environ, project := terminalEnviron(t)
			s := onPTY(t, append(environ, "TERM="+terminal), "run", "--dir", project, "deceives")
			s.waitFor(t, at)
			s.typeIn(t, map[string]string{"xterm": "n", "dumb": "n\n"}[terminal])
			if code := s.exitCode(); code != exitCompleted {
				t.Fatalf("exit code %d:\n%s", code, s.output())
			}
			check(t, s.output(), []string{`│ rm -rf ./x\r\x1b[2Kls\x08\x08\x1b]52;c;aGk=\x07\u009b2K\u009d0;title\u009c \u202elper\u200b`, `why: Just a look.\x1b[2J\x1b]0;title\x07`})
			for _, raw := range []string{"\x1b]52", "\x1b]0;", "\u009b", "\u009d", "\u202e", "\u200b", "\x1b[2Kls", "\b\b"} {
				if strings.Contains(s.output(), raw) {
					t.Errorf("%q reaches the terminal:\n%q", raw, s.output())
				}
			}
		})
	}
}

// The dialog follows the size of its window, and asks nothing in one that is too small.
func TestTerminalResize(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	s := onPTY(t, environ, "run", "--dir", project, "gated: make a file")
	s.waitFor(t, asksNow)
	s.resize(t, 30, 8)
	s.waitFor(t, "Needs 40×10")
	s.typeIn(t, "y")
	s.taken(t)
	s.resize(t, 60, 12)
	s.waitFor(t, "\x1b[1mN reason\x1b[m\r\n\n"+asksNow)
	s.typeIn(t, "n")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"n: denied"})
}

// Ctrl-C at the question cancels the run.
func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	for _, terminal := range []string{"xterm", "dumb"} {
		t.Run(terminal, func(t *testing.T) {
			t.Parallel()
			environ, project := terminalEnviron(t)
			s := onPTY(t, append(environ, "TERM="+terminal), "run", "--dir", project, "gated: make a file")
			s.waitFor(t, map[string]string{"xterm": asksNow, "dumb": "or q: "}[terminal])
			s.typeIn(t, "\x03")
			if code := s.exitCode(); code != exitInterrupted {
				t.Fatalf("exit code %d:\n%s", code, s.output())
			}
			check(t, s.output(), []string{"cancelling the run", "no answer: run cancelled: interrupted with Ctrl-C", "cancelled"})
			if strings.Contains(s.output(), "by system") {
				t.Errorf("it does not say who ended it:\n%s", s.output())
			}
		})
	}
}

// The demo cleans up after itself however it is ended: while it makes its project,
// and at its question.
func TestTerminalDemoEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at  string
		end syscall.Signal
	}{{"$ go test", syscall.SIGINT}, {asksNow, syscall.SIGTERM}, {asksNow, syscall.SIGHUP}} {
		t.Run(c.end.String(), func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
	environ, _ := terminalEnviron(t)
	s := onPTY(t, environ, "demo")
	s.waitFor(t, asksNow)
	s.typeIn(t, "n")
	if code := s.exitCode(); code != exitRefused {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"refuse, which ends the run", "the command did not run", "read from the log; --keep keeps it"})
	if strings.Contains(s.output(), "tool.shell.command") {
		t.Errorf("it ran:\n%s", s.output())
	}
}

// The demo asks once.
func TestTerminalDemo(t *testing.T) {
	t.Parallel()
	environ, _ := terminalEnviron(t)
	s := onPTY(t, environ, "demo")
	s.waitFor(t, asksNow)
	s.typeIn(t, "y")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"The model is scripted", "exited with status 0", "\x1b[32m+\t\treturn (sorted[middle-1] + sorted[middle]) / 2", "with a real model"})
	if n := strings.Count(s.output(), opens); n != 1 {
		t.Errorf("it asked %d times", n)
	}
}
