package worker_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/permissions"
	"hecate/runtime/worker"
)

// governed is a node whose worker reads permission files.
type governed struct {
	*node
	user string
	log  journal
}

// journal gathers a log.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newGoverned(t *testing.T, scripts ...scripted.Script) *governed {
	return &governed{node: newNode(t, scripts...), user: t.TempDir()}
}

// obey makes the worker read the files.
func (g *governed) obey(c *worker.Config) {
	c.Permissions = permissions.New(g.user, slog.New(slog.NewTextHandler(&g.log, nil)))
}

func (g *governed) write(path, text string) {
	g.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *governed) project(text string) {
	g.t.Helper()
	g.write(filepath.Join(g.source, permission.ProjectFile), text)
}

func (g *governed) own(text string) {
	g.t.Helper()
	g.write(filepath.Join(g.user, "config.toml"), text)
}

// results are what the model was told of each call.
func (g *governed) results(id string) map[string]string {
	out := map[string]string{}
	for _, d := range payloads[run.DispatchSettled](g.node, id) {
		out[d.ToolCallID] = string(d.Outcome) + " " + d.Result.String()
	}
	return out
}

func (g *governed) told(id, callID string, want ...string) {
	g.t.Helper()
	got := g.results(id)[callID]
	for _, w := range want {
		if !strings.Contains(got, w) {
			g.t.Errorf("of %s the model is told %q, without %q", callID, got, w)
		}
	}
}

func (g *governed) absent(name string) {
	g.t.Helper()
	if _, err := os.Lstat(filepath.Join(g.source, name)); err == nil {
		g.t.Errorf("%s was made", name)
	}
}

const pnpm = `[permissions]
deny = [
    { pattern = "exec(npm) args(*)", reason = "This project uses pnpm." },
    { pattern = "edit(go.sum)", reason = "go get writes it." },
    "view(secret/**)",
]
`

// A deny entry of the project holds for what the model asks for, through wrappers,
// links and searches, and the model is told each reason.
func TestDenyEntriesHoldForEveryCall(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(
		shellCall("a", "touch ran; env CI=1 sh -c 'npm install'"),
		scripted.ToolCall("b", "git_exec", map[string]string{"command": "-c alias.x='!npm i' x"}),
		scripted.ToolCall("c", "file_edit", map[string]string{"path": "link", "old_text": "a", "new_text": "b"}),
		scripted.ToolCall("d", "file_write", map[string]string{"path": "./x/../go.sum", "content": "x"}),
		scripted.ToolCall("e", "apply_patch", map[string]string{"patch_text": "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: ./go.sum\n@@\n-a\n+b\n*** End Patch"}),
		scripted.ToolCall("f", "read_file", map[string]string{"path": "secret/key"}),
		scripted.ToolCall("g", "grep", map[string]string{"pattern": "a"}),
		scripted.ToolCall("h", "glob", map[string]string{"pattern": "**/*"}),
		shellCall("i", "true"),
	), text("done")))
	g.project(pnpm)
	g.own("[permissions]\ndeny = [{ pattern = \"shell\", reason = \"Not today.\" }]\n")
	g.write(filepath.Join(g.source, "go.sum"), "a\n")
	g.write(filepath.Join(g.source, "secret", "key"), "a secret\n")
	if err := os.Symlink("go.sum", filepath.Join(g.source, "link")); err != nil {
		t.Fatal(err)
	}
	r := g.start(task.Definition{Prompt: event("go")})
	defer g.run(g.executor, g.obey)()
	if s := g.end(r.RunID); s.Status != run.StatusCompleted {
		t.Fatalf("the run is %s: %s", s.Status, g.types(r.RunID))
	}
	g.told(r.RunID, "a", "blocked", "denied by config pattern shell: Not today.\ndenied by config pattern exec(npm) args(*): This project uses pnpm.")
	g.told(r.RunID, "b", "blocked", "pnpm")
	for _, id := range []string{"c", "d", "e"} {
		g.told(r.RunID, id, "blocked", "denied by config pattern edit(go.sum): go get writes it.")
	}
	g.told(r.RunID, "f", "blocked", "view(secret/**)")
	g.told(r.RunID, "g", "completed", "go.sum:1:a", "skip_reasons=denied:1")
	g.told(r.RunID, "h", "completed", "go.sum", "denied:")
	if got := g.results(r.RunID); strings.Contains(got["g"]+got["h"], "secret") {
		t.Errorf("the searches show what is kept back: %q", got)
	}
	g.absent("ran")
	g.absent("new")
	blocked := payloads[run.ToolBlocked](g.node, r.RunID)
	if len(blocked) != 7 {
		t.Fatalf("%d calls were blocked", len(blocked))
	}
	if b := blocked[0]; b.Policy != permission.ListDeny || b.Ruling.Layer != permission.LayerDeny || b.Ruling.Posture != "runtime" || len(b.Ruling.Config) != 64 {
		t.Errorf("the block is %+v", b)
	}
}

// A task that runs one command is held to the same entries.
func TestDenyEntriesHoldForDirectRuns(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]task.Definition{
		"shell": {ExecutionKind: run.KindShell, ShellCommand: event("touch ran; npm ci")},
		"git":   {ExecutionKind: run.KindGit, GitCommand: event("-c alias.x='!npm ci' x")},
		"file":  {ExecutionKind: run.KindFile, FilePath: "go.sum", FileOperation: "write", FileContent: event("x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGoverned(t)
			g.project(pnpm)
			r := g.start(d)
			defer g.run(g.executor, g.obey)()
			s := g.end(r.RunID)
			failed := payloads[run.Failed](g.node, r.RunID)
			if s.Status != run.StatusFailed || len(failed) != 1 || !strings.Contains(failed[0].Message, "denied by config pattern") {
				t.Errorf("the run is %s: %+v", s.Status, failed)
			}
			if n := len(payloads[run.DispatchIntended](g.node, r.RunID)); n != 0 {
				t.Errorf("%d calls were dispatched", n)
			}
			g.absent("ran")
			g.absent("go.sum")
		})
	}
}

// A grant opens the gate that would have asked, says so, and opens no hard limit. A
// project's own grants open nothing.
func TestGrantsOpenGatesOnly(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(
		calls(shellCall("a", "echo a >> out"), scripted.ToolCall("b", "file_write", map[string]string{"path": ".hecate/config.toml", "content": ""})),
		calls(shellCall("c", "echo c >> out")), text("done")))
	g.executor.Policies = []permission.Policy{permission.PolicyShell, permission.PolicyWrite}
	g.own("[permissions]\napprove = [\"shell(echo a >> out)\", \"create\", \"edit\", \"apply_patch\"]\n")
	g.project("[permissions]\napprove = [\"shell\"]\n")
	r := g.start(task.Definition{Prompt: event("go")})
	defer g.run(g.executor, g.obey)()
	g.parked(r.RunID)
	intents := payloads[run.DispatchIntended](g.node, r.RunID)
	if len(intents) != 1 || intents[0].Ruling.Rule != permission.ListApprove || intents[0].Ruling.Grant == "" || intents[0].Ruling.Layer != permission.LayerAnswer {
		t.Errorf("dispatched is %+v", intents)
	}
	g.told(r.RunID, "b", "blocked", "only config_edit may change it")
	if a := g.state(r.RunID).Approval; len(a.Calls) != 1 || a.Calls[0].ToolCallID != "c" {
		t.Errorf("asked for is %+v", a)
	}
	if !strings.Contains(g.log.String(), "not in force until it is accepted") {
		t.Errorf("nothing is said of the project's grants: %s", g.log.String())
	}
}

// What is written while a person thinks counts before what they say.
func TestADenyEntryOutlivesAnApproval(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "npm -v >> out"), shellCall("b", "echo b >> out")), text("done")))
	g.executor.Policies = []permission.Policy{permission.PolicyShell}
	r := g.start(task.Definition{Prompt: event("go")})
	defer g.run(g.executor, g.obey)()
	g.parked(r.RunID)
	g.project(pnpm)
	g.approve(r.RunID)
	g.end(r.RunID)
	g.told(r.RunID, "a", "blocked", "This project uses pnpm.")
	g.told(r.RunID, "b", "completed")
	if out, err := os.ReadFile(filepath.Join(g.source, "out")); err != nil || string(out) != "b\n" {
		t.Errorf("the commands have left %q, %v", out, err)
	}
}

// A file that breaks while a run is under way keeps what it said, and what can still be
// read of it counts.
func TestABrokenFileKeepsItsDenyEntries(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "echo 'deny = [\"exec(touch)\", oops' >> .hecate/config.toml")), calls(shellCall("b", "npm i"), shellCall("c", "touch ran")), text("done")))
	g.project(pnpm)
	r := g.start(task.Definition{Prompt: event("go")})
	defer g.run(g.executor, g.obey)()
	g.end(r.RunID)
	g.told(r.RunID, "a", "completed")
	g.told(r.RunID, "b", "blocked", "pnpm")
	if n := strings.Count(g.log.String(), "stays in force"); n != 1 {
		t.Errorf("it was said %d times: %s", n, g.log.String())
	}
}

// A call that the tool cannot read starts nothing, so nobody is asked about it.
func TestWhatIsNoCallIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(scripted.ToolCall("a", "shell_exec", map[string]int{"command": 3})), text("done")))
	g.project(pnpm)
	r := g.start(task.Definition{Prompt: event("go")})
	defer g.run(g.executor, g.obey)()
	g.end(r.RunID)
	g.told(r.RunID, "a", "failed invalid arguments for shell_exec")
}

// Whether a deny entry is about a call may not be known; then a person is asked.
func TestWhatCannotBeReadIsAskedAbout(t *testing.T) {
	t.Parallel()
	g := newGoverned(t, replies(calls(shellCall("a", "$TOOL i")), text("done")))
	g.project(pnpm)
	r := g.start(task.Definition{Prompt: event("go")})
	direct := g.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("echo 'touch ran' | sh")})
	defer g.run(g.executor, g.obey)()
	g.parked(r.RunID)
	g.parked(direct.RunID)
	g.absent("ran")
	g.approve(direct.RunID)
	if s := g.end(direct.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the direct run is %s: %s", s.Status, g.types(direct.RunID))
	}
	if c := g.state(r.RunID).Approval.Calls; len(c) != 1 || c[0].Ruling.Rule != string(permission.GateUnclear) {
		t.Errorf("asked for is %+v", c)
	}
}
