//go:build linux

package blackbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// TestDeniedFilesBehindLinks: ah-workspace-07.
func TestDeniedFilesBehindLinks(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	put(t, filepath.Join(dir, "secrets", "a.key"), "sesame\n")
	put(t, projectFile(dir), "[permissions]\ndeny = [{ pattern = \"view(secrets/**)\", reason = \"keys stay closed\" }]\n")
	link(t, "secrets", filepath.Join(dir, "pub"))
	r, c := s.governed(t, dir, nil, asks(
		call("c1", "read_file", args{"path": "pub/a.key"}), call("c2", "read_file", args{"path": "./secrets/../secrets/a.key"}),
		call("c3", "grep", args{"pattern": "sesame"}), call("c4", "glob", args{"pattern": "**/*.key"}), call("c5", "grep", args{"pattern": "sesame", "path": "pub"}),
	), says("done"))
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4", "c5")
	contains(t, "c1", texts[0], "view(secrets/**)", "keys stay closed")
	contains(t, "c2", texts[1], "view(secrets/**)")
	contains(t, "c3", texts[2], "skipped")
	if all := strings.Join(texts, "\n"); strings.Contains(all, "sesame\n") {
		t.Errorf("a denied file is shown:\n%s", all)
	}
	contains(t, "blocked", r.blocked(t), "c1:permissions.deny", "c2:permissions.deny")
}

// TestFileToolsDoNotWriteIntoGit: ah-git-01. An approval of edits covers none of it.
func TestFileToolsDoNotWriteIntoGit(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	git(t, dir, "init", "-q")
	link(t, ".git", filepath.Join(dir, ".g"))
	put(t, projectFile(dir), "[permissions]\napprove = [\"edit(**)\", \"create(**)\", \"edit(.git/**)\"]\n")
	s.accept(t, dir)
	patch := "*** Begin Patch\n*** Add File: .git/hooks/post-commit\n+evil\n*** End Patch\n"
	config := read(t, filepath.Join(dir, ".git", "config"))
	writeTo := func(id, path string) scripted.Call {
		return call(id, "file_write", args{"path": path, "content": "evil"})
	}
	r, c := s.governed(t, dir, args{"yes": true, "yes_really": true, "allow_tools": []string{"create(**)", "edit(**)"}}, asks(
		writeTo("c1", ".git/hooks/pre-commit"), writeTo("c2", ".git/info/attributes"), writeTo("c3", ".g/hooks/pre-commit"), writeTo("c4", ".GIT/hooks/pre-push"),
		call("c5", "file_edit", args{"path": ".git/config", "old_text": "[core]", "new_text": "[core]\n\tfsmonitor = evil"}),
		call("c6", "apply_patch", args{"patch_text": patch}), writeTo("c7", "sub/../.git/hooks/pre-rebase"), writeTo("c8", "fine"),
	), says("done"))
	r.becomes(t, "completed")
	for i, text := range c.request(t, 1).answered(t, "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")[:7] {
		if !strings.Contains(text, "Git's own") {
			t.Errorf("c%d: %s", i+1, text)
		}
	}
	equal(t, "dispatched", r.intents(t), "c8")
	equal(t, "configuration", read(t, filepath.Join(dir, ".git", "config")), config)
	for _, name := range []string{"hooks/pre-commit", "hooks/post-commit", "hooks/pre-rebase", "info/attributes"} {
		if raw, err := os.ReadFile(filepath.Join(dir, ".git", name)); err == nil && strings.Contains(string(raw), "evil") {
			t.Errorf(".git/%s was written", name)
		}
	}
}

// TestFileToolsDoNotWritePermissions: ah-self-config-01. By its name, through links, in a patch.
func TestFileToolsDoNotWritePermissions(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	original := "[permissions]\ndeny = [\"exec(rm) args(*)\"]\n"
	put(t, projectFile(dir), original)
	s.accept(t, dir)
	link(t, ".hecate", filepath.Join(dir, "innocent"))
	link(t, ".hecate/config.toml", filepath.Join(dir, "notes.txt"))
	const grant = "[permissions]\napprove = [\"shell\", \"shell(echo x >> marker)\"]\n"
	patch := "*** Begin Patch\n*** Update File: .hecate/config.toml\n@@\n-[permissions]\n+[permissions]\n+approve = [\"shell(echo x >> marker)\"]\n*** End Patch\n"
	edit := func(id, path string) scripted.Call {
		return call(id, "file_edit", args{"path": path, "old_text": "[permissions]", "new_text": "[permissions]\napprove = [\"shell(echo x >> marker)\"]"})
	}
	writeTo := func(id, path string) scripted.Call {
		return call(id, "file_write", args{"path": path, "content": grant})
	}
	r, c := s.governed(t, dir, args{"yes": true}, asks(
		writeTo("c1", ".hecate/config.toml"), edit("c2", ".hecate/config.toml"), writeTo("c3", "innocent/config.toml"), edit("c4", "notes.txt"),
		call("c5", "apply_patch", args{"patch_text": patch}), writeTo("c6", "sub/.hecate/config.toml"),
		call("c7", "config_edit", args{"file": "project", "list": "permissions.approve", "entry": "shell(echo x >> marker)"}),
	), says("done"))
	asked := r.question(t)
	equal(t, "gates of config_edit", fmt.Sprint(about(t, asked, "c7")["gates"]), "[config-edit]")
	equal(t, "answers to config_edit", fmt.Sprint(about(t, asked, "c7")["answers"]), "[y n N]")
	r.say(t, no).ok(t)
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4", "c5", "c6", "c7")
	equal(t, "dispatched", r.intents(t), "")
	for i, text := range texts[:6] {
		if !strings.Contains(text, "only config_edit may change it") {
			t.Errorf("c%d: %s", i+1, text)
		}
	}
	equal(t, "the file", read(t, projectFile(dir)), original)

	after, _ := s.governed(t, dir, nil, asks(shell("c1", "echo x >> marker")), says("done"))
	equal(t, "the call still asks", about(t, after.question(t), "c1").str("ruling", "decision"), "ask")
	after.cancel(t)
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
}

// TestProjectFilesOfOthersWidenNothing: ah-self-config-04. A clone brings grants; until somebody
// accepts them only what it forbids counts, with and without a person.
func TestProjectFilesOfOthersWidenNothing(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	const command = "echo x >> marker"
	put(t, projectFile(dir), "[permissions]\napprove = [\"shell("+command+")\"]\npromoted = [\"exec(touch) args(*)\"]\ndeny = [\"exec(rm) args(*)\"]\n[network]\npromoted = [\"evil.invalid\"]\n")
	calls := asks(shell("c1", command), program("c2", "touch", "made"), program("c3", "rm", "-rf", "x"), call("c4", "web_fetch", args{"url": "https://evil.invalid/"}))
	attended, _ := s.governed(t, dir, args{"attended": true}, calls, says("done"))
	asked := attended.question(t)
	for id, decision := range map[string]string{"c1": "ask", "c2": "ask", "c3": "deny", "c4": "ask"} {
		equal(t, id, about(t, asked, id).str("ruling", "decision"), decision)
	}
	attended.cancel(t)
	alone, c := s.governed(t, dir, args{"on_ask": "refuse"}, calls, says("done"))
	alone.becomes(t, "completed")
	equal(t, "dispatched", alone.intents(t), "")
	equal(t, "results", len(c.request(t, 1).answered(t, "c1", "c2", "c3", "c4")), 4)
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
	state := s.get(t, api+"/permissions?dir="+dir)
	want{"project_exists": true, "project_accepted": false}.check(t, "permissions", state)
	equal(t, "waiting", len(state.list("waiting")), 3)

	s.ask(t, "POST", api+"/permissions/accept", args{"dir": dir, "digest": strings.Repeat("0", 64)}).refused(t, 409, "permission_file_changed")
	s.accept(t, dir)
	accepted, _ := s.governed(t, dir, args{"on_ask": "refuse"}, calls, says("done"))
	accepted.becomes(t, "completed")
	contains(t, "dispatched once it is accepted", accepted.intents(t), "c1 c2")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)

	put(t, projectFile(dir), read(t, projectFile(dir))+"# pulled\n") // whatever changes it takes the acceptance away
	again, _ := s.governed(t, dir, args{"on_ask": "refuse"}, calls, says("done"))
	again.becomes(t, "completed")
	equal(t, "dispatched after a change", again.intents(t), "")
}

// TestVariablesThatChooseCodeAsk: ah-env-01. A remembered pattern covers a program whatever
// its ordinary variables are, and no program whose code somebody else chooses.
func TestVariablesThatChooseCodeAsk(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	put(t, projectFile(dir), "[permissions]\npromoted = [\"exec(cargo) args(*)\"]\n")
	s.accept(t, dir)
	cargo := func(id, name, value string) scripted.Call {
		return call(id, "exec", args{"program": "cargo", "args": []string{"test"}, "env": args{name: value}})
	}
	for _, name := range []string{
		"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "RUSTC", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "PATH", "NODE_OPTIONS", "BASH_ENV", "ENV", "IFS",
		"PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "HOME", "CC", "PAGER", "EDITOR", "SSH_ASKPASS", "HTTPS_PROXY",
	} {
		r, c := s.governed(t, dir, args{"on_ask": "refuse", "yes": true, "yes_really": true}, asks(cargo("c1", name, "./evil")), says("done"))
		r.becomes(t, "completed")
		equal(t, name+": dispatched", r.intents(t), "")
		contains(t, name, c.request(t, 1).answered(t, "c1")[0], name)
	}
	r, _ := s.governed(t, dir, nil, asks(cargo("c1", "LD_PRELOAD", "./evil.so"), cargo("c2", "RUST_BACKTRACE", "1")), says("done"))
	asked := r.question(t)
	contains(t, "reason", about(t, asked, "c1").str("reason"), "LD_PRELOAD")
	equal(t, "what can be remembered", fmt.Sprint(about(t, asked, "c1")["answers"]), "[y n N]")
	want{"ruling/decision": "allow_visibly", "ruling/grant": present}.check(t, "RUST_BACKTRACE", about(t, asked, "c2"))
	r.say(t, remembering("c1", "session")).refused(t, 400, "invalid_request")
	r.cancel(t)
	plain, _ := s.governed(t, dir, args{"on_ask": "refuse"}, asks(cargo("c1", "RUST_BACKTRACE", "1")), says("done"))
	plain.becomes(t, "completed")
	equal(t, "dispatched", plain.intents(t), "c1")
}

// TestFetchesStayOutOfPrivateNetworks: ah-ssrf-01, as far as it shows without a name server of
// one's own: private addresses in any spelling are refused, and nobody is asked.
func TestFetchesStayOutOfPrivateNetworks(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	port, reached := listen(t)
	urls := []string{
		"https://127.0.0.1:%s/", "http://127.0.0.1:%s/", "https://2130706433:%s/", "https://0x7f.1:%s/", "https://[::1]:%s/", "https://[::ffff:127.0.0.1]:%s/",
		"https://localhost:%s/", "https://169.254.169.254:%s/", "https://10.0.0.1:%s/", "https://u:p@127.0.0.1:%s/", "https://０:%s/", "file:///etc/passwd?%s",
	}
	var calls []scripted.Call
	var ids []string
	for i, u := range urls {
		ids = append(ids, fmt.Sprint("c", i))
		calls = append(calls, call(ids[i], "web_fetch", args{"url": fmt.Sprintf(u, port)}))
	}
	r, c := s.governed(t, dir, args{"yes": true, "yes_really": true, "on_ask": "refuse"}, asks(calls...), says("done"))
	r.becomes(t, "completed")
	for i, text := range c.request(t, 1).answered(t, ids...) {
		if strings.Contains(text, "status=200") || strings.Contains(text, "hello") {
			t.Errorf("%s: %s", urls[i], text)
		}
	}
	equal(t, "approvals", len(r.approvals(t)), 0)
	equal(t, "connections", int(reached.Load()), 0)
	parked, c := s.governed(t, dir, nil, asks(calls[0], calls[1], calls[6]), says("done"))
	parked.becomes(t, "completed")
	equal(t, "nobody is asked", len(parked.approvals(t)), 0)
	equal(t, "results", len(c.request(t, 1).answered(t, ids[0], ids[1], ids[6])), 3)
}

// TestFetchesIgnoreProxiesOfTheEnvironment: ah-ssrf-04.
func TestFetchesIgnoreProxiesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	port, reached := listen(t)
	proxy := "http://127.0.0.1:" + port
	s, dir := serve(t, "HECATE_BACKEND=memory", "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy, "ALL_PROXY="+proxy, "https_proxy="+proxy, "all_proxy="+proxy), t.TempDir()
	s.permit(t, "[network]\nallow = [\"docs.invalid\"]\n")
	write(t, filepath.Join(dir, "proxy.pac"), "function FindProxyForURL() { return 'PROXY 127.0.0.1:"+port+"' }")
	r, c := s.governed(t, dir, args{"on_ask": "refuse"}, asks(call("c1", "web_fetch", args{"url": "https://docs.invalid/"}), call("c2", "web_fetch", args{"url": proxy})), says("done"))
	r.becomes(t, "completed")
	equal(t, "dispatched", r.intents(t), "c1")
	equal(t, "level", part(t, ofType(r.events(t), "tool.dispatch.intended"), 0, 1)[0].num("data", "ruling", "level"), 1)
	equal(t, "results", len(c.request(t, 1).answered(t, "c1", "c2")), 2)
	equal(t, "connections to the proxy", int(reached.Load()), 0)
}

// TestPagesAnswerNoApproval: ah-local-api-01. Forms and scripts of other pages reach nothing.
func TestPagesAnswerNoApproval(t *testing.T) {
	t.Parallel()
	r, _ := gated(t).agentRun(t, []reply{asks(shell("c1", "true")), says("done")})
	path := r.taskPath() + "/approvals/" + r.parked(t).str("id") + "/resolve"
	for name, c := range map[string]struct {
		body   string
		header []string
	}{
		"plain text":     {`{"decision":"approve"}`, []string{"Content-Type", "text/plain"}},
		"a form":         {"decision=approve", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"a multipart":    {`{"decision":"approve"}`, []string{"Content-Type", "multipart/form-data; boundary=x"}},
		"null origin":    {`{"decision":"approve"}`, []string{"Origin", "null"}},
		"foreign origin": {`{"decision":"approve"}`, []string{"Origin", "https://evil.example"}},
		"no origin":      {`{"decision":"approve"}`, []string{"Sec-Fetch-Site", "cross-site"}},
		"rebound name":   {`{"decision":"approve"}`, []string{"Host", "evil.example"}},
	} {
		if a := newClient(r.base).ask(t, "POST", path, c.body, c.header...); a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	want{"status": "pending"}.check(t, "approval", r.parked(t))
	r.cancel(t)
}

// TestProgramsAnswerNoApproval: ah-local-api-04 for what exec and shell_exec start in an agent's run.
func TestProgramsAnswerNoApproval(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"confined": nil, "not confined": {"HECATE_TASK_SANDBOX=none"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir, token := inItsDirectory(t, env...)
			victim := s.begin(t, sh("echo the deed"))
			asked := victim.parked(t)
			knock(t, s, dir, victim.taskPath()+"/approvals/"+asked.str("id")+"/resolve")
			r, c := s.governed(t, dir, args{"yes": true}, asks(program("c1", "bash", "knock.sh"), shell("c2", "bash knock.sh"), shell("c3", "cat .data/operator.token")), says("done"))
			r.becomes(t, "completed")
			texts := c.request(t, 1).answered(t, "c1", "c2", "c3")
			for i, text := range texts[:2] {
				if strings.Contains(text, "no way") != (env == nil) || strings.Contains(text, "403 Forbidden") != (env != nil) {
					t.Errorf("call %d: %s", i, text)
				}
			}
			if env == nil && strings.Contains(strings.Join(texts, ""), token) {
				t.Errorf("a call sees the token: %s", texts)
			}
			want{"status": "pending"}.check(t, "the approval", s.get(t, victim.taskPath()+"/approvals/"+asked.str("id")))
		})
	}
}

// knock is a script that answers an approval over loopback.
func knock(t *testing.T, s *server, dir, path string) {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"decision":"approve"}`
	write(t, filepath.Join(dir, "knock.sh"), fmt.Sprintf("exec 3<>/dev/tcp/%[1]s/%[2]s || { echo no way; exit 0; }\n"+
		"printf 'POST %[3]s HTTP/1.1\\r\\nHost: %[1]s:%[2]s\\r\\nContent-Type: application/json\\r\\nContent-Length: %[4]d\\r\\nConnection: close\\r\\n\\r\\n%[5]s' >&3\nhead -1 <&3\n",
		host, port, path, len(body), body))
}

// TestAnswersNeedATokenWhereNothingConfines: whoever reaches a server whose commands are not
// confined proves to be an operator before anything is decided, changed or given ahead.
func TestAnswersNeedATokenWhereNothingConfines(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_SANDBOX=none", "HECATE_TASK_APPROVAL_POLICIES=shell_exec")
	dir := t.TempDir()
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	id := r.parked(t).str("id")
	spare := s.create(t, sh("true")).str("id")
	put(t, projectFile(dir), "[permissions]\napprove = [\"exec(true) args()\"]\n")
	digest := s.get(t, api+"/permissions?dir="+dir).str("project_digest")
	stranger := newClient(s.base)
	for path, body := range map[string]args{
		r.taskPath() + "/approvals/" + id + "/resolve": yes,
		api + "/tasks/" + spare + "/start":             {"permissions": args{"yes": true}},
		api + "/permissions/accept":                    {"dir": dir, "digest": digest},
		api + "/permissions/revoke":                    {"dir": dir, "id": "x"},
		r.taskPath() + "/permissions/revoke":           {"grant_id": "x"},
	} {
		stranger.ask(t, "POST", path, body).refused(t, 403, "forbidden")
		stranger.ask(t, "POST", path, body, "X-Hecate-Operator-Token", "guess").refused(t, 401, "unauthorized")
	}
	equal(t, "run", r.now(t).str("status"), "awaiting_approval")
	token := strings.TrimSpace(read(t, filepath.Join(s.dir, "operator.token")))
	stranger.ask(t, "POST", r.taskPath()+"/approvals/"+id+"/resolve", yes, "X-Hecate-Operator-Token", token).ok(t)
	r.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	info, err := os.Stat(filepath.Join(s.dir, "operator.token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v %v", info.Mode(), err)
	}
}

// listen counts who connects to a port of this machine, and greets them.
func listen(t *testing.T) (port string, reached *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // nobody is served after the test
	reached = &atomic.Int64{}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) // whoever it is may be gone
			_ = c.Close()
		}
	}()
	_, port, err = net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, reached
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
