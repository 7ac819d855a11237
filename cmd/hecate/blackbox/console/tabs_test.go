//go:build linux

package console_test

import (
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

// Of the tabs of one person one follows the feed; when it is closed, another one does.
func TestTabsShareTheFeed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	live := `document.querySelector('.connection.live')`
	first := s.open(t, "/tasks")
	first.until(live)
	second := first.another(s, "/tasks")
	second.until(live)
	appears := func(title string, in ...*page) {
		t.Helper()
		s.run(t, map[string]any{"execution_kind": "agent_loop", "title": title, "prompt": s.model.script(conversation{prompt: "x", replies: []scripted.Reply{says("y")}})})
		for _, p := range in {
			p.sees(title)
		}
	}
	appears("For both of them", first, second)
	streams := `performance.getEntriesByType('resource').filter((e) => e.name.includes('/events/stream')).length`
	if value[int](second, streams) != 0 {
		t.Error("the second tab has a feed of its own")
	}
	first.must(chromedp.Do(first.ctx, chromedp.Navigate("about:blank")))
	second.until(live)
	appears("For the one that is left", second)
}

// Who looks elsewhere is told that something waits.
func TestNotifications(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open(t, "/tasks")
	_, err := chromedp.Call(p.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.told = [];
		window.Notification = class { static permission = 'default'; static requestPermission = async () => 'granted'; constructor(title, o) { told.push(title + ' ' + o.body); } };
		Object.defineProperty(Document.prototype, 'visibilityState', { get: () => 'hidden' });`})
	p.must(err)
	p.visit("/approvals")
	p.click("Notify me")
	p.sees("Notifications are on")
	p.sees("Nothing waits for you")
	p.until(`document.querySelector('.connection.live')`)
	s.run(t, s.agent(t, repair(), "title=Look at this"))
	p.until(`told.length === 1 && told[0].includes('Look at this')`)
	p.until(`document.title.startsWith('(1) ')`)
}
