//go:build linux

package blackbox_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/eventstore/postgres/pgtest"
)

// onEachStore tells a story on SQLite and then, with the same data directory and so with
// the same caches of build tools, on PostgreSQL.
func onEachStore(t *testing.T, story func(t *testing.T, s *server)) {
	t.Helper()
	s := serve(t)
	t.Run("sqlite", func(t *testing.T) { story(t, s) })
	s.terminate(t)
	s.env = overlay(s.env, onPostgres(pgtest.URL(t)))
	// Another log, whose positions begin anew and whose checkpoints need a key of their own.
	s.seen.Store(0)
	if err := os.Remove(filepath.Join(s.dir, "audit.key")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	s.start(t)
	t.Run("postgres", func(t *testing.T) { story(t, s) })
}

// worked is what "hecate run" made of a copy of a directory.
type worked struct {
	run
	*conversation
	result doc
	copy   string
}

// does has an agent work on a copy of dir, as somebody would who runs the command there.
func (s *server) does(t *testing.T, dir string, replies ...reply) worked {
	t.Helper()
	c := s.model.script(replies...)
	out := s.hecate(t, "run", "--json", "--yes", "--dir", dir, "--provider", "fake", "--model", modelName, "Do what is scripted: "+c.mark)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last, err := parse([]byte(lines[len(lines)-1]))
	if err != nil || last.str("object") != "run_result" {
		t.Fatalf("the last line is no result: %v\n%s", err, out)
	}
	result := last.obj("data")
	return worked{run{s, result.str("task_id"), result.str("run_id")}, c, result, result.str("workspace_path")}
}

// gitSays is what git prints in a directory.
func gitSays(t *testing.T, dir string, line ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, line...)...).Output()
	if err != nil {
		t.Fatalf("git %v: %v", line, err)
	}
	return string(out)
}

// repository makes a git repository of files, all committed.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "Begin")
	return dir
}

// untouched asserts that a repository is as it was committed.
func untouched(t *testing.T, dir string) {
	t.Helper()
	equal(t, "changes of the original", gitSays(t, dir, "status", "--porcelain"), "")
	equal(t, "commits of the original", strings.Count(gitSays(t, dir, "log", "--oneline"), "\n"), 1)
}

// files asserts what the copy holds.
func (w worked) files(t *testing.T, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		equal(t, name, held(t, w.copy, name), want[name])
	}
}

const shopCode = "package shop\n\n// Total is what the items cost together, in cents.\nfunc Total(items []Item) int {\n\tsum := 0\n\tfor _, i := range items {\n\t\tsum += i.Cents\n\t}\n\treturn sum\n}\n"

// goShop is a Go module with a test that fails, because nobody counts.
func goShop(t *testing.T) string {
	return repository(t, map[string]string{
		"go.mod":       "module example.com/shop\n\ngo 1.24\n",
		"item.go":      "package shop\n\n// Item is one line of a bill.\ntype Item struct {\n\tName  string\n\tCents int\n\tCount int\n}\n",
		"total.go":     shopCode,
		"shop_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif got := Total([]Item{{\"tea\", 300, 2}, {\"cup\", 500, 1}}); got != 1100 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
		"CHANGES.md":   "# Changes\n",
	})
}

// An agent finds out why a test fails, changes several files, and proves it with the
// tests, without a network and in a copy.
func TestWorkOnAGoModule(t *testing.T) {
	t.Parallel()
	dir := goShop(t)
	onEachStore(t, func(t *testing.T, s *server) {
		// The first build has to compile the standard library: one processor is enough for it.
		test := func(id string) reply {
			return asks(call(id, "exec", args{"program": "go", "args": []string{"test", "-p", "1", "-vet=off", "./..."}, "env": args{"GOMAXPROCS": "1"}}))
		}
		w := s.does(t, dir,
			asks(call("c1", "list_dir", args{}), call("c2", "grep", args{"pattern": "func Total", "include": "*.go"}), call("c3", "read_file", args{"path": "total.go"})),
			test("c4"),
			asks(
				call("c5", "apply_patch", args{"patch_text": "*** Begin Patch\n*** Update File: total.go\n@@\n \tfor _, i := range items {\n-\t\tsum += i.Cents\n+\t\tsum += i.total()\n \t}\n" +
					"*** Add File: line.go\n+package shop\n+\n+func (i Item) total() int { return i.Cents * i.Count }\n*** End Patch\n"}),
				call("c6", "file_edit", args{"path": "CHANGES.md", "old_text": "# Changes\n", "new_text": "# Changes\n\n- Totals count.\n"}),
			),
			test("c7"),
			asks(call("c8", "git_status", args{}), call("c9", "git_diff", args{"path": "total.go"})),
			says("Total now counts; the tests pass."),
		)
		want{"status": "completed", "answer": "Total now counts; the tests pass.", "exit_code": 0, "model_call_count": 6}.check(t, "result", w.result)
		equal(t, "changed files", shape(w.result.list("files"), "status", "path"), "M/CHANGES.md A/line.go M/total.go")
		texts := w.request(t, 5).answered(t, "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9")
		contains(t, "what was there", texts[0]+texts[1]+texts[2], "shop_test.go", "total.go:4:func Total", "sum += i.Cents")
		contains(t, "the test before", texts[3], "status=failed", "exit status 1", "got 800")
		contains(t, "the patch", texts[4], "status=applied", "update total.go", "add line.go")
		contains(t, "the test after", texts[6], "status=completed", "ok  \texample.com/shop")
		equal(t, "git_status", texts[7], "branch=main entries=3 truncated=false\n M CHANGES.md\n M total.go\n?? line.go")
		contains(t, "git_diff", texts[8], "-\t\tsum += i.Cents\n+\t\tsum += i.total()\n")
		w.files(t, map[string]string{
			"total.go": strings.Replace(shopCode, "i.Cents", "i.total()", 1), "line.go": "package shop\n\nfunc (i Item) total() int { return i.Cents * i.Count }\n",
			"CHANGES.md": "# Changes\n\n- Totals count.\n",
		})
		equal(t, "diff", gitSays(t, w.copy, "diff", "--numstat"), "2\t0\tCHANGES.md\n1\t1\ttotal.go\n")
		untouched(t, dir)
		equal(t, "patches", len(w.list(t, w.path()+"/patches")), 3)
		equal(t, "dispatched", w.intents(t), "c1 c2 c3 c4 c5 c6 c7 c8 c9")
		const model, command = "model.call.started model.call.completed ", "assistant.tool_call_proposed tool.invoked tool.started tool.shell.command tool.shell.output_chunk tool.shell.exited "
		proposed := func(n int) string { return strings.Repeat("assistant.tool_call_proposed ", n) }
		equal(t, "history", w.history(t), "run.created run.queued run.started "+model+proposed(3)+model+command+"tool.failed "+model+proposed(2)+strings.Repeat("tool.file.patch ", 3)+
			model+command+"tool.completed "+model+proposed(2)+model+"assistant.text_complete assistant.final_answer run.finished")
	})
}

// A package for Node, with the tests that its check runs where node is installed.
func TestWorkOnANodePackage(t *testing.T) {
	t.Parallel()
	const manifest = "{\n  \"name\": \"greet\",\n  \"version\": \"1.0.0\",\n  \"type\": \"module\",\n  \"scripts\": { \"test\": \"node --test\" }\n}\n"
	dir := repository(t, map[string]string{
		"package.json": manifest, "src/greet.js": "export function greet(name) {\n  return 'Hello ' + name;\n}\n",
		"test/greet.test.js": "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\ntest('greets', () => assert.equal(greet('Ada'), 'Hello, Ada!'));\n",
		"check.sh":           "set -e\nif command -v node >/dev/null; then node --test; fi\ngrep -q 'Hello, ' src/greet.js && grep -q '\"version\": \"1.1.0\"' package.json && echo checked\n",
		".gitignore":         "node_modules/\n", "node_modules/dep/index.js": "module.exports = 1;\n",
	})
	onEachStore(t, func(t *testing.T, s *server) {
		w := s.does(t, dir,
			asks(call("c1", "glob", args{"pattern": "**/*.js"}), call("c2", "read_file", args{"path": "src/greet.js"}), program("c3", "sh", "check.sh")),
			asks(
				call("c4", "file_edit", args{"path": "src/greet.js", "old_text": "'Hello ' + name", "new_text": "`Hello, ${name}!`"}),
				call("c5", "file_edit", args{"path": "package.json", "old_text": "\"version\": \"1.0.0\"", "new_text": "\"version\": \"1.1.0\""}),
				call("c6", "file_write", args{"path": "README.md", "content": "# greet\n"}),
				call("c7", "file_write", args{"path": "README.md", "content": "\nGreets.\n", "operation": "append"}),
				program("c8", "sh", "check.sh"),
			),
			says("It greets with a comma."),
		)
		want{"status": "completed", "answer": "It greets with a comma."}.check(t, "result", w.result)
		texts := w.request(t, 2).answered(t, "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
		contains(t, "glob", texts[0], "src/greet.js\ntest/greet.test.js")
		contains(t, "the check before", texts[2], "status=failed")
		contains(t, "the check after", texts[7], "status=completed", "checked")
		if strings.Contains(texts[0], "node_modules") {
			t.Errorf("glob shows what was installed: %s", texts[0])
		}
		equal(t, "changed files", shape(w.result.list("files"), "status", "path"), "A/README.md M/package.json M/src/greet.js")
		w.files(t, map[string]string{
			"src/greet.js": "export function greet(name) {\n  return `Hello, ${name}!`;\n}\n", "package.json": strings.Replace(manifest, "1.0.0", "1.1.0", 1), "README.md": "# greet\n\nGreets.\n",
		})
		equal(t, "diff", gitSays(t, w.copy, "diff", "--numstat"), "1\t1\tpackage.json\n1\t1\tsrc/greet.js\n")
		untouched(t, dir)
		equal(t, "patches", shape(w.list(t, w.path()+"/patches"), "status"), "applied applied applied applied")
		contains(t, "history", w.history(t), "tool.failed model.call.started", "tool.file.patch tool.file.patch tool.file.patch tool.file.patch", "tool.completed model.call.started", "run.finished")
	})
}
