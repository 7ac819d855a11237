package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// journeyEnviron is an environment in which lines break in the same places in each run.
func journeyEnviron(t *testing.T) (environ []string, project string) {
	t.Helper()
	environ, _ = terminalEnviron(t)
	return append(environ, "TERM=screen-256color", "TMPDIR="+fixedProject(t)), fixedProject(t)
}

// shows is what a terminal shows, without what is another in each run.
func (x tmux) shows(text, project string) string {
	x.t.Helper()
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(x.screen(text), "\n"), "\n") {
		if strings.Contains(line, waitsForWorker) {
			continue // on a busy machine
		}
		line = withoutIDs(strings.ReplaceAll(line, project, "/home/you/my-project"))
		line = answerer.ReplaceAllString(restOfID.ReplaceAllString(line, "…"), "approved by you")
		line = times.ReplaceAllString(workspaces.ReplaceAllString(line, "/tmp/…"), "${1}0s")
		text := strings.TrimLeft(line, " ")
		lead := strings.Repeat(" ", min(len(line)-len(text), 4)) // more of it depends on what follows
		lines = append(lines, strings.TrimRight(lead+gaps.ReplaceAllString(text, "  "), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// captured asserts that a terminal comes to show a text, with what the capture has around it.
func (x tmux) captured(name, text, project string) {
	x.t.Helper()
	compareCapture(x.t, name, func() string { return x.shows(text, project) })
}

var (
	restOfID   = regexp.MustCompile(`^(workspaces/task_)?[0-9a-f]{4,}(/run_[0-9a-f]*)?\b`) // where a line was broken within it
	answerer   = regexp.MustCompile(`approved by ` + regexp.QuoteMeta(firstOperator()) + `$`)
	times      = regexp.MustCompile(`(^|[ (])[0-9]+(\.[0-9])?s\b`)
	workspaces = regexp.MustCompile(`/tmp/hecate-[0-9a-f]{8}/.*`)
	gaps       = regexp.MustCompile(` {2,}`)
)

// What the model is saying and a status line stand below what lasts, at every width, and
// leave nothing behind.
func TestJourneyTyping(t *testing.T) {
	t.Parallel()
	environ, project := journeyEnviron(t)
	x := inTmuxOf(t, 80, environ, `trap : INT; "$HECATE" run --dir `+project+` "types: a lot"; echo "exit code $?"; exec sleep 600`)
	x.captured("typing-80", "it sto", project)
	for _, c := range []struct{ columns, whole string }{
		{"40", "  aVeryLongWordThatFitsOnNoLineOfANarro\n"}, {"200", "aVeryLongWordThatFitsOnNoLineOfANarrowTerminalAndIsBrokenWhereverThatIsNecessary\n"},
	} {
		x.do("resize-window", "-x", c.columns, "-y", "30")
		x.captured("typing-"+c.columns, c.whole, project)
	}
	x.do("send-keys", "C-c")
	x.captured("typing-ended", "exit code 130", project)
}

// From the command to the changed directory: run, yes, take.
func TestJourneyRunAndTake(t *testing.T) {
	t.Parallel()
	environ, project := journeyEnviron(t)
	x := inTmuxOf(t, 80, environ, `cd `+project+`; "$HECATE" run "gated: make a file"; "$HECATE" take; echo "exit code $?"; exec sleep 600`)
	x.screen("approve?")
	x.do("send-keys", "y")
	x.captured("journey-take", "take this? y or n:", project)
	x.do("send-keys", "y", "Enter")
	x.screen("exit code 0")
	if raw, err := os.ReadFile(filepath.Join(project, "made.txt")); string(raw) != "by the agent\n" {
		t.Errorf("made.txt holds %q (%v)", raw, err)
	}
}

// Who attaches from a second terminal answers, and the question is gone in the first.
func TestJourneyAttach(t *testing.T) {
	t.Parallel()
	environ, project := journeyEnviron(t)
	first := inTmuxOf(t, 80, environ, `exec "$HECATE" run --keep --dir `+project+` "gated: make a file"`)
	first.screen("approve?")
	second := inTmuxOf(t, 40, environ, `"$HECATE" attach; echo "exit code $?"; exec sleep 600`)
	second.captured("journey-attach-asks", "approve?", project)
	second.do("send-keys", "y")
	second.captured("journey-attach-second", "exit code 0", project)
	compareCapture(t, "journey-attach-first", func() string {
		answered, _, _ := strings.Cut(first.shows("until Ctrl-C", project), "the server stays at")
		return regexp.MustCompile(`(?m)^… waiting for a worker: .*\n`).ReplaceAllString(answered, "") // said where the machine is slow
	})
}

// However a command ends, the terminal is as it was before.
func TestTerminalRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt, at string
		end        os.Signal // nil: Ctrl-C is typed
	}{
		"Ctrl-C":             {"hangs", "model call 1", nil},
		"SIGTERM":            {"hangs", "model call 1", syscall.SIGTERM},
		"Ctrl-C in dialog":   {"gated: make a file", asksNow, nil},
		"SIGTERM in dialog":  {"gated: make a file", asksNow, syscall.SIGTERM},
		"SIGTERM while text": {"types", "it sto", syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ, project := terminalEnviron(t)
			s := onPTY(t, environ, "run", "--dir", project, c.prompt)
			s.waitFor(t, c.at)
			if c.end == nil {
				s.typeIn(t, "\x03")
			} else if err := s.cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			if code := s.exitCode(); code != exitInterrupted {
				t.Errorf("exit code %d:\n%s", code, s.output())
			}
			if after := s.settings(t); after != s.began {
				t.Errorf("settings before %+v, and after %+v", s.began, after)
			}
			if left := leftOn(s.output()); len(left) > 0 {
				t.Errorf("modes that are left changed: %v:\n%q", left, s.output())
			}
			if !strings.HasSuffix(s.output(), "\n") {
				t.Errorf("the cursor does not stand on a line of its own:\n%q", s.output())
			}
		})
	}
}

// Where the server goes on by itself, Ctrl-C cancels and a second one detaches.
func TestTerminalTwice(t *testing.T) {
	t.Parallel()
	environ, server, _ := served(t)
	s := onPTY(t, environ, "run", "--dir", t.TempDir(), "hangs")
	s.waitFor(t, "model call 1")
	s.typeIn(t, "\x03")
	s.waitFor(t, "cancelling the run; Ctrl-C again detaches, and leaves the rest to the server")
	if code := s.exitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	if h, err := server.Health(t.Context()); err != nil || h == "" {
		t.Errorf("the server is gone: %v", err)
	}
}

// Without a terminal there are plain lines, and nothing else.
func TestPiped(t *testing.T) {
	t.Parallel()
	environ, project := terminalEnviron(t)
	var errs strings.Builder
	c := command(environ, "run", "--yes", "--dir", project, "gated: make a file")
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	check(t, string(out), []string{"● model call 1  100 tokens in", "  $ cat made.txt\n  │ by the agent\n", "The file is there."})
	if strings.ContainsAny(string(out)+errs.String(), "\x1b\r") || errs.Len() > 0 {
		t.Errorf("output:\n%q\nerrors:\n%q", out, errs.String())
	}
}

// A server that crashes leaves a terminal behind that works, and a command that says what
// it waits for.
func TestTerminalServerGone(t *testing.T) {
	t.Parallel()
	environ, server, r := served(t)
	asked := onPTY(t, environ, "attach", r.ID)
	asked.waitFor(t, asksNow)
	hangs := onPTY(t, environ, "run", "--dir", t.TempDir(), "hangs")
	hangs.waitFor(t, "model call 1")
	for _, running := range (&app{environ: environ}).runningServers() {
		if err := syscall.Kill(running.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	asked.waitFor(t, "nothing was answered; trying again")
	hangs.waitFor(t, "cannot be reached")
	hangs.waitFor(t, "the server does not answer; trying again")
	for _, s := range []*terminalSession{asked, hangs} {
		if s == hangs {
			s.typeIn(t, "\x03")
			s.waitFor(t, "cancel run ")
		}
		s.typeIn(t, "\x03")
		if code := s.exitCode(); code != exitInterrupted {
			t.Errorf("exit code %d:\n%s", code, s.output())
		}
		if left := leftOn(s.output()); len(left) > 0 {
			t.Errorf("modes that are left changed: %v:\n%q", left, s.output())
		}
		check(t, s.output(), []string{"detached; the run goes on", "hecate attach run_"})
	}
	if _, err := server.Health(t.Context()); err == nil {
		t.Error("the server is still there")
	}
}
