package terminal_test

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hecate/cmd/hecate/internal/terminal"
)

// A command cannot repaint itself as another one: whatever would move the cursor,
// set the title or reach the clipboard is shown as what it is.
func TestClean(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"go test ./...", "go test ./...", "go test ./..."},
		{"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		{"a\r\nb", `a\r\nb`, "a\nb"},
		{"rm -rf /\r\x1b[2Kls", `rm -rf /\r\x1b[2Kls`, `rm -rf /\r\x1b[2Kls`},
		{"\x1b]52;c;aGk=\x07", `\x1b]52;c;aGk=\x07`, `\x1b]52;c;aGk=\x07`},
		{"\u009b2K\u009d0;t\u009c", `\u009b2K\u009d0;t\u009c`, `\u009b2K\u009d0;t\u009c`},
		{"bad \x9b byte", `bad \x9b byte`, `bad \x9b byte`},
		{"e\u202evil\u200b", `e\u202evil\u200b`, `e\u202evil\u200b`},
		{"tag \U000e0041", `tag \U000e0041`, `tag \U000e0041`},
		{"a\ufe0fb\U000e0100", `a\ufe0fb\U000e0100`, `a\ufe0fb\U000e0100`},
		{"\u3164\u115f\u034f\u2800", `\u3164\u115f\u034f\u2800`, `\u3164\u115f\u034f\u2800`},
		{"\xed\xa0\x80", `\xed\xa0\x80`, `\xed\xa0\x80`},
		{"naïve 日本 🙂 ok", "naïve 日本 🙂 ok", "naïve 日本 🙂 ok"},
		{"\x00\x7f\b", `\x00\x7f\x08`, `\x00\x7f\x08`},
		{"real \ufffd stays", "real \ufffd stays", "real \ufffd stays"},
	} {
		if got := terminal.Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := terminal.Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

// In a command a blank that is no space stands out.
func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		"rm -rf x":                  `rm -rf x`,
		"rm\u00a0-rf\u3000x\u2003y": `rm\u00a0-rf\u3000x\u2003y`,
		"a\tb\u200b\x1b":            `a\tb\u200b\x1b`,
	} {
		if got := terminal.Exact(in); got != want {
			t.Errorf("Exact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOutputDropsColoursOnly(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mFAIL\x1b[0m x":     "FAIL x",
		"\x1b[1;38:5:4mx":           "x",
		"\x1b[2Jx":                  `\x1b[2Jx`,
		"\x1b[31":                   `\x1b[31`,
		"\x1b[\x1b[31mm":            `\x1b[m`,
		"ok  \tpkg\t0.1s\r\nnext\n": "ok  \tpkg\t0.1s\nnext\n",
	} {
		if got := terminal.Output(in); got != want {
			t.Errorf("Output(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b[31m\x1b]0;t\x07\u009b\x9b\r\n\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		check := func(name, out, allowed string) {
			if !utf8.ValidString(out) {
				t.Fatalf("%s(%q) is no UTF-8: %q", name, s, out)
			}
			for _, r := range out {
				if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) && !strings.ContainsRune(allowed, r) {
					t.Fatalf("%s(%q) keeps %U: %q", name, s, r, out)
				}
			}
		}
		check("Line", terminal.Line(s), "")
		check("Text", terminal.Text(s), "\n\t")
		check("Output", terminal.Output(s), "\n\t")
		if once := terminal.Text(s); terminal.Text(once) != once {
			t.Fatalf("Text is not stable on %q", once)
		}
		if got := strings.Join(terminal.Fold(terminal.Line(s), 7), ""); got != terminal.Line(s) {
			t.Fatalf("Fold lost something of %q: %q", s, got)
		}
	})
}

func TestLayout(t *testing.T) {
	if got := terminal.Columns("日本 e\u0301"); got != 6 {
		t.Errorf("Columns = %d, want 6", got)
	}
	if got := terminal.Cut("日本語です", 5); got != "日本…" {
		t.Errorf("Cut = %q", got)
	}
	if got := terminal.Cut("short", 5); got != "short" {
		t.Errorf("Cut = %q", got)
	}
	got := strings.Join(terminal.Wrap("one two three\n  four five six\n\nseven", 10), "|")
	if want := "one two|three|  four|  five six||seven"; got != want {
		t.Errorf("Wrap = %q, want %q", got, want)
	}
	if got := strings.Join(terminal.Wrap("a waytoolongforthat b", 6), "|"); got != "a|waytoolongforthat|b" {
		t.Errorf("Wrap of a long word = %q", got)
	}
}

func TestRow(t *testing.T) {
	if got := (terminal.Style{}).Row("left", "right"); got != "left  right" {
		t.Errorf("plain row = %q", got)
	}
	if got := (terminal.Style{Columns: 12}).Row("left", "right"); got != "left   right" {
		t.Errorf("aligned row = %q", got)
	}
	coloured := terminal.Style{Colour: true, Columns: 12}
	if got := coloured.Row(coloured.Bold("left"), "right"); got != "\x1b[1mleft\x1b[0m   \x1b[2mright\x1b[0m" {
		t.Errorf("coloured row = %q", got)
	}
}

func TestFilesGetPlainText(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s := terminal.StyleOf(f, func(string) string { return "" }); s != (terminal.Style{}) {
		t.Errorf("style of a file = %+v", s)
	}
}
