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

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
