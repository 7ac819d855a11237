package builtin_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/run"
	"hecate/tools/filepatch"
	"hecate/tools/rootfs"
	"hecate/tools/tooltest"
)

// Names that a file can have, and that some program or other stumbles over.
var oddNames = []string{
	"a", "sub/b", "a b.txt", "café.txt", "文档.md", `q"uote`, `back\slash`, "tab\tx", "line\nbreak", "cr\r", "-dash", "x -> y", ":(top)x", "~", "$HOME", "'", "%s", ".hidden", "\u202etxt", "bad\xffname",
}

// content is random: lines that end in all ways, no text, no last line end, marks.
func content(r *rand.Rand) string {
	pieces := []string{"a", "bb", "é", "\xff", "\x00", "\t", "+", "-", " ", "@@", `\ No newline at end of file`, "*** End Patch", "\uFEFF"}
	ends := []string{"\n", "\r\n", "\n", "\r", "\n\n", "\r\n"}
	var b strings.Builder
	if r.IntN(4) == 0 {
		b.WriteString("\uFEFF")
	}
	end := ends[r.IntN(len(ends))]
	for range r.IntN(12) {
		for range r.IntN(4) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if r.IntN(5) == 0 {
			end = ends[r.IntN(len(ends))]
		}
		b.WriteString(end)
	}
	if r.IntN(2) == 0 {
		b.WriteString("last")
	}
	return b.String()
}

// tree makes a workspace of random files.
func randomTree(t *testing.T, r *rand.Rand) *tooltest.Workspace {
	t.Helper()
	w := tooltest.New(t)
	for _, name := range oddNames {
		if r.IntN(3) == 0 {
			continue
		}
		w.Write(name, content(r))
		if err := os.Chmod(filepath.Join(w.Dir, name), []fs.FileMode{0o644, 0o755, 0o600, 0o640, 0o444}[r.IntN(5)]); err != nil {
			t.Fatal(err)
		}
	}
	w.Write("kept/f", "k\n") // so that no directory comes and goes
	w.Write("sub/kept", "k\n")
	w.Link("kept", "link")
	return w
}

// change does something random to a random file with one of the tools.
func change(t *testing.T, r *rand.Rand, w *tooltest.Workspace) []run.FilePatch {
	t.Helper()
	name := oddNames[r.IntN(len(oddNames))]
	at := name
	if r.IntN(8) == 0 {
		at = "link/" + strings.ReplaceAll(name, "/", "_")
	}
	before := w.Read(strings.Replace(at, "link/", "kept/", 1))
	call := func(tool_ string, a args) []run.FilePatch { return patches(w.Call(tool(t, tool_), a)) }
	switch r.IntN(5) {
	case 0:
		return call("file_write", args{"path": at, "content": strings.ToValidUTF8(content(r), "?")})
	case 1:
		return call("file_write", args{"path": at, "content": strings.ToValidUTF8(content(r), "?"), "operation": "append"})
	case 2:
		old := strings.ReplaceAll(part(r, before), "\r\n", "\n") // as a model sees it
		return call("file_edit", args{"path": at, "old_text": old, "new_text": strings.ToValidUTF8(content(r), "?"), "replace_all": true})
	case 3:
		if strings.ContainsAny(at, "\n\r") || strings.TrimSpace(at) != at {
			return nil // a patch names files in lines
		}
		return call("apply_patch", args{"patch_text": patch("*** Delete File: " + at)})
	}
	if strings.ContainsAny(at, "\n\r") {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(before, "\uFEFF"), "\r\n", "\n"), "\n")
	line := lines[r.IntN(len(lines))]
	return call("apply_patch", args{"patch_text": patch("*** Update File: "+at, "-"+line, "+new", "+lines", "*** Add File: "+at+".new", "+x")})
}

// part is some of a text.
func part(r *rand.Rand, text string) string {
	if text == "" || text == "<absent>" {
		return "x"
	}
	from := r.IntN(len(text))
	return text[from:min(len(text), from+1+r.IntN(20))]
}

// Whatever the tools do to files, their patches say exactly what the files were and are,
// in one order and back in the other; git understands them; and nothing else changes.
func TestChangesLeadThereAndBack(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := randomTree(t, r)
		begin := snapshot(t, w.Dir)
		var done []run.FilePatch
		for range 12 {
			was := snapshot(t, w.Dir)
			made := change(t, r, w)
			named := map[string]bool{}
			for _, p := range made {
				named[p.Path] = true
			}
			for path, now := range snapshot(t, w.Dir) {
				if was[path] != now && !named[path] {
					t.Fatalf("seed %d: %q was %q and is %q; the patches name %v", seed, path, was[path], now, named)
				}
			}
			done = append(done, made...)
		}
		end := snapshot(t, w.Dir)
		for _, p := range slices.Backward(done) {
			move(t, w, p, true)
		}
		if d := cmp.Diff(begin, snapshot(t, w.Dir)); d != "" {
			t.Fatalf("seed %d: taken back: %s", seed, d)
		}
		for _, p := range done {
			move(t, w, p, false)
		}
		if d := cmp.Diff(contents(end), contents(snapshot(t, w.Dir))); d != "" {
			t.Fatalf("seed %d: applied again: %s", seed, d)
		}
		noLeftovers(t, w)
	}
}

// contents are a snapshot without permissions: those of a new file are not a patch's.
func contents(snapshot map[string]string) map[string]string {
	out := map[string]string{}
	for path, text := range snapshot {
		_, out[path], _ = strings.Cut(text, " ")
	}
	return out
}

// move takes a patch back, or applies it, as the server does.
func move(t *testing.T, w *tooltest.Workspace, f run.FilePatch, back bool) {
	t.Helper()
	p, err := filepatch.Parse(f.Diff.String())
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Join(w.Dir, p.Path) != f.Path {
		t.Fatalf("the patch of %q names %q", f.Path, p.Path)
	}
	from, to := p.Before, p.After
	if back {
		from, to = to, from
	}
	found, err := rootfs.Load(w.Env.Root, p.Path, 1<<20)
	if err != nil || found.Exists != from.Exists || !bytes.Equal(found.Data, []byte(from.Content)) {
		t.Fatalf("%q holds %q, the patch says %+v; %v", p.Path, found.Data, from, err)
	}
	err = rootfs.Apply(t.Context(), w.Env.Root, nil, rootfs.Change{From: found, Data: []byte(to.Content), Delete: !to.Exists, Mode: fs.FileMode(f.BeforeMode)})
	if err != nil {
		t.Fatal(fmt.Errorf("%q: %w", p.Path, err))
	}
}
