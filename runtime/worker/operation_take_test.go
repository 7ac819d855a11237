package worker_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/tools/snapshot"
)

// landed asks for an operation and returns what became of the files.
func (p *patched) landed(r operation.Requested) (*operation.Landed, error) {
	p.t.Helper()
	r.TaskID, r.RunID = p.r.State.TaskID, p.r.RunID
	o, err := p.executor.RequestOperation(p.t.Context(), commands.Meta{}, r)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(p.t.Context(), patience)
	defer stop()
	if err := p.executor.AwaitOperation(ctx, &o); err != nil || o.Completed == nil {
		p.t.Fatalf("operation %+v: %v", o, err)
	}
	return o.Completed.Landed, o.Completed.Err()
}

func (p *patched) take(plan operation.TakePlan, digest string) (*operation.Landed, error) {
	p.t.Helper()
	return p.landed(operation.Requested{Kind: operation.Take, Preview: digest == "", Digest: digest, Take: &plan})
}

func (p *patched) restore(plan operation.RestorePlan, digest string) (*operation.Landed, error) {
	p.t.Helper()
	return p.landed(operation.Requested{Kind: operation.Restore, Preview: digest == "", Digest: digest, Restore: &plan})
}

// outcomes are those of the files in one line.
func outcomes(l *operation.Landed) string {
	if l == nil {
		return "(nothing)"
	}
	var out []string
	for _, f := range l.Files {
		out = append(out, f.Path+" "+f.Outcome)
	}
	return strings.Join(out, ", ")
}

func (p *patched) source(name, want string) {
	p.t.Helper()
	in := &patched{node: p.node, dir: p.node.source}
	in.holds(name, want)
}

// What a run has changed in its copy comes into the source as it was shown, once.
func TestTake(t *testing.T) {
	p := newPatched(t, "ephemeral")
	defer p.begins()()
	edit := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.node.source, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shown, err := p.take(operation.TakePlan{}, "")
	if err != nil {
		t.Fatal(err)
	}
	const all = "f.txt written, g/new.txt written, h.txt deleted, run.sh written"
	if got := outcomes(shown); got != all || !strings.Contains(shown.Diff.String(), "+no newline") || shown.Target != p.node.source {
		t.Errorf("the preview: %s in %s\n%s", got, shown.Target, shown.Diff)
	}
	p.source("f.txt", "one\r\ntwo") // it was only a preview

	if _, err := p.take(operation.TakePlan{Paths: []string{"f.txt"}}, shown.Digest); err == nil {
		t.Error("another selection than what was shown was taken")
	}
	edit("h.txt", "changed meanwhile\n")
	_, err = p.take(operation.TakePlan{}, shown.Digest)
	p.refused(err, fault.KindConflict, "preview_outdated")
	shown, err = p.take(operation.TakePlan{}, "")
	if err != nil || shown.Conflicts != 1 {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	_, err = p.take(operation.TakePlan{}, shown.Digest)
	p.refused(err, fault.KindConflict, "conflict")
	p.source("f.txt", "one\r\ntwo") // all or nothing

	some := operation.TakePlan{Paths: []string{"f.txt", "g"}}
	if shown, err = p.take(some, ""); err != nil {
		t.Fatal(err)
	}
	if shown, err = p.take(some, shown.Digest); err != nil || outcomes(shown) != "f.txt written, g/new.txt written" {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	p.source("f.txt", "ONE\r\ntwo")
	p.source("g/new.txt", "no newline")
	p.source("h.txt", "changed meanwhile\n")

	edit("h.txt", "gone\n")
	if shown, err = p.take(operation.TakePlan{}, ""); err != nil || outcomes(shown) != "f.txt already, g/new.txt already, h.txt deleted, run.sh written" {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	if _, err = p.take(operation.TakePlan{}, shown.Digest); err != nil {
		t.Fatal(err)
	}
	p.source("h.txt", "(absent)")
	if info, err := os.Stat(filepath.Join(p.node.source, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("run.sh: %v %v", info, err)
	}
	if shown, err = p.take(operation.TakePlan{}, ""); err != nil || len(shown.Files) != 0 {
		t.Errorf("when all was taken: %s, %v", outcomes(shown), err)
	}
	taken := payloads[run.WorkspaceTaken](p.node, p.r.RunID)
	if len(taken) != 2 || taken[0].Whole || taken[0].FilesCount != 2 || !taken[1].Whole || taken[1].FilesCount != 2 || taken[1].Target != p.node.source {
		t.Errorf("recorded: %+v", taken)
	}
	if d := cmp.Diff([]run.FileChange{{Path: "f.txt", Kind: "update"}, {Path: "g/new.txt", Kind: "add"}}, taken[0].Files); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]run.FileChange{{Path: "h.txt", Kind: "delete"}, {Path: "run.sh", Kind: "update"}}, taken[1].Files); d != "" {
		t.Error(d)
	}
}

// A new branch gets the changes, and the source stays as it is.
func TestTakeToABranch(t *testing.T) {
	p := newPatched(t, "ephemeral")
	defer p.begins()()
	plan := operation.TakePlan{Branch: "hecate/try"}
	_, err := p.take(plan, "")
	p.refused(err, fault.KindConflict, "conflict") // no repository
	git := func(line string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "sh", "-ec", "cd '"+p.node.source+"'; "+line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	git("git init -q; git config user.name O; git config user.email o@x; git add .; git commit -qm first")
	shown, err := p.take(plan, "")
	if err != nil || shown.Commit == "" {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	done, err := p.take(plan, shown.Digest)
	if err != nil {
		t.Fatal(err)
	}
	want := done.Commit + " O " + shown.Commit + "\nM\tf.txt\nA\tg/new.txt\nD\th.txt\nM\trun.sh\n"
	if got := git("git log -1 --format='%H %an %P' hecate/try; git diff --name-status HEAD hecate/try; git status --porcelain"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = p.take(plan, "")
	p.refused(err, fault.KindConflict, "conflict") // it is there
	if shown, err := p.take(operation.TakePlan{}, ""); err != nil || shown.FilesCount != 4 {
		t.Errorf("the source has it already: %s, %v", outcomes(shown), err)
	}
}

// A workspace goes back to before any of its calls, and further changes of it are seen.
func TestRestore(t *testing.T) {
	for _, mode := range []string{"ephemeral", "in_place"} {
		t.Run(mode, func(t *testing.T) {
			p := newPatched(t, mode)
			defer p.begins()()
			if _, err := p.restore(operation.RestorePlan{Before: "c9"}, ""); err == nil {
				t.Error("there is no such call")
			}
			back := operation.RestorePlan{Before: "c2"}
			shown, err := p.restore(back, "")
			if err != nil || outcomes(shown) != "g/new.txt deleted, h.txt written, run.sh written" {
				t.Fatalf("%s, %v", outcomes(shown), err)
			}
			p.write("h.txt", "mine")
			_, err = p.restore(back, shown.Digest)
			p.refused(err, fault.KindConflict, "preview_outdated")
			if shown, err = p.restore(back, ""); err != nil || shown.Conflicts != 1 {
				t.Fatalf("%s, %v", outcomes(shown), err)
			}
			_, err = p.restore(back, shown.Digest)
			p.refused(err, fault.KindConflict, "conflict")
			p.holds("h.txt", "mine")
			back.Force = true
			if shown, err = p.restore(back, ""); err != nil {
				t.Fatal(err)
			}
			if _, err = p.restore(back, shown.Digest); err != nil {
				t.Fatal(err)
			}
			p.holds("f.txt", "ONE\r\ntwo")
			p.holds("g/new.txt", "(absent)")
			p.holds("h.txt", "gone\n")
			p.holds("run.sh", "#!/bin/sh\necho a\n")

			// The restoration can be taken back, too, and the call before it.
			restored := payloads[run.WorkspaceRestored](p.node, p.r.RunID)
			if len(restored) != 1 {
				t.Fatalf("recorded: %+v", restored)
			}
			for _, before := range []string{restored[0].OperationID, "c1"} {
				shown, err := p.restore(operation.RestorePlan{Before: before}, "")
				if err == nil {
					_, err = p.restore(operation.RestorePlan{Before: before}, shown.Digest)
				}
				if err != nil {
					t.Fatalf("before %s: %v", before, err)
				}
				if before != "c1" {
					p.holds("h.txt", "mine")
					p.holds("g/new.txt", "no newline")
				}
			}
			p.holds("f.txt", "one\r\ntwo")
		})
	}
}

// What others have changed stays theirs, however often the workspace is put back.
func TestRestoreTwiceLeavesTheFilesOfOthersAlone(t *testing.T) {
	p := newPatched(t, "in_place")
	defer p.begins()()
	p.write("mine.txt", "mine")
	for _, before := range []string{"c4", "c4", "c3", "c1"} {
		shown, err := p.restore(operation.RestorePlan{Before: before}, "")
		if err == nil {
			_, err = p.restore(operation.RestorePlan{Before: before}, shown.Digest)
		}
		if err != nil {
			t.Fatalf("before %s: %v", before, err)
		}
		p.holds("mine.txt", "mine")
		if before == "c4" {
			p.holds("f.txt", "ONE\r\ntwo")
		}
	}
	p.holds("f.txt", "one\r\ntwo")

	p.write("h.txt", "edited by hand")
	shown, err := p.restore(operation.RestorePlan{Before: "c5"}, "")
	if err != nil || !strings.Contains(outcomes(shown), "h.txt conflicted") {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
}

// What people change between two calls, or before a patch is taken back, stays theirs.
func TestRestoreLeavesHandEditsAlone(t *testing.T) {
	n := newNode(t, replies(
		calls(scripted.ToolCall("c1", "file_write", map[string]any{"path": "a", "content": "1"})),
		calls(shellCall("c2", "echo 2 > b; echo 2 > a")), text("done")))
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	p := &patched{node: n, r: n.start(task.Definition{Prompt: event("go"), WorkspaceMode: "in_place"}), dir: n.source, ids: map[string]string{}}
	defer n.run(n.executor)()
	n.parked(p.r.RunID)
	p.write("mine", "before the call")
	n.approve(p.r.RunID)
	n.end(p.r.RunID)
	p.write("mine too", "before the patch")
	p.write("a", "1") // so that the patch can be taken back
	p.ids["a"] = payloads[run.FilePatch](n, p.r.RunID)[0].ArtifactID
	if err := p.do(operation.PatchRevert, "a"); err != nil {
		t.Fatal(err)
	}
	p.write("mine as well", "after all")
	shown, err := p.restore(operation.RestorePlan{Before: "c1"}, "")
	if err != nil || outcomes(shown) != "b deleted" {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	if _, err := p.restore(operation.RestorePlan{Before: "c1"}, shown.Digest); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"mine": "before the call", "mine too": "before the patch", "mine as well": "after all", "a": "(absent)", "b": "(absent)"} {
		p.holds(name, content)
	}
}

// Reverting a patch is a change that a later restoration knows of.
func TestRestoreAfterAPatchIsReverted(t *testing.T) {
	p := newPatched(t, "ephemeral")
	defer p.begins()()
	if err := p.do(operation.PatchRevert, "f.txt"); err != nil {
		t.Fatal(err)
	}
	back := operation.RestorePlan{Before: "c5"}
	shown, err := p.restore(back, "")
	if err != nil || outcomes(shown) != "f.txt written, run.sh written" {
		t.Fatalf("%s, %v", outcomes(shown), err)
	}
	if _, err := p.restore(back, shown.Digest); err != nil {
		t.Fatal(err)
	}
	p.holds("f.txt", "ONE\r\ntwo")
}

// A run that was never asked to change anything, and one that is not over.
func TestRestoreNeedsAnEndedRunWithChanges(t *testing.T) {
	p := newPatched(t, "ephemeral")
	second := p.goOn(p.r, "more")
	p.r = second
	_, err := p.restore(operation.RestorePlan{Before: "c1"}, "")
	p.refused(err, fault.KindConflict, "conflict")
	if _, err := p.take(operation.TakePlan{}, ""); err == nil {
		t.Error("taken from a run that is not over")
	}
}

// A worker dies when it has said that it begins: the next one does it, says that it is
// done, or that nobody knows.
func TestTakeSurvivesItsWorker(t *testing.T) {
	begun := appends[operation.Begun]()
	results := map[operation.Kind]map[string]string{ // what each leads to; "" for nothing
		operation.Take:    {"f.txt": "ONE\r\ntwo", "g/new.txt": "no newline", "h.txt": "", "run.sh": "#!/bin/sh\necho b\n"},
		operation.Restore: {"f.txt": "one\r\ntwo", "g/new.txt": "", "h.txt": "gone\n", "run.sh": "#!/bin/sh\necho a\n"},
	}
	for kind, result := range results {
		for name, meddle := range map[string]func(t *testing.T, dir string){
			"before the effect": func(*testing.T, string) {},
			"after the effect": func(t *testing.T, dir string) {
				for name, content := range result {
					path := filepath.Join(dir, name)
					_ = os.MkdirAll(filepath.Dir(path), 0o755)
					if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
						t.Fatal(err)
					}
					if content == "" {
						_ = os.Remove(path)
					}
				}
				_ = os.Chmod(filepath.Join(dir, "f.txt"), 0o644)
				_ = os.Chmod(filepath.Join(dir, "h.txt"), 0o644)
				_ = os.Chmod(filepath.Join(dir, "g/new.txt"), 0o644)
			},
			"and somebody wrote": func(t *testing.T, dir string) {
				if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte("mine"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newPatched(t, "ephemeral")
				dir := p.dir
				r := operation.Requested{TaskID: p.r.State.TaskID, RunID: p.r.RunID, Kind: kind, Preview: true, Restore: &operation.RestorePlan{Before: "c1"}}
				if kind == operation.Take {
					dir, r.Take = p.node.source, &operation.TakePlan{}
				}
				stop := p.begins()
				shown, err := p.landed(r)
				if err != nil {
					t.Fatal(err)
				}
				stop()
				r.Preview, r.Digest = false, shown.Digest
				d := newDying(p.store, begun)
				stop = p.run(p.on(d))
				eventually(t, "a worker", func() bool { live, err := p.store.Workers(t.Context()); return err == nil && len(live) > 0 })
				o, err := p.executor.RequestOperation(t.Context(), commands.Meta{}, r)
				if err != nil {
					t.Fatal(err)
				}
				await(t, "the worker's death", d.dead)
				stop()
				meddle(t, dir)
				defer p.begins()()
				at := &patched{node: p.node, dir: dir}
				if err := p.await(o); name == "and somebody wrote" {
					p.refused(err, fault.KindConflict, "outcome_unknown")
					at.holds("f.txt", "mine")
					return
				} else if err != nil {
					t.Fatal(err)
				}
				for name, content := range result {
					if content == "" {
						content = "(absent)"
					}
					at.holds(name, content)
				}
				if n := len(payloads[run.WorkspaceTaken](p.node, p.r.RunID)) + len(payloads[run.WorkspaceRestored](p.node, p.r.RunID)); n != 1 {
					t.Errorf("recorded %d times: %s", n, p.types(p.r.RunID))
				}
			})
		}
	}
}

// What no snapshot holds is named, and keeps the workspace from counting as taken.
func TestTakeNamesWhatStaysBehind(t *testing.T) {
	p := newPatched(t, "ephemeral")
	defer p.begins()()
	huge, err := os.Create(filepath.Join(p.dir, "huge.bin"))
	if err == nil {
		err = huge.Truncate(snapshot.FileBytesMax + 1) // takes no room
	}
	if err == nil {
		err = huge.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	shown, err := p.take(operation.TakePlan{}, "")
	if err != nil || len(shown.LeftBehind) != 1 || !strings.HasPrefix(shown.LeftBehind[0], "huge.bin is larger") {
		t.Fatalf("%+v, %v", shown, err)
	}
	if _, err := p.take(operation.TakePlan{}, shown.Digest); err != nil {
		t.Fatal(err)
	}
	if taken := payloads[run.WorkspaceTaken](p.node, p.r.RunID); len(taken) != 1 || taken[0].Whole {
		t.Errorf("recorded: %+v", taken)
	}
}
