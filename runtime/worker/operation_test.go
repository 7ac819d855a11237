package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/commands"
	domainevent "hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// patched is an ended run whose patches are touched from outside.
type patched struct {
	*node
	r   commands.RunResult
	dir string // its workspace
	ids map[string]string
}

// change is a run that makes one of each kind of patch.
func change(mode string) (task.Definition, scripted.Script, map[string]string) {
	files := map[string]string{"f.txt": "one\r\ntwo", "h.txt": "gone\n", "k.txt": "kept\n", "run.sh": "#!/bin/sh\necho a\n"}
	script := scripted.Script{Replies: []scripted.Reply{
		calls(
			scripted.ToolCall("c1", "file_write", map[string]any{"path": "f.txt", "content": "ONE\r\ntwo"}),
			scripted.ToolCall("c2", "file_write", map[string]any{"path": "g/new.txt", "content": "no newline"}),
			scripted.ToolCall("c3", "apply_patch", map[string]any{"patch_text": "*** Begin Patch\n*** Delete File: h.txt\n*** End Patch\n"}),
			scripted.ToolCall("c4", "file_edit", map[string]any{"path": "k.txt", "old_text": "kept", "new_text": "changed", "propose": true}),
			scripted.ToolCall("c5", "file_edit", map[string]any{"path": "run.sh", "old_text": "echo a", "new_text": "echo b"}),
		), text("done"),
	}}
	return task.Definition{Prompt: domainevent.NewText("go"), WorkspaceMode: mode}, script, files
}

// newPatched executes such a run to its end.
func newPatched(t *testing.T, mode string, more ...scripted.Script) *patched {
	d, script, files := change(mode)
	n := newNode(t, append(more, script)...)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(n.source, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(n.source, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &patched{node: n, r: n.start(d), ids: map[string]string{}}
	stop := n.run(n.executor)
	p.dir = n.end(p.r.RunID).WorkspacePath
	stop()
	for _, f := range payloads[run.FilePatch](n, p.r.RunID) {
		p.ids[filepath.Base(f.Path)] = f.ArtifactID
	}
	if len(p.ids) != 5 {
		t.Fatalf("the run made these patches: %v: %s", p.ids, n.types(p.r.RunID))
	}
	return p
}

func (p *patched) request(k operation.Kind, file string) (operation.State, error) {
	return p.executor.RequestOperation(p.t.Context(), commands.Meta{}, operation.Requested{TaskID: p.r.State.TaskID, RunID: p.r.RunID, Kind: k, ArtifactID: p.ids[file]})
}

// await waits for an operation and returns why it was not done.
func (p *patched) await(o operation.State) error {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), patience)
	defer stop()
	if err := p.executor.AwaitOperation(ctx, &o); err != nil || o.Completed == nil {
		p.t.Fatalf("operation %+v: %v", o, err)
	}
	return o.Completed.Err()
}

func (p *patched) do(k operation.Kind, file string) error {
	p.t.Helper()
	o, err := p.request(k, file)
	if err != nil {
		return err
	}
	return p.await(o)
}

// begins runs a pool until it takes requests.
func (p *patched) begins(changes ...func(*worker.Config)) (stop func()) {
	stop = p.run(p.executor, changes...)
	eventually(p.t, "a worker", func() bool {
		live, err := p.store.Workers(p.t.Context())
		return err == nil && len(live) > 0
	})
	return stop
}

func (p *patched) holds(name, want string) {
	p.t.Helper()
	got, err := os.ReadFile(filepath.Join(p.dir, name))
	if os.IsNotExist(err) {
		got = []byte("(absent)")
	} else if err != nil {
		p.t.Fatal(err)
	}
	if string(got) != want {
		p.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

func (p *patched) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patched) refused(err error, kind fault.Kind, code string) {
	p.t.Helper()
	if f, ok := fault.Of(err); !ok || f.Kind != kind || f.Code != code {
		p.t.Errorf("got %v, want %s %s", err, kind, code)
	}
}

func (p *patched) recorded(want int) {
	p.t.Helper()
	got := len(payloads[run.FileApplied](p.node, p.r.RunID)) + len(payloads[run.FileReverted](p.node, p.r.RunID))
	if got != want {
		p.t.Errorf("%d events of patches, want %d: %s", got, want, p.types(p.r.RunID))
	}
}

var touches = []struct {
	kind operation.Kind
	file string
}{
	{operation.PatchRevert, "f.txt"},
	{operation.PatchRevert, "new.txt"},
	{operation.PatchRevert, "h.txt"},
	{operation.PatchApply, "k.txt"},
}

// What somebody changed by hand is never lost, and a refused request changes nothing.
func TestPatchesAgainstNewerWork(t *testing.T) {
	for _, mode := range []string{"in_place", "persistent"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPatched(t, mode)
			defer p.begins()()
			p.write("f.txt", "mine")
			p.write("g/new.txt", "no newline\n")
			p.write("h.txt", "mine")
			p.write("k.txt", "kept")
			for _, c := range touches {
				p.refused(p.do(c.kind, c.file), fault.KindConflict, "invalid_request")
			}
			p.holds("f.txt", "mine")
			p.holds("h.txt", "mine")
			p.recorded(0)

			p.write("f.txt", "ONE\r\ntwo")
			p.write("g/new.txt", "no newline")
			p.write("k.txt", "kept\n")
			if err := os.Remove(filepath.Join(p.dir, "h.txt")); err != nil {
				t.Fatal(err)
			}
			for _, c := range touches {
				if err := p.do(c.kind, c.file); err != nil {
					t.Errorf("%s of %s: %v", c.kind, c.file, err)
				}
			}
			p.holds("f.txt", "one\r\ntwo")
			p.holds("g/new.txt", "(absent)")
			p.holds("h.txt", "gone\n")
			p.holds("k.txt", "changed\n")
			p.recorded(4)

			for _, c := range touches {
				p.refused(p.do(c.kind, c.file), fault.KindConflict, "invalid_request")
			}
			p.recorded(4)
		})
	}
}

func TestPatchKeepsTheExecutableBit(t *testing.T) {
	p := newPatched(t, "persistent")
	defer p.begins()()
	if err := p.do(operation.PatchRevert, "run.sh"); err != nil {
		t.Fatal(err)
	}
	p.holds("run.sh", "#!/bin/sh\necho a\n")
	if info, err := os.Stat(filepath.Join(p.dir, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A path that leads out, or elsewhere, by now is not followed.
func TestPatchFollowsNoLinkPutInItsWay(t *testing.T) {
	p := newPatched(t, "persistent")
	defer p.begins()()
	outside := t.TempDir()
	for name, content := range map[string]string{"f.txt": "ONE\r\ntwo", "new.txt": "no newline"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(name, target string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	replace("f.txt", filepath.Join(outside, "f.txt"))
	replace("g", outside)
	for _, name := range []string{"f.txt", "new.txt"} {
		p.refused(p.do(operation.PatchRevert, name), fault.KindInvalid, "invalid_request")
	}
	p.write("inner.txt", "ONE\r\ntwo")
	replace("f.txt", "inner.txt")
	p.refused(p.do(operation.PatchRevert, "f.txt"), fault.KindConflict, "invalid_request")
	p.holds("inner.txt", "ONE\r\ntwo")
	if err := os.Remove(filepath.Join(p.dir, "f.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(p.dir, "f.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.refused(p.do(operation.PatchRevert, "f.txt"), fault.KindConflict, "invalid_request")
	p.recorded(0)
}

// Of many who want the same at once, one gets it, and the others a conflict.
func TestOnePatchIsAppliedOnce(t *testing.T) {
	p := newPatched(t, "persistent")
	defer p.begins()()
	const askers = 8
	errs := make([]error, askers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = p.do(operation.PatchApply, "k.txt") })
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		if f, ok := fault.Of(err); err == nil {
			done++
		} else if !ok || f.Kind != fault.KindConflict {
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d of %d were done", done, askers)
	}
	p.holds("k.txt", "changed\n")
	p.recorded(1)
}

func TestNobodyReachesTheWorkspace(t *testing.T) {
	p := newPatched(t, "persistent")
	_, err := p.request(operation.PatchApply, "k.txt")
	p.refused(err, fault.KindUnavailable, "unavailable")
	defer p.begins(func(c *worker.Config) { c.Workspaces = newNode(t).config(p.executor).Workspaces })()
	_, err = p.request(operation.PatchApply, "k.txt")
	p.refused(err, fault.KindUnavailable, "unavailable")
}

// While a run works in a directory, what ended runs left in there is not touched.
func TestOperationsKeepOutOfRuns(t *testing.T) {
	p := newPatched(t, "in_place", scripted.Script{Marker: "tortoise", Replies: []scripted.Reply{calls(call("c1", "wait")), text("done")}})
	e := newEffects(p.node)
	defer p.begins()()
	r := p.start(task.Definition{Prompt: event("tortoise")})
	e.waiting(t)
	p.refused(p.do(operation.PatchApply, "k.txt"), fault.KindConflict, "conflict")
	p.holds("k.txt", "kept\n")
	close(e.end)
	p.end(r.RunID)
	if err := p.do(operation.PatchApply, "k.txt"); err != nil {
		t.Error(err)
	}
	eventually(t, "no lock", func() bool {
		held, err := p.store.HeldLocks(t.Context())
		return err == nil && len(held) == 0
	})
}

// stopping holds up the append that says how an operation ended.
type stopping struct {
	eventstore.Store
	reached, let chan struct{}
}

func (s *stopping) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	if appends[operation.Completed]()(b) {
		close(s.reached)
		<-s.let
	}
	return s.Store.Append(ctx, b)
}

// A run does not begin in the midst of an operation on its directory, and does after it.
func TestRunsKeepOutOfOperations(t *testing.T) {
	p := newPatched(t, "in_place", scripted.Script{Marker: "zebra", Repeat: true, Replies: []scripted.Reply{text("done")}})
	s := &stopping{p.store, make(chan struct{}), make(chan struct{})}
	stop := p.run(p.on(s))
	defer stop()
	eventually(t, "a worker", func() bool { live, err := p.store.Workers(t.Context()); return err == nil && len(live) > 0 })
	o, err := p.request(operation.PatchApply, "k.txt")
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the operation", s.reached)
	looks := p.model.Count()
	r := p.start(task.Definition{Prompt: event("zebra")})
	other := p.start(task.Definition{Prompt: event("zebra"), WorkingDirectory: t.TempDir()}) // it was queued after r
	p.end(other.RunID)
	if p.state(r.RunID).Begun {
		t.Error("the run began while an operation was at work in its directory")
	}
	close(s.let)
	if err := p.await(o); err != nil {
		t.Error(err)
	}
	p.end(r.RunID)
	if n := p.model.Count() - looks; n != 2 {
		t.Errorf("%d model calls", n)
	}
}

// A worker dies at any moment of an operation: the next one finishes it, once, or says
// that nobody knows.
func TestOperationSurvivesItsWorker(t *testing.T) {
	begun := appends[operation.Begun]()
	for _, c := range []struct {
		name   string
		meddle func(p *patched) // with the file, between the two workers
		want   string           // the file's content
		fault  string
	}{
		{"before the effect", func(*patched) {}, "changed\n", ""},
		{"after the effect", func(p *patched) { p.write("k.txt", "changed\n") }, "changed\n", ""},
		{"and somebody wrote", func(p *patched) { p.write("k.txt", "mine\n") }, "mine\n", "outcome_unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPatched(t, "persistent")
			d := newDying(p.store, begun)
			stop := p.run(p.on(d))
			eventually(t, "a worker", func() bool { live, err := p.store.Workers(t.Context()); return err == nil && len(live) > 0 })
			o, err := p.request(operation.PatchApply, "k.txt")
			if err != nil {
				t.Fatal(err)
			}
			await(t, "the worker's death", d.dead)
			stop()
			p.holds("k.txt", "kept\n")
			c.meddle(p)
			defer p.begins()()
			switch err := p.await(o); {
			case c.fault == "" && err != nil:
				t.Error(err)
			case c.fault != "":
				p.refused(err, fault.KindConflict, c.fault)
			}
			p.holds("k.txt", c.want)
			if c.fault == "" {
				p.recorded(1)
			} else {
				p.recorded(0)
			}
		})
	}
}

// The result was recorded, but the answer to that got lost.
func TestOperationIsRecordedOnce(t *testing.T) {
	p := newPatched(t, "persistent")
	d := newDying(p.store, appends[operation.Completed]())
	stop := p.run(p.on(d))
	eventually(t, "a worker", func() bool { live, err := p.store.Workers(t.Context()); return err == nil && len(live) > 0 })
	o, err := p.request(operation.PatchApply, "k.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.await(o); err != nil {
		t.Error(err)
	}
	stop()
	defer p.begins()()
	if err := p.do(operation.PatchRevert, "k.txt"); err != nil {
		t.Error(err)
	}
	p.holds("k.txt", "kept\n")
	p.recorded(2)
}

// later is a clock that is ahead.
type later struct{ by time.Duration }

func (l later) Now() time.Time { return time.Now().UTC().Add(l.by) }

// What nobody has begun for long is given up, by whoever finds it.
func TestOperationIsGivenUp(t *testing.T) {
	p := newPatched(t, "persistent")
	place, err := p.config(p.executor).Workspaces.Place()
	if err != nil {
		t.Fatal(err)
	}
	w := eventstore.Worker{Instance: "instance_x", Node: "x", Reach: []string{place}, TTL: time.Hour}
	if err := p.store.Register(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	o, err := p.request(operation.PatchApply, "k.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer p.begins(func(c *worker.Config) {
		c.Clock, c.Workspaces = later{operation.Patience + time.Minute}, newNode(t).config(p.executor).Workspaces
	})()
	p.refused(p.await(o), fault.KindUnavailable, "unavailable")
	p.holds("k.txt", "kept\n")
}

// A proposal of a run that waits for a person can be applied; the run goes on after it.
func TestPatchOfAParkedRun(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		calls(scripted.ToolCall("c1", "file_edit", map[string]any{"path": "k.txt", "old_text": "kept", "new_text": "changed", "propose": true})),
		calls(shellCall("c2", "cat k.txt")), text("done"),
	}})
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	if err := os.WriteFile(filepath.Join(n.source, "k.txt"), []byte("kept\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &patched{node: n, dir: n.source, ids: map[string]string{}}
	p.r = n.start(task.Definition{Prompt: event("go")})
	defer p.begins()()
	n.parked(p.r.RunID)
	for _, f := range payloads[run.FilePatch](n, p.r.RunID) {
		p.ids["k.txt"] = f.ArtifactID
	}
	if err := p.do(operation.PatchApply, "k.txt"); err != nil {
		t.Fatal(err)
	}
	n.approve(p.r.RunID)
	n.end(p.r.RunID)
	var told []string
	for _, s := range payloads[run.DispatchSettled](n, p.r.RunID) {
		told = append(told, s.Result.String())
	}
	if !strings.Contains(strings.Join(told, "\n"), "changed") {
		t.Errorf("the run saw %q", told)
	}
	p.recorded(1)
}
