package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"hecate/tools/tooltest"
)

// The text of a search, with its header, stays within its cap, also where the header
// quotes a long pattern.
func TestSearchTextsStayWithinTheirCap(t *testing.T) {
	w := tooltest.New(t)
	for i := range 40 {
		w.Write(fmt.Sprintf("f%02d", i), strings.Repeat("x", 3000)+"\n")
	}
	pattern := "x|" + strings.Repeat("\x01", 4000) // each of them is quoted as six bytes
	r := w.Call(tool(t, "grep"), args{"pattern": pattern, "max_matches": 500})
	if r.Error || len(r.Text) > 64<<10 || !strings.Contains(r.Text, " output_truncated=true") || strings.Count(r.Text, "\n") < 5 {
		t.Errorf("%d bytes: %.200s … %.200s", len(r.Text), r.Text, r.Text[max(0, len(r.Text)-200):])
	}
}

// What the names of files cost to be matched counts, in grep as in glob.
func TestMatchingOfNamesCounts(t *testing.T) {
	w := tooltest.New(t)
	w.Write("some-name", "text\n")
	for want, a := range map[string]args{
		"pattern_work=5 ":  {"pattern": "text"},
		"pattern_work=14 ": {"pattern": "text", "include": "some*"},
		"pattern_work=9 ":  {"pattern": "text", "include": "other"},
	} {
		if r := w.Call(tool(t, "grep"), a); !strings.Contains(r.Text, want) {
			t.Errorf("%v: %s", a, r.Text)
		}
	}
}

// The last lines of what may be read are whole ones.
func TestGrepStopsAtALineEnd(t *testing.T) {
	w := tooltest.New(t)
	line := strings.Repeat("x", 1<<19-1) + "\n"
	for i := range 63 {
		w.Write(fmt.Sprintf("a%02d", i), line+line)
	}
	w.Write("b", line+"y\n") // half of the last MiB is left for the next one
	w.Write("c", "needle 1\n"+strings.Repeat("z", 1<<19-11)+"\nneedle 2\n")
	r := w.Call(tool(t, "grep"), args{"pattern": "needle"})
	if !strings.Contains(r.Text, " matches=1 ") || !strings.Contains(r.Text, " truncated=true scan_limit=byte_limit ") || !strings.HasSuffix(r.Text, "\nc:1:needle 1") {
		t.Errorf("%.400s", r.Text)
	}
}
