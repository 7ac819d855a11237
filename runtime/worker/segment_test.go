package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
)

// segment makes a task that goes on in the workspace of an ended run, and opens a run of it.
func (n *node) segment(r commands.RunResult, prompt string) commands.RunResult {
	n.t.Helper()
	made, err := n.executor.CreateSegment(n.t.Context(), commands.Meta{}, r.State.TaskID, r.RunID,
		task.Definition{ExecutionKind: run.KindAgentLoop, Prompt: event(prompt), WorkspaceMode: "in_place", WorkingDirectory: "/elsewhere"})
	if err != nil {
		n.t.Fatal(err)
	}
	return n.must(n.executor.StartRun(n.t.Context(), commands.Meta{}, made.TaskID, run.Ahead{}))
}

// Task after task goes on in one workspace, byte for byte, and the last of them is where
// all of their changes are taken from.
func TestSegmentsGoOnInOneWorkspace(t *testing.T) {
	p := newPatched(t, "ephemeral",
		scripted.Script{Marker: "zebra", Replies: []scripted.Reply{calls(scripted.ToolCall("s1", "file_write", map[string]any{"path": "second", "content": "2\n"})), text("done")}},
		scripted.Script{Marker: "tortoise", Replies: []scripted.Reply{calls(scripted.ToolCall("t1", "file_write", map[string]any{"path": "third", "content": "3\n"})), text("done"), text("looked around")}},
	)
	p.write("by hand", "\x00\r\nas it is")
	stop := p.run(p.executor)
	second := p.segment(p.r, "zebra")
	if s := p.end(second.RunID); s.WorkspacePath != p.dir || s.Status != run.StatusCompleted || s.Spec.WorkspaceMode != "ephemeral" || s.Spec.WorkingDirectory != p.node.source {
		t.Fatalf("%s in %s", s.Status, s.WorkspacePath)
	}
	third := p.segment(second, "tortoise")
	p.end(third.RunID)
	fourth := p.must(p.executor.RetryRun(t.Context(), commands.Meta{}, third.State.TaskID, third.RunID, "", run.Ahead{}))
	s := p.end(fourth.RunID)
	stop()
	if s.WorkspacePath != p.dir || s.Before() != third.RunID || s.Home() != p.r.State.TaskID {
		t.Errorf("a retry: %s after %s, of %s", s.WorkspacePath, s.Before(), s.Home())
	}
	p.holds("by hand", "\x00\r\nas it is")
	p.holds("f.txt", "ONE\r\ntwo")
	p.source("second", "(absent)")

	defer p.begins()()
	p.r = fourth
	shown, err := p.take(operation.TakePlan{}, "")
	const all = "by hand written, f.txt written, g/new.txt written, h.txt deleted, run.sh written, second written, third written"
	if err != nil || outcomes(shown) != all {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	if _, err := p.take(operation.TakePlan{}, shown.Digest); err != nil {
		t.Fatal(err)
	}
	p.source("second", "2\n")
	p.r = third
	shown, err = p.restore(operation.RestorePlan{Before: "t1"}, "")
	if err != nil || outcomes(shown) != "third deleted" {
		t.Errorf("restore: %s, %v", outcomes(shown), err)
	}
}

// The workspace stays as long as one of the tasks is there.
func TestAWorkspaceOfDeletedTasks(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{text("a"), text("b"), text("c"), text("d")}})
	stop := n.run(n.executor)
	first := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	path := n.end(first.RunID).WorkspacePath
	second := n.segment(first, "more")
	n.end(second.RunID)
	remove := func(r commands.RunResult) {
		t.Helper()
		if _, err := n.executor.DeleteTask(t.Context(), commands.Meta{}, r.State.TaskID); err != nil {
			t.Fatal(err)
		}
	}
	remove(first)
	// The next deletion is looked at after this one.
	other := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	gone := n.end(other.RunID).WorkspacePath
	remove(other)
	eventually(t, "another workspace to go", func() bool { return !exists(gone) })
	if !exists(path) {
		t.Fatal("the workspace of a task that is there is gone")
	}
	third := n.must(n.executor.StartRun(t.Context(), commands.Meta{}, second.State.TaskID, run.Ahead{}))
	if s := n.end(third.RunID); s.Status != run.StatusCompleted || s.WorkspacePath != path {
		t.Errorf("%s in %s", s.Status, s.WorkspacePath)
	}
	remove(second)
	eventually(t, "the workspace to go", func() bool { return !exists(path) })
	stop()
}

// Retention waits for all tasks that go on in a workspace, and tells each what it lost.
func TestRetentionOfASharedWorkspace(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		text("a"), calls(scripted.ToolCall("a", "file_write", map[string]string{"path": "new", "content": "x"})), text("done"), text("c"),
	}})
	n.executor.Policies = permission.Default
	stop := n.run(n.executor)
	first := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	path := n.end(first.RunID).WorkspacePath
	second := n.segment(first, "more")
	n.until(second.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval })
	stop()

	stop = n.run(n.executor, retaining(true))
	other := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	removed(n, other.State.TaskID) // a whole round has passed the other one by
	if !exists(filepath.Join(path)) || len(removals(n, first.State.TaskID)) > 0 {
		t.Fatal("a run that waits has lost its workspace")
	}
	n.cancel(second)
	for _, r := range []commands.RunResult{first, second} {
		if got := removed(n, r.State.TaskID); len(got.RunIDs) != 1 || got.RunIDs[0] != r.RunID || got.Path != path {
			t.Errorf("%+v", got)
		}
	}
	eventually(t, "the workspace to go", func() bool { return !exists(path) })
	stop()
	_, err := n.executor.StartRun(t.Context(), commands.Meta{}, second.State.TaskID, run.Ahead{})
	if f, ok := fault.Of(err); !ok || f.Kind != fault.KindConflict {
		t.Errorf("a run in a workspace that is gone: %v", err)
	}
	_, err = n.executor.CreateSegment(t.Context(), commands.Meta{}, first.State.TaskID, first.RunID, task.Definition{ExecutionKind: run.KindAgentLoop, Prompt: event("x")})
	if f, ok := fault.Of(err); !ok || f.Kind != fault.KindConflict {
		t.Errorf("a task in a workspace that is gone: %v", err)
	}
}

// An operation on the workspace keeps out the runs of every task that goes on in it.
func TestSegmentsAndOperationsExclude(t *testing.T) {
	p := newPatched(t, "ephemeral", scripted.Script{Marker: "zebra", Replies: []scripted.Reply{calls(shellCall("s1", "touch begun; while [ ! -e go-on ]; do sleep 0.01; done")), text("done")}})
	defer p.begins()()
	second := p.segment(p.r, "zebra")
	eventually(t, "the command", func() bool { return exists(filepath.Join(p.dir, "begun")) })
	p.refused(p.do(operation.PatchRevert, "f.txt"), fault.KindConflict, "conflict")
	p.holds("f.txt", "ONE\r\ntwo")
	if err := os.WriteFile(filepath.Join(p.dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.end(second.RunID)
	if err := p.do(operation.PatchRevert, "f.txt"); err != nil {
		t.Error(err)
	}
	p.holds("f.txt", "one\r\ntwo")
}
