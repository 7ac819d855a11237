package gitrepo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hecate/tools/gitrepo"
)

// FuzzStatus checks that no output is taken apart wrongly enough to break anything.
func FuzzStatus(f *testing.F) {
	f.Add("## trunk...origin/trunk\x00 M a\x00R  new\x00old\x00?? x\ny\x00")
	f.Add("## No commits yet on trunk\x00")
	f.Add("R  \x00C")
	f.Fuzz(func(t *testing.T, out string) {
		for _, e := range gitrepo.ParseStatus(out).Entries {
			if len(e.Code) != 2 || strings.ContainsAny(e.Line(), "\n\r") {
				t.Errorf("%q: %+v", out, e)
			}
		}
	})
}

// FuzzRepository checks that whatever the files of a repository say, looking at it ends
// with an answer or an error, takes only names of objects for commits, and leaves nothing.
func FuzzRepository(f *testing.F) {
	id := strings.Repeat("5", 40)
	f.Add("ref: refs/heads/trunk\n", "", "# pack-refs with: peeled fully-peeled sorted \n"+id+" refs/heads/trunk\n^"+id+"\n", "[core]\n\tbare = false\n")
	f.Add("ref: refs/heads/trunk\n", id+"\n", "", "[core]\n\tworktree = /\n[include]\n\tpath = /etc/passwd\n")
	f.Add(id+"\n", "", "", "[extensions]\n\tobjectFormat = sha256\n[core]\n\trepositoryFormatVersion = 1\n")
	f.Add("ref: ../../x\n", "", "", "[")
	f.Add("ref: refs/heads/trunk\n", "ref: refs/heads/trunk\n", "\x00", "[core]\n\tautocrlf = \"a\\nb\"\n")
	hex := regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64}|)$`)
	f.Fuzz(func(t *testing.T, head, loose, packed, config string) {
		dir, temp := t.TempDir(), t.TempDir()
		t.Setenv("TMPDIR", temp)
		if err := own(dir, map[string]string{"HEAD": head, "refs/heads/trunk": loose, "packed-refs": packed, "config": config}); err != nil {
			t.Fatal(err)
		}
		if loose == "" {
			if err := os.Remove(filepath.Join(dir, ".git", "refs", "heads", "trunk")); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := gitrepo.LookUp(t.Context(), dir); !hex.MatchString(got) {
			t.Errorf("%q, %v", got, err)
		}
		_, _ = gitrepo.ReadStatus(t.Context(), dir)
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}
