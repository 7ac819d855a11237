//go:build linux

package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long something may take until it is seen.
const patience = 2 * time.Minute

// page is a tab of the browser.
type page struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string
}

// open opens a tab at a path of the server. What the browser complains about in it fails
// the test, but for what is allowed.
func (s *server) open(t *testing.T, path string, allowed ...string) *page {
	t.Helper()
	if browser == nil {
		t.Skip(errNoBrowser)
	}
	// Another person at another machine.
	return s.tab(browser, t, path, allowed, chromedp.WithNewBrowserContext())
}

// another opens one more tab of the same person.
func (p *page) another(s *server, path string) *page {
	p.t.Helper()
	return s.tab(p.ctx, p.t, path, nil)
}

func (s *server) tab(parent context.Context, t *testing.T, path string, allowed []string, options ...chromedp.ContextOption) *page {
	t.Helper()
	ctx, stop := chromedp.NewContext(parent, options...)
	t.Cleanup(stop)
	ctx, stopTime := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stopTime)
	p := &page{t: t, ctx: ctx, base: "http://" + s.addr}
	p.listen(allowed)
	p.resize(1440, 900)
	p.visit(path)
	return p
}

// listen notes complaints, and reports them when the test ends.
func (p *page) listen(allowed []string) {
	note := func(text string) {
		for _, a := range allowed {
			if strings.Contains(text, a) {
				return
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = append(p.faults, text)
	}
	err := chromedp.Listen(p.ctx, func(ev any) {
		switch e := ev.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				note(e.Entry.Text + " " + e.Entry.URL)
			}
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				note(fmt.Sprintf("console.%s: %v", e.Type, e.Args))
			}
		case *runtime.EventExceptionThrown:
			note(e.ExceptionDetails.Text + " " + thrown(e.ExceptionDetails))
		}
	})
	p.must(err)
	_, err = chromedp.Call(p.ctx, log.Enable, cdp.Empty{})
	p.must(err)
	p.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.faults {
			p.t.Errorf("the browser complains: %s", f)
		}
	})
}

// thrown is what was thrown, as the browser describes it.
func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception == nil {
		return d.URL
	}
	return d.Exception.Description + string(d.Exception.Value)
}

func (p *page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) resize(width, height int64) {
	p.t.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)))
}

func (p *page) dark(on bool) {
	p.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[on]
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	p.must(err)
}

// visit loads a path of the server.
func (p *page) visit(path string) {
	p.t.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.Navigate(p.base+path)))
	p.until(`document.querySelector('main h1, main .empty, main .problem')`)
}

// value is what an expression in the page is.
func value[T any](p *page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until returns when an expression is true.
func (p *page) until(expression string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		text := value[string](p, "document.body.innerText")
		p.t.Fatalf("never true: %s: %v; the page at %s says:\n%s", expression, err, value[string](p, "location.pathname"), text[:min(len(text), 3000)])
	}
}

// sees returns when the page shows a text.
func (p *page) sees(text string) {
	p.t.Helper()
	p.until("document.body.innerText.includes(" + quote(text) + ")")
}

// sayingOf is an expression for the first shown control whose text or label holds the words.
func sayingOf(words string) string {
	return `[...document.querySelectorAll('button, a, summary, label, [role=button]')].find((e) => e.checkVisibility() && !e.disabled && ` +
		`((e.getAttribute('aria-label') ?? '') + ' ' + e.innerText).includes(` + quote(words) + `))`
}

// click clicks the control that says so, once it is there.
func (p *page) click(words string) {
	p.t.Helper()
	p.until(sayingOf(words))
	value[chromedp.Void](p, sayingOf(words)+".click()")
}

// fill types into the field of that name.
func (p *page) fill(name, text string) {
	p.t.Helper()
	selector := chromedp.CSS(`[name="` + name + `"]`)
	// A field that is drawn at this moment takes the focus a moment later.
	p.until(`(() => { const e = document.querySelector('[name="` + name + `"]'); e?.focus(); return e && document.activeElement === e; })()`)
	p.must(chromedp.Do(p.ctx, chromedp.SendKeys(selector, text)))
}

// pressUntil presses a key until the page says that it counted: while a page is drawn anew
// a key goes nowhere, as it would for a person, who presses it again.
func (p *page) pressUntil(key, js string) {
	p.t.Helper()
	for range 40 {
		p.press(key)
		for range 5 {
			if value[bool](p, "!!("+js+")") {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	p.until(js)
}

// press presses keys, one after another. A page that takes a key for itself keeps it out
// of the field that it then goes to.
func (p *page) press(keys string) {
	p.t.Helper()
	for _, k := range keys {
		key := string(k)
		if k == escape {
			key = "Escape"
		}
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key}
		if k != escape {
			down.Text = key
		}
		_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, down)
		p.must(err)
		_, err = chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key})
		p.must(err)
	}
}

const escape = '\u001b'

func (p *page) picture() []byte {
	p.t.Helper()
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must(err)
	return b
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string always encodes
	return string(b)
}
