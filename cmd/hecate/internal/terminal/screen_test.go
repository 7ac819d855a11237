package terminal_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/terminal"
)

// What goes on stands below what lasts: something lasting pushes it down, all in one
// write, and nothing of it is left at the end.
func TestScreen(t *testing.T) {
	const off, on, row, rest = "\x1b[?7l", "\x1b[?7h", "\x1b[K", "\x1b[J"
	var out bytes.Buffer
	said := func() string { defer out.Reset(); return out.String() }
	s := terminal.NewScreen(&out, terminal.Style{Columns: 40, Redraws: true})
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"show", func() { s.Show("one", "two") }, off + "\rone" + row + "\r\ntwo" + rest + "\r" + on},
		{"the same", func() { s.Show("one", "two") }, ""},
		{"another", func() { s.Show("one", "three") }, off + "\x1b[1A\rone" + row + "\r\nthree" + rest + "\r" + on},
		{"lasting", func() { io.WriteString(s, "line\n") }, "\x1b[1A\r" + rest + "line\n" + off + "\rone" + row + "\r\nthree" + rest + "\r" + on},
		{"a question", func() { io.WriteString(s, "yes? ") }, "\x1b[1A\r" + rest + "yes? "},
		{"beside it", func() { s.Show("four") }, ""},
		{"the answer", func() { io.WriteString(s, "yes\n") }, "yes\n" + off + "\rfour" + rest + "\r" + on},
		{"held", func() { s.Hold(); s.Show("five"); io.WriteString(s, "later\n") }, "\r" + rest},
		{"released", func() { _ = s.Release() }, "later\n" + off + "\rfive" + rest + "\r" + on},
		{"somebody else wrote", func() { s.Forget(); s.Show("six") }, off + "\rsix" + rest + "\r" + on},
		{"no more", func() { s.Show() }, "\r" + rest},
		{"passing", func() { s.Status("at it") }, off + "\rat it" + rest + "\r" + on},
		{"and gone", func() { io.WriteString(s, "done\n") }, "\r" + rest + "done\n"},
	} {
		step.do()
		if got := said(); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
	plain := terminal.NewScreen(&out, terminal.Style{Columns: 40})
	plain.Show("nothing")
	plain.Status("nothing")
	io.WriteString(plain, "line\n")
	if got := said(); got != "line\n" {
		t.Errorf("on a plain terminal: %q", got)
	}
}

// A detail that finds no room beside its line stands below it.
func TestRowBelow(t *testing.T) {
	got := terminal.Style{Columns: 12}.Row("left left", "right")
	if want := "left left\n" + strings.Repeat(" ", 7) + "right"; got != want {
		t.Errorf("Row = %q, want %q", got, want)
	}
}
