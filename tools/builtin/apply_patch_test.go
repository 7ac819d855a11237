package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/tools"
	"hecate/tools/tooltest"
)

// patch is a patch text with these lines in it.
func patch(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
}

// Each file of a patch is an event, and all of them are recorded in one append.
func TestAPatchHasABoundedNumberOfFiles(t *testing.T) {
	adding := func(files int) []byte {
		var lines []string
		for i := range files {
			lines = append(lines, fmt.Sprintf("*** Add File: f%d\n+x", i))
		}
		raw, err := json.Marshal(args{"patch_text": patch(lines...)})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if _, err := tool(t, "apply_patch").Prepare(adding(200)); err != nil {
		t.Error(err)
	}
	if _, err := tool(t, "apply_patch").Prepare(adding(201)); err == nil || err.Error() != "apply_patch: the patch changes 201 files, at most 200 go into one; split it" {
		t.Errorf("got %v", err)
	}
}

func TestApplyPatchChangesAllFiles(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	w := tooltest.New(t)
	w.Write("run.sh", "#!/bin/sh\necho b")
	w.Write("old.txt", "o\n")
	if err := os.Chmod(filepath.Join(w.Dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := patch("*** Add File: new/n.txt", "+n", "*** Update File: run.sh", "-echo b", "+echo c", "*** Delete File: "+filepath.Join(w.Dir, "old.txt"))
	p, err := tool(t, "apply_patch").Prepare([]byte(`{"patch_text":` + tools.Quoted(text) + `}`))
	if want := fmt.Sprintf("apply_patch apply patch_bytes=%d files=3 add=new/n.txt update=run.sh delete=%s/old.txt", len(text), w.Dir); err != nil || p.Line != want || !p.Complete {
		t.Errorf("%+v, %v, want %s", p, err, want)
	}
	if d := cmp.Diff(map[string]any{"patch_chars": len(text), "propose": false}, p.Input); d != "" {
		t.Error(d)
	}
	r := w.Call(tool(t, "apply_patch"), args{"patch_text": text})
	ps := patches(r)
	if len(ps) != 3 {
		t.Fatalf("%+v", r)
	}
	want := fmt.Sprintf("status=applied\nadd new/n.txt patch_artifact_id=%s\nupdate run.sh patch_artifact_id=%s\ndelete old.txt patch_artifact_id=%s", ps[0].ArtifactID, ps[1].ArtifactID, ps[2].ArtifactID)
	if r.Text != want || r.Title != "apply_patch (3 files)" || r.Output["file_count"] != 3 || r.Output["proposed"] != false || r.Input["file_count"] != 3 {
		t.Errorf("%+v", r)
	}
	if w.Read("run.sh") != "#!/bin/sh\necho c" || w.Mode("run.sh") != 0o755 || w.Read("new/n.txt") != "n\n" || w.Mode("new/n.txt") != 0o644 || w.Read("old.txt") != "<absent>" {
		t.Error("the files are not as patched")
	}
	for i, f := range ps {
		op := []string{"add", "update", "delete"}[i]
		if f.Operation != op || f.ArtifactStatus != "applied" || f.BytesWritten != []int64{2, 16, 0}[i] || f.BeforeExisted != (i > 0) || f.FileArtifactID != "" {
			t.Errorf("%+v", f)
		}
	}
	undo(t, w, ps)
	if w.Read("run.sh") != "#!/bin/sh\necho b" || w.Mode("run.sh") != 0o755 || w.Read("new/n.txt") != "<absent>" || w.Read("old.txt") != "o\n" {
		t.Error("the patches do not lead back")
	}
}

func TestApplyPatchProposes(t *testing.T) {
	w := tooltest.New(t)
	w.Write("a", "x\n")
	w.Env.ReadOnly = true
	r := w.Call(tool(t, "apply_patch"), args{"propose": true, "patch_text": patch("*** Update File: a", "-x", "+y", "*** Add File: b", "+z")})
	ps := patches(r)
	if len(ps) != 2 || !strings.HasPrefix(r.Text, "status=proposed\nupdate a patch_artifact_id=") || r.Output["proposed"] != true || ps[0].ArtifactStatus != "proposed" || ps[0].BytesWritten != 0 ||
		ps[0].Operation != "update" || ps[1].Operation != "add" || w.Read("a") != "x\n" || w.Read("b") != "<absent>" {
		t.Errorf("%+v", r)
	}
	if r = w.Call(tool(t, "apply_patch"), args{"patch_text": patch("*** Delete File: a")}); r.Text != "apply_patch: sandbox policy denied: write access is disabled" || w.Read("a") != "x\n" {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		patch("*** Delete File: a"): `apply_patch: propose=true does not support delete sections ("a")`,
		"x":                         "apply_patch: patch must start with *** Begin Patch",
		"":                          "apply_patch: patch must start with *** Begin Patch",
	} {
		if _, err := tool(t, "apply_patch").Prepare([]byte(`{"propose":true,"patch_text":` + tools.Quoted(text) + `}`)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A patch that fails in one file leaves all of them alone and records nothing.
func TestApplyPatchIsAllOrNothing(t *testing.T) {
	escapes := func(w *tooltest.Workspace, p string) string {
		return fmt.Sprintf("sandbox policy denied: path %q escapes allowed root %q", p, w.Dir)
	}
	w := tooltest.New(t)
	w.Write("a.txt", "A\n")
	w.Write("b.txt", "B\n")
	w.Write("locked/f", "L\n")
	w.Write("big", strings.Repeat("x\n", 1<<20+1))
	w.Write(".git/config", "c\n")
	w.Link("..", "up")
	w.Link("a.txt", "other-a")
	if err := os.Chmod(filepath.Join(w.Dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	unprivileged(t, w.Dir)
	before := snapshot(t, w.Dir)
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"*** Update File: b.txt", " nope", "-B", "+C"}, `b.txt: context line not found: "nope" (hunk 1 of 1)`},
		{[]string{"*** Update File: b.txt", "-nope", "+C"}, `b.txt: removal line not found: "nope" (hunk 1 of 1)`},
		{[]string{"*** Update File: b.txt", "-B", "+B"}, "b.txt: patch produced no change"},
		{[]string{"*** Update File: locked/f", "-L", "+M"}, `"locked/f": permission denied`},
		{[]string{"*** Delete File: locked/f"}, `"locked/f": permission denied`},
		{[]string{"*** Add File: locked/new/f", "+x"}, `"locked/new/f": permission denied`},
		{[]string{"*** Add File: b.txt", "+x"}, `"b.txt" already exists`},
		{[]string{"*** Update File: none", "-x"}, `"none": not found`},
		{[]string{"*** Delete File: none"}, `"none": not found`},
		{[]string{"*** Delete File: locked"}, `"locked" is a directory`},
		{[]string{"*** Delete File: big"}, `"big" is too large (2097154 bytes; the limit is 2097152)`},
		{[]string{"*** Delete File: a.txt"}, "a.txt: two sections are about this file; put all its hunks into one"},
		{[]string{"*** Delete File: ./other-a"}, "./other-a: two sections are about this file; put all its hunks into one"},
		{[]string{"*** Add File: sub/new.txt/x", "+x"}, `sub/new.txt/x: "sub/new.txt" is a file of this patch too`},
		{[]string{"*** Add File: ../x", "+x"}, escapes(w, "../x")},
		{[]string{"*** Add File: /etc/x", "+x"}, escapes(w, "/etc/x")},
		{[]string{"*** Add File: a/../../x", "+x"}, escapes(w, "a/../../x")},
		{[]string{"*** Add File: C:\\x", "+x"}, escapes(w, `C:\x`)},
		{[]string{"*** Add File: up/x", "+x"}, escapes(w, "up/x") + `: "up" is a link to ".."`},
		{[]string{"*** Add File: nul\x00x", "+x"}, escapes(w, "nul\x00x")},
		{[]string{"*** Update File: .git/config", "-c", "+d"}, `sandbox policy denied: path ".git/config" lies in a .git directory; use git_exec to change a repository`},
	} {
		r := w.Call(tool(t, "apply_patch"), args{"patch_text": patch(append([]string{"*** Delete File: a.txt", "*** Add File: sub/new.txt", "+n"}, c.lines...)...)})
		if want := "apply_patch: " + c.want; r.Text != want || !r.Error || len(r.Facts) > 0 || r.Title != "apply_patch (failed)" {
			t.Errorf("%q:\ngot  %s\nwant %s\n%+v", c.lines, r.Text, want, r)
		}
		if d := cmp.Diff(before, snapshot(t, w.Dir)); d != "" {
			t.Errorf("%q: %s", c.lines, d)
		}
	}
}

// snapshot maps all that is in a directory to its mode and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		out[path] = info.Mode().String()
		if d.Type().IsRegular() {
			b, _ := os.ReadFile(path)
			out[path] += " " + string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzApplyPatch checks that a patch that is refused changes nothing, and that one
// that is applied can be taken back.
func FuzzApplyPatch(f *testing.F) {
	f.Add(patch("*** Delete File: a", "*** Update File: d/b", "-two", "+2", "*** Add File: n/m", "+x"))
	f.Add(patch("*** Add File: a/x", "+x", "*** Add File: link/../../x", "*** Delete File: a"))
	f.Add(patch("*** Update File: link/b", " one", "+x", "*** Update File: d/b", "-one"))
	f.Fuzz(func(t *testing.T, text string) {
		w := tooltest.New(t)
		w.Write("a", "a\n")
		w.Write("d/b", "one\r\ntwo")
		w.Link("d", "link")
		around := filepath.Dir(w.Dir)
		before := snapshot(t, around)
		p, err := tool(t, "apply_patch").Prepare([]byte(`{"patch_text":` + tools.Quoted(text) + `}`))
		if err != nil {
			return
		}
		r := p.Run(t.Context(), w.Env)
		if !r.Error {
			undo(t, w, patches(r))
			for path := range snapshot(t, around) { // made directories stay
				if info, err := os.Lstat(path); err == nil && info.IsDir() && before[path] == "" {
					_ = os.RemoveAll(path)
				}
			}
		}
		if d := cmp.Diff(before, snapshot(t, around)); d != "" {
			t.Errorf("%s\n%s", r.Text, d)
		}
	})
}
