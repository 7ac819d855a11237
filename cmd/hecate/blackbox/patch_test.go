//go:build linux

package blackbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// patches are the paths of a run's patches by file name.
func (r run) patches(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range r.list(t, r.path()+"/patches") {
		out[filepath.Base(p.str("path"))] = r.path() + "/patches/" + p.str("artifact", "id")
	}
	return out
}

func held(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return "(absent)"
	} else if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Patches are applied and taken back over HTTP, byte for byte, and never over newer work.
func TestPatchReview(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "win.txt"), "one\r\ntwo\r\nthree")
	put(t, filepath.Join(dir, "k.txt"), "kept\n")
	put(t, filepath.Join(dir, "gone.txt"), "was here")
	r, _ := s.agentRun(t, []reply{
		asks(
			call("c1", "file_edit", args{"path": "win.txt", "old_text": "two", "new_text": "TWO"}),
			call("c2", "file_edit", args{"path": "k.txt", "old_text": "kept", "new_text": "changed", "propose": true}),
			call("c3", "apply_patch", args{"patch_text": "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch\n"}),
		), says("done"),
	}, in(dir))
	r.becomes(t, "completed")
	p := r.patches(t)

	r.ask(t, "POST", p["k.txt"]+"/revert", nil).refused(t, 409, "invalid_request") // still proposed
	r.ask(t, "POST", p["win.txt"]+"/apply", nil).refused(t, 409, "invalid_request")
	r.ask(t, "POST", r.path()+"/patches/artifact_none/apply", nil).refused(t, 404, "not_found")
	put(t, filepath.Join(dir, "k.txt"), "mine\n")
	r.ask(t, "POST", p["k.txt"]+"/apply", nil).refused(t, 409, "invalid_request")
	equal(t, "k.txt", held(t, dir, "k.txt"), "mine\n")
	put(t, filepath.Join(dir, "k.txt"), "kept\n")
	history := r.history(t)

	a := r.ask(t, "POST", p["k.txt"]+"/apply", nil, "Idempotency-Key", "once")
	again := r.ask(t, "POST", p["k.txt"]+"/apply", nil, "Idempotency-Key", "once")
	for _, a := range []answer{a, again} {
		equal(t, "object", a.ok(t).envelope(t).str("object"), "task_patch")
		want{"status": "applied", "artifact/status": "applied", "before_existed": true}.check(t, "patch", a.envelope(t).obj("data"))
	}
	equal(t, "k.txt", held(t, dir, "k.txt"), "changed\n")
	want{"status": "reverted", "before_existed": true}.check(t, "patch", r.post(t, p["win.txt"]+"/revert", nil))
	equal(t, "win.txt", held(t, dir, "win.txt"), "one\r\ntwo\r\nthree")
	r.post(t, p["gone.txt"]+"/revert", nil)
	equal(t, "gone.txt", held(t, dir, "gone.txt"), "was here")
	r.post(t, p["k.txt"]+"/revert", nil)
	equal(t, "k.txt", held(t, dir, "k.txt"), "kept\n")
	r.ask(t, "POST", p["k.txt"]+"/apply", nil).refused(t, 409, "invalid_request")
	r.ask(t, "POST", p["k.txt"]+"/revert", nil).refused(t, 409, "invalid_request")

	equal(t, "new events", strings.TrimSpace(strings.TrimPrefix(r.history(t), history)), "tool.file.applied tool.file.reverted tool.file.reverted tool.file.reverted")
	applied := ofType(r.events(t), "tool.file.applied")[0].obj("data")
	want{"path": filepath.Join(dir, "k.txt"), "artifact_status": "applied"}.check(t, "event", applied)
	want{"id": applied.str("operation_id"), "status": "done", "kind": "patch_apply"}.check(t, "operation", r.get(t, r.path()+"/operations/"+applied.str("operation_id")))
	r.ask(t, "GET", r.path()+"/operations/op_none", nil).refused(t, 404, "not_found")

	s.crash(t) // what was done is a fact like any other
	equal(t, "states", shape(r.list(t, r.path()+"/patches"), "status"), "reverted reverted reverted")
}

// The terminal takes one change of a file back, the last one that is in force, and says why if it cannot.
func TestOneChangeIsTakenBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.txt"), "one")
	r, _ := s.agentRun(t, []reply{
		asks(
			call("c1", "file_edit", args{"path": "a.txt", "old_text": "one", "new_text": "two"}),
			call("c2", "file_edit", args{"path": "a.txt", "old_text": "two", "new_text": "three"}),
			call("c3", "file_write", args{"path": "new.txt", "content": "new"}),
		), says("done"),
	}, in(dir))
	r.becomes(t, "completed")
	for _, want := range []string{"two", "one"} {
		s.hecate(t, "restore", r.id, "--patch", "a.txt", "--dry-run")
		s.hecate(t, "restore", r.id, "--patch", "a.txt", "--yes", "--stat")
		equal(t, "a.txt", held(t, dir, "a.txt"), want)
	}
	s.hecate(t, "restore", r.id, "--patch", filepath.Base(r.patches(t)["new.txt"]), "--yes")
	equal(t, "new.txt", held(t, dir, "new.txt"), "(absent)")
	equal(t, "states", shape(r.list(t, r.path()+"/patches"), "status"), "reverted reverted reverted")
}

// While the run works its workspace is its own, and a shared directory is not touched
// while another run works in it.
func TestPatchOfABusyWorkspace(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	sleep := nap(60)
	first, _ := s.agentRun(t, []reply{asks(call("c1", "file_write", args{"path": "a.txt", "content": "a"})), says("done")}, in(dir))
	first.becomes(t, "completed")
	busy, _ := s.agentRun(t, []reply{asks(call("c1", "file_write", args{"path": "b.txt", "content": "b"}), shell("c2", sleep)), says("done")}, in(dir))
	eventually(t, "the command runs", func() bool { return runs(sleep) })
	busy.ask(t, "POST", busy.patches(t)["b.txt"]+"/revert", nil).refused(t, 409, "conflict")
	first.ask(t, "POST", first.patches(t)["a.txt"]+"/revert", nil).refused(t, 409, "conflict")
	equal(t, "a.txt", held(t, dir, "a.txt"), "a")
	busy.cancel(t)
	eventually(t, "the workspace is free", func() bool {
		return first.ask(t, "POST", first.patches(t)["a.txt"]+"/revert", nil).status == 200
	})
	equal(t, "a.txt", held(t, dir, "a.txt"), "(absent)")
}

// Without a worker nothing is recorded: whoever asks is told to come back.
func TestPatchWithoutWorker(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	r, _ := s.agentRun(t, []reply{asks(call("c1", "file_write", args{"path": "a.txt", "content": "a"})), says("done")}, in(dir))
	r.becomes(t, "completed")
	revert := r.patches(t)["a.txt"] + "/revert"
	s.terminate(t)
	s.env = append(s.env, "HECATE_TASK_WORKERS_ENABLED=false")
	s.start(t)
	r.ask(t, "POST", revert, nil).refused(t, 503, "unavailable")
	equal(t, "a.txt", held(t, dir, "a.txt"), "a")
}

// What changes the operator's own files needs an operator where agents may reach the server.
func TestPatchInPlaceIsADecision(t *testing.T) {
	t.Parallel()
	s, dir, token := inItsDirectory(t, "HECATE_OPERATOR_TOKEN_REQUIRED=always")
	r, _ := s.agentRun(t, []reply{asks(call("c1", "file_write", args{"path": "a.txt", "content": "a"})), says("done")}, in(dir))
	r.becomes(t, "completed")
	revert := r.patches(t)["a.txt"] + "/revert"
	s.header.Del("X-Hecate-Operator-Token")
	r.ask(t, "POST", revert, nil).refused(t, 403, "forbidden")
	equal(t, "a.txt", held(t, dir, "a.txt"), "a")
	r.ask(t, "POST", revert, nil, "X-Hecate-Operator-Token", token).ok(t)

	source := t.TempDir() // a copy is nobody's but the run's
	copied, _ := s.agentRun(t, []reply{asks(call("c1", "file_write", args{"path": "a.txt", "content": "a"})), says("done")}, args{"working_directory": source})
	copied.becomes(t, "completed")
	copied.post(t, copied.patches(t)["a.txt"]+"/revert", nil)
}
