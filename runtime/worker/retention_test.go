package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hecate/commands"
	domainevent "hecate/domain/event"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// retaining looks again and again, and keeps nothing for long.
func retaining(changed bool) func(*worker.Config) {
	return func(c *worker.Config) {
		c.Retention = worker.Retention{Every: 10 * time.Millisecond, MaxAge: time.Nanosecond, Changed: changed}
	}
}

// removals are the workspaces that a task has lost.
func removals(n *node, taskID string) (out []task.WorkspaceRemoved) {
	n.t.Helper()
	err := n.executor.Load(n.t.Context(), commands.TaskStream(taskID), 0, func(e domainevent.Event) {
		if p, ok := e.Payload.(task.WorkspaceRemoved); ok {
			out = append(out, p)
		}
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// removed waits until a task has lost a workspace.
func removed(n *node, taskID string) task.WorkspaceRemoved {
	n.t.Helper()
	ctx, stop := context.WithTimeout(n.t.Context(), patience)
	defer stop()
	for {
		head, err := n.store.Head(ctx)
		if err != nil {
			n.t.Fatal(err)
		}
		if got := removals(n, taskID); len(got) > 0 {
			return got[0]
		}
		if err := n.store.Wait(ctx, head); err != nil {
			n.t.Fatalf("the workspace stays: %v", err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A copy that nothing changed in goes when it is old enough. No run can go on in it, but
// the task can be done again.
func TestOldWorkspacesGo(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{calls(call("a", "list_dir")), text("done"), text("again"), text("anew")}})
	stop := n.run(n.executor)
	first := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	path := n.end(first.RunID).WorkspacePath
	second := n.goOn(first, "more")
	n.end(second.RunID)
	stop()
	stop = n.run(n.executor, retaining(false))
	got := removed(n, first.State.TaskID)
	stop()
	if !slices.Equal(got.RunIDs, []string{first.RunID, second.RunID}) || got.Path != path || got.Reason != "age" || got.Changed {
		t.Errorf("%+v", got)
	}
	if exists(path) {
		t.Error("the workspace is still there")
	}
	if _, err := n.executor.ContinueRun(t.Context(), commands.Meta{}, first.State.TaskID, first.RunID, "more", run.Ahead{}); err == nil {
		t.Error("a run goes on in a workspace that is gone")
	}
	defer n.run(n.executor)()
	if s := n.end(n.must(n.executor.RetryRun(t.Context(), commands.Meta{}, first.State.TaskID, first.RunID, "", run.Ahead{})).RunID); s.Status != run.StatusCompleted {
		t.Errorf("the retry is %s", s.Status)
	}
}

// What nobody has taken over stays, unless the operator says otherwise.
func TestChangedWorkspacesStay(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		calls(scripted.ToolCall("a", "file_write", map[string]string{"path": "new", "content": "x"})), text("done"), text("done"),
	}})
	n.executor.Policies = []permission.Policy{}
	stop := n.run(n.executor)
	changed := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	path := n.end(changed.RunID).WorkspacePath
	other := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	n.end(other.RunID)
	stop()
	stop = n.run(n.executor, retaining(false))
	removed(n, other.State.TaskID) // a whole round has passed the other one by
	stop()
	if !exists(filepath.Join(path, "new")) || len(removals(n, changed.State.TaskID)) > 0 {
		t.Fatal("changes are lost")
	}
	defer n.run(n.executor, retaining(true))()
	if got := removed(n, changed.State.TaskID); !got.Changed {
		t.Errorf("%+v", got)
	}
}

// A run that waits for a person needs its workspace, however long it takes.
func TestWorkspacesOfOpenRunsStay(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		calls(scripted.ToolCall("a", "file_write", map[string]string{"path": "new", "content": "x"})), text("done"), text("done"),
	}})
	n.executor.Policies = permission.Default
	stop := n.run(n.executor, retaining(true))
	waiting := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	path := n.until(waiting.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval }).WorkspacePath
	other := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	n.until(other.RunID, func(s *run.State) bool { return s.Status.Terminal() })
	removed(n, other.State.TaskID)
	stop()
	if !exists(path) || len(removals(n, waiting.State.TaskID)) > 0 {
		t.Error("the workspace is gone")
	}
}

// Changes that somebody has taken over are in the source; without them the copy is as good
// as unchanged.
func TestTakenWorkspacesGo(t *testing.T) {
	p := newPatched(t, "ephemeral")
	stop := p.begins()
	shown, err := p.take(operation.TakePlan{}, "")
	if err == nil {
		_, err = p.take(operation.TakePlan{}, shown.Digest)
	}
	stop()
	if err != nil {
		t.Fatal(err)
	}
	stop = p.run(p.executor, retaining(false))
	got := removed(p.node, p.r.State.TaskID)
	stop() // after the event, the directory goes
	if got.Changed || got.Path != p.dir || exists(got.Path) {
		t.Errorf("%+v", got)
	}
}
