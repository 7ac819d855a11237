package filepatch_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hecate/tools/filepatch"
)

var (
	none = filepatch.File{}
	text = filepatch.Text
)

func TestDiffs(t *testing.T) {
	for _, c := range []struct {
		p    filepatch.Patch
		want string
	}{
		{filepatch.Patch{Path: "a/b.txt", Before: text("x\ny\n"), After: text("x\nz")}, "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1,2 +1,2 @@\n-x\n-y\n+x\n+z\n\\ No newline at end of file\n"},
		{filepatch.Patch{Path: "n", Before: none, After: text("x\n")}, "--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+x\n"},
		{filepatch.Patch{Path: "n", Before: text("x"), After: none}, "--- a/n\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n\\ No newline at end of file\n"},
		{filepatch.Patch{Path: "n", Before: text(""), After: text("\n")}, "--- a/n\n+++ b/n\n@@ -0,0 +1,1 @@\n+\n"},
		{filepatch.Patch{Path: "n", Before: none, After: text("")}, "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n"},
		{filepatch.Patch{Path: "n", Before: text(""), After: none}, "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n"},
		{filepatch.Patch{Path: "a \"q\"\tx\\", Before: none, After: text("x\r\n")}, "--- /dev/null\n+++ \"b/a \\\"q\\\"\\011x\\\\\"\n@@ -0,0 +1,1 @@\n+x\r\n"},
	} {
		if got := c.p.Diff(); got != c.want {
			t.Errorf("%+v:\ngot  %q\nwant %q", c.p, got, c.want)
		}
		if back, err := filepatch.Parse(c.want); err != nil || back != c.p {
			t.Errorf("%q reads back as %+v, %v", c.want, back, err)
		}
	}
}

func TestOtherDiffsAreRefused(t *testing.T) {
	for diff, want := range map[string]string{
		"":                                    "begins with",
		"--- a/x\n":                           "begins with",
		"--- /dev/null\n+++ /dev/null\n":      "no file on either side",
		"--- a/x\n+++ b/y\n":                  "two paths",
		"--- a/\n+++ b/\n":                    "no path",
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n":     "no whole-file hunk",
		"--- a/x\n+++ b/x\n@@ -3,1 +3,1 @@\n": "no whole-file hunk",
		"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-x\n":                 "too early",
		"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-x\n y\n":             "begins with",
		"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-x\n+y\n+z\n":         "more text",
		"--- a/x\n+++ b/x\n@@ -1,9999999999 +0,0 @@\n-x\n":        "too early",
		"--- /dev/null\n+++ b/x\n@@ -1,1 +1,1 @@\n-x\n+y\n":       "does not exist",
		"--- \"a/x\n+++ b/x\n":                                    "path in",
		"--- a/x\n+++ b/x\n@@ -0,0 +0,0 @@\n" + "\\ No newline\n": "more text",
	} {
		if _, err := filepatch.Parse(diff); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", diff, err, want)
		}
	}
}

// git applies every diff to the old content, gets the new one, and goes back.
func TestGitAcceptsTheDiffs(t *testing.T) {
	contents := []filepatch.File{none, text(""), text("a\n"), text("a\nb"), text("\n\n"), text("a\r\nb\r\n"), text("-- a/x\n++ b/x\n@@ -1 +1 @@\n"), text("\uFEFFx\x00\xff\n")}
	names := []string{"f.txt", "a b", "café", "x -> y.txt", "q\"uote", "tab\tx", "line\nbreak", "back\\slash", "-dash", "sub/dir/f"}
	dir := t.TempDir()
	for i, before := range contents {
		for j, after := range contents {
			if before == after || !before.Exists && !after.Exists {
				continue // git has nothing to apply
			}
			p := filepatch.Patch{Path: names[(i*len(contents)+j)%len(names)], Before: before, After: after}
			put(t, dir, p.Path, before)
			gitApply(t, dir, p.Diff())
			if got := get(t, dir, p.Path); got != after {
				t.Errorf("%q: applied: %+v, want %+v", p.Diff(), got, after)
			}
			gitApply(t, dir, p.Diff(), "-R")
			if got := get(t, dir, p.Path); got != before {
				t.Errorf("%q: taken back: %+v, want %+v", p.Diff(), got, before)
			}
		}
	}
}

func put(t *testing.T, dir, name string, f filepatch.File) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if !f.Exists {
		return
	}
	if err := os.WriteFile(file, []byte(f.Content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, name string) filepatch.File {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return none
	} else if err != nil {
		t.Fatal(err)
	}
	return text(string(b))
}

func gitApply(t *testing.T, dir, diff string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"apply", "--whitespace=nowarn"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git apply %v: %v: %s\n%q", args, err, out, diff)
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("a/b", true, "x\ny", true, "z\n")
	f.Add("q\"\n", false, "", true, "")
	f.Add("\xd6\"", true, "\\ No newline at end of file", true, "\\ No newline at end of file\n")
	f.Fuzz(func(t *testing.T, path string, was bool, before string, is bool, after string) {
		if path == "" || !was && !is {
			return
		}
		p := filepatch.Patch{Path: path, Before: filepatch.File{Exists: was}, After: filepatch.File{Exists: is}}
		if was {
			p.Before.Content = before
		}
		if is {
			p.After.Content = after
		}
		if back, err := filepatch.Parse(p.Diff()); err != nil || back != p {
			t.Errorf("%q: %+v, %v", p.Diff(), back, err)
		}
	})
}

// FuzzParse checks that what is accepted can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-x\n+y\n\\ No newline at end of file\n")
	f.Add("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n")
	f.Add("--- \"a/\\303\\251\\n\"\n+++ /dev/null\n")
	f.Fuzz(func(t *testing.T, diff string) {
		p, err := filepatch.Parse(diff)
		if err != nil {
			return
		}
		if back, err := filepatch.Parse(p.Diff()); err != nil || back != p {
			t.Errorf("%q: %+v reads back as %+v, %v", diff, p, back, err)
		}
	})
}

func BenchmarkRoundTrip2MiB(b *testing.B) {
	for name, width := range map[string]int{"short lines": 8, "one line": 2 << 20} {
		b.Run(name, func(b *testing.B) {
			p := filepatch.Patch{Path: "f", Before: text(lines(width)), After: text(lines(width))}
			b.SetBytes(int64(len(p.Before.Content) + len(p.After.Content)))
			for b.Loop() {
				if _, err := filepatch.Parse(p.Diff()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func lines(width int) string {
	var b bytes.Buffer
	for b.Len() < 2<<20 {
		for range width {
			b.WriteByte('a' + byte(rand.IntN(26)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
