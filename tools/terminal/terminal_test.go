package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hecate/tools/process"
	"hecate/tools/sandbox"
	"hecate/tools/terminal"
)

func TestMain(m *testing.M) {
	process.SuperviseIfAsked()
	os.Exit(m.Run())
}

// spec is a shell script that is written data.
func spec(t *testing.T, id, script string) terminal.Spec {
	argv := []string{"sh", "-c", script}
	return terminal.Spec{
		ID: id, Step: "step-" + id, Name: "sh", Scanner: sandbox.NewScanner(argv, sandbox.Policy{Attached: true}),
		Command: process.Command{Argv: argv, Dir: t.TempDir()},
	}
}

func registry(t *testing.T) *terminal.Registry {
	r := terminal.NewRegistry()
	t.Cleanup(r.Shut)
	return r
}

func open(t *testing.T, r *terminal.Run, s terminal.Spec) *terminal.Terminal {
	t.Helper()
	x, err := r.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// patience is how long something may take that takes a moment on an idle machine.
const patience = time.Minute

func ended(t *testing.T, x *terminal.Terminal) bool {
	t.Helper()
	return x.Wait(t.Context(), patience)
}

func TestOutputIsKeptFromItsEnd(t *testing.T) {
	r := registry(t).Of("run")
	for name, c := range map[string]struct {
		script string // its parts, between which it waits until its output is here, are separated by PAUSE
		most   int
		want   string
		cut    bool
	}{
		"both streams":              {"echo a; PAUSE echo b >&2; PAUSE echo c", 100, "a\n[stderr] b\nc\n", false},
		"lines of the error stream": {"printf 'a\\nb\\n\\nc' >&2", 100, "[stderr] a\n[stderr] b\n[stderr] \n[stderr] c", false},
		"in the middle of a line":   {"printf '> '; PAUSE printf x >&2; PAUSE echo y", 100, "> \n[stderr] x\ny\n", false},
		"the end":                   {"echo abc", 2, "c\n", true},
		"no half characters":        {"echo aéé", 4, "é\n", true},
		"bytes that are no text":    {"printf 'a\\377b'", 100, "a\uFFFDb", false},
		"nothing":                   {"true", 100, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, r, spec(t, name, strings.ReplaceAll(c.script, "PAUSE", "read _;")))
			seen := int64(0)
			for range strings.Count(c.script, "PAUSE") {
				seen = goOn(t, x, seen)
			}
			if !ended(t, x) {
				t.Fatal("it does not end")
			}
			if text, cut := x.Tail(c.most); text != c.want || cut != c.cut {
				t.Errorf("got %q, %t", text, cut)
			}
		})
	}
	x := open(t, r, spec(t, "much", "yes | head -c 1000000; echo; echo end"))
	if !ended(t, x) {
		t.Fatal("it does not end")
	}
	text, cut := x.Tail(1 << 30)
	if len(text) != terminal.RetainedMax || !cut || !strings.HasSuffix(text, "y\n\nend\n") || x.Written() != 1_000_005 {
		t.Errorf("%d bytes are kept of %d, cut %t, at the end %q", len(text), x.Written(), cut, text[len(text)-20:])
	}
}

// goOn writes a line to a script once more of its output is here than was seen, and returns
// how much that is.
func goOn(t *testing.T, x *terminal.Terminal, seen int64) int64 {
	t.Helper()
	for end := time.Now().Add(patience); x.Written() == seen; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it writes nothing")
		}
	}
	seen = x.Written()
	if err := x.Write(t.Context(), "\n"); err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestRunsSeeOnlyTheirOwn(t *testing.T) {
	reg := registry(t)
	one, two := reg.Of("one"), reg.Of("two")
	a, b := open(t, one, spec(t, "x", "echo of one; cat")), open(t, two, spec(t, "x", "echo of two; cat"))
	if got, ok := one.Get("x"); !ok || got != a {
		t.Error("the first run does not see its own")
	}
	if got, ok := two.OpenedBy("step-x"); !ok || got != b {
		t.Error("the second run does not see its own")
	}
	if _, ok := reg.Of("three").Get("x"); ok {
		t.Error("a stranger sees one")
	}
	terminal.Gone(reg.Close("one"))
	if _, over := a.Result(); !over {
		t.Error("a closed run's process lives")
	}
	if _, ok := one.Get("x"); ok || reg.Has("one") {
		t.Error("a closed run's terminal is found")
	}
	if _, over := b.Result(); over {
		t.Error("the other one's process was ended")
	}
}

func TestARetiredRunIsForgottenWhenNothingIsLeft(t *testing.T) {
	reg := registry(t)
	x := open(t, reg.Of("run"), spec(t, "x", "cat"))
	reg.Retire("run")
	if _, over := x.Result(); !over || reg.Has("run") {
		t.Errorf("it has ended: %t, something is kept: %t", over, reg.Has("run"))
	}
	reg.Retire("run")
}

func TestARunHasSoManyAndNoMore(t *testing.T) {
	reg := registry(t)
	r := reg.Of("run")
	var all []*terminal.Terminal
	for i := range terminal.OpenMax {
		all = append(all, open(t, r, spec(t, fmt.Sprint(i), "cat")))
	}
	if _, err := r.Open(spec(t, "more", "cat")); !errors.Is(err, terminal.ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	open(t, reg.Of("other"), spec(t, "0", "cat"))
	all[3].Kill()
	if !ended(t, all[3]) {
		t.Fatal("it was killed and lives")
	}
	open(t, r, spec(t, "again", "cat"))
	if _, ok := r.Get("3"); !ok {
		t.Error("one that has ended cannot be looked at")
	}
}

// Ended ones do not pile up: the oldest are forgotten.
func TestEndedOnesAreForgotten(t *testing.T) {
	r := registry(t).Of("run")
	alive := open(t, r, spec(t, "alive", "cat"))
	for i := range 70 {
		if x := open(t, r, spec(t, fmt.Sprint(i), "true")); !ended(t, x) {
			t.Fatal("it does not end")
		}
	}
	_, first := r.Get("0")
	_, last := r.Get("69")
	if got, ok := r.Get("alive"); first || !last || !ok || got != alive {
		t.Errorf("the first is there: %t, the last: %t, the one that runs: %t", first, last, ok)
	}
}

func TestAFence(t *testing.T) {
	reg := registry(t)
	r := reg.Of("run")
	x := open(t, r, spec(t, "x", "cat"))
	reg.Fence()
	if _, err := r.Open(spec(t, "y", "cat")); !errors.Is(err, terminal.ErrFenced) {
		t.Errorf("behind the fence: %v", err)
	}
	if err := x.Write(t.Context(), "hi\n"); err != nil {
		t.Errorf("what is open: %v", err)
	}
	reg.Shut()
	if _, over := x.Result(); !over || len(reg.Runs()) != 0 {
		t.Error("something is left")
	}
}

func TestWhatCannotStartLeavesNothing(t *testing.T) {
	reg := registry(t)
	s := spec(t, "x", "cat")
	s.Command.Argv = []string{"no-such-program"}
	if _, err := reg.Of("run").Open(s); err == nil || reg.Has("run") {
		t.Errorf("%v; something is left: %t", err, reg.Has("run"))
	}
}

// Part of an input that did not arrive would make something else of the next one.
func TestAStuckTerminalGetsNothingMore(t *testing.T) {
	x := open(t, registry(t).Of("run"), spec(t, "x", "echo ready; sleep 300"))
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if err := x.Write(ctx, strings.Repeat("x", 1<<20)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "of 1048576 bytes") {
		t.Errorf("too much: %v", err)
	}
	if err := x.Write(t.Context(), "y"); !errors.Is(err, process.ErrNotRead) || !strings.Contains(err.Error(), "earlier input") {
		t.Errorf("more: %v", err)
	}
}
