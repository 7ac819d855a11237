//go:build linux

package console_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

// Every page has an address of its own that can be loaded.
func TestDeepLinks(t *testing.T) {
	t.Parallel()
	s := common(t)
	path := s.run(t, s.agent(t, repair()))
	p := s.open(t, path+"/changes", "status of 404")
	p.sees("Approve 3 calls")
	answer(t, s, path)
	p.until(`document.querySelector('.patch')`)
	for page, text := range map[string]string{
		path: "Model call 1", path + "/conversation": "I look at the project first.", "/tasks/new": "What is wanted", "/tasks?show=completed": "Put a comma",
		"/tasks/task_none": "not found", "/tasks/a/b": "There is nothing here",
	} {
		p.visit(page)
		p.until(`document.body.innerText.toLowerCase().includes(` + quote(strings.ToLower(text)) + `)`)
	}
}

// Nothing sticks out of a narrow screen.
func TestNarrowScreen(t *testing.T) {
	t.Parallel()
	s := common(t)
	path := s.run(t, s.agent(t, repair()))
	p := s.open(t, path)
	p.resize(360, 740)
	for _, page := range []string{path, path + "/conversation", "/tasks", "/tasks/new", "/approvals"} {
		p.visit(page)
		if page == path || page == "/approvals" {
			p.sees("Approve 3 calls")
		}
		if width := value[int](p, `document.documentElement.scrollWidth`); width > 360 {
			t.Errorf("%s is %d pixels wide", page, width)
		}
	}
	answer(t, s, path)
	p.visit(path + "/changes")
	p.sees("proposed")
	if width := value[int](p, `document.documentElement.scrollWidth`); width > 360 {
		t.Errorf("changes are %d pixels wide", width)
	}
}

// What is wrong with a task is said while it is written, at the field, and so is what the
// server finds.
func TestFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := s.open(t, "/tasks/new", "status of 400", "status of 422")
	p.fill("budget_micros_usd", "much")
	p.sees("Must be an amount")
	p.click("Create and start")
	p.sees("Say what is wanted.")
	p.until(`document.querySelector('[name=prompt]').getAttribute('aria-invalid') === 'true'`)
	p.click("Shell")
	p.fill("shell_command", "true")
	p.fill("working_directory", "relative")
	value[chromedp.Void](p, `(() => { const e = document.querySelector('[name=workspace_mode]'); e.value = 'in_place'; e.dispatchEvent(new Event('change', { bubbles: true })); })()`)
	p.sees("Must be an absolute path")
	p.sees("Changes are made to your own files")
	p.click("File")
	p.fill("file_path", "../outside")
	value[chromedp.Void](p, `(() => { const e = document.querySelector('[name=workspace_mode]'); e.value = 'ephemeral'; e.dispatchEvent(new Event('change', { bubbles: true })); })()`)
	value[chromedp.Void](p, `(() => { const e = document.querySelector('[name=working_directory]'); e.value = '/does/not/exist'; e.dispatchEvent(new Event('input', { bubbles: true })); })()`)
	p.click("Create and start")
	p.until(`location.pathname !== '/tasks/new' || document.querySelector('[aria-invalid=true], .problem')`)
}

// A server that wants to know who decides gets the token, which stays in the tab.
func TestOperatorToken(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_OPERATOR_TOKEN_REQUIRED=always")
	token, err := os.ReadFile(filepath.Join(s.dir, "data", "operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	p := s.open(t, s.run(t, s.agent(t, repair())), "status of 403", "status of 401")
	p.click("Approve 3 calls")
	p.sees("Operator token")
	field := `dialog input[type="password"]`
	p.must(chromedp.Do(p.ctx, chromedp.SendKeys(chromedp.CSS(field), "wrong")))
	p.click("Use")
	p.until(`document.querySelector('dialog .problem')`)
	p.must(chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void]("document.querySelector('dialog input').select()"), chromedp.SendKeys(chromedp.CSS(field), strings.TrimSpace(string(token)))))
	p.click("Use")
	p.until(`!document.querySelector('dialog')`)
	p.click("Approve 3 calls")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	if kept := value[string](p, `JSON.stringify(localStorage) + document.cookie + location.href`); strings.Contains(kept, strings.TrimSpace(string(token))) {
		t.Error("the token outlives the tab: " + kept)
	}
}

// A run of ten thousand rows has only those rows in the page that are near the window.
func TestLongRun(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := conversation{prompt: "Short", replies: []scripted.Reply{says("Short it is.")}}
	path := s.run(t, s.agent(t, c))
	p := s.open(t, "/tasks")
	const rows = 10_000
	body := longPicture(t, s.send(t, "GET", path, nil), rows)
	requests := chromedp.Events(p.ctx, fetch.RequestPaused)
	_, err := chromedp.Call(p.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/stream*"}}})
	p.must(err)
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if strings.Contains(r.Request.URL, "/events/stream") {
				_, _ = chromedp.Call(p.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: r.RequestID}) // the test is over otherwise
				continue
			}
			_, _ = chromedp.Call(p.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: r.RequestID, ResponseCode: 200, Body: body, ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/event-stream"}},
			})
		}
	}()
	p.visit(path)
	p.sees("row-0")
	shown := `document.querySelectorAll('.window .row').length`
	if n := value[int](p, shown); n < 10 || n > 200 {
		t.Errorf("%d rows in the page", n)
	}
	p.until(`(window.scrollTo(0, document.documentElement.scrollHeight), document.body.innerText.includes('row-9999'))`)
	if n := value[int](p, shown); n > 200 {
		t.Errorf("%d rows in the page at its end", n)
	}
}

// longPicture is the stream of a run with that many rows.
func longPicture(t *testing.T, run map[string]any, rows int) []byte {
	t.Helper()
	var activity []args
	for i := range rows {
		activity = append(activity, args{"id": fmt.Sprint("step:s", i), "type": "tool_call", "status": "completed", "tool_name": fmt.Sprint("row-", i), "occurred_at": "2026-01-01T00:00:00.000000000Z"})
	}
	frame, err := json.Marshal(args{"object": "task_run_stream_event", "data": args{
		"sequence": 1_000_000, "terminal": true, "event_type": "snapshot", "run": run, "activity": activity, "steps": []any{}, "artifacts": []any{},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "id: 1000000\nevent: snapshot\ndata: %s\n\nid: 1000000\nevent: done\ndata: %s\n\n", frame, frame)
}

// Nobody is shut out: no serious fault in the eyes of axe, in the dark and in the light.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	s := common(t)
	axe, err := os.ReadFile("testdata/axe.js")
	if err != nil {
		t.Fatal(err)
	}
	done, waiting := s.run(t, s.agent(t, repair())), s.run(t, s.agent(t, repair()))
	p := s.open(t, done)
	p.sees("Approve 3 calls")
	answer(t, s, done)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	for _, page := range []string{"/tasks", "/tasks/new", "/approvals", waiting, done, done + "/conversation", done + "/changes"} {
		p.visit(page)
		if page == waiting || page == "/approvals" {
			p.sees("Approve 3 calls")
		}
		value[chromedp.Void](p, string(axe))
		for _, dark := range []bool{true, false} {
			p.dark(dark)
			rules := "undefined"
			if !dark { // only colours differ
				rules = "['color-contrast']"
			}
			found, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](`axe.run(document, { resultTypes: ['violations'], runOnly: `+rules+` }).then((r) => r.violations
				.filter((v) => v.impact === 'serious' || v.impact === 'critical')
				.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.any.map((a) => a.message).join(' ')).join(' | ')))`, chromedp.EvalAwaitPromise))
			p.must(err)
			for _, f := range found {
				t.Errorf("%s (dark: %v): %s", page, dark, f)
			}
		}
	}
}

var shots = flag.String("shots", "", "directory to write the pictures of the manual to")

// With -shots the pictures of the manual are taken anew.
func TestShots(t *testing.T) {
	if *shots == "" {
		return
	}
	s := serve(t)
	done, waiting := s.run(t, s.agent(t, repair())), s.run(t, s.agent(t, repair()))
	p := s.open(t, done)
	p.sees("Approve 3 calls")
	answer(t, s, done)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	s.run(t, map[string]any{"execution_kind": "agent_loop", "title": "Explain the package", "prompt": s.model.script(conversation{prompt: "x", replies: []scripted.Reply{says("It greets.")}})})
	for _, shot := range []struct {
		name, path    string
		width, height int64
		dark          bool
	}{
		{"run", done, 1440, 900, true}, {"approval", waiting, 1440, 900, false}, {"changes", done + "/changes", 1280, 800, false},
		{"tasks", "/tasks", 1280, 560, true}, {"narrow", waiting, 360, 740, true},
	} {
		p.resize(shot.width, shot.height)
		p.dark(shot.dark)
		p.visit(shot.path)
		p.until(`!document.querySelector('.loading') && document.querySelector('.row, .task-row, .diff, .approval') && document.querySelector('.connection.live')`)
		p.must(os.WriteFile(filepath.Join(*shots, "console-"+shot.name+".png"), p.picture(), 0o644))
	}
}
