package main

import (
	"crypto/rand"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var updateCaptures = flag.Bool("update-captures", false, "write the captures of the terminal anew")

// tmux is a terminal as people have it.
type tmux struct {
	t      *testing.T
	socket string
}

// inTmux runs the hecate of this test binary in a terminal of that type, of 80 columns and
// 30 rows.
func inTmux(t *testing.T, environ []string, args ...string) tmux {
	t.Helper()
	script := "exec \"$HECATE\""
	for _, a := range args {
		script += " " + quoted(a)
	}
	return inTmuxOf(t, 80, environ, script)
}

// inTmuxOf runs a script in a terminal of so many columns. $HECATE is the hecate of this
// test binary.
func inTmuxOf(t *testing.T, columns int, environ []string, script string) tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("HECATE_TEST_REQUIRE_ALL") != "" {
			t.Fatal("tmux is not installed")
		}
		t.Skip("tmux is not installed: what the prompt looks like in it is not checked")
	}
	var lines strings.Builder
	lines.WriteString("#!/bin/sh\n")
	for _, e := range append(environ, asHecate+"=1", "HECATE="+os.Args[0]) {
		name, value, _ := strings.Cut(e, "=")
		lines.WriteString("export " + name + "=" + quoted(value) + "\n")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "run")
	if err := os.WriteFile(file, []byte(lines.String()+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := tmux{t, filepath.Join(dir, "tmux")}
	x.do("-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(columns), "-y", "30", file)
	t.Cleanup(x.end)
	return x
}

// end closes the terminal, and waits until the command has gone with it: it may be writing.
func (x tmux) end() {
	out, err := exec.Command("tmux", "-S", x.socket, "display-message", "-p", "#{pane_pid}").Output()
	if err != nil {
		return // the command has ended, and the terminal with it
	}
	_ = exec.Command("tmux", "-S", x.socket, "kill-server").Run()
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		x.t.Errorf("tmux names no process but %q", out)
		return
	}
	for deadline := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Errorf("process %d is still there", pid)
			return
		}
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (x tmux) do(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// screen waits until the terminal shows a text, and returns all that it shows.
func (x tmux) screen(text string) string {
	x.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		shown := x.do("capture-pane", "-p")
		if strings.Contains(shown, text) {
			return shown
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("the terminal does not show %q but\n%s", text, shown)
		}
	}
}

// fixedProject is a project whose path always has the same length, so that lines break
// in the same places.
func fixedProject(t *testing.T) string {
	t.Helper()
	var b [4]byte
	rand.Read(b[:])
	dir := "/tmp/hecate-" + hex.EncodeToString(b[:])
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// What the prompt looks like, as a dialog and line by line. Write the captures anew with
// go test ./cmd/hecate -run TestCaptures -update-captures, and look at them.
func TestCaptures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ term, ready string }{
		"full":  {"TERM=screen-256color", "approve?"},
		"plain": {"TERM=dumb", "or q:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ, _ := terminalEnviron(t)
			project := fixedProject(t)
			x := inTmux(t, append(environ, c.term), "run", "--dir", project, "twice: say it")
			compareCapture(t, "prompt-"+name, func() string {
				shown := x.screen(c.ready)
				if at := strings.Index(shown, "? approval needed"); at >= 0 {
					shown = shown[at:] // what stands above is another story
				}
				var lines []string
				for line := range strings.SplitSeq(strings.TrimRight(shown, "\n"), "\n") {
					line = strings.ReplaceAll(line, project, "/home/you/my-project")
					lines = append(lines, strings.TrimRight(withoutIDs(line), " "))
				}
				return strings.Join(lines, "\n") + "\n"
			})
			x.do("send-keys", "n")
			if name == "plain" {
				x.do("send-keys", "Enter")
			}
		})
	}
}

// paintMax is how long a screen may be incomplete that shows what a test has waited for.
const paintMax = 30 * time.Second

// compareCapture asserts that what is shown comes to be the capture of that name: a screen is
// painted piece by piece.
func compareCapture(t *testing.T, name string, shown func() string) {
	t.Helper()
	file, got := filepath.Join("testdata", "captures", name+".txt"), shown()
	if *updateCaptures {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(paintMax); got != string(want) && time.Now().Before(end); got = shown() {
		time.Sleep(20 * time.Millisecond)
	}
	if string(want) != got {
		t.Errorf("the terminal shows\n%s\nwant\n%s", got, want)
	}
}

var ids = regexp.MustCompile(`(task|run|approval)_[0-9a-z_]+`)

// withoutIDs leaves out what is new in each run.
func withoutIDs(line string) string {
	return ids.ReplaceAllStringFunc(line, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		return kind + "_…"
	})
}
