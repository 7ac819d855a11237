package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

type args = map[string]any

// tool finds a tool by name, offered or direct.
func tool(t testing.TB, name string) tools.Tool {
	t.Helper()
	for _, x := range every() {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no tool %s", name)
	return tools.Tool{}
}

// reads is a workspace for the tests of reading.
func reads(t *testing.T) *tooltest.Workspace {
	w := tooltest.New(t)
	w.Write("README.md", "# Title\nsecond line\nthird line\n")
	w.Write("src/main.go", "package main\n\nfunc main() {}\n")
	w.Write("src/deep/a_test.go", "package deep // TODO\n")
	w.Write("node_modules/x/main.go", "package x\n")
	w.Write("bin.dat", "a\x00b")
	w.Write("latin1.txt", "caf\xe9 TODO\n")
	w.Write("bom.txt", "\uFEFFusing A;\r\n")
	w.Write("empty", "")
	w.Write("line\nbreak", "TODO here\n")
	w.Link("README.md", "inner")
	w.Link("/etc/passwd", "outer")
	if err := syscall.Mkfifo(filepath.Join(w.Dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestReadingTools(t *testing.T) {
	w := reads(t)
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"read_file", args{"path": "README.md"}, "path=README.md size=31 bytes=31\n--- content ---\n# Title\nsecond line\nthird line\n"},
		{"read_file", args{"path": "./src/../README.md", "start_line": 2, "end_line": 2}, "path=README.md size=31 bytes=12 lines=2-2\n--- content ---\nsecond line\n"},
		{"read_file", args{"path": "README.md", "start_line": 2, "end_line": 99}, "path=README.md size=31 bytes=23 lines=2-3\n--- content ---\nsecond line\nthird line\n"},
		{"read_file", args{"path": "README.md", "max_bytes": 9}, "path=README.md size=31 bytes=9 truncated=true\n--- content ---\n# Title\ns\n…(truncated)"},
		{"read_file", args{"path": "bom.txt"}, "path=bom.txt size=13 bytes=10\n--- content ---\nusing A;\r\n"},
		{"read_file", args{"path": "empty"}, "path=empty size=0 bytes=0\n--- content ---\n"},
		{"read_file", args{"path": "line\nbreak"}, "path=\"line\\nbreak\" size=10 bytes=10\n--- content ---\nTODO here\n"},
		{"read_file", args{"path": "README.md", "start_line": 99}, "read_file: start_line (99) is beyond file line count (3)"},
		{"read_file", args{"path": "README.md", "start_line": 3, "end_line": 2}, "read_file: end_line (2) is before start_line (3)"},
		{"read_file", args{"path": "bin.dat"}, `read_file: "bin.dat" is a binary file (3 bytes); use shell_exec to inspect it`},
		{"read_file", args{"path": "nope"}, `read_file: "nope": not found`},
		{"read_file", args{"path": "README.md/x"}, `read_file: "README.md/x": a parent is not a directory`},
		{"read_file", args{"path": "src"}, `read_file: "src" is a directory; use list_dir instead`},
		{"read_file", args{}, `read_file: "." is a directory; use list_dir instead`},
		{"read_file", args{"path": "pipe"}, `read_file: "pipe" is not a regular file`},
		{"read_file", args{"path": "/etc/passwd"}, `read_file: path must be relative to the workspace, got absolute: "/etc/passwd"`},
		{"read_file", args{"path": "C:\\x"}, `read_file: path must be relative to the workspace, got absolute: "C:\\x"`},
		{"read_file", args{"path": "src/../../x"}, `read_file: unsafe relative workspace path "src/../../x"`},
		{"read_file", args{"path": "a\x00b"}, `read_file: unsafe relative workspace path "a\x00b"`},
		{"read_file", args{"path": "outer"}, `read_file: workspace path uses a symlink component "outer", which points to "/etc/passwd"; use the path it points to if that is in the workspace`},
		{"list_dir", args{"path": "src"}, "path=src entries=2\ndir        4096  deep\nfile         29  main.go"},
		{"list_dir", args{"path": "README.md"}, `list_dir: "README.md" is not a directory`},
		{"list_dir", args{"path": "nope"}, `list_dir: "nope": not found`},
		{"glob", args{"pattern": "**/*.go"}, "pattern=\"**/*.go\" matches=2 rendered_matches=2 scanned_entries=14 pattern_work=102 output_truncated=false\nsrc/deep/a_test.go\nsrc/main.go"},
		{"glob", args{"pattern": "{deep,*.md}"}, "pattern=\"{deep,*.md}\" matches=2 rendered_matches=2 scanned_entries=14 pattern_work=102 output_truncated=false\nREADME.md\nsrc/deep/"},
		{"glob", args{"pattern": "*", "path": "src", "max_matches": 1}, "pattern=\"*\" matches=1 rendered_matches=1 scanned_entries=2 pattern_work=26 truncated=true scan_limit=match_limit output_truncated=false\nsrc/deep/"},
		{"glob", args{"pattern": "[a"}, "glob: invalid pattern"},
		{"glob", args{"pattern": "*", "path": ".."}, `glob: unsafe relative workspace path ".."`},
		{"grep", args{"pattern": "^package (\\w+)", "include": "*.go"}, "pattern=\"^package (\\\\w+)\" matches=2 rendered_matches=2 scanned_entries=14 scanned_bytes=50 pattern_work=141 output_truncated=false\nsrc/deep/a_test.go:1:package deep // TODO\nsrc/main.go:1:package main"},
		{"grep", args{"pattern": "todo", "case_sensitive": false}, "pattern=\"todo\" matches=2 rendered_matches=2 scanned_entries=14 scanned_bytes=101 pattern_work=101 output_truncated=false incomplete=true skipped_files=5 skip_reasons=binary:1,invalid_utf8:1,non_regular:3\n\"line\\nbreak\":1:TODO here\nsrc/deep/a_test.go:1:package deep // TODO"},
		{"grep", args{"pattern": "line", "path": "README.md"}, "pattern=\"line\" matches=2 rendered_matches=2 scanned_entries=1 scanned_bytes=31 pattern_work=31 output_truncated=false\nREADME.md:2:second line\nREADME.md:3:third line"},
		{"grep", args{"pattern": "("}, "grep: invalid regex: error parsing regexp: missing closing ): `(`"},
		{"grep", args{"pattern": "x", "include": "[a"}, "grep: invalid include pattern"},
	} {
		r := w.Call(tool(t, c.tool), c.args)
		if got := dirSizes(r.Text); got != c.want {
			t.Errorf("%s %v:\ngot  %q\nwant %q", c.tool, c.args, got, c.want)
		}
		if failed := strings.HasPrefix(r.Text, c.tool+": "); failed != r.Error {
			t.Errorf("%s %v: error is %t", c.tool, c.args, r.Error)
		}
	}
}

// dirSizes replaces the sizes of directories, which depend on the file system.
func dirSizes(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if f := strings.Fields(l); len(f) == 3 && f[0] == "dir" {
			lines[i] = fmt.Sprintf("dir %11d  %s", 4096, f[2])
		}
	}
	return strings.Join(lines, "\n")
}

func TestReadingStaysWithinItsCaps(t *testing.T) {
	w := tooltest.New(t)
	w.Write("long.txt", strings.Repeat("x", 100<<10)+"é needle\n")
	w.Write("big.txt", strings.Repeat("needle\n", 200<<10))
	for i := range 600 {
		w.Write(fmt.Sprintf("many/%03d", i), strings.Repeat("needle and more ", 20))
	}
	r := w.Call(tool(t, "grep"), args{"pattern": "needle", "max_matches": 500})
	if !strings.HasPrefix(r.Text, `pattern="needle" matches=500 rendered_matches=`) || len(r.Text) > 65<<10 ||
		!strings.Contains(r.Text, "truncated=true scan_limit=match_limit output_truncated=true incomplete=true skipped_files=1 skip_reasons=large_file:1") {
		t.Errorf("grep: %d bytes, %.300s", len(r.Text), r.Text)
	}
	if r = w.Call(tool(t, "list_dir"), args{"path": "many"}); !strings.HasPrefix(r.Text, "path=many entries=600 truncated=500\n") || strings.Count(r.Text, "\n") != 500 {
		t.Errorf("list_dir: %.80s", r.Text)
	}
	if r = w.Call(tool(t, "read_file"), args{"path": "long.txt", "max_bytes": 100<<10 + 1}); !strings.HasPrefix(r.Text, "path=long.txt size=102410 bytes=102400 truncated=true\n") {
		t.Errorf("read_file cuts inside a character: %.80s", r.Text)
	}
	if r = w.Call(tool(t, "grep"), args{"pattern": "x", "path": "long.txt"}); len(r.Text) > 5<<10 || !strings.HasSuffix(r.Text, "x…(truncated)") {
		t.Errorf("grep shows a line of %d bytes", len(r.Text))
	}
}

func TestSearchesStopWhenCancelled(t *testing.T) {
	w := tooltest.New(t)
	w.Write("a", "x")
	ctx, cancel := context.WithCancelCause(context.Background())
	w.Env.Settings.OutputMaxBytes = 1
	cancel(tools.ErrRunEnded)
	for _, name := range []string{"grep", "glob"} {
		if r := w.CallContext(ctx, tool(t, name), args{"pattern": "x"}); r.Outcome != "cancelled" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A glob that would keep a backtracking matcher busy for ever is answered at once.
func TestGlobTakesLinearTime(t *testing.T) {
	w := tooltest.New(t)
	w.Write(strings.Repeat("a", 200), "")
	r := w.Call(tool(t, "glob"), args{"pattern": strings.Repeat("{a,aa,*a}", 60) + "b"})
	if !strings.Contains(r.Text, "matches=0") {
		t.Error(r.Text)
	}
}

// A link that leads out of the workspace gives nothing away, not even when it
// stands in for the directory that a search begins in.
func TestReadingFollowsNoLinks(t *testing.T) {
	w := tooltest.New(t)
	outside := filepath.Join(filepath.Dir(w.Dir), "outside")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("TOP"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Link(outside, "out")
	w.Link("../outside/secret", "secret")
	for _, c := range []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": "secret"}},
		{"read_file", args{"path": "out/secret"}},
		{"list_dir", args{"path": "out"}},
		{"grep", args{"pattern": "TOP"}},
		{"grep", args{"pattern": "TOP", "path": "secret"}},
		{"grep", args{"pattern": "TOP", "path": "out"}},
		{"glob", args{"pattern": "**/secret", "path": "out"}},
	} {
		r := w.Call(tool(t, c.tool), c.args)
		if content := strings.ReplaceAll(r.Text, `pattern="TOP"`, ""); strings.Contains(content, "TOP") {
			t.Errorf("%s %v shows the secret: %s", c.tool, c.args, r.Text)
		}
		if !r.Error && !strings.Contains(r.Text, "skip_reasons=non_regular:2") {
			t.Errorf("%s %v: %s", c.tool, c.args, r.Text)
		}
	}
}

func every() []tools.Tool { return append(builtin.All(), builtin.Direct()...) }
