package textedit_test

import (
	"strings"
	"testing"

	"hecate/tools/textedit"
)

func TestReplacements(t *testing.T) {
	for _, c := range []struct {
		text, old, new string
		count          int
		want           string
	}{
		{"aXbX", "X", "", 2, "ab"},
		{"aaa", "aa", "b", 1, "ba"},
		{"a\r\nb\r\n", "a\nb", "a\nx\nb", 1, "a\r\nx\r\nb\r\n"},
		{"a\r\nb\nc\r\n", "a\nb\nc", "1\n2", 1, "1\r\n2\r\n"},
		{"a\r\nb\nc", "c", "c\nd", 1, "a\r\nb\nc\nd"},
		{"a\nb\r\nc", "c", "c\nd", 1, "a\nb\r\nc\r\nd"},
		{"a\r\nb\nc\n", "c", "c\nd", 1, "a\r\nb\nc\nd\n"},
		{"a\r\nb\r\n", "\n", "", 2, "ab"},
		{"a\r\nb\r\n", "a\r\nb", "a\nb", 1, "a\nb\r\n"}, // said with carriage returns: to the byte
		{"a\nb\n", "a\r\nb", "c\r\nd", 1, "c\nd\n"},
		{"a\rb\n", "a", "x\ny", 1, "x\ny\rb\n"},
		{"\uFEFFa", "\uFEFF", "", 0, "\uFEFFa"},
		{"\uFEFFa\r\n", "a\n", "b\nc\n", 1, "\uFEFFb\r\nc\r\n"},
		{"abc", "", "x", 0, "abc"},
		{"abc", "d", "x", 0, "abc"},
	} {
		e := textedit.Find(c.text, c.old, c.new)
		got, ok := e.Text(100)
		if e.Count != c.count || got != c.want || !ok {
			t.Errorf("%q: %q to %q: %d times, %q", c.text, c.old, c.new, e.Count, got)
		}
	}
	if _, ok := textedit.Find("aaaa", "a", "bb").Text(7); ok {
		t.Error("longer than the limit")
	}
}

// FuzzFind compares with the plain replacement where that is defined, and checks
// that replacing a text by itself changes nothing.
func FuzzFind(f *testing.F) {
	f.Add("a\r\nb\n", "a\nb", "x\n")
	f.Add("\uFEFFa\n\r\n", "\n\n", "")
	f.Fuzz(func(t *testing.T, text, old, new string) {
		e := textedit.Find(text, old, new)
		if got, ok := e.Text(1 << 20); ok && !strings.Contains(text+old+new, "\r") && !strings.Contains(text+old+new, "\uFEFF") && old != "" {
			if want := strings.ReplaceAll(text, old, new); got != want || e.Count != strings.Count(text, old) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		same := textedit.Find(text, old, old)
		if got, _ := same.Text(1 << 20); got != text && uniform(text) {
			t.Errorf("%q by itself in %q: %q", old, text, got)
		}
	})
}

// uniform reports whether all lines end alike.
func uniform(text string) bool {
	n := strings.Count(text, "\r\n")
	return n == 0 || n == strings.Count(text, "\n")
}

// A file without line ends and one that has nothing else are both no trouble.
func BenchmarkReplaceAll2MiB(b *testing.B) {
	for name, text := range map[string]string{"one line": strings.Repeat("x", 2<<20), "lines": strings.Repeat("x\r\n", 1<<20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				textedit.Find(text, "x", "y").Text(4 << 20)
			}
		})
	}
}
