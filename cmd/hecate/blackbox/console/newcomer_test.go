//go:build linux

package console_test

import (
	"strings"
	"testing"
)

// A command without blanks stays in its place beside the run, and the page of a run that
// was just started begins at its top.
func TestStartLongCommand(t *testing.T) {
	t.Parallel()
	s := hasty(t)
	p := s.open(t, "/tasks/new")
	p.resize(1280, 700)
	p.click("Shell")
	p.fill("shell_command", "true;"+strings.Repeat("word", 60)+"||true")
	p.until(`document.querySelector('form').innerText.includes('starts in an empty workspace')`)
	p.click("Create and start")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.until(`document.querySelector('.run-side .code')`)
	p.sees("none (empty workspace)")
	if at := value[float64](p, `window.scrollY`); at != 0 {
		t.Errorf("the page begins %v pixels below its top", at)
	}
	for _, width := range []int64{1280, 360} {
		p.resize(width, 700)
		if wide := value[[]string](p, `[document.documentElement, ...document.querySelectorAll('.run-side, .run-side *')].filter((e) => e.checkVisibility() && !e.closest('.hidden') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className || e.tagName)`); len(wide) > 0 {
			t.Errorf("at %d pixels these stick out: %v", width, wide)
		}
	}
}

// An address that leads nowhere says so, whatever it looks like.
func TestNowhere(t *testing.T) {
	t.Parallel()
	p := common(t).open(t, "/system/nosuch")
	for _, path := range []string{"/system/nosuch", "/history/first", "/approvals/1", "/tasks/a/runs/b/nosuch", "/tasks/a/b"} {
		p.visit(path)
		p.sees("There is nothing here")
		p.sees(path)
		p.until(`document.querySelector('.empty a[href="/tasks"]')`)
	}
}

// A change that was taken back is made again from where it was taken back.
func TestApplyAgain(t *testing.T) {
	t.Parallel()
	s := hasty(t)
	p, run, _ := rebuilt(t, s)
	workspace := s.send(t, "GET", run, nil)["workspace_path"].(string)
	p.click("Changes")
	p.click("Revert greet.go")
	p.until(`document.querySelector('.patch .status')?.innerText.includes('reverted')`)
	p.until(`!document.querySelector('.tabs .count')`)
	p.click("Apply greet.go again")
	p.sees("Back to before the revert of greet.go")
	p.click("Put back 1 file")
	p.sees("1 file put back in")
	if text := content(t, workspace, "greet.go"); !strings.Contains(text, "Hello, ") {
		t.Errorf("the change is not made again:\n%s", text)
	}
}

// What sends events elsewhere is no read model that could be made anew, and says what
// keeps it from sending.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_WEBHOOK_URL=http://127.0.0.1:1/hook", "HECATE_WEBHOOK_SECRET=0123456789abcdef0123456789abcdef")
	s.run(t, map[string]any{"execution_kind": "shell", "shell_command": "true", "working_directory": project(t)})
	p := s.open(t, "/system")
	target := `[...document.querySelectorAll('.list tbody tr')].find((e) => e.innerText.includes('://'))`
	p.until(target)
	p.until(`!` + target + `.querySelector('button') && document.querySelector('[aria-label="Rebuild runs"]')`)
	p.until(target + `.querySelector('.warn')?.innerText.includes('127.0.0.1')`)
}
