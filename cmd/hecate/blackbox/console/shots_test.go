//go:build linux

package console_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"hecate/runtime/model/scripted"
)

var shots = flag.String("shots", "", "directory to write the pictures of the manual to")

// With -shots the pictures of the manual are taken anew.
func TestShots(t *testing.T) {
	if *shots == "" {
		return
	}
	s := serve(t)
	done := s.run(t, s.agent(t, repair(), "title=Put a comma into the greeting"))
	waiting := s.run(t, s.agent(t, repair(), "title=Repair the greeting"))
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
		{"run", done, 1440, 900, true},
		{"approval", waiting, 1440, 900, false},
		{"changes", done + "/changes", 1280, 800, false},
		{"tasks", "/tasks", 1280, 560, true},
		{"narrow", waiting, 360, 740, true},
	} {
		p.resize(shot.width, shot.height)
		p.dark(shot.dark)
		p.visit(shot.path)
		p.until(`!document.querySelector('.loading') && document.querySelector('h1').innerText !== '…' && document.querySelector('.row, .task-row, .diff, .approval') && document.querySelector('.connection.live')`)
		p.must(os.WriteFile(filepath.Join(*shots, "console-"+shot.name+".png"), p.picture(), 0o644))
	}
}
