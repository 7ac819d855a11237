package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// contractServer speaks as much of the wire contract as the command line uses. It
// plays a script of events for one task with one run, and stops at an approval
// until somebody answers it or cancels the run.
type contractServer struct {
	*httptest.Server
	script []scriptedEvent

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when something happened
	events   []json.RawMessage
	pending  string // the approval that waits
	status   string
	said     []string // the requests that changed something, and their bodies
	conflict bool     // answers come too late
	digest   string   // the only one that is accepted, "" for any
	direct   obj      // what the task has, if it has no model
	answered func()   // what happens, at the first question, without anybody's request
	follows  obj      // what the run has, if it follows an earlier one
	answers  obj      // what is answered at other paths below /hecate/v1
	forbid   int      // the status with which those are refused, if it is not 0
	busy     int      // how often a cancel is refused before it is carried out
}

type scriptedEvent struct {
	typ  string
	data map[string]any
}

func ev(typ string, data map[string]any) scriptedEvent { return scriptedEvent{typ, data} }

type obj = map[string]any

// call is one model call with its tool calls, and the end of each of them.
func callEvents(index int, text string, calls ...obj) []scriptedEvent {
	out := []scriptedEvent{
		ev("model.call.started", obj{"model_call_index": index, "model": "m", "provider": "p"}),
		ev("model.call.completed", obj{"model_call_index": index, "cost_micros_usd": 1500, "run_cumulative_cost_micros_usd": 1500 * index, "cost_known": true, "tool_calls": len(calls)}),
	}
	if text != "" {
		out = append(out, ev("assistant.text_complete", obj{"model_call_index": index, "text": text}))
	}
	for _, c := range calls {
		c["model_call_index"] = index
		out = append(out, ev("assistant.tool_call_proposed", c))
	}
	if len(calls) == 0 {
		out = append(out, ev("assistant.final_answer", obj{"model_call_index": index, "summary": text}))
	}
	return out
}

var shellCall = obj{"tool_call_id": "c1", "tool_name": "shell_exec", "input": obj{"command": "go test ./..."}}

func asks(rule string) scriptedEvent {
	return ev("approval.requested", obj{
		"approval_id": "approval_1", "kind": "agent_loop_tool_call", "policy_reason": "Agent requested tools that require approval: shell_exec",
		"model_call_index": 1,
		"calls":            []any{obj{"tool_call_id": "c1", "tool_name": "shell_exec", "gates": []string{rule}, "ruling": obj{"decision": "ask", "level": 2, "rule": rule}}},
	})
}

// offering makes the question of a script one that can be answered for more than once.
func offering(script []scriptedEvent) []scriptedEvent {
	for _, e := range script {
		if e.typ == "approval.requested" {
			call := e.data["calls"].([]any)[0].(obj)
			call["answers"] = []string{"y", "a", "A", "e", "n", "N"}
			call["offer"] = obj{"scope": "shell(go test ./...)", "covers": "shell with exactly this command, character for character", "list": "permissions.promoted"}
			call["locks"], call["notes"] = []string{"build-output"}, []string{`the file "x" is run as it is when the call starts`}
			e.data["remember_in"] = "/project/.hecate/config.toml"
		}
	}
	return script
}

// gated is a run whose only tool call asks.
func gated(rule string) []scriptedEvent {
	s := append([]scriptedEvent{ev("run.created", obj{"number": 1, "status": "queued"}), ev("run.started", obj{"workspace_path": "/ws/run_1"})}, callEvents(1, "Now the tests.", shellCall)...)
	s = append(s, asks(rule))
	s = append(s, ev("tool.shell.command", obj{"tool_call_id": "c1", "tool_name": "shell_exec", "command_string": "go test ./..."}),
		ev("tool.shell.output_chunk", obj{"tool_call_id": "c1", "stream": "stdout", "data": "ok\n"}),
		ev("tool.completed", obj{"tool_call_id": "c1", "tool_name": "shell_exec", "duration_ms": 12, "summary": "exited with status 0"}))
	s = append(s, callEvents(2, "All tests pass.")...)
	return append(s, ev("run.finished", obj{"final_status": "completed", "model_call_count": 2}))
}

func newContractServer(t *testing.T, script []scriptedEvent) *contractServer {
	s := &contractServer{script: script, changed: make(chan struct{}), status: "not_started"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok","version":"test"}`) })
	mux.HandleFunc("POST /hecate/v1/tasks", s.createTask)
	mux.HandleFunc("GET /hecate/v1/tasks", func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("q") == "":
			s.reply(w, []any{s.task()})
		case q.Get("before") == "42":
			s.reply(w, []any{})
		case q.Get("before") == "": // what a search looked at first has none
			fmt.Fprint(w, `{"object":"tasks","data":[],"next_before":50}`)
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"object": "tasks", "data": []any{s.task()}, "next_before": 42})
		}
	})
	mux.HandleFunc("GET /hecate/v1/tasks/{task}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("task") != "task_1" {
			s.refuse(w, 404, "not_found", "task not found")
			return
		}
		s.reply(w, s.task())
	})
	mux.HandleFunc("POST /hecate/v1/tasks/task_1/start", func(w http.ResponseWriter, r *http.Request) { s.note(r); s.play(); s.reply(w, s.run()) })
	mux.HandleFunc("GET /hecate/v1/tasks/task_1/runs", func(w http.ResponseWriter, _ *http.Request) { s.reply(w, []any{s.run()}) })
	mux.HandleFunc("GET /hecate/v1/tasks/task_1/runs/run_1", func(w http.ResponseWriter, _ *http.Request) { s.reply(w, s.run()) })
	mux.HandleFunc("POST /hecate/v1/tasks/task_1/runs/run_1/cancel", s.cancelRun)
	mux.HandleFunc("GET /hecate/v1/tasks/task_1/runs/run_1/patches", func(w http.ResponseWriter, _ *http.Request) {
		s.reply(w, []any{obj{"artifact": obj{"id": "a1"}, "path": "/ws/run_1/idea\u001b[2J.go", "status": "proposed"}})
	})
	mux.HandleFunc("GET /hecate/v1/tasks/task_1/runs/run_1/events", s.listEvents)
	mux.HandleFunc("GET /hecate/v1/tasks/task_1/approvals", func(w http.ResponseWriter, _ *http.Request) { s.reply(w, s.approvals()) })
	mux.HandleFunc("POST /hecate/v1/tasks/task_1/approvals/approval_1/resolve", s.resolve)
	mux.HandleFunc("GET /hecate/v1/events/stream", s.streamEvents)
	projections := func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		s.reply(w, []any{obj{"name": "runs", "position": 7, "head": 9, "lag": 2, "parked": 0, "rebuilding": false}})
	}
	mux.HandleFunc("GET /hecate/v1/system/projections", projections)
	mux.HandleFunc("POST /hecate/v1/system/projections/rebuild", projections)
	for _, how := range []string{"retry", "resume", "continue", "retry-from-model-call"} {
		mux.HandleFunc("POST /hecate/v1/tasks/task_1/runs/run_1/"+how, func(w http.ResponseWriter, r *http.Request) { s.note(r); s.play(); s.reply(w, s.run()) })
	}
	mux.HandleFunc("/hecate/v1/", s.other)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *contractServer) reply(w http.ResponseWriter, data any) {
	s.mu.Lock()
	w.Header().Set("Hecate-Position", strconv.Itoa(5+len(s.events)))
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(obj{"object": "x", "data": data})
}

func (s *contractServer) refuse(w http.ResponseWriter, status int, typ, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(obj{"error": obj{"type": typ, "message": message}})
}

// other answers what a test has an answer for.
func (s *contractServer) other(w http.ResponseWriter, r *http.Request) {
	data, known := s.answers[strings.TrimPrefix(r.URL.RequestURI(), "/hecate/v1")]
	if r.Method != http.MethodGet {
		s.note(r)
	}
	if s.forbid != 0 {
		s.refuse(w, s.forbid, "forbidden", "not from here")
		return
	}
	if !known {
		s.refuse(w, 404, "not_found", "there is nothing at "+r.URL.Path)
		return
	}
	s.reply(w, data)
}

// note remembers a request that changes something.
func (s *contractServer) note(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL.Path, "/hecate/v1")+" "+string(body)))
}

func (s *contractServer) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, "\n")
}

func (s *contractServer) createTask(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	s.reply(w, s.task())
}

func (s *contractServer) task() obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := obj{"id": "task_1", "title": "Repair \x1b[31mit", "prompt": "Repair it", "status": s.status, "execution_kind": "agent_loop", "created_at": "2026-01-02T03:04:05Z"}
	maps.Copy(t, s.direct)
	if s.status != "not_started" {
		t["latest_run_id"] = "run_1"
	}
	if s.pending != "" {
		t["pending_approval_count"] = 1
	}
	return t
}

func (s *contractServer) run() obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := obj{"id": "run_1", "task_id": "task_1", "number": 1, "status": s.status, "model_call_count": 2, "total_cost_micros_usd": 3000, "cost_known": true}
	maps.Copy(r, s.follows)
	return r
}

func (s *contractServer) approvals() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == "" {
		return []any{}
	}
	return []any{obj{"id": s.pending, "task_id": "task_1", "run_id": "run_1", "kind": "agent_loop_tool_call", "status": "pending"}}
}

// play appends the script up to the next approval.
func (s *contractServer) play() {
	s.mu.Lock()
	s.status = "running"
	var stopped bool
	for len(s.script) > 0 && !stopped {
		e := s.script[0]
		s.script = s.script[1:]
		s.append(e)
		stopped = e.typ == "approval.requested" || e.typ == "hang"
	}
	after := s.answered
	s.answered = nil
	s.mu.Unlock()
	if stopped && after != nil {
		after()
	}
}

// append adds an event. The caller holds the lock.
func (s *contractServer) append(e scriptedEvent) {
	if e.typ == "hang" {
		return
	}
	n := len(s.events) + 6 // the first events of the log are another run's
	b, _ := json.Marshal(obj{
		"schema_version": "1", "event_id": fmt.Sprintf("evt_%d", n), "task_id": "task_1", "run_id": "run_1", "sequence": n,
		"occurred_at": time.Date(2026, 1, 2, 3, 4, 5, n*100_000_000, time.UTC), "type": e.typ, "data": e.data,
	})
	s.events = append(s.events, b)
	switch e.typ {
	case "approval.requested":
		s.pending, s.status = "approval_1", "awaiting_approval"
	case "run.finished":
		s.status = "completed"
	case "run.failed":
		s.status = "failed"
	case "run.cancelled":
		s.status = "cancelled"
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *contractServer) happen(events ...scriptedEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = ""
	for _, e := range events {
		s.append(e)
	}
}

func (s *contractServer) cancelRun(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	if s.busy > 0 {
		s.busy--
		s.refuse(w, http.StatusServiceUnavailable, "unavailable", "try again")
		return
	}
	s.happen(ev("run.cancelled", obj{"by": "operator", "reason": "run cancelled"}))
	s.reply(w, s.run())
}

func (s *contractServer) resolve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Decision, Digest string
		Continue         bool
	}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	s.mu.Lock()
	s.said = append(s.said, "POST resolve "+string(raw))
	late := s.conflict
	s.mu.Unlock()
	switch {
	case s.digest != "" && body.Digest != s.digest:
		s.refuse(w, 409, "invalid_request", "what waits is not what was shown")
		return
	case late:
		s.happen()
		s.refuse(w, 409, "invalid_request", "the approval is answered already")
		s.happen(ev("approval.resolved", obj{"status": "approved", "by": "operator"}))
		s.play()
		return
	case body.Continue:
		s.happen(ev("approval.resolved", obj{"approval_id": "approval_1", "status": "rejected", "by": "operator"}))
		s.play()
	case body.Decision == "approve":
		s.happen(ev("approval.resolved", obj{"approval_id": "approval_1", "status": "approved", "by": "operator"}))
		s.play()
	default:
		s.happen(ev("approval.resolved", obj{"status": "rejected", "by": "operator"}), ev("run.cancelled", obj{"by": "operator", "reason": "approval rejected"}))
	}
	s.reply(w, obj{"id": "approval_1", "status": map[string]string{"approve": "approved", "reject": "rejected"}[body.Decision]})
}

func (s *contractServer) from(after int64) ([]json.RawMessage, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[min(max(int(after)-5, 0), len(s.events)):], s.changed
}

func (s *contractServer) listEvents(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after_sequence"), 10, 64)
	page, _ := s.from(after)
	s.reply(w, append([]json.RawMessage{}, page[:min(len(page), 4)]...))
}

func (s *contractServer) streamEvents(w http.ResponseWriter, r *http.Request) {
	cursor, _ := strconv.ParseInt(r.URL.Query().Get("after_sequence"), 10, 64)
	cursor = max(cursor, 5)
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		page, changed := s.from(cursor)
		for _, e := range page {
			cursor++
			fmt.Fprintf(w, "id: %d\nevent: event\ndata: {\"object\":\"event\",\"data\":%s}\n\n", cursor, e)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
