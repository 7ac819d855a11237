//go:build linux

package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

// A task from its first word to its reviewed change, without leaving the console.
func TestCreateWatchApproveReview(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := s.open(t, "/", "status of 409") // what the browser says of the refusal at the end
	p.press("n")
	p.until(`document.activeElement.name === 'prompt'`)
	p.fill("prompt", s.model.script(repair()))
	p.fill("working_directory", project(t))
	p.fill("budget_micros_usd", "0.05")
	p.click("Create and start")

	p.sees("The agent wants to make 3 calls")
	p.sees(`echo ok; echo 'a test is missing' >&2; exit 1`)
	p.sees("policy shell_exec asks before shell_exec")
	p.until(`document.querySelector('.approval .diff mark')`)
	p.click("Approve 3 calls")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.until(`!document.querySelector('.approval')`)
	p.sees("The greeting has its comma")
	p.sees("a test is missing") // stderr of the failed command, unasked
	p.until(`[...document.querySelectorAll('.output-head')].map((e) => e.innerText.split(' ')[0]).join() === 'stdout,stderr'`)
	if calls := value[int](p, `document.querySelectorAll('.chart rect').length`); calls != 3 {
		t.Errorf("%d bars for 3 model calls", calls)
	}
	p.sees("of $0.0500")

	p.press("3")
	p.sees("proposed")
	p.click("Apply")
	p.until(`[...document.querySelectorAll('.patch .status')].every((e) => e.innerText.includes('applied'))`)
	p.click("Revert")
	p.until(`document.querySelector('.notice')`) // the later patch stands on the earlier one: refused, and said so
}

// One call is allowed for the session, one refused with a word to the model.
func TestAnswerCallByCall(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := conversation{prompt: "Two calls", replies: []scripted.Reply{
		asks("", call("a", "file_write", args{"path": "a.txt", "content": "A\n"}), call("b", "shell_exec", args{"command": "rm -rf build"})),
		says("It is done as you said."),
	}}
	path := s.run(t, s.agent(t, c))
	p := s.open(t, path)
	p.sees("Approve 2 calls")
	p.press("j")
	p.until(`document.activeElement.matches('.call')`)
	p.press("s")
	p.sees("in this run and those that go on from it")
	p.press("j")
	p.press("x")
	p.until(sayingOf("Approve 1, refuse 1"))
	p.must(focus(p, ".call:focus input[placeholder]"))
	p.press("use make clean instead")
	p.press(string(escape))
	p.pressUntil("a", `document.querySelector('.run-state')?.innerText.includes('completed')`)
	task := strings.Split(path, "/")[2]
	approval := s.send(t, "GET", "/tasks/"+task+"/approvals", nil)["list"].([]any)[0].(map[string]any)
	calls := approval["calls"].([]any)
	first, second := calls[0].(map[string]any), calls[1].(map[string]any)
	if first["answer"] != "approved" || first["scope"] != "session" || second["answer"] != "denied" {
		t.Errorf("the answers: %v, %v", first, second)
	}
	p.press("2")
	p.sees("use make clean instead")
}

// A run is refused, goes on, and is gone on with.
func TestRefuseAndContinue(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := conversation{prompt: "Ask and be refused", replies: []scripted.Reply{
		asks("", call("a", "shell_exec", args{"command": "reboot"})), says("Then I leave it."), says("You are welcome."),
	}}
	p := s.open(t, s.run(t, s.agent(t, c)))
	p.sees("Approve 1 call")
	p.press("r")
	p.click("Refuse and go on")
	p.sees("Then I leave it.")
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.click("Continue …")
	p.sees("retry from here")
	p.until(`document.activeElement.matches('.composer textarea')`)
	p.press("Thank you")
	value[chromedp.Void](p, `document.querySelector('.composer .primary').click()`)
	p.sees("You are welcome.")
	p.until(`document.querySelectorAll('.chain .stop').length === 2 && document.querySelector('.chain [aria-current]').innerText.includes('continue')`)
	p.press("2")
	p.until(`document.querySelectorAll('.again').length === 1`) // only the answer that this run made
	p.sees("model call 1 of run 1")
	p.click("retry from here")
	p.sees("cost as those of any run do")
	p.click("Start the run")
	p.until(`document.querySelectorAll('.chain .stop').length === 3`)
	p.until(`document.querySelector('.run-state')?.innerText.includes('completed')`)
}

// A command by itself is asked about as it would run, and shows what it printed.
func TestDirectCommand(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := s.open(t, s.run(t, map[string]any{"execution_kind": "shell", "shell_command": "echo all is well", "working_directory": project(t)}))
	p.until(`document.querySelector('.approval .code')?.innerText.includes('echo all is well')`)
	p.pressUntil("a", `document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.until(`document.querySelector('.output.stdout')?.innerText.includes('all is well') && !document.querySelector('.output.stderr')`)
	p.sees("stderr empty")
	p.click("Advanced")
	p.sees("No bytes captured for this stream.")
}
