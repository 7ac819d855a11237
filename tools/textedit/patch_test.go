package textedit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/tools/textedit"
)

// body is a patch with these lines in it.
func body(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

func TestParse(t *testing.T) {
	want := []textedit.Section{
		{Op: "add", Path: "a b.txt", Content: "x\n\n+y\n"},
		{Op: "update", Path: "u", Hunks: []textedit.Hunk{
			{Lines: []string{" a", "-b", "+c", " ", " d"}},
			{Anchors: []string{"func f() {", "if x {"}, Lines: []string{"+e"}},
			{Anchors: []string{"class C"}, Lines: []string{"-*** Delete File: no"}},
		}},
		{Op: "delete", Path: "d"},
		{Op: "add", Path: "empty"},
	}
	patch := body("*** Add File: a b.txt", "+x", "+", "++y", `\ No newline at end of file`, "",
		"*** Update File:  u ", " a", "-b", "+c", "", " d", "@@ func f() {", "@@ if x {", "+e", "@@ -3,4 +5,6 @@ class C", "-*** Delete File: no", "",
		"*** Delete File: d", "*** Add File: empty")
	for _, text := range []string{patch, "\n  " + patch + "\n", strings.ReplaceAll(patch, "\n", "\r\n")} {
		got, err := textedit.Parse(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v\n%s", err, d)
		}
	}
}

func TestPatchesThatCannotBeRead(t *testing.T) {
	for patch, want := range map[string]string{
		"":                               "patch must start with *** Begin Patch",
		"*** Add File: x":                "patch must start with *** Begin Patch",
		"*** Begin Patch":                "patch missing *** End Patch",
		"*** Begin Patch\n+x":            "patch missing *** End Patch",
		body():                           "patch contains no file operations",
		body("", " "):                    "patch contains no file operations",
		body("*** Move File: a"):         `unsupported patch directive "*** Move File: a"`,
		body("*** Add File: "):           `unsupported patch directive "*** Add File: "`,
		body("*** Add File: x", "-y"):    `unsupported patch directive "-y"`,
		body("*** Delete File: x", "-y"): `unsupported patch directive "-y"`,
		body("*** Update File: x", "-y", "*** Move to: z"):               `unsupported patch directive "*** Move to: z"`,
		body("*** Update File: x", "-y", "*** End Patch", "+z"):          `unsupported patch directive "*** End Patch"`,
		body("*** Update File: x", "-y", "text"):                         `unsupported patch directive "text"`,
		body("*** Update File: x", strings.Repeat("é", 150)):             `unsupported patch directive "` + strings.Repeat("é", 100) + `…"`,
		body("--- a/x", "+++ b/x", "@@ -1 +1 @@", "-x", "+y"):            `unsupported patch directive "--- a/x"`,
		"*** Begin Patch\n*** Delete File: x\n*** End Patch\nmore words": "patch missing *** End Patch",
	} {
		if got, err := textedit.Parse(patch); err == nil || err.Error() != want || got != nil {
			t.Errorf("%q: got %v, want %s", patch, err, want)
		}
	}
}

func TestUpdates(t *testing.T) {
	for _, c := range []struct{ text, hunks, want string }{
		{"a\nb\nc\n", " a\n-b\n+B", "a\nB\nc\n"},
		{"a\nb\nc\n", "-a\n@@\n-c\n+C\n+D", "b\nC\nD\n"},
		{"a\nb", "-b\n+c", "a\nc"},
		{"a\nb", " b\n+c", "a\nb\nc"},
		{"a\nb", "-b", "a\n"},
		{"a", "-a", ""},
		{"a\n", "+b\n a", "b\na\n"},
		{"", "+a", "a\n"},
		{"a\r\nb\r\nc", " a\n-b\n+B\n+C", "a\r\nB\r\nC\r\nc"},
		{"a\r\nb\r\n", "-a\r\n+A\r", "A\r\nb\r\n"},
		{"a\r\nb", " b\n+c", "a\r\nb\r\nc"},
		{"\uFEFFa\r\n", "-a\n+b", "\uFEFFb\r\n"},
		{"a\r\nb\nc\n", " a\n b\n-c\n+d", "a\r\nb\nd\n"},
		{"x\ny\nx\nz\n", " x\n-z", "x\ny\nx\n"},
		{"f\n x\ng\n x\n", "@@ g\n- x\n+ y", "f\n x\ng\n y\n"},
		{"f\n x\ng\n", "@@ unknown\n- x\n+ y", "f\n y\ng\n"},
		{"f\n x\ng\n", "@@ g\n- x\n+ y", "f\n y\ng\n"}, // the anchor misleads; the lines do not
		{"f() {\n}\ng\n", "@@ f() {\n+ x", "f() {\n x\n}\ng\n"},
		{"a\n\nb\n", " a\n\n-b\n+c", "a\n\nc\n"},
		{"ab\na\n", "-a\n+x", "ab\nx\n"},
		{"a\xff\nb\n", "-b\n+c", "a\xff\nc\n"},

		{"a\nx\nb\n", "-a\n-b", `removal line not found: "b" (hunk 1 of 1)`}, // they do not stand together
		{"a\nb\n", "-b\n@@\n-a", `removal line not found: "a" (hunk 2 of 2)`},
		{"a\nb\n", " a\n c\n-d", `context line not found: "c" (hunk 1 of 1)`},
		{"a\n", " b", `context line not found: "b" (hunk 1 of 1)`},
		{"a\n", "-a\n+a", "patch produced no change"},
		{"a\n", " a", "patch produced no change"},
		{"a\n", "@@ a", "patch produced no change"},
		{"a\n", "+b", "no line says where the new lines belong; give a context line (hunk 1 of 1)"},
		{"", "-a", `removal line not found: "a" (hunk 1 of 1)`},
	} {
		sections, err := textedit.Parse(body("*** Update File: f", c.hunks))
		if err != nil {
			t.Fatalf("%q: %v", c.hunks, err)
		}
		got, err := sections[0].Apply(c.text)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q in %q:\ngot  %q\nwant %q", c.hunks, c.text, got, c.want)
		}
	}
}

// FuzzPatch checks that no patch text breaks the parser or an update, and that an
// update that is accepted leaves lines that it does not name as they are.
func FuzzPatch(f *testing.F) {
	f.Add(body("*** Update File: f", "@@ a", " a", "-b", "+c"), "a\nb\n")
	f.Add(body("*** Update File: f", "", "-b", `\ No newline at end of file`), "\uFEFFa\r\n\r\nb")
	f.Add(body("*** Add File: f", "+", "", "+x", "*** Delete File: g"), "")
	f.Fuzz(func(t *testing.T, patch, text string) {
		sections, err := textedit.Parse(patch)
		if (err == nil) != (len(sections) > 0) {
			t.Fatalf("%d sections, %v", len(sections), err)
		}
		for _, s := range sections {
			after, err := s.Apply(text)
			if err != nil {
				if after != "" {
					t.Errorf("an error and %q", after)
				}
				continue
			}
			if after == text {
				t.Error("no change and no error")
			}
			if kept := untouched(s, text); strings.Count(after, "\n")+1 < kept {
				t.Errorf("%q became %q: %d lines stay", text, after, kept)
			}
		}
	})
}

// untouched is how many lines of a text a section leaves.
func untouched(s textedit.Section, text string) int {
	n := strings.Count(text, "\n")
	for _, h := range s.Hunks {
		for _, line := range h.Lines {
			if line[0] == '-' {
				n--
			}
		}
	}
	return n
}

// A hunk that stands nowhere in a file of equal lines takes no square time.
func BenchmarkHunkNotFound2MiB(b *testing.B) {
	text := strings.Repeat("\n", 2<<20)
	sections, err := textedit.Parse(body("*** Update File: f", "@@ x", strings.Repeat(" \n", 100<<10)+"-x"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := sections[0].Apply(text); err == nil {
			b.Fatal("found")
		}
	}
}
