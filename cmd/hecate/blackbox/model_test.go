//go:build linux

package blackbox_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hecate/runtime/model/scripted"
)

const modelName = "scripted-model"

type reply = scripted.Reply

// fakeModel is a model server whose answers the tests write, one conversation per
// task: a mark in the task's prompt tells them apart.
type fakeModel struct {
	url  string
	stop func()
	seen atomic.Int64 // what clients of servers with this model have seen of their log
	busy atomic.Int64 // requests that are being answered

	mu            sync.Mutex
	conversations map[string]*conversation
}

// conversation is the script of one task and what the model was asked for it.
type conversation struct {
	byTurn  bool // the answer depends on how many there were before, so that a call that is made again gets the same
	mark    string
	replies []reply
	// each makes reply n (from 0) if it is set.
	each func(n int) reply

	mu       sync.Mutex
	requests []modelRequest
}

// modelRequest is one call as the provider got it (OpenAI's dialect, or Anthropic's raw).
type modelRequest struct {
	doc
	raw string
}

var (
	marks = regexp.MustCompile(`case-\d+-end`)
	cases atomic.Int64
)

func startModel() (*fakeModel, error) {
	m := &fakeModel{conversations: map[string]*conversation{}}
	s := scripted.New(scripted.Script{Func: m.answer})
	s.Models = []string{modelName}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.busy.Add(1)
		defer m.busy.Add(-1)
		s.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(ln) }() // ends with stop
	m.url, m.stop = "http://"+ln.Addr().String(), func() { _ = server.Close() }
	return m, nil
}

// script prepares the answers of a new conversation, in order. A request beyond
// the last one is refused, which fails its run.
func (m *fakeModel) script(replies ...reply) *conversation {
	c := &conversation{mark: fmt.Sprintf("case-%d-end", cases.Add(1)), replies: replies}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conversations[c.mark] = c
	return c
}

func (m *fakeModel) answer(_ int, r scripted.Request) reply {
	m.mu.Lock()
	c := m.conversations[marks.FindString(string(r.Body))]
	m.mu.Unlock()
	if c == nil {
		return refusal("no conversation has this prompt")
	}
	return c.next(r.Body)
}

func (c *conversation) next(body []byte) reply {
	d, err := parse(body)
	if err != nil {
		return refusal("the request is no JSON")
	}
	c.mu.Lock()
	n := len(c.requests)
	c.requests = append(c.requests, modelRequest{d, string(body)})
	c.mu.Unlock()
	if c.byTurn {
		n = 0
		for _, m := range d.list("messages") {
			if m.str("role") == "assistant" {
				n++
			}
		}
	}
	switch {
	case hasBrokenArguments(d):
		return refusal("the arguments of a tool call are no JSON")
	case c.each != nil:
		return c.each(n)
	case n < len(c.replies):
		return c.replies[n]
	}
	return refusal("the script is at its end")
}

// hasBrokenArguments is what makes strict providers refuse a conversation for good.
func hasBrokenArguments(request doc) bool {
	for _, m := range request.list("messages") {
		for _, call := range m.list("tool_calls") {
			if !json.Valid([]byte(call.str("function", "arguments"))) {
				return true
			}
		}
	}
	return false
}

func (c *conversation) asked() []modelRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]modelRequest(nil), c.requests...)
}

func (c *conversation) count() int { return len(c.asked()) }

// awaitRequests returns when the model has been asked n times.
func (c *conversation) awaitRequests(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d model requests", n), func() bool { return c.count() >= n })
}

// request returns what the model was asked at a place, from 0.
func (c *conversation) request(t *testing.T, i int) modelRequest {
	t.Helper()
	c.awaitRequests(t, i+1)
	return c.asked()[i]
}

// results are the tool results in a request: ids in order, and one text for each.
func (r modelRequest) results() (ids, texts []string) {
	for _, m := range r.list("messages") {
		if m.str("role") == "tool" {
			ids = append(ids, m.str("tool_call_id"))
			texts = append(texts, m.str("content"))
		}
	}
	return ids, texts
}

// answered asserts that the request holds results of exactly these calls, in this
// order, and returns their texts.
func (r modelRequest) answered(t *testing.T, calls ...string) []string {
	t.Helper()
	ids, texts := r.results()
	if !slices.Equal(ids, calls) {
		t.Fatalf("results of %v, want %v", ids, calls)
	}
	return texts
}

// tools are the names in the catalogue of a request.
func (r modelRequest) tools() string {
	var names []string
	for _, tool := range r.list("tools") {
		names = append(names, tool.str("function", "name"))
	}
	return strings.Join(names, " ")
}

type args = map[string]any

func says(text string) reply { return reply{Text: text} }

func asks(calls ...scripted.Call) reply { return reply{Calls: calls} }

func call(id, tool string, arguments any) scripted.Call {
	return scripted.ToolCall(id, tool, arguments)
}

func shell(id, command string) scripted.Call {
	return call(id, "shell_exec", args{"command": command})
}

// costing is a reply whose provider reports what it cost.
func costing(r reply, microUSD int64) reply {
	r.Cost, r.Usage = &microUSD, &[2]int64{100, 10}
	return r
}

func refusal(message string) reply {
	body, _ := json.Marshal(args{"error": args{"type": "invalid_request_error", "message": message}}) // maps of strings always encode
	return reply{HTTP: 400, Body: body}
}
