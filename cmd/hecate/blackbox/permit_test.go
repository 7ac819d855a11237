//go:build linux

package blackbox_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hecate/runtime/model/scripted"
)

// userFile is the permission file of the user that the server runs as.
func (s *server) userFile() string {
	return filepath.Join(filepath.Dir(s.dir), ".config", "hecate", "config.toml")
}

// permit writes the user's permission file.
func (s *server) permit(t *testing.T, text string) {
	t.Helper()
	put(t, s.userFile(), text)
}

// put makes a file with its directories, in one step, so that no reader sees half of it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path+"~", text)
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

// projectFile is the permission file of the project in a directory.
func projectFile(dir string) string { return filepath.Join(dir, ".hecate", "config.toml") }

// program is a call of exec.
func program(id, name string, arguments ...string) scripted.Call {
	return call(id, "exec", args{"program": name, "args": arguments})
}

// levels is a task whose calls ask by their level.
var levels = args{"permission_posture": "levels"}

// question is what the run asks at this moment: the event of its pending approval.
func (r run) question(t *testing.T) doc {
	t.Helper()
	id := r.parked(t).str("id")
	for _, e := range ofType(r.events(t), "approval.requested") {
		if e.str("data", "approval_id") == id {
			return e.obj("data")
		}
	}
	t.Fatalf("no event says what approval %s asks for", id)
	return nil
}

// about is what a question says of one call.
func about(t *testing.T, question doc, id string) doc {
	t.Helper()
	for _, c := range question.list("calls") {
		if c.str("tool_call_id") == id {
			return c
		}
	}
	t.Fatalf("nothing is asked about call %s: %s", id, question)
	return nil
}

// say answers what the run asks at this moment.
func (r run) say(t *testing.T, body args) answer {
	t.Helper()
	return r.sayTo(t, r.parked(t).str("id"), body)
}

func (r run) sayTo(t *testing.T, approval string, body args) answer {
	t.Helper()
	return r.ask(t, "POST", r.taskPath()+"/approvals/"+approval+"/resolve", body)
}

// yes and no are answers to a whole question.
var (
	yes = args{"decision": "approve"}
	no  = args{"decision": "reject", "continue": true}
)

// remembering is a yes that remembers one call.
func remembering(id, scope string) args {
	return args{"decision": "approve", "calls": []args{{"tool_call_id": id, "decision": "approve", "scope": scope}}}
}

// intents are the ids of the calls that were dispatched, in order.
func (r run) intents(t *testing.T) string {
	t.Helper()
	var ids []string
	for _, e := range ofType(r.events(t), "tool.dispatch.intended") {
		ids = append(ids, e.str("data", "tool_call_id"))
	}
	return strings.Join(ids, " ")
}

// blocked are the calls that policy refused, with what refused them.
func (r run) blocked(t *testing.T) string {
	t.Helper()
	var out []string
	for _, e := range ofType(r.events(t), "policy.tool_blocked") {
		out = append(out, e.str("data", "tool_call_id")+":"+e.str("data", "policy"))
	}
	return strings.Join(out, " ")
}

// governed starts an agent whose calls ask by level, in a directory itself, with what is
// said ahead of its questions.
func (s *server) governed(t *testing.T, dir string, ahead args, replies ...reply) (run, *conversation) {
	t.Helper()
	c := s.model.script(replies...)
	return s.beginAhead(t, agent(c, in(dir), levels), ahead), c
}

// beginAhead makes a task and starts it with permissions.
func (s *server) beginAhead(t *testing.T, task, ahead args) run {
	t.Helper()
	id := s.create(t, task).str("id")
	return run{s, id, s.post(t, api+"/tasks/"+id+"/start", args{"permissions": ahead}).str("id")}
}

// accept puts the grants of a directory's permission file into force.
func (s *server) accept(t *testing.T, dir string) {
	t.Helper()
	digest := s.get(t, api+"/permissions?dir="+url.QueryEscape(dir)).str("project_digest")
	s.post(t, api+"/permissions/accept", args{"dir": dir, "digest": digest})
}

// hecate runs the command line against the server, as its operator, and returns what it prints.
func (s *server) hecate(t *testing.T, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, words...)
	cmd.Env = append(os.Environ(), "HECATE_BASE_URL="+s.base, "HECATE_OPERATOR_TOKEN="+s.header.Get("X-Hecate-Operator-Token"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hecate %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// entries are the names in a directory.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}
