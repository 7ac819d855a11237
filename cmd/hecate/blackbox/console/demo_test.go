//go:build linux

package console_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// played is a demo that waits to be tried.
type played struct {
	url     string // of the server
	project string // the directory with the failing test
}

// play starts the demo as the README has people start it, and reads where it is from what
// it prints.
func play(t *testing.T) played {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "demo", "--serve")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8", "TMPDIR=" + t.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it cleans up
	cmd.WaitDelay = patience
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test is over, so it was told to end
	var d played
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if m := regexp.MustCompile(`in the browser +(http://[^/]+)/tasks/new`).FindStringSubmatch(lines.Text()); m != nil {
			d.url = m[1]
		}
		if m := regexp.MustCompile(`working directory +(/.*)`).FindStringSubmatch(lines.Text()); m != nil {
			d.project = m[1]
			return d
		}
	}
	t.Fatalf("the demo does not say where it is:\n%s", printed.String())
	return d
}

// What the README offers to somebody who is new: a task with the demo's model, its first
// call answered, its diff read, one file put back and the rest taken, its second model call
// made again, and what all that has cost.
func TestNewOperator(t *testing.T) {
	t.Parallel()
	if browser == nil {
		t.Skip(errNoBrowser)
	}
	d := play(t)
	s := &server{addr: strings.TrimPrefix(d.url, "http://")}
	p := s.open(t, "/tasks/new")
	p.resize(1280, 720) // not all of the run has room
	p.fill("prompt", "make the failing test pass")
	p.fill("working_directory", d.project)
	p.click("Create and start")
	approve := func() {
		t.Helper()
		p.sees("The agent wants to make 1 call")
		p.until(inSight(sayingOf("Approve 1 call")))
		p.click("Approve 1 call")
		p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	}
	approve()

	p.click("Changes")
	p.until(`document.querySelectorAll('.patch .diff').length === 2`)
	p.until(inSight(`document.querySelector('.file-list')`))
	p.click("Revert median_test.go")
	p.until(`[...document.querySelectorAll('.patch .status')].map((e) => e.innerText.trim()).join() === 'applied,reverted'`)
	p.until(`document.querySelector('.notice a')?.innerText.includes('Apply again')`)
	p.until(`document.querySelector('.tabs .count')?.innerText === '1'`)
	p.click("Restore")
	p.sees("revert of median_test.go")
	p.click("Take")
	p.sees("Take 1 file")
	p.until(inSight(`document.querySelector('.review p')`))
	p.sees("to be written")
	p.click("Take 1 file")
	p.sees("1 file written in")
	if text := content(t, d.project, "median.go"); !strings.Contains(text, "middle") {
		t.Errorf("median.go was not taken:\n%s", text)
	}
	if text := content(t, d.project, "median_test.go"); strings.Contains(text, "1.5") {
		t.Errorf("median_test.go was taken:\n%s", text)
	}

	p.click("Conversation")
	p.sees("model call 2")
	value[chromedp.Void](p, `[...document.querySelectorAll('.message')].find((e) => e.innerText.includes('model call 2')).querySelector('.again').click()`)
	p.click("Start the run")
	p.until(`document.querySelector('.chain [aria-current]')?.innerText.includes('branch')`)
	approve()
	p.until(`document.querySelector('.whole')?.innerText.includes('for all 2 runs of the task')`)
	bill := value[string](p, `document.querySelector('.whole').innerText.split(' ')[0]`)
	p.visit("/system/usage")
	p.until(`document.querySelectorAll('.list tbody tr').length === 9`)
	p.sees(bill)
}

// inSight is an expression for whether an element is where one sees it.
func inSight(element string) string {
	return `(() => { const r = (` + element + `)?.getBoundingClientRect(); return r && r.top >= 48 && r.bottom <= innerHeight; })()`
}
