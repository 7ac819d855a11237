package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
		line = withoutIDs(strings.ReplaceAll(line, project, "/home/you/my-project"))
		line = answerer.ReplaceAllString(restOfID.ReplaceAllString(line, "…"), "approved by you")
		line = times.ReplaceAllString(workspaces.ReplaceAllString(line, "/tmp/…"), "${1}0s")
		lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines = append(lines, strings.TrimRight(lead+gaps.ReplaceAllString(line[len(lead):], "  "), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

var (
	restOfID   = regexp.MustCompile(`^(workspaces/task_)?[0-9a-f]{4,}(/run_[0-9a-f]*)?\b`) // where a line was broken within it
	answerer   = regexp.MustCompile(`approved by \S+`)
	times      = regexp.MustCompile(`(^|[ (])[0-9]+(\.[0-9])?s\b`)
	workspaces = regexp.MustCompile(`/tmp/hecate-[0-9a-f]{8}/.*`)
	gaps       = regexp.MustCompile(` {2,}`)
)

// What the model is saying and a status line stand below what lasts, at every width, and
// leave nothing behind.
func TestJourneyTyping(t *testing.T) {
	t.Parallel()
	environ, project := journeyEnviron(t)
	x := inTmuxOf(t, 80, environ, `trap : INT; "$HECATE" run --dir `+project+` "types: a lot"; echo "exit code $?"; exec sleep 60`)
	compareCapture(t, "typing-80", x.shows("it sto", project))
	for _, c := range []struct{ columns, whole string }{
		{"40", "  aVeryLongWordThatFitsOnNoLineOfANarro\n"}, {"200", "aVeryLongWordThatFitsOnNoLineOfANarrowTerminalAndIsBrokenWhereverThatIsNecessary\n"},
	} {
		x.do("resize-window", "-x", c.columns, "-y", "30")
		compareCapture(t, "typing-"+c.columns, x.shows(c.whole, project))
	}
	x.do("send-keys", "C-c")
	ended := x.shows("exit code 130", project)
	compareCapture(t, "typing-ended", ended)
}

// From the command to the changed directory: run, yes, take.
func TestJourneyRunAndTake(t *testing.T) {
	t.Parallel()
	environ, project := journeyEnviron(t)
	x := inTmuxOf(t, 80, environ, `cd `+project+`; "$HECATE" run "gated: make a file"; "$HECATE" take; echo "exit code $?"; exec sleep 60`)
	x.screen("approve?")
	x.do("send-keys", "y")
	compareCapture(t, "journey-take", x.shows("take this? y or n:", project))
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
	second := inTmuxOf(t, 40, environ, `"$HECATE" attach; echo "exit code $?"; exec sleep 60`)
	compareCapture(t, "journey-attach-asks", second.shows("approve?", project))
	second.do("send-keys", "y")
	compareCapture(t, "journey-attach-second", second.shows("exit code 0", project))
	answered, _, _ := strings.Cut(first.shows("until Ctrl-C", project), "the server stays at")
	compareCapture(t, "journey-attach-first", answered)
}
