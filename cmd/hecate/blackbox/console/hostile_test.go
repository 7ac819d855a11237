//go:build linux

package console_test

import (
	"testing"

	"hecate/runtime/model/scripted"
)

// What a model writes is text, whatever it looks like: nothing in it runs, loads or poses
// as part of the page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	s := common(t)
	const evil = "<script>window.ran = 1</script><img src='http://127.0.0.1:1/x.png' onerror='window.ran = 2'>" +
		"<a href='javascript:window.ran = 3'>one</a> [two](javascript:window.ran=4) ![three](http://127.0.0.1:1/y.png) " +
		"<form action='/x'><button class='button primary'>Approve</button></form><style>body { display: none }</style>" +
		"<div style='position: fixed' class='notices' id='app'>four</div><svg onload='window.ran = 5'></svg>\n\n```go\n</code></pre><b id='bold'>five</b>\n```\n\nThe end of it."
	c := conversation{prompt: "Say <b>this</b>", replies: []scripted.Reply{
		asks(evil, call("a", "file_write", args{"path": "<img src=x onerror=window.ran=6>.md", "content": evil})),
		says(evil),
	}}
	path := s.run(t, s.agent(t, c, "title=<i>Hostile</i>"))
	p := s.open(t, path)
	p.sees("Approve 1 call")
	p.sees("The end of it.")
	clean := func() {
		t.Helper()
		if n := value[int](p, `document.querySelectorAll('main :is(script, img, form[action], style, #bold, #app, [style*=fixed], [onerror], [onload], a[href^=javascript])').length`); n != 0 {
			t.Errorf("%d elements of the model's in the page", n)
		}
		if value[bool](p, `'ran' in window`) {
			t.Error("something of the model's has run")
		}
	}
	clean()
	p.pressUntil("a", `document.querySelector('.run-state')?.innerText.includes('completed')`)
	p.press("2")
	p.sees("retry from here")
	clean()
	p.press("3")
	p.until(`document.querySelector('.patch .diff')`)
	clean()
}
