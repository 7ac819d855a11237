//go:build linux

package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

func focus(p *page, selector string) error {
	return chromedp.Do(p.ctx, chromedp.Focus(chromedp.CSS(selector)))
}

// The page survives the server's death and shows what happened meanwhile.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	path := s.run(t, s.agent(t, repair()))
	p := s.open(t, path, "net::ERR_")
	p.sees("Approve 3 calls")
	p.until(`document.querySelector('.connection.live')`)
	s.kill()
	p.sees("No connection")
	p.until(`(() => { const of = [...document.querySelectorAll('button')].filter((e) => /Approve 3 calls|Cancel run/.test(e.innerText)); return of.length === 2 && of.every((e) => e.disabled); })()`)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector('.connection.live')`)
	answer(t, s, path)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.sees("The greeting has its comma")
}

// answer says yes as another client does.
func answer(t *testing.T, s *server, run string) {
	t.Helper()
	at := "/tasks/" + strings.Split(run, "/")[2] + "/approvals"
	id := s.send(t, "GET", at, nil)["list"].([]any)[0].(map[string]any)["id"].(string)
	s.send(t, "POST", at+"/"+id+"/resolve", map[string]any{"decision": "approve"})
}

// Two people look at the same question: one answer counts, and both see which.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	s := common(t)
	path := s.run(t, s.agent(t, repair(), "title=Both want to answer"))
	conflict := "status of 409" // what the browser says of the slower one
	one, two := s.open(t, path, conflict), s.open(t, "/approvals", conflict)
	one.sees("Approve 3 calls")
	two.click("Both want to answer")
	two.until(`document.querySelector('.inbox-detail a')?.getAttribute('href') === ` + quote(path) + ` && ` + sayingOf("Approve 3 calls"))
	done := make(chan error, 2)
	for _, p := range []*page{one, two} {
		go func() {
			_, err := chromedp.Run(p.ctx, chromedp.Evaluate[chromedp.Void](sayingOf("Approve 3 calls")+"?.click()"))
			done <- err
		}()
	}
	one.must(<-done)
	one.must(<-done)
	one.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	two.until(`document.querySelector('.inbox-detail a')?.getAttribute('href') !== ` + quote(path))
	resolved := 0
	for _, e := range s.send(t, "GET", path+"/events", nil)["list"].([]any) {
		if e.(map[string]any)["type"] == "approval.resolved" {
			resolved++
		}
	}
	if resolved != 1 {
		t.Errorf("%d answers were taken, want 1", resolved)
	}
}

// An answer is seen while it comes.
func TestTextStreams(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := conversation{prompt: "Begin to speak", replies: []scripted.Reply{{Text: "These words come before the rest does.", HangAfterText: true}}}
	p := s.open(t, s.run(t, s.agent(t, c)))
	p.until(`document.querySelector('.row-text.coming')?.innerText.includes('before the rest')`)
	p.click("Cancel run")
	p.until(`document.querySelector('.run-state')?.innerText.includes('cancelled')`)
}

// A list that is open shows what others do.
func TestListIsLive(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := s.open(t, "/tasks")
	p.until(`document.querySelector('.connection.live')`)
	s.run(t, map[string]any{"execution_kind": "agent_loop", "title": "Comes by itself", "prompt": s.model.script(conversation{prompt: "x", replies: []scripted.Reply{says("y")}})})
	row := `[...document.querySelectorAll('.task-row')].find((e) => e.innerText.includes('Comes by itself'))`
	p.until(row + `?.innerText.includes('completed')`)
	p.press("/")
	p.press("by itself")
	p.until(`document.querySelectorAll('.task-row').length === 1`)
}
