//go:build linux

package blackbox_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attack is a script that looks for the operator's token wherever its process may look,
// and answers an approval over loopback.
func attack(t *testing.T, s *server, dir, approvalPath string) {
	t.Helper()
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"decision":"approve"}`
	write(t, filepath.Join(dir, "attack.sh"), fmt.Sprintf(`env
cat .data/operator.token .data/operators.json %[1]s/operator.token
ls -A .data
grep -aohs 'planted-token[a-z-]*' /proc/[0-9]*/environ
if exec 3<>/dev/tcp/127.0.0.1/%[2]s; then
  printf 'POST %[3]s HTTP/1.1\r\nHost: 127.0.0.1:%[2]s\r\nContent-Type: application/json\r\nContent-Length: %[4]d\r\nConnection: close\r\n\r\n%[5]s' >&3
  cat <&3
else
  echo no way to the server
fi
exit 0
`, s.dir, u.Port(), approvalPath, len(body), body))
}

// inItsDirectory is a server whose data stands in the directory that tasks work on.
func inItsDirectory(t *testing.T, env ...string) (s *server, dir, token string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, ".data")
	s = serve(t, append([]string{"HECATE_BACKEND=memory", "HECATE_DATA_DIR=" + data, "HECATE_TASK_APPROVAL_POLICIES=shell_exec"}, env...)...)
	s.dir = data
	s.asOperator()
	if token = s.header.Get("X-Hecate-Operator-Token"); len(token) != 43 {
		t.Fatalf("the token has %d characters", len(token))
	}
	return s, dir, token
}

// all is what a run made: what its command printed, and the texts of its agent.
func (r run) all(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, a := range r.artifacts(t) {
		out.WriteString(a.str("content_text") + "\n")
	}
	return out.String()
}

// A command of the agent cannot answer an approval: without network it does not reach the
// server, with it it has nothing to prove itself with.
func TestCommandsAnswerNoApproval(t *testing.T) {
	t.Parallel()
	planted := []string{"HECATE_OPERATOR_TOKEN=planted-token-of-an-operator"}
	for name, c := range map[string]struct {
		env     []string
		network bool
		hidden  bool // from commands: the data directory
		want    string
	}{
		"confined":              {planted, false, true, "no way to the server"},
		"confined with network": {planted, true, true, "403 Forbidden"},
		"not confined":          {append([]string{"HECATE_TASK_SANDBOX=none"}, planted...), false, false, "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir, token := inItsDirectory(t, c.env...)
			health, err := parse(s.ask(t, "GET", "/healthz", nil).body)
			if err != nil {
				t.Fatal(err)
			}
			if c.hidden && health.obj("sandbox").obj("os_isolation").str("kind") == "none" {
				t.Skip("bubblewrap is not installed, or user namespaces are switched off: the confinement is not tested")
			}
			victim := s.begin(t, sh("echo the deed"))
			asked := victim.parked(t)
			attack(t, s, dir, victim.taskPath()+"/approvals/"+asked.str("id")+"/resolve")
			r := s.begin(t, sh("bash attack.sh", in(dir), args{"sandbox_network": c.network}))
			r.resolve(t, r.parked(t).str("id"), "approve").ok(t)
			r.ends(t)
			out := r.all(t)
			contains(t, "output", out, c.want)
			if c.hidden && (strings.Contains(out, token) || strings.Contains(out, "operators.json\n") || strings.Contains(out, "planted-token")) {
				t.Errorf("a command sees what is the server's:\n%s", out)
			}
			want{"status": "pending"}.check(t, "the approval", s.get(t, victim.taskPath()+"/approvals/"+asked.str("id")))
			if strings.Contains(s.printed(), token) || strings.Contains(s.printed(), "planted-token") {
				t.Error("a token is in the log of the server")
			}
		})
	}
}

// What a command is started with has no token in it, also where nothing confines it.
func TestCommandsAreGivenNoToken(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_SANDBOX=none", "HECATE_OPERATOR_TOKEN=planted-token-of-an-operator", "HECATE_RUNTIME_TOKEN=planted-token-of-the-runtime")
	s.header.Set("X-Hecate-Runtime-Token", "planted-token-of-the-runtime")
	r := s.begin(t, sh("env; set"))
	r.becomes(t, "completed")
	if out := r.artifact(t, "stdout").str("content_text"); strings.Contains(out, "planted") || !strings.Contains(out, "PATH=") {
		t.Errorf("a command is started with\n%s", out)
	}
}

// File tools do not look into the server's data, should it stand in the workspace, and no
// copy has it.
func TestToolsSeeNoServerData(t *testing.T) {
	t.Parallel()
	s, dir, token := inItsDirectory(t, "HECATE_TASK_APPROVAL_POLICIES=")
	if err := os.Symlink(".data/operator.token", filepath.Join(dir, "innocent.txt")); err != nil {
		t.Fatal(err)
	}
	replies := []reply{
		asks(call("c1", "read_file", args{"path": ".data/operator.token"}), call("c2", "read_file", args{"path": "innocent.txt"}),
			call("c3", "list_dir", args{"path": ".data"}), call("c4", "grep", args{"pattern": "[A-Za-z0-9_-]{43}"}), call("c5", "glob", args{"pattern": "**/operator*"}),
			call("c6", "file_write", args{"path": ".data/operators.json", "content": `{"operators":[]}`})),
		says("done"),
	}
	for name, where := range map[string]args{"in place": in(dir), "in a copy": {"working_directory": dir}} {
		r, c := s.agentRun(t, replies, where)
		r.becomes(t, "completed")
		said := strings.Join(r.said(t), "\n")
		if seen := said + r.all(t) + c.request(t, 1).raw; strings.Contains(seen, token) || strings.Contains(seen, "token_sha256") || strings.Contains(seen, "file  operator") {
			t.Errorf("%s: the agent sees the data of the server:\n%s", name, seen)
		}
	}
	s.ask(t, "GET", api+"/tasks", nil).ok(t) // the list of operators is as it was
}
