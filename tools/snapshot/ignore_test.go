package snapshot_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/tools/snapshot"
)

// What .gitignore files name is what git says that they name.
func TestIgnoreRulesAreThoseOfGit(t *testing.T) {
	f := files{}
	for _, dir := range []string{"", "a/", "a/b/", "a/b/c/", "ab/", "b/a/", ".x/", "é/"} {
		for _, name := range []string{"a", "b", "ab", "abc", "a.b", ".x", "[a]", "a b", "é", "-a", "a\\b", "#a", "!a"} {
			if _, taken := f[dir+name+"/a"]; !taken && !slices.Contains([]string{"a", "b", "ab", ".x", "é"}, dir+name) && dir+name != "a/b" && dir+name != "a/b/c" && dir+name != "b/a" {
				f[dir+name] = ""
			}
		}
	}
	root := dirOf(t, f)
	git(t, root, "init", "--quiet")
	piece := rapid.SampledFrom([]string{
		"a", "b", "ab", "c", ".x", ".", "*", "?", "**", "/", "/**/", "**/", "/**", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a-]", "[[:alpha:]]", "[[:punct:]]",
		"[\\a]", "[", "]", `\`, `\*`, "é", " ", `\ `, "-", "#", "!", "[a", "[[:no:]]", "\\a", "***",
	})
	// After other characters of a component, git lets ** pass over slashes in some cases and not in others.
	// A slash in a set matches nothing here, and one after a backslash is any other.
	odd := regexp.MustCompile(`[^/*]\*\*|\[[!^]?\]?[^\]/]*/|\\/`)
	line := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "", "", "!", "/", "\\"}).Draw(t, "lead") + strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "") +
			rapid.SampledFrom([]string{"", "", "/", " ", "\r"}).Draw(t, "end")
	}).Filter(func(line string) bool { return !odd.MatchString(strings.TrimPrefix(line, "!")) })
	rapid.Check(t, func(rt *rapid.T) {
		for _, dir := range []string{".", "a", "a/b"} {
			text := strings.Join(rapid.SliceOfN(line, 0, 4).Draw(rt, dir), "\n")
			if err := os.WriteFile(filepath.Join(root, dir, ".gitignore"), []byte(text), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		got, err := snapshot.Listing(t.Context(), root)
		if err != nil {
			rt.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(git(t, root, "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"), "\x00"), "\x00")
		slices.Sort(want)
		if len(want) == 1 && want[0] == "" {
			want = nil
		}
		if !slices.Equal(got, want) {
			for _, p := range got {
				if !slices.Contains(want, p) {
					rt.Errorf("git ignores %q", p)
				}
			}
			for _, p := range want {
				if !slices.Contains(got, p) {
					rt.Errorf("git does not ignore %q", p)
				}
			}
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add([]byte("*.log\n!keep\n/a/**/b\n[a-z]*\\ \n"), "a/b/c.log", true)
	f.Add([]byte(strings.Repeat("*a", 100)+"b"), strings.Repeat("a", 1000), false)
	f.Fuzz(func(_ *testing.T, rules []byte, path string, isDir bool) {
		snapshot.ParseIgnore(rules, path, isDir)
	})
}

func FuzzTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789012345678901"))
	f.Fuzz(func(_ *testing.T, data []byte) { snapshot.ParseTree(data) })
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("hecate-snapshot-index-2\n\x01"))
	f.Fuzz(func(_ *testing.T, data []byte) { snapshot.DecodeIndex(data) })
}
