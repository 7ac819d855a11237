//go:build linux

package console_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

// rebuild is work on a copy that changes files in all ways: with tools, with commands, and
// where a person should look twice.
func rebuild() conversation {
	return conversation{prompt: "Rebuild the greeting", replies: []scripted.Reply{
		asks("I put the comma in.", call("c1", "file_edit", args{"path": "greet.go", "old_text": `"Hello "`, "new_text": `"Hello, "`})),
		asks("And the rest.", call("c2", "shell_exec", args{"command": "rm -f old.txt; mkdir -p .github/workflows; echo on > .github/workflows/x.yml; echo notes > notes.txt; echo b > b.txt; echo q > 'a \"b\" ü.txt'"})),
		says("It is done."),
	}}
}

// rebuilt is a run that has done so without asking, the directory that its copy was made
// from, and the page that shows it.
func rebuilt(t *testing.T, s *server) (p *page, run, dir string) {
	t.Helper()
	task := s.agent(t, rebuild(), "title=Rebuild the greeting")
	dir = task["working_directory"].(string)
	write(t, filepath.Join(dir, "old.txt"), "was here\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run = s.run(t, task)
	p = s.open(t, run, "status of 409")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	return p, run, dir
}

// hasty is a server that asks about nothing.
func hasty(t *testing.T) *server {
	t.Helper()
	return serve(t, "HECATE_TASK_APPROVAL_POLICIES=")
}

// What a run has changed is looked at, one file is left out, and the rest is taken.
func TestTake(t *testing.T) {
	t.Parallel()
	p, _, dir := rebuilt(t, hasty(t))
	p.click("Take")
	p.sees("Take 5 files")
	p.until(`[...document.querySelectorAll('.landed .patch-head')].find((e) => e.innerText.includes('x.yml'))?.innerText.includes('ci')`)
	p.until(`document.querySelector('.landed .diff mark')`)
	p.until(`[...document.querySelectorAll('.landed > li')].find((e) => e.innerText.includes('a "b" ü.txt'))?.querySelector('.diff')`)
	p.click("notes.txt")
	p.sees("Take 4 files")
	write(t, filepath.Join(dir, "greet.go"), strings.Replace(content(t, dir, "greet.go"), "// Greet", "// A word.\n// Greet", 1))
	p.click("Take 4 files")
	p.sees("The files have changed since you looked")
	if got := content(t, dir, "b.txt"); got != "" {
		t.Error("something was written that nobody saw as it is")
	}
	p.click("Take 4 files")
	p.sees("4 files written in")
	for name, want := range map[string]string{"b.txt": "b\n", "notes.txt": "", "old.txt": "", ".github/workflows/x.yml": ""} {
		if got := content(t, dir, name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if got := content(t, dir, "greet.go"); !strings.Contains(got, "Hello, ") || !strings.Contains(got, "A word.") {
		t.Errorf("greet.go was not merged:\n%s", got)
	}
	p.click("Look again")
	p.click("Take sensitive files too")
	p.click("On a new branch")
	p.until(`document.activeElement.name === "branch"`)
	p.press("agent/work")
	p.click("onto agent/work")
	p.sees("on the new branch agent/work")
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "diff", "--name-only", "HEAD", "agent/work").CombinedOutput()
	if err != nil || !strings.Contains(string(out), ".github/workflows/x.yml") {
		t.Errorf("the branch has other files: %v\n%s", err, out)
	}
}

// Who takes may have to prove who it is.
func TestTakeNeedsOperator(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_TASK_APPROVAL_POLICIES=", "HECATE_OPERATOR_TOKEN_REQUIRED=always")
	token := content(t, filepath.Join(s.dir, "data"), "operator.token")
	run := s.run(t, s.agent(t, rebuild()))
	p := s.open(t, run, "status of 403")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.press("4")
	p.click("Take 4 files")
	p.sees("Operator token")
	p.must(chromedp.Do(p.ctx, chromedp.SendKeys(chromedp.CSS(`dialog input[type="password"]`), strings.TrimSpace(token))))
	p.click("Use")
	p.until(`!document.querySelector('dialog')`)
	p.click("Take 4 files")
	p.sees("4 files written in")
}

// A text that was changed on both sides is said to conflict, and nothing is written until
// somebody says what is to become of it.
func TestTakeConflict(t *testing.T) {
	t.Parallel()
	p, run, dir := rebuilt(t, hasty(t))
	write(t, filepath.Join(dir, "greet.go"), strings.Replace(content(t, dir, "greet.go"), "Hello ", "Good day ", 1))
	p.visit(run + "/take")
	p.sees("1 file conflicts, so nothing would be written")
	p.until(`document.querySelector('.actions.sticky .primary').disabled`)
	p.click("Mark conflicts")
	p.click("Take 5 files")
	p.sees("5 files written in")
	if got := content(t, dir, "greet.go"); !strings.Contains(got, "<<<<<<<") || !strings.Contains(got, "Good day ") {
		t.Errorf("the conflict is not marked:\n%s", got)
	}
}

// The workspace is put back to before a call, also over what somebody else did since.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := hasty(t)
	p, run, _ := rebuilt(t, s)
	workspace := s.send(t, "GET", run, nil)["workspace_path"].(string)
	write(t, filepath.Join(workspace, "b.txt"), "somebody's\n")
	p.visit(run + "/restore")
	p.until(`document.querySelectorAll('.point').length === 2`)
	p.press("j")
	p.until(`document.activeElement.innerText.includes('greet.go')`)
	p.click("shell_exec")
	p.sees("1 file conflicts, so nothing would be put back")
	p.click("Put back also")
	p.until(`[...document.querySelectorAll('.landed .status')].some((e) => e.innerText.includes('to be written') && !e.matches('.good'))`)
	p.click("Put back 5 files")
	p.sees("5 files put back in")
	if got := content(t, workspace, "old.txt"); got != "was here\n" {
		t.Errorf("old.txt has %q", got)
	}
	if got := content(t, workspace, "greet.go"); !strings.Contains(got, "Hello, ") {
		t.Errorf("greet.go went back further:\n%s", got)
	}
	p.until(`document.querySelectorAll('.point').length > 2`) // and that can be undone as well
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// content is what a file holds; "" if there is none.
func content(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}
