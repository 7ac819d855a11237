// Package tooltest gives tests a workspace to run tools in, and holds the suite of
// what all tools promise.
package tooltest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/tools"
	"hecate/tools/sandbox"
	"hecate/tools/terminal"
)

// Workspace is a temporary directory with an Env for it.
type Workspace struct {
	t   testing.TB
	Dir string
	Env *tools.Env

	Terminals *terminal.Registry // what Env.Terminals are of; closed after the test

	mu   sync.Mutex
	sent []event.Payload
}

// New makes an empty workspace that is removed after the test. Commands may run
// for 20 seconds in it.
func New(t testing.TB) *Workspace {
	t.Helper()
	// The workspace is a directory inside the temporary one, so that tests can
	// put something beside it and see that it stays as it is.
	w := &Workspace{t: t, Dir: filepath.Join(t.TempDir(), "ws")}
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	w.Terminals = terminal.NewRegistry()
	t.Cleanup(w.Terminals.Shut)
	w.Env = &tools.Env{
		Root: root, RootPath: w.Dir, RunID: "run_1", TaskID: "task_1", StepID: "step_1", ToolCallID: "call_1",
		Timeout: 20 * time.Second, Terminals: w.Terminals.Of("run_1"),
		Settings: tools.Settings{OutputMaxBytes: 4 << 20, Wrapper: sandbox.Wrapper{Kind: sandbox.WrapperNone}},
		Emit: func(_ context.Context, p event.Payload) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sent = append(w.sent, p)
			return nil
		},
		Artifact: func(context.Context, string) (tools.Artifact, bool, error) { return tools.Artifact{}, false, nil },
	}
	return w
}

// Emitted returns what tools have sent while they ran.
func (w *Workspace) Emitted() []event.Payload {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]event.Payload(nil), w.sent...)
}

// Call runs a tool with args, which are marshalled to JSON, and fails the test if
// the arguments are refused.
func (w *Workspace) Call(tool tools.Tool, args any) tools.Result {
	w.t.Helper()
	return w.CallContext(context.Background(), tool, args)
}

// CallContext is Call with a context.
func (w *Workspace) CallContext(ctx context.Context, tool tools.Tool, args any) tools.Result {
	w.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := tool.Prepare(raw)
	if err != nil {
		w.t.Fatalf("prepare %s: %v", tool.Name, err)
	}
	w.Env.ToolName = tool.Name
	return p.Run(ctx, w.Env)
}

// Write puts a file into the workspace, with its parents.
func (w *Workspace) Write(name, content string) {
	w.t.Helper()
	p := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// Read returns a file of the workspace, or "<absent>".
func (w *Workspace) Read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.Dir, name))
	if os.IsNotExist(err) {
		return "<absent>"
	} else if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// Link makes a symbolic link in the workspace.
func (w *Workspace) Link(target, name string) {
	w.t.Helper()
	if err := os.Symlink(target, filepath.Join(w.Dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// Mode returns the permission bits of a file of the workspace.
func (w *Workspace) Mode(name string) os.FileMode {
	w.t.Helper()
	info, err := os.Lstat(filepath.Join(w.Dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.Mode().Perm()
}
