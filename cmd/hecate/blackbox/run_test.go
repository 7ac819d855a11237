//go:build linux

package blackbox_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// run is one run of one task on a server.
type run struct {
	*server
	task, id string
}

// create makes a task and returns it.
func (s *server) create(t *testing.T, fields args) doc {
	t.Helper()
	return s.post(t, api+"/tasks", fields)
}

// begin makes a task and starts it.
func (s *server) begin(t *testing.T, task args, more ...args) run {
	t.Helper()
	id := s.create(t, fields(task, more...)).str("id")
	started := s.post(t, api+"/tasks/"+id+"/start", args{})
	return run{s, id, started.str("id")}
}

// sh is a shell task in a workspace of its own.
func sh(command string, more ...args) args {
	return fields(args{"execution_kind": "shell", "shell_command": command, "timeout_ms": 60_000}, more...)
}

// in lets a task work on a directory itself.
func in(dir string) args {
	return args{"workspace_mode": "in_place", "working_directory": dir, "sandbox_allowed_root": dir}
}

func fields(first args, more ...args) args {
	out := maps.Clone(first)
	for _, m := range more {
		maps.Copy(out, m)
	}
	return out
}

// agent is the task of an agent that the conversation answers.
func agent(c *conversation, more ...args) args {
	return fields(args{
		"execution_kind": "agent_loop", "prompt": "Do what is scripted: " + c.mark, "timeout_ms": 60_000,
		"requested_provider": "fake", "requested_model": modelName,
	}, more...)
}

// agentRun starts an agent with these answers and fields.
func (s *server) agentRun(t *testing.T, replies []reply, more ...args) (run, *conversation) {
	t.Helper()
	c := s.model.script(replies...)
	return s.begin(t, agent(c, more...)), c
}

func (r run) taskPath() string { return api + "/tasks/" + r.task }

func (r run) path() string { return r.taskPath() + "/runs/" + r.id }

func (r run) now(t *testing.T) doc { t.Helper(); return r.get(t, r.path()) }

func terminal(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// becomes waits until the run has the status and returns it; another terminal
// status fails the test.
func (r run) becomes(t *testing.T, status string) doc {
	t.Helper()
	var d doc
	eventually(t, "the run is "+status, func() bool {
		d = r.now(t)
		if s := d.str("status"); s != status && terminal(s) {
			t.Fatalf("the run is %s, want %s: %s", s, status, d)
		}
		return d.str("status") == status
	})
	return d
}

// ends waits for any terminal status.
func (r run) ends(t *testing.T) doc {
	t.Helper()
	var d doc
	eventually(t, "the run has ended", func() bool { d = r.now(t); return terminal(d.str("status")) })
	return d
}

func (r run) steps(t *testing.T) []doc { t.Helper(); return r.list(t, r.path()+"/steps") }

// step returns the step at a place, from 0.
func (r run) step(t *testing.T, i int) doc {
	t.Helper()
	return part(t, r.steps(t), i, i+1)[0]
}

// part is items[from:to], or the end of the test if there are too few.
func part(t *testing.T, items []doc, from, to int) []doc {
	t.Helper()
	if len(items) < to {
		t.Fatalf("%d items, want %d: %v", len(items), to, items)
	}
	return items[from:to]
}

// stepOf returns the first step of the tool.
func (r run) stepOf(t *testing.T, tool string) doc {
	t.Helper()
	steps := r.steps(t)
	i := slices.IndexFunc(steps, func(d doc) bool { return d.str("tool_name") == tool })
	if i < 0 {
		t.Fatalf("no step of %s in %s", tool, shape(steps, "kind", "tool_name", "status"))
	}
	return steps[i]
}

func (r run) artifacts(t *testing.T) []doc { t.Helper(); return r.list(t, r.path()+"/artifacts") }

// artifact returns the one artifact of this kind, or nil if there is none.
func (r run) artifact(t *testing.T, kind string) doc {
	t.Helper()
	var found doc
	for _, a := range r.artifacts(t) {
		if a.str("kind") == kind {
			if found != nil {
				t.Fatalf("two artifacts of kind %s", kind)
			}
			found = a
		}
	}
	return found
}

// conversation returns the messages of the run's conversation.
func (r run) conversation(t *testing.T) []doc {
	t.Helper()
	a := r.artifact(t, "agent_conversation")
	d, err := parse([]byte(`{"messages":` + a.str("content_text") + `}`))
	if err != nil {
		t.Fatalf("the conversation is no JSON: %v: %s", err, a)
	}
	return d.list("messages")
}

// said are the texts of the assistant in the conversation.
func (r run) said(t *testing.T) (texts []string) {
	t.Helper()
	for _, m := range r.conversation(t) {
		if m.str("role") == "assistant" {
			texts = append(texts, m.str("content"))
		}
	}
	return texts
}

func (r run) approvals(t *testing.T) []doc { t.Helper(); return r.list(t, r.taskPath()+"/approvals") }

// parked waits for the run's approval and returns it.
func (r run) parked(t *testing.T) doc {
	t.Helper()
	r.becomes(t, "awaiting_approval")
	for _, a := range r.approvals(t) {
		if a.str("run_id") == r.id && a.str("status") == "pending" {
			return a
		}
	}
	t.Fatal("the run waits without a pending approval")
	return nil
}

func (r run) resolve(t *testing.T, approval, decision string) answer {
	t.Helper()
	return r.ask(t, "POST", r.taskPath()+"/approvals/"+approval+"/resolve", args{"decision": decision})
}

func (r run) cancel(t *testing.T) doc {
	t.Helper()
	return r.post(t, r.path()+"/cancel", args{"reason": "enough"})
}

// events reads the run's whole list.
func (r run) events(t *testing.T) []doc {
	t.Helper()
	var all []doc
	for after := int64(0); ; {
		page := r.list(t, r.path()+"/events?after_sequence="+strconv.FormatInt(after, 10))
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].num("sequence")
		r.saw(after)
	}
}

func ofType(events []doc, kind string) (out []doc) {
	for _, e := range events {
		if e.str("type") == kind {
			out = append(out, e)
		}
	}
	return out
}

// first returns the data of the first event of the type.
func first(t *testing.T, events []doc, kind string) doc {
	t.Helper()
	return part(t, ofType(events, kind), 0, 1)[0].obj("data")
}

// contractTypes are the event types that clients know. A server may have more,
// which readers pass over.
var contractTypes = strings.Fields(`
	run.created run.queued run.started run.awaiting_approval run.resumed_from_event run.finished run.failed run.cancelled
	task.updated gap.run_disconnected model.call.started model.call.completed assistant.text_complete
	assistant.tool_call_proposed assistant.final_answer tool.invoked tool.started tool.shell.command tool.shell.output_chunk
	tool.shell.exited tool.completed tool.failed tool.cancelled tool.timed_out tool.file.patch tool.file.applied
	tool.file.reverted policy.tool_blocked approval.requested approval.resolved external.event`)

// told is the run's history in types that clients know; output chunks that follow
// one another count once.
func told(events []doc) string {
	var out []string
	for _, e := range events {
		kind := e.str("type")
		if !slices.Contains(contractTypes, kind) {
			continue
		}
		if kind != "tool.shell.output_chunk" || out[len(out)-1] != kind {
			out = append(out, kind)
		}
	}
	return strings.Join(out, " ")
}

// history is told for this run.
func (r run) history(t *testing.T) string { t.Helper(); return told(r.events(t)) }

// shape writes some members of each item, for comparing lists.
func shape(items []doc, members ...string) string {
	var out []string
	for _, d := range items {
		var parts []string
		for _, m := range members {
			parts = append(parts, fmt.Sprint(d.at(m)))
		}
		out = append(out, strings.Join(parts, "/"))
	}
	return strings.Join(out, " ")
}

// equal asserts that two values are the same.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// contains asserts that a text has all the words.
func contains(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not contain %q: %s", what, w, text)
		}
	}
}
