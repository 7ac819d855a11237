package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/filepatch"
	"hecate/tools/tooltest"
)

// failedText is the result of a write that did not come about.
func failedText(text string) string {
	return "status=failed\nerror=" + text + "\n--- stderr ---\n" + text
}

// patches returns the file patches among a result's facts.
func patches(r tools.Result) []run.FilePatch {
	var out []run.FilePatch
	for _, f := range r.Facts {
		if p, ok := f.(run.FilePatch); ok {
			out = append(out, p)
		}
	}
	return out
}

// undo writes the old text of every patch back, as a revert does.
func undo(t *testing.T, w *tooltest.Workspace, ps []run.FilePatch) {
	t.Helper()
	for _, fact := range ps {
		p, err := filepatch.Parse(fact.Diff.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Read(p.Path); p.After.Exists && got != p.After.Content {
			t.Errorf("%s holds %q, the patch says %q", p.Path, got, p.After.Content)
		}
		if !p.Before.Exists {
			if err := os.Remove(filepath.Join(w.Dir, p.Path)); err != nil {
				t.Error(err)
			}
			continue
		}
		w.Write(p.Path, p.Before.Content)
	}
}

// noLeftovers checks that no temporary file stays behind.
func noLeftovers(t *testing.T, w *tooltest.Workspace) {
	t.Helper()
	err := filepath.WalkDir(w.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(d.Name(), ".tmp") {
			t.Errorf("%s stays behind", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFileWriteAndEdit(t *testing.T) {
	w := tooltest.New(t)
	w.Write("a.txt", "one\ntwo\ntwo\n")
	w.Write("dir/f", "x")
	w.Write("big", strings.Repeat("x", 2<<20+1))
	w.Write("wide", strings.Repeat("x", 1<<20))
	if err := syscall.Mkfifo(filepath.Join(w.Dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	escape := func(p string) string {
		return `sandbox policy denied: path "` + p + `" escapes allowed root "` + w.Dir + `"`
	}
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"file_write", args{"path": "sub/dir/n.txt", "content": "hé\n"}, "status=completed\nwrote file: n.txt (4 bytes)"},
		{"file_write", args{"path": "sub/dir/n.txt", "content": "x", "operation": "append"}, "status=completed\nwrote file: n.txt (1 bytes)"},
		{"file_write", args{"path": filepath.Join(w.Dir, "abs"), "content": ""}, "status=completed\nwrote file: abs (0 bytes)"},
		{"file_write", args{"path": "line\nbreak", "content": ""}, "status=completed\nwrote file: \"line\\nbreak\" (0 bytes)"},
		{"file_write", args{"path": "a.txt", "content": "", "operation": "shred"}, failedText(`unsupported file operation "shred"`)},
		{"file_write", args{"path": "../x", "content": ""}, failedText(escape("../x"))},
		{"file_write", args{"path": "sub/../../x", "content": ""}, failedText(escape("sub/../../x"))},
		{"file_write", args{"path": "/etc/x", "content": ""}, failedText(escape("/etc/x"))},
		{"file_write", args{"path": "C:\\x", "content": ""}, failedText(`sandbox policy denied: path "C:\\x" escapes allowed root "` + w.Dir + `"`)},
		{"file_write", args{"path": ".git/hooks/pre-commit", "content": ""}, failedText(`sandbox policy denied: path ".git/hooks/pre-commit" lies in a .git directory; use git_exec to change a repository`)},
		{"file_write", args{"path": "dir", "content": ""}, failedText(`"dir" is a directory`)},
		{"file_write", args{"path": ".", "content": ""}, failedText(`"." is a directory`)},
		{"file_write", args{"path": "pipe", "content": ""}, failedText(`"pipe" is not a regular file`)},
		{"file_write", args{"path": "a.txt/x", "content": ""}, failedText(`"a.txt/x": a parent is not a directory`)},
		{"file_write", args{"path": strings.Repeat("n", 300), "content": ""}, failedText(`"` + strings.Repeat("n", 300) + `": the name is too long`)},
		{"file_write", args{"path": strings.Repeat("a/", 2048) + "b", "content": ""}, failedText("the path is longer than 4096 bytes")},
		{"file_edit", args{"path": "a.txt", "old_text": "one", "new_text": "1"}, "status=completed\nwrote file: a.txt (10 bytes)"},
		{"file_edit", args{"path": "a.txt", "old_text": "two", "new_text": "2"}, `file_edit: old_text appears 2 times in "a.txt"; set replace_all=true or provide a more specific match`},
		{"file_edit", args{"path": "a.txt", "old_text": "two", "new_text": "2", "replace_all": true}, "status=completed\nwrote file: a.txt (6 bytes)"},
		{"file_edit", args{"path": "a.txt", "old_text": "nine", "new_text": ""}, `file_edit: old_text not found in "a.txt"`},
		{"file_edit", args{"path": "a.txt", "old_text": "1", "new_text": "1"}, `file_edit: replacement produced no change in "a.txt"`},
		{"file_edit", args{"path": "dir", "old_text": "1", "new_text": "2"}, `file_edit: "dir" is a directory`},
		{"file_edit", args{"path": "pipe", "old_text": "1", "new_text": "2"}, `file_edit: "pipe" is not a regular file`},
		{"file_edit", args{"path": "big", "old_text": "1", "new_text": "2"}, `file_edit: "big" is too large (2097153 bytes; the limit is 2097152)`},
		{"file_edit", args{"path": "wide", "old_text": "x", "new_text": "yyy", "replace_all": true}, `file_edit: replacement makes "wide" larger than 2097152 bytes`},
		{"file_edit", args{"path": "none", "old_text": "1", "new_text": "2"}, `file_edit: "none": not found`},
		{"file_edit", args{"path": "../x", "old_text": "1", "new_text": "2"}, "file_edit: " + escape("../x")},
		{"file_edit", args{"path": ".GIT/config", "old_text": "1", "new_text": "2"}, `file_edit: sandbox policy denied: path ".GIT/config" lies in a .git directory; use git_exec to change a repository`},
	} {
		r := w.Call(tool(t, c.tool), c.args)
		if r.Text != c.want {
			t.Errorf("%s %v:\ngot  %q\nwant %q", c.tool, c.args, r.Text, c.want)
		}
		failed := !strings.HasPrefix(c.want, "status=completed")
		if r.Error != failed || failed == (len(patches(r)) > 0) {
			t.Errorf("%s %v: error %t, facts %v", c.tool, c.args, r.Error, r.Facts)
		}
		if denied := strings.Contains(c.want, "sandbox policy denied"); denied != (r.ErrorKind == tools.KindPolicy) {
			t.Errorf("%s %v: error kind %q", c.tool, c.args, r.ErrorKind)
		}
	}
	if got := w.Read("a.txt") + w.Read("sub/dir/n.txt") + w.Read("abs"); got != "1\n2\n2\nhé\nx" {
		t.Errorf("the files hold %q", got)
	}
	noLeftovers(t, w)
}

func TestArgumentsOfWritesAreNeeded(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"file_write", `{"content":"x"}`, "file_write: path is required"},
		{"file_write", `{"path":"x"}`, "file_write: content is required"},
		{"file_edit", `{"old_text":"x","new_text":"y"}`, "file_edit: path is required"},
		{"file_edit", `{"path":"x","new_text":"y"}`, "file_edit: old_text is required"},
		{"file_edit", `{"path":"x","old_text":"y"}`, "file_edit: new_text is required"},
	} {
		if _, err := tool(t, c.tool).Prepare([]byte(c.args)); err == nil || err.Error() != c.want {
			t.Errorf("%s %s: %v, want %s", c.tool, c.args, err, c.want)
		}
	}
}

// What a step, an approval and the log are told, for each way to write.
func TestWhatWritesReport(t *testing.T) {
	w := tooltest.New(t)
	w.Write("a", "x\ny")
	p, err := tool(t, "file_write").Prepare([]byte(`{"path":"a b","content":"é"}`))
	if err != nil || p.Line != "file_write write path=a b content_bytes=2" || !p.Complete || p.Propose {
		t.Errorf("file_write: %+v, %v", p, err)
	}
	if d := cmp.Diff(map[string]any{"path": "a b", "operation": "write", "content_chars": 1}, p.Input); d != "" {
		t.Error(d)
	}
	r := w.Call(tool(t, "file_write"), args{"path": "a", "content": "z\n", "operation": "append"})
	f := patches(r)[0]
	if f.Operation != "append" || f.Path != filepath.Join(w.Dir, "a") || f.ArtifactStatus != "applied" || f.BytesWritten != 2 || !f.BeforeExisted ||
		f.Content.String() != "z\n" || f.FileArtifactID == "" || f.FileArtifactID == f.ArtifactID || f.ToolName != "file_write" || f.ToolCallID != "call_1" ||
		f.StepID != "step_1" || f.Kind != "file" || f.DiffBytes != f.Diff.Len() {
		t.Errorf("%+v", f)
	}
	if want := "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\n-y\n\\ No newline at end of file\n+x\n+yz\n"; f.Diff.String() != want {
		t.Errorf("diff %q", f.Diff.String())
	}
	if d := cmp.Diff(map[string]any{"sub_status": "completed", "last_error": "", "sub_step_count": 1, "artifact_count": 2}, r.Output); d != "" || r.Title != "file_write (completed)" {
		t.Error(r.Title, d)
	}

	r = w.Call(tool(t, "file_edit"), args{"path": "a", "old_text": "z", "new_text": "Z", "propose": true})
	f = patches(r)[0]
	if want := "status=proposed\npatch_artifact_id=" + f.ArtifactID + "\npath=a"; r.Text != want || r.Title != "file_edit (proposed)" {
		t.Errorf("%s: %q", r.Title, r.Text)
	}
	if f.Operation != "propose" || f.ArtifactStatus != "proposed" || f.BytesWritten != 0 || f.FileArtifactID != "" || w.Read("a") != "x\nyz\n" {
		t.Errorf("%+v", f)
	}

	r = w.Call(tool(t, "file_write"), args{"path": "../a", "content": ""})
	if e, ok := r.Facts[0].(run.ArtifactRecorded); !ok || e.Kind != "stderr" || e.Name != "file-error.txt" || r.Title != "file_write (failed)" || r.Output["sub_status"] != "failed" {
		t.Errorf("%+v", r)
	}
}

func TestFileTask(t *testing.T) {
	w := tooltest.New(t)
	call := func(path, operation string) tools.Result {
		return w.Call(tool(t, "file"), args{"path": path, "content": "x\n", "operation": operation})
	}
	for range 2 {
		r := call("sub/a", "append")
		if r.Error || r.Title != "File operation" || r.Output["path"] != filepath.Join(w.Dir, "sub/a") || r.Output["bytes"] != int64(2) || len(patches(r)) != 1 {
			t.Errorf("%+v", r)
		}
	}
	if r := call("sub/b", ""); r.Error || w.Read("sub/a") != "x\nx\n" || w.Read("sub/b") != "x\n" {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct{ path, operation, kind string }{
		{"a", "shred", "file_operation_unsupported"}, {"../a", "write", "sandbox_policy_denied"}, {"sub", "write", "file_operation_failed"}, {"", "", "file_operation_failed"},
	} {
		if r := call(c.path, c.operation); !r.Error || r.ErrorKind != c.kind || r.Title != "File operation" || len(patches(r)) != 0 {
			t.Errorf("%v: %+v", c, r)
		}
	}
	w.Env.ReadOnly = true
	if r := call("ro", "write"); r.ErrorText != "sandbox policy denied: write access is disabled" || r.ErrorKind != "sandbox_policy_denied" || w.Read("ro") != "<absent>" {
		t.Errorf("%+v", r)
	}
	for _, x := range builtin.All() {
		if x.Name == "file" {
			t.Error("file is offered to models")
		}
	}
}

func TestReadOnlyTasksMayPropose(t *testing.T) {
	w := tooltest.New(t)
	w.Write("a", "x\n")
	w.Env.ReadOnly = true
	for _, propose := range []bool{false, true} {
		r := w.Call(tool(t, "file_edit"), args{"path": "a", "old_text": "x", "new_text": "y", "propose": propose})
		if r.Error == propose || !propose && r.Text != "file_edit: sandbox policy denied: write access is disabled" {
			t.Errorf("propose %t: %+v", propose, r)
		}
	}
	if r := w.Call(tool(t, "file_write"), args{"path": "a", "content": ""}); r.Text != failedText("sandbox policy denied: write access is disabled") || w.Read("a") != "x\n" {
		t.Errorf("%+v", r)
	}
}

// An edit keeps line ends, byte-order mark and the end of the last line, and its
// patch leads back to the original bytes.
func TestEditsKeepWhatModelsDoNotSee(t *testing.T) {
	for _, c := range []struct{ before, old, new, after string }{
		{"one\r\ntwo\r\nthree\r\nfour\r\n", "two\nthree\n", "TWO\nTHREE\nmore\n", "one\r\nTWO\r\nTHREE\r\nmore\r\nfour\r\n"},
		{"one\r\ntwo\r\n", "two", "2\n3", "one\r\n2\r\n3\r\n"},
		{"\uFEFFusing A;\r\nusing B;\r\n", "using A;", "using Z;", "\uFEFFusing Z;\r\nusing B;\r\n"},
		{"\uFEFFusing A;\n", "\uFEFFusing A;", "\uFEFFusing Z;", "\uFEFFusing Z;\n"},
		{"a\nb", "b", "c", "a\nc"},
		{"a\nb", "a\nb", "a\nb\n", "a\nb\n"},
		{"caf\xe9 x\n", "x", "y", "caf\xe9 y\n"},
	} {
		w := tooltest.New(t)
		w.Write("f", c.before)
		r := w.Call(tool(t, "file_edit"), args{"path": "f", "old_text": c.old, "new_text": c.new})
		if got := w.Read("f"); r.Error || got != c.after {
			t.Errorf("%q: got %q, want %q: %s", c.before, got, c.after, r.Text)
			continue
		}
		undo(t, w, patches(r))
		if got := w.Read("f"); got != c.before {
			t.Errorf("%q: taken back: %q", c.before, got)
		}
	}
}

func TestWritesKeepPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	w := tooltest.New(t)
	w.Write("run.sh", "#!/bin/sh\necho a\n")
	w.Write("key", "k1")
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "key": 0o600} {
		if err := os.Chmod(filepath.Join(w.Dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	w.Call(tool(t, "file_edit"), args{"path": "run.sh", "old_text": "echo a", "new_text": "echo b"})
	w.Call(tool(t, "file_write"), args{"path": "key", "content": "k2"})
	w.Call(tool(t, "file_write"), args{"path": "new/n.txt", "content": "n"})
	for name, want := range map[string]os.FileMode{"run.sh": 0o755, "key": 0o600, "new": 0o755, "new/n.txt": 0o644} {
		if got := w.Mode(name); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

// Links may lead to other places of the workspace and nowhere else.
func TestWritesThroughLinks(t *testing.T) {
	for _, behind := range []bool{false, true} {
		w := tooltest.New(t)
		outside := filepath.Join(filepath.Dir(w.Dir), "outside")
		if err := os.Mkdir(outside, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("TOP\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		w.Write("sub/f", "x\n")
		w.Write(".git/config", "c\n")
		w.Link(outside, "out")
		w.Link("../outside", "rel")
		w.Link("../outside/none", "dangling")
		w.Link(filepath.Join(outside, "secret"), "secret")
		w.Link("sub", "inner")
		w.Link(filepath.Join(w.Dir, "sub"), "absolute")
		w.Link(".git", "g")
		w.Link("loop", "loop")
		if behind { // the workspace itself is reached through a link
			link := filepath.Join(filepath.Dir(w.Dir), "link")
			if err := os.Symlink(w.Dir, link); err != nil {
				t.Fatal(err)
			}
			w.Env.RootPath = link
		}
		for _, path := range []string{"out/x", "rel/x", "dangling", "secret", "out/secret", "g/config", "g/hooks/x", "inner/../../x", "loop", filepath.Join(outside, "x")} {
			for _, r := range []tools.Result{
				w.Call(tool(t, "file_write"), args{"path": path, "content": "x"}),
				w.Call(tool(t, "file_edit"), args{"path": path, "old_text": "T", "new_text": "x"}),
				w.Call(tool(t, "file_edit"), args{"path": path, "old_text": "T", "new_text": "x", "propose": true}),
				w.Call(tool(t, "file"), args{"path": path, "content": "x", "operation": "append"}),
			} {
				if !r.Error || strings.Contains(r.Text, "TOP") || len(patches(r)) > 0 {
					t.Errorf("%s: %+v", path, r)
				}
			}
		}
		left, err := os.ReadDir(outside)
		secret, _ := os.ReadFile(filepath.Join(outside, "secret"))
		if err != nil || len(left) != 1 || string(secret) != "TOP\n" || w.Read(".git/config") != "c\n" {
			t.Errorf("outside: %v %v %q, config %q", left, err, secret, w.Read(".git/config"))
		}
		if r := w.Call(tool(t, "file_write"), args{"path": "dangling", "content": ""}); r.Text != failedText(`sandbox policy denied: path "dangling" escapes allowed root "`+w.Env.RootPath+`": "dangling" is a link to "../outside/none"`) {
			t.Error(r.Text)
		}
		for _, path := range []string{"inner/a", "absolute/b", filepath.Join(w.Dir, "inner/c"), filepath.Join(w.Env.RootPath, "inner/d")} {
			r := w.Call(tool(t, "file_write"), args{"path": path, "content": "x"})
			if r.Error || w.Read("sub/"+filepath.Base(path)) != "x" || patches(r)[0].Path != filepath.Join(w.Env.RootPath, "sub", filepath.Base(path)) {
				t.Errorf("%s: %+v", path, r)
			}
		}
	}
}

// A file with a second name outside is replaced; the other name keeps the old text.
func TestWritesDoNotReachThroughHardLinks(t *testing.T) {
	w := tooltest.New(t)
	outside := filepath.Join(filepath.Dir(w.Dir), "file")
	if err := os.WriteFile(outside, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, filepath.Join(w.Dir, "f")); err != nil {
		t.Fatal(err)
	}
	w.Call(tool(t, "file_edit"), args{"path": "f", "old_text": "x", "new_text": "y"})
	w.Call(tool(t, "file_write"), args{"path": "f", "content": "z\n", "operation": "append"})
	if got, _ := os.ReadFile(outside); string(got) != "x\n" || w.Read("f") != "y\nz\n" {
		t.Errorf("outside %q, inside %q", got, w.Read("f"))
	}
}

func TestWritesStopWhenCancelled(t *testing.T) {
	w := tooltest.New(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(tools.ErrRunEnded)
	for _, name := range []string{"file_write", "file"} {
		if r := w.CallContext(ctx, tool(t, name), args{"path": "a", "content": "x"}); r.Outcome != run.OutcomeCancelled || w.Read("a") != "<absent>" {
			t.Errorf("%+v", r)
		}
	}
}
