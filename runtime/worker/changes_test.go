package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/commands"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
)

// changes are what a run's calls changed, one line each.
func changes(n *node, id string) string {
	var out []string
	for _, c := range payloads[run.WorkspaceChanged](n, id) {
		by := c.ToolCallID
		if by == "" {
			by = "?"
		}
		if c.Problem != "" {
			by += " " + c.Problem
		}
		for _, f := range c.Files {
			by += fmt.Sprintf(" %s:%s", f.Kind, f.Path)
		}
		out = append(out, by)
	}
	return strings.Join(out, ", ")
}

// Every change stands with the call that made it, before its result; what changes nothing
// adds nothing.
func TestChangesOfCalls(t *testing.T) {
	for mode, want := range map[string]string{
		"ephemeral": "c1 add:a, c3 update:a add:b, c4 delete:a",
		"in_place":  "c1 add:a, c3 update:a add:b, c4 delete:a",
	} {
		n := newNode(t, replies(
			calls(shellCall("c1", "echo 1 > a"), shellCall("c2", "cat a"), call("c2b", "list_dir")),
			calls(shellCall("c3", "echo 2 > a; echo > b; mkdir empty")),
			calls(shellCall("c4", "rm a")), text("done")))
		n.executor.Policies = nil
		r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: mode})
		stop := n.run(n.executor)
		n.end(r.RunID)
		stop()
		if got := changes(n, r.RunID); got != want {
			t.Errorf("%s: %s; want %s", mode, got, want)
		}
		types := n.types(r.RunID)
		if i, j := strings.Index(types, "workspace.changed"), strings.Index(types, "tool.dispatch.settled"); i < 0 || i > j {
			t.Errorf("%s: %s", mode, types)
		}
	}
}

// What people do in a directory of their own between two calls is not counted to a call.
func TestChangesBetweenCalls(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("c1", "echo 1 > a")), calls(shellCall("c2", "echo 2 > b")), text("done")))
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "in_place"})
	defer n.run(n.executor)()
	n.parked(r.RunID)
	n.approve(r.RunID)
	n.until(r.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval && s.CallsDone == 2 })
	if err := os.WriteFile(filepath.Join(n.source, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.approve(r.RunID)
	n.end(r.RunID)
	if got, want := changes(n, r.RunID), "c1 add:a, ? add:mine, c2 add:b"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// A worker that dies under a call leaves what the call did to the next one, which records
// it as nobody's; so it can be taken, and put back.
func TestChangesOfACallWhoseWorkerDied(t *testing.T) {
	for name, rest := range map[string]struct {
		replies []string
		want    string
	}{
		"a call follows": {[]string{"echo 2 > b"}, "? add:a, c2 add:b"},
		"none follows":   {nil, "? add:a"},
	} {
		t.Run(name, func(t *testing.T) {
			script := replies(calls(shellCall("c1", "echo 1 > a")))
			for i, command := range rest.replies {
				script.Replies = append(script.Replies, calls(shellCall(fmt.Sprintf("c%d", i+2), command)))
			}
			script.Replies = append(script.Replies, text("done"))
			n := newNode(t, script)
			n.executor.Policies = nil
			r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
			d := newDying(n.store, afterIntentOf("c1"))
			stop := n.run(n.on(d))
			await(t, "the worker's death", d.dead)
			stop()
			s := n.state(r.RunID)
			if err := os.WriteFile(filepath.Join(s.WorkspacePath, "a"), []byte("1\n"), 0o600); err != nil { // as the call did, or would have
				t.Fatal(err)
			}
			defer n.run(n.executor)()
			n.end(r.RunID)
			if got := changes(n, r.RunID); got != rest.want {
				t.Errorf("%s; want %s: %s", got, rest.want, n.types(r.RunID))
			}
			p := &patched{node: n, r: commands.RunResult{RunID: r.RunID, State: r.State}, dir: s.WorkspacePath}
			shown, err := p.take(operation.TakePlan{Paths: []string{"a"}}, "")
			if err != nil || outcomes(shown) != "a written" {
				t.Errorf("%s, %v", outcomes(shown), err)
			}
			if shown, err = p.restore(operation.RestorePlan{Before: "c1"}, ""); err != nil || !strings.HasPrefix(outcomes(shown), "a deleted") {
				t.Errorf("%s, %v", outcomes(shown), err)
			}
		})
	}
}

// A run goes on where its workspace cannot be looked at, and says so once.
func TestChangesThatCannotBeSeen(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("c1", "echo 1 > a")), calls(shellCall("c2", "echo 2 > b")), text("done")))
	n.executor.Policies = nil
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral"})
	temp := t.TempDir()
	inTheWay := filepath.Join(temp, "hecate-workspaces", r.State.TaskID, ".snapshots")
	if err := os.MkdirAll(filepath.Dir(inTheWay), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer n.run(n.executor, as("a", long), at("here", temp))()
	if s := n.end(r.RunID); s.Status != run.StatusCompleted {
		t.Errorf("the run is %s", s.Status)
	}
	if got := changes(n, r.RunID); strings.Count(got, "not recorded from here on") != 1 || strings.Contains(got, ",") {
		t.Errorf("%s", got)
	}
}

// However long the names are of what a call makes, it can be recorded.
func TestChangesWithLongNames(t *testing.T) {
	n := newNode(t, replies(calls(shellCall("c1", `d=$(printf '\001%.0s' $(seq 120)); for i in 1 2 3 4 5 6 7 8; do mkdir "$d"; cd "$d"; done; for i in $(seq 200); do echo > "$d$i"; done`)), text("done")))
	n.executor.Policies = nil
	r := n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "ephemeral", TimeoutMS: 60_000})
	defer n.run(n.executor)()
	s := n.end(r.RunID)
	c := payloads[run.WorkspaceChanged](n, r.RunID)
	if s.Status != run.StatusCompleted || len(c) != 1 || c[0].FilesCount != 200 || len(c[0].Files) < 50 || len(c[0].Files) > run.FilesListedMax {
		t.Fatalf("the run is %s: %s", s.Status, n.types(r.RunID))
	}
	p := &patched{node: n, r: r, dir: s.WorkspacePath}
	if shown, err := p.take(operation.TakePlan{}, ""); err != nil || shown.FilesCount != 200 || len(shown.Files) < 50 {
		t.Errorf("%s, %v", outcomes(shown), err)
	}
}
