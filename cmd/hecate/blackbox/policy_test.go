//go:build linux

package blackbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A read-only task is offered nothing that writes; what the model asks for all the
// same is refused without asking anybody.
func TestReadOnlyTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "old\n")
	r, c := gated(t).agentRun(t, []reply{
		asks(shell("c1", "touch b.txt"), call("c2", "file_write", args{"path": "b.txt", "content": "x"}),
			call("c3", "file_edit", args{"path": "a.txt", "old_text": "old", "new_text": "new"}), call("c4", "read_file", args{"path": "a.txt"})),
		says("done"),
	}, in(dir), args{"sandbox_read_only": true})
	r.becomes(t, "completed")
	offered := strings.Fields(c.request(t, 0).tools())
	for _, name := range offered {
		if name == "shell_exec" || name == "git_exec" || name == "file_write" || strings.HasPrefix(name, "terminal_") {
			t.Errorf("%s is offered", name)
		}
	}
	contains(t, "catalogue", strings.Join(offered, " "), "read_file", "file_edit", "list_dir")
	c.request(t, 1).answered(t, "c1", "c2", "c3", "c4")
	equal(t, "steps", shape(part(t, r.steps(t), 1, 3), "tool_name", "status", "phase", "result", "error_kind"),
		"shell_exec/completed/policy/denied/sandbox_policy_denied file_write/completed/policy/denied/sandbox_policy_denied")
	want{"output_summary/blocked": true, "output_summary/policy": "sandbox_read_only", "output_summary/reason": present}.check(t, "step", r.step(t, 1))
	want{
		"tool_call_id": "c1", "tool_name": "shell_exec", "kind": "builtin", "result": "blocked", "policy": "sandbox_read_only", "reason": present,
	}.check(t, "event", first(t, r.events(t), "policy.tool_blocked"))
	equal(t, "approvals", len(r.approvals(t)), 0)
	equal(t, "a.txt", read(t, filepath.Join(dir, "a.txt")), "old\n")
	left, _ := os.ReadDir(dir)
	equal(t, "files", len(left), 1)
}

// A command that needs the network is refused before it starts, unless the task has it.
func TestCommandsWithoutNetwork(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("curl http://127.0.0.1:1/"))
	contains(t, "error", r.becomes(t, "failed").str("last_error"), "sandbox policy denied: network access is disabled")
	want{"status": "failed", "exit_code": -1, "error_kind": "sandbox_policy_denied"}.check(t, "step", r.step(t, 0))
	equal(t, "history", r.history(t), "run.created run.queued run.started tool.invoked tool.started tool.shell.command tool.failed run.failed")
	s.begin(t, sh("echo hello func main, perform x")).becomes(t, "completed") // words that only look like commands
}

// Commands of an isolated run reach neither the server's data nor other files.
func TestCommandsStayInTheirWorkspace(t *testing.T) {
	t.Parallel()
	s := open(t)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	write(t, secret, "hidden words\n")
	r := s.begin(t, sh("cat "+secret+"; echo x >> "+secret+"; ls "+s.dir+"; echo y > "+filepath.Join(s.dir, "planted")+"; true"))
	r.ends(t)
	equal(t, "the file", read(t, secret), "hidden words\n")
	if _, err := os.Stat(filepath.Join(s.dir, "planted")); err == nil {
		t.Error("a command wrote into the data directory")
	}
	if a := r.artifact(t, "stdout"); strings.Contains(a.str("content_text"), "hecate.db") {
		t.Errorf("a command sees the data directory: %s", a)
	}
}
