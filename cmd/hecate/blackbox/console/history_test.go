//go:build linux

package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// The history of a run is read and narrowed down, and an event leads to the one that it
// follows.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run := s.run(t, s.agent(t, repair(), "title=Look back"))
	p := s.open(t, run)
	p.sees("Approve 3 calls")
	answer(t, s, run)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.press("7")
	p.press("6")
	rows := `[...document.querySelectorAll('.event-type')].map((e) => e.innerText)`
	p.until(rows + `.includes('run.finished') && ` + rows + `.includes('run.created')`)
	typed(p, "by", "client")
	p.until(rows + `.includes('approval.resolved') && !` + rows + `.includes('model.call.completed')`)
	p.click("approval.resolved")
	p.until(`[...document.querySelectorAll('.event-detail dd')].some((e) => e.innerText.includes('approval.requested') && e.innerText.includes('same approval'))`)
	p.until(`[...document.querySelectorAll('.event-detail div')].some((e) => e.querySelector('dt')?.innerText === 'Caused by' && e.querySelector('a[href^="/history/"]')?.innerText.match(/^[a-z._]+ [0-9]+$/))`)
	cause := value[string](p, `[...document.querySelectorAll('.event-detail div')].find((e) => e.querySelector('dt')?.innerText === 'Caused by').querySelector('a').pathname`)
	p.until(`[...document.querySelectorAll('.event-detail code')].some((e) => e.innerText.match(/^[0-9a-f]{64}$/))`)
	p.sees(`"decision": "approved"`)
	p.click("approval.requested")
	p.until(`location.pathname.startsWith('/history/') && document.querySelector('h1')?.innerText === 'approval.requested'`)
	p.visit(cause)
	p.until(`[...document.querySelectorAll('.event-detail div')].some((e) => e.querySelector('dt')?.innerText === 'Led to' && e.innerText.includes('approval.resolved'))`)
	p.visit(run + "/history?type=tool.dispatch.settled")
	p.until(rows + `.length === 5`)
	p.visit(run + "/history?type=approval.")
	p.until(rows + `.join() === 'approval.resolved,approval.requested'`)
	p.visit("/history?path=greet.go&run=" + run[strings.LastIndex(run, "/")+1:])
	p.until(rows + `.includes('tool.dispatch.intended') && !` + rows + `.includes('tool.shell.command')`)
	p.visit(run + "/history?type=tool.dispatch.settled")
	p.until(rows + `.length === 5`)
	p.press("/")
	p.press("shell_exec")
	p.until(rows + `.length === 1`)
	p.visit("/history?until=2020-01-01T00:00:00")
	p.sees("No event matches the filters")
	p.click("Clear all filters")
	p.until(`location.search === ''`)
	p.until(rows + `.length > 20`)
	s.run(t, map[string]any{"execution_kind": "shell", "shell_command": "true", "working_directory": project(t)})
	p.until(rows + `.slice(0, 8).includes('run.awaiting_approval')`) // comes by itself
}

// What is exported are the bytes that the API gives, one event a line.
func TestExport(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run := s.run(t, s.agent(t, repair()))
	s.send(t, "POST", run+"/events", map[string]any{"type": "ci.done", "data": map[string]any{"number": 12345678901234567, "brackets": "]}[{\"\\"}})
	p := s.open(t, run)
	p.sees("Approve 3 calls")
	dir := t.TempDir()
	_, err := chromedp.Call(p.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, BrowserContextID: contextOf(p),
	})
	p.must(err)
	p.visit("/history")
	p.click("Export JSON Lines")
	p.sees("written to a file")
	var text string
	for text == "" { // the browser writes it after the page has handed it over
		p.until("true")
		if b, err := os.ReadFile(filepath.Join(dir, "hecate-history.jsonl")); err == nil {
			text = string(b)
		}
	}
	events := s.send(t, "GET", "/audit/events?limit=500", nil)["list"].([]any)
	if lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n"); len(lines) != len(events) {
		t.Errorf("%d lines for %d events", len(lines), len(events))
	}
	if !strings.Contains(text, "12345678901234567") {
		t.Error("a number is another one in the file")
	}
}

func contextOf(p *page) cdp.BrowserContextID { return chromedp.FromContext(p.ctx).BrowserContextID }

// typed puts a text into a field, and leaves the field.
func typed(p *page, name, text string) {
	p.t.Helper()
	field := `document.querySelector('input[name=` + name + `]')`
	p.until(field)
	value[chromedp.Void](p, `(() => { const e = `+field+`; e.value = `+quote(text)+`; e.dispatchEvent(new Event('change', { bubbles: true })); })()`)
}
