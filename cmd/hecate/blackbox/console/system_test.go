//go:build linux

package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

// The pages of the system say how it stands, and change what the API lets them.
func TestSystem(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open(t, "/system")
	p.until(`[...document.querySelectorAll('.list .status')].some((e) => e.innerText.includes('up to date'))`)
	p.sees("on the server’s own machine")
	p.click("Rebuild runs")
	p.sees("runs is made anew")
	p.click("Providers")
	p.until(`document.querySelector('.card-title')?.innerText.includes('fake')`)
	p.click("Refresh")
	p.click("Work policies")
	p.click("New policy")
	p.fill("policy_name", "Only docs")
	p.fill("policy_id", "only_docs")
	p.click("Save")
	p.click("Change Only docs")
	p.click("Allow the network")
	p.click("Save")
	p.until(`[...document.querySelectorAll('.card')].find((e) => e.getAttribute('aria-label') === 'Only docs')?.innerText.match(/Network\s+allowed/)`)
	if s.send(t, "GET", "/agent-presets/only_docs", nil)["network_allowed"] != true {
		t.Error("the policy is not changed")
	}
	p.click("Delete Only docs")
	confirm(p)
	p.until(`!document.querySelector('[aria-label="Only docs"]')`)
}

// What was allowed for a session, and what a file says, is revoked.
func TestRevoke(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := conversation{prompt: "One call", replies: []scripted.Reply{asks("", call("a", "file_write", args{"path": "a.txt", "content": "A\n"})), says("Done.")}}
	task := s.agent(t, c, "title=One call for the session")
	p := s.open(t, s.run(t, task))
	p.sees("Approve 1 call")
	p.press("j")
	p.until(`document.activeElement.matches('.call')`)
	p.press("s")
	p.sees("in this run and those that go on from it")
	p.click("Approve 1 call")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	dir := task["working_directory"].(string)
	file := s.send(t, "GET", "/permissions?dir="+dir, nil)["user_file"].(string)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, file, "[permissions]\ndeny = [\"exec(rm)\"]\n")
	p.visit("/system/permissions")
	p.until(`document.querySelectorAll('.entry').length === 2`)
	p.sees("One call for the session")
	for left := 1; left >= 0; left-- {
		p.click("Revoke ")
		confirm(p)
		p.until(fmt.Sprintf(`!document.querySelector('dialog') && document.querySelectorAll('.entry').length === %d`, left))
	}
	p.sees("Nothing was given for a session")
	if text := content(t, filepath.Dir(file), filepath.Base(file)); strings.Contains(text, "exec") {
		t.Errorf("the file is\n%s", text)
	}
}

// confirm says yes in a dialog that asks whether something is to go.
func confirm(p *page) {
	p.t.Helper()
	p.until(`document.querySelector('dialog .danger')`)
	value[chromedp.Void](p, `document.querySelector('dialog .danger').click()`)
}
