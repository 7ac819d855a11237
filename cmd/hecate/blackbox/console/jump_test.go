//go:build linux

package console_test

import (
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// What one reads does not move while a run goes on: neither when its page is opened, nor
// when rows come.
func TestNothingJumps(t *testing.T) {
	t.Parallel()
	s := hasty(t)
	p := s.open(t, "/tasks")
	_, err := chromedp.Call(p.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.moved = [];
		new PerformanceObserver((list) => {
			for (const e of list.getEntries()) moved.push([e.value, location.pathname, e.sources.map((s) => (s.node?.className || s.node?.nodeName) + ' from ' + s.previousRect.y + ' to ' + s.currentRect.y).join()]);
		}).observe({ type: 'layout-shift', buffered: true });`})
	p.must(err)
	// In shares of what is seen, times how far it moved: a row that grows by a line makes about 0.02.
	still := func(most float64) {
		t.Helper()
		p.until(`!document.querySelector('.loading')`)
		for _, m := range value[[][]any](p, `moved`) {
			if m[0].(float64) > most {
				t.Errorf("%v", m)
			}
		}
	}
	run := s.run(t, s.agent(t, rebuild(), "title=Rebuild"))
	p.visit(run)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	still(0.1) // texts come after the rows that they belong to
	for _, page := range []string{run, run + "/conversation", run + "/changes", run + "/take", run + "/history", "/tasks", "/tasks/new", "/history", "/system", "/system/usage"} {
		p.visit(page)
		still(0.015)
	}
}
