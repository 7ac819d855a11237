//go:build linux

package console_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
		switch page {
		case path:
			p.sees("Approve 3 calls")
		case "/approvals": // other tests ask as well
			p.until(`document.querySelector('.inbox-detail .approval')`)
		}
		if width := value[int](p, `document.documentElement.scrollWidth`); width > 360 {
			t.Errorf("%s is %d pixels wide", page, width)
		}
	}
	answer(t, s, path)
	p.visit(path + "/changes")
	p.sees("proposed")
	for _, page := range []string{path + "/changes", path + "/take", path + "/restore", path + "/history", "/history", "/history/1", "/system", "/system/usage", "/system/providers", "/system/policies", "/system/permissions"} {
		p.visit(page)
		p.until(`!document.querySelector('.loading')`)
		if width := value[int](p, `document.documentElement.scrollWidth`); width > 360 {
			t.Errorf("%s is %d pixels wide", page, width)
		}
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

// A server that lets nobody in without its token is opened with it, and everything goes on.
func TestServerToken(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-enough-characters-for-all"
	s := serve(t, "HECATE_RUNTIME_TOKEN="+token)
	p := s.open(t, "/tasks", "status of 401")
	p.sees("Server token")
	field := chromedp.CSS(`dialog label:last-of-type input`)
	p.must(chromedp.Do(p.ctx, chromedp.SendKeys(field, token)))
	p.click("Use")
	p.sees("No task yet")
	p.until(`!document.querySelector('dialog') && document.querySelector('.connection.live')`)
}

// Nobody is shut out: no serious fault in the eyes of axe, in the dark and in the light.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	s := common(t)
	axe := vendored(t, "axe.js")
	done, waiting := s.run(t, s.agent(t, repair())), s.run(t, s.agent(t, repair()))
	p := s.open(t, done)
	p.sees("Approve 3 calls")
	answer(t, s, done)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	for _, page := range []string{"/tasks", "/tasks/new", "/approvals", waiting, done, done + "/conversation", done + "/changes", done + "/take", done + "/restore", done + "/history", "/history", "/system", "/system/usage", "/system/providers", "/system/policies", "/system/permissions"} {
		p.visit(page)
		p.until(`!document.querySelector('.loading')`)
		switch page {
		case waiting:
			p.sees("Approve 3 calls")
		case "/approvals":
			p.sees("binds exactly what is shown") // the first one may be another test's
		}
		value[chromedp.Void](p, axe)
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

// vendored is a file of testdata, as the script that fetched it left it.
func vendored(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("testdata/SHA256SUMS")
	if sum := fmt.Sprintf("%x  %s\n", sha256.Sum256(b), name); err != nil || !strings.Contains(string(sums), sum) {
		t.Fatalf("testdata/%s is not what SHA256SUMS says: make it anew with .ci/console/vendor (%v)", name, err)
	}
	return string(b)
}
