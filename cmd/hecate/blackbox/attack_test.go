//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/runtime/model/scripted"
)

// TestScriptsAreKnownByTheirContent: ah-approval-04. A script that a call names is run as
// it is when the call starts. The question says so, and the log knows both contents.
func TestScriptsAreKnownByTheirContent(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	write(t, filepath.Join(dir, "build.sh"), "echo good\n")
	r, _ := s.governed(t, dir, nil, asks(
		program("c1", "sh", "-c", "echo 'echo evil' > build.sh"),
		program("c2", "sh", "./build.sh"),
	), says("done"))
	asked := about(t, r.question(t), "c2")
	contains(t, "notes", fmt.Sprint(asked["notes"]), "build.sh")
	before := part(t, asked.list("files"), 0, 1)[0]
	r.say(t, yes).ok(t)
	r.becomes(t, "completed")
	ran := part(t, part(t, ofType(r.events(t), "tool.dispatch.intended"), 1, 2)[0].obj("data").list("files"), 0, 1)[0]
	equal(t, "path", ran.str("path"), before.str("path"))
	if ran.str("sha256") == before.str("sha256") || len(ran.str("sha256")) != 64 || len(before.str("sha256")) != 64 {
		t.Errorf("when it was asked about: %s; when it ran: %s", before, ran)
	}
}

// TestStaleApprovalAfterACancelAndARestart: ah-approval-07.
func TestStaleApprovalAfterACancelAndARestart(t *testing.T) {
	t.Parallel()
	s, dir := serve(t, "HECATE_TASK_APPROVAL_POLICIES=UNSET"), t.TempDir()
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker"))}, in(dir))
	id := r.parked(t).str("id")
	r.cancel(t)
	r.sayTo(t, id, yes).refused(t, 409, "invalid_request")
	s.crash(t)
	r.sayTo(t, id, yes).refused(t, 409, "invalid_request")
	equal(t, "run", r.now(t).str("status"), "cancelled")
	equal(t, "approval", part(t, r.approvals(t), 0, 1)[0].str("status"), "cancelled")
	equal(t, "intents", r.intents(t), "")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
}

// TestApprovalsGiveNoAuthorityToOtherRuns: ah-approval-10.
func TestApprovalsGiveNoAuthorityToOtherRuns(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	source, _ := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	old := source.parked(t).str("id")
	source.resolve(t, old, "reject").ok(t)
	second := source.again(t, "resume", args{})
	asked := second.question(t)
	want{"source_run_id": source.id, "source_model_call_index": 1}.check(t, "question", asked)
	second.sayTo(t, old, yes).refused(t, 409, "invalid_request")
	second.say(t, fields(yes, args{"digest": only(t, source, "approval.requested").str("digest")})).refused(t, 409, "invalid_request")
	equal(t, "run", second.now(t).str("status"), "awaiting_approval")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
	second.cancel(t)
}

// TestTooLargeBundlesFailAsAWhole: ah-bundle-01. One call too many, the last of which would do harm.
func TestTooLargeBundlesFailAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "precious"), "x\n")
	var calls []scripted.Call
	for i := range 16 {
		calls = append(calls, call(fmt.Sprint("c", i), "file_write", args{"path": fmt.Sprint("f", i), "content": "x"}))
	}
	r, _ := open(t).agentRun(t, []reply{asks(append(calls, program("c16", "rm", "precious"))...)}, in(dir))
	contains(t, "error", r.becomes(t, "failed").str("last_error"), "17", "16")
	equal(t, "approvals", len(r.approvals(t)), 0)
	equal(t, "intents", r.intents(t), "")
	left, _ := os.ReadDir(dir)
	equal(t, "files", len(left), 1)
}

// hostile are texts that would do something to whoever prints or opens them.
var hostile = map[string]string{
	"path":      "../../../escape",
	"NUL":       "a\x00b",
	"log line":  "x\ntime=2026-01-01T00:00:00Z level=INFO msg=approved",
	"escapes":   "\x1b[2K\rls\b\b\b",
	"title":     "\x1b]0;ls\x07",
	"clipboard": "\x1b]52;c;cm0gLXJm\x07",
	"8-bit":     "\u009b2K\u009d0;ls\u009c",
}

// clean asserts that what is printed has no control characters but ends of lines.
func clean(t *testing.T, what, printed string) {
	t.Helper()
	for _, r := range printed {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
			t.Errorf("%s: the character %U is printed as it is:\n%q", what, r, printed)
			return
		}
	}
}

// TestHostileCallsAreShownAndCarriedAsData: ah-bundle-04, ah-display-01. Ids and commands that
// would repaint a terminal, forge a line of the log or leave a directory.
func TestHostileCallsAreShownAndCarriedAsData(t *testing.T) {
	t.Parallel()
	s, dir := serve(t, "HECATE_TASK_APPROVAL_POLICIES=shell_exec"), t.TempDir()
	for name, text := range hostile {
		id := "id-" + text
		r, c := s.agentRun(t, []reply{asks(shell(id, "echo "+text+" >/dev/null"), call("c2", "list_dir", args{"path": text})), says("done")}, in(dir))
		asked := r.question(t)
		equal(t, name+": id", part(t, asked.list("calls"), 0, 1)[0].str("tool_call_id"), id)
		clean(t, name+": summary", strings.Join(lines(r.parked(t)), "\n"))
		for _, words := range [][]string{{"approvals"}, {"calls", r.id}, {"log", r.id}} {
			clean(t, name+": hecate "+words[0], s.hecate(t, words...))
		}
		if name != "NUL" { // no program can be given one
			r.say(t, args{"decision": "approve", "calls": []args{{"tool_call_id": id, "decision": "approve"}}}).ok(t)
			r.becomes(t, "completed")
			c.request(t, 1).answered(t, id, "c2")
		} else {
			r.cancel(t)
		}
		clean(t, name+": hecate log", s.hecate(t, "log", r.id))
	}
	clean(t, "the server's log", read(t, s.log))
	if forged := s.logged("msg=approved"); strings.HasPrefix(forged, "time=2026-01-01T00:00:00Z") {
		t.Errorf("a line was forged: %s", forged)
	}
	for _, where := range []string{filepath.Dir(s.dir), root, dir} {
		if _, err := os.Stat(filepath.Join(where, "escape")); err == nil {
			t.Errorf("an id was used as a file name in %s", where)
		}
	}
}

// TestIncompleteSummariesSaySo: ah-display-04.
func TestIncompleteSummariesSaySo(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	var calls []scripted.Call
	for i := range 15 {
		calls = append(calls, call(fmt.Sprint("c", i), "read_file", args{"path": strings.Repeat("x", i) + strings.Repeat("é", 400)}))
	}
	calls = append(calls, shell("c15", "rm -rf precious"))
	r, _ := s.agentRun(t, []reply{asks(calls...), says("done")}, in(dir))
	a := r.parked(t)
	want{"action_summary_incomplete": true}.check(t, "approval", a)
	total := 0
	for _, l := range lines(a) {
		if total += len(l); len(l) > 512 || strings.ContainsRune(l, '\uFFFD') {
			t.Errorf("a line of %d bytes: %q", len(l), l)
		}
	}
	if total > 4096 || total < 3000 {
		t.Errorf("the summary has %d bytes", total)
	}
	asked := r.question(t)
	equal(t, "calls", len(asked.list("calls")), 16)
	shown := s.hecate(t, "approvals")
	contains(t, "hecate approvals", shown, "rm -rf precious")
	r.say(t, fields(yes, args{"digest": strings.Repeat("0", 64)})).refused(t, 409, "invalid_request")
	r.cancel(t)
}

// TestRememberedCommandsStayOneEntry: ah-display-07. A command that would be more than one
// entry if it were written as it stands.
func TestRememberedCommandsStayOneEntry(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	put(t, projectFile(dir), "# ours\n[permissions]\napprove = [\n    \"exec(true) args()\", # one\n]\n[network]\nallow = [\"docs.example\"]\n")
	s.accept(t, dir)
	before := s.get(t, api+"/permissions?dir="+dir)
	command := "echo \"it's ]] \\\\ \"\napprove = [\"shell\"]\n# '''"
	r, _ := s.governed(t, dir, nil, asks(shell("c1", command)), says("done"))
	r.say(t, remembering("c1", "project")).ok(t)
	r.ends(t)
	want{"saved": true, "change/Text": absent}.check(t, "change", only(t, r, "permission.changed"))
	after := s.get(t, api+"/permissions?dir="+dir)
	if problems := after.list("problems"); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	added := after.list("entries")
	equal(t, "entries", len(added), len(before.list("entries"))+1)
	found := false
	for _, e := range added {
		found = found || e.str("list") == "permissions.promoted" && e.str("text") == "shell("+command+")"
		if e.str("text") == "shell" {
			t.Errorf("an entry was smuggled in: %s", e)
		}
	}
	if !found {
		t.Errorf("no entry is the command: %s", after)
	}
	contains(t, "the file", read(t, projectFile(dir)), "# ours", "# one", "docs.example")

	again, _ := s.governed(t, dir, nil, asks(shell("c1", command), shell("c2", "echo other")), says("done"))
	asked := again.question(t)
	equal(t, "what the entry covers", about(t, asked, "c1").str("ruling", "decision"), "allow_visibly")
	equal(t, "another command", about(t, asked, "c2").str("ruling", "decision"), "ask")
	again.cancel(t)
}
