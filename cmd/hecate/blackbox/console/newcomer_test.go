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
