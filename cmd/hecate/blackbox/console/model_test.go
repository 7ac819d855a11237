//go:build linux

package console_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"hecate/runtime/model/scripted"
)

// model is a provider whose answers the tests write. Conversations are told apart by a
// mark in the prompt.
type model struct {
	url  string
	stop func()

	mu      sync.Mutex
	scripts []conversation
}

// conversation is the answers of one task, in order, and what it says to begin with.
type conversation struct {
	prompt  string
	replies []scripted.Reply
	// each makes answer n (from 0) if it is set.
	each func(n int) scripted.Reply
}

func startModel() (*model, error) {
	m := &model{}
	s := scripted.New(scripted.Script{Func: m.answer})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(ln) }() // ends with stop
	m.url, m.stop = "http://"+ln.Addr().String(), func() { _ = server.Close() }
	return m, nil
}

// script prepares a conversation and returns the prompt that begins it.
func (m *model) script(c conversation) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scripts = append(m.scripts, c)
	return fmt.Sprintf("%s (case %d)", c.prompt, len(m.scripts))
}

func (m *model) answer(_ int, r scripted.Request) scripted.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	body := string(r.Body)
	for i, c := range m.scripts {
		if !strings.Contains(body, fmt.Sprintf("(case %d)", i+1)) {
			continue
		}
		n := strings.Count(body, `"role":"assistant"`)
		if c.each != nil {
			return c.each(n)
		}
		if n < len(c.replies) {
			return c.replies[n]
		}
	}
	return scripted.Reply{Text: "There is nothing more to do."}
}

type args = map[string]any

func says(text string) scripted.Reply { return priced(scripted.Reply{Text: text}) }

func asks(text string, calls ...scripted.Call) scripted.Reply {
	return priced(scripted.Reply{Text: text, Calls: calls})
}

func priced(r scripted.Reply) scripted.Reply {
	cost := int64(1200 + 10*len(r.Text))
	r.Cost, r.Usage = &cost, &[2]int64{900, int64(20 + len(r.Text))}
	return r
}

func call(id, tool string, arguments any) scripted.Call {
	return scripted.ToolCall(id, tool, arguments)
}

// repair is a whole piece of work: it reads, changes, runs a command that fails, and
// proposes something.
func repair() conversation {
	return conversation{prompt: "Put a comma into the greeting", replies: []scripted.Reply{
		asks("I look at the project first.", call("c1", "list_dir", args{"path": "."}), call("c2", "read_file", args{"path": "greet.go"})),
		asks("The greeting lacks a comma. I repair it and run the tests.",
			call("c3", "file_edit", args{"path": "greet.go", "old_text": `"Hello "`, "new_text": `"Hello, "`}),
			call("c4", "shell_exec", args{"command": "echo ok; echo 'a test is missing' >&2; exit 1"}),
			call("c5", "file_edit", args{"path": "greet.go", "old_text": "package greet", "new_text": "// Package greet says hello.\npackage greet", "propose": true})),
		says("## Done\n\nThe greeting has its **comma**:\n\n- `greet.go` is changed\n- a comment is proposed\n"),
	}}
}
