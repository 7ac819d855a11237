//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/runtime/model/scripted"
)

// oddNames are names of files that git quotes, that programs take for options, or that
// could be taken for the text around them.
var oddNames = []string{"café.txt", "文档.md", "a b.txt", "-dash", "tab\tx", "line\nbreak", `q"uote.txt`, ":(top)x", "x -> y.txt"}

// oddRepository has of everything that files can be.
func oddRepository(t *testing.T) string {
	lib := repository(t, map[string]string{"lib.txt": "of the library\n"})
	files := map[string]string{
		"win.txt": "one\r\ntwo\r\nthree\r\nfour\r\n", "bom.cs": "\uFEFFusing A;\r\nusing B;\r\n", "tail.txt": "a\nb", "sub/file.txt": "needle\n",
		"data.bin": "needle\x00" + strings.Repeat("\xff\x00", 512<<10), "huge.txt": strings.Repeat("0123456789abcde\n", 3<<16), "empty": "",
		"loud.odd": "as it is\n",
	}
	for _, name := range oddNames {
		files[name] = "old\n"
	}
	dir := repository(t, files)
	put(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\necho a\n")
	put(t, filepath.Join(dir, "key"), "k1\n")
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "key": 0o600} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "..", "beside", "secret"), "needle of somebody else\n")
	for name, to := range map[string]string{"inner": "sub", "out": "../beside", "dangling": "../beside/none", "secret": "../beside/secret"} {
		link(t, to, filepath.Join(dir, name))
	}
	put(t, filepath.Join(dir, ".gitattributes"), "*.odd filter=shout\n")
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "vendor/lib")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--amend", "-m", "Begin")
	// Whoever looks at loud.odd the careless way runs this.
	git(t, dir, "config", "filter.shout.clean", "touch "+filepath.Join(dir, "..", "beside", "ran")+"; cat")
	return dir
}

func edit(id, path, old, replaced string) scripted.Call {
	return call(id, "file_edit", args{"path": path, "old_text": old, "new_text": replaced})
}

// A repository of oddities: files come out as they went in but for what was asked, and
// nothing beside it is read, changed or run.
func TestWorkOnOddFiles(t *testing.T) {
	t.Parallel()
	dir := oddRepository(t)
	beside := filepath.Join(dir, "..", "beside")
	onEachStore(t, func(t *testing.T, s *server) {
		edits := []scripted.Call{
			edit("c1", "win.txt", "two\nthree\n", "TWO\nTHREE\nmore\n"), edit("c2", "bom.cs", "using A;", "using Z;"), edit("c3", "tail.txt", "b", "c"),
			call("c4", "apply_patch", args{"patch_text": "*** Begin Patch\n*** Update File: run.sh\n@@\n #!/bin/sh\n-echo a\n+echo b\n*** End Patch\n"}),
			call("c5", "file_write", args{"path": "key", "content": "k2\n"}), call("c6", "file_write", args{"path": "inner/ok.txt", "content": "x"}),
		}
		ids := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
		for i, name := range oddNames {
			id := fmt.Sprint("n", i)
			edits, ids = append(edits, edit(id, name, "old", "new")), append(ids, id)
		}
		w := s.does(t, dir,
			asks(edits...),
			asks(
				call("d1", "file_write", args{"path": "out/x", "content": "x"}), call("d2", "read_file", args{"path": "secret"}), call("d3", "file_write", args{"path": "dangling", "content": "x"}),
				call("d4", "read_file", args{"path": "data.bin"}), edit("d5", "huge.txt", "0123456789abcde\n0", "x"),
				call("d6", "apply_patch", args{"patch_text": "*** Begin Patch\n*** Delete File: tail.txt\n*** Add File: new.txt\n+x\n*** Update File: win.txt\n@@\n-absent\n+x\n*** End Patch\n"}),
				call("d7", "grep", args{"pattern": "needle"}), call("d8", "stat", args{"path": "out"}), program("d9", "./run.sh"),
				call("d10", "git_diff", args{"path": "win.txt"}),
				call("d11", "file_write", args{"path": ".git/config", "content": "x"}),
			),
			says("Done, and no more than that."),
		)
		want{"status": "completed", "answer": "Done, and no more than that."}.check(t, "result", w.result)
		texts := w.request(t, 2).answered(t, append(ids, "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11")...)
		for i, text := range texts[:len(ids)] {
			if !strings.HasPrefix(text, "status=") || strings.HasPrefix(text, "status=failed") {
				t.Errorf("%s: %s", ids[i], text)
			}
		}
		rest := texts[len(ids):]
		for i, word := range []string{
			"leads out of the workspace", "leads out of the workspace", "leads out of the workspace", "is a binary file", "is too large", "win.txt: removal line not found",
			"sub/file.txt:1:needle", "target=../beside leads=outside", "--- stdout ---\nb\n", "+TWO\r\n+THREE\r\n+more\r\n", "Git's own",
		} {
			contains(t, fmt.Sprint("d", i+1), rest[i], word)
		}
		if strings.Contains(strings.Join(rest, ""), "somebody else") {
			t.Errorf("what is beside the workspace is shown: %s", rest)
		}
		after := map[string]string{
			"win.txt": "one\r\nTWO\r\nTHREE\r\nmore\r\nfour\r\n", "bom.cs": "\uFEFFusing Z;\r\nusing B;\r\n", "tail.txt": "a\nc", "run.sh": "#!/bin/sh\necho b\n", "key": "k2\n",
			"sub/ok.txt": "x", "sub/file.txt": "needle\n", "new.txt": "(absent)", "loud.odd": "as it is\n", "vendor/lib/lib.txt": held(t, w.copy, "vendor/lib/lib.txt"),
		}
		for _, name := range oddNames {
			after[name] = "new\n"
		}
		w.files(t, after)
		for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "key": 0o600, "sub/ok.txt": 0o644} {
			info, err := os.Stat(filepath.Join(w.copy, name))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "mode of "+name, info.Mode().Perm(), mode)
		}
		changed := strings.Split(strings.TrimSuffix(gitSays(t, w.copy, "-c", "filter.shout.clean=", "diff", "--name-only", "-z"), "\x00"), "\x00")
		slices.Sort(changed)
		expected := append(slices.Clone(oddNames), "win.txt", "bom.cs", "tail.txt", "run.sh", "key")
		slices.Sort(expected)
		equal(t, "changed files", strings.Join(changed, "|"), strings.Join(expected, "|"))
		equal(t, "patches", len(w.list(t, w.path()+"/patches")), len(ids))
		equal(t, "patch events", strings.Count(w.history(t), "tool.file.patch"), len(ids))
		contains(t, "refused by the decision", w.blocked(t), "d1:workspace_bounds", "d2:workspace_bounds", "d3:workspace_bounds", "d11:git_metadata")
		equal(t, "beside", strings.Join(entries(t, beside), " "), "secret")
	})
	git(t, dir, "config", "--unset", "filter.shout.clean")
	untouched(t, dir)
}
