package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/permission"
	"hecate/domain/run"
)

const projectFile = `# of the project
[permissions]
deny = [{ pattern = "exec(npm) args(*)", reason = "Use pnpm." }]
approve = ["exec(echo) args(*)"] # harmless

[[locks]]
name = "build-output"
patterns = ["exec(make) args(*)"]
`

// grantProject is a directory with a permission file that nobody has accepted, and the
// environment of a user with one entry in his own.
func grantProject(t *testing.T) (dir, home string) {
	dir, home = t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, permission.ProjectFile):              projectFile,
		filepath.Join(home, ".config", "hecate", "config.toml"): "[network]\nallow = [\"docs.example\"]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, home
}

// hecate runs "hecate permissions"; typed is what somebody at the terminal types, ""
// for nobody there.
func hecatePermissions(t *testing.T, home, typed string, want int, args ...string) (out, errs string) {
	t.Helper()
	a, o, e := testApp(t)
	a.environ = []string{"HOME=" + home, "HECATE_DATA_DIR=" + filepath.Join(home, "data")}
	if typed != "" {
		onTerminal(a, strings.NewReader(typed))
	}
	if code := a.run(append([]string{"permissions"}, args...)); code != want {
		t.Fatalf("%q: exit code %d, want %d\n%s%s", args, code, want, o, e)
	}
	return o.String(), e.String()
}

var (
	digestShown = regexp.MustCompile(`digest ([0-9a-f]{64})`)
	idShown     = regexp.MustCompile(`\S+\n(?:  = .*\n)?(?:  the model is told.*\n)?  (grant_[0-9a-f]+)`)
)

// Without a server the files are looked at and changed themselves, and it is said that
// nothing recorded it.
func TestPermissionsWithoutAServer(t *testing.T) {
	dir, home := grantProject(t)
	out, errs := hecatePermissions(t, home, "", 0, "list", "--dir", dir)
	check(t, out, []string{
		filepath.Join(home, ".config/hecate/config.toml"), filepath.Join(dir, permission.ProjectFile), "not accepted: what it forbids is in force",
		"allow host    docs.example\n", "deny          exec(npm) args(*)\n  the model is told: Use pnpm.\n  grant_",
		"once the project's file is accepted:\napprove       exec(echo) args(*)\n  = ", "lock build-output (", "exec(make) args(*)",
	})
	check(t, errs, []string{"not in force until it is accepted"})

	_, errs = hecatePermissions(t, home, "", exitRefused, "accept", "--dir", dir)
	check(t, errs, []string{"nobody can be asked here", "hecate permissions accept --yes "})
	for _, typed := range []string{"n\n", "\n", "maybe\n", "y"} {
		out, errs = hecatePermissions(t, home, typed, exitRefused, "accept", "--dir", dir)
		check(t, out, []string{"would grant:\napprove       exec(echo) args(*)", "accept? y or n: "})
		check(t, errs, []string{"nothing was done"})
	}
	digest := digestShown.FindStringSubmatch(out)[1]
	_, errs = hecatePermissions(t, home, "", exitFailed, "accept", "--dir", dir, "--yes", strings.Repeat("0", 64))
	check(t, errs, []string{"is not what was shown"})
	out, _ = hecatePermissions(t, home, "", 0, "accept", "--dir", dir, "--yes", digest)
	check(t, out, []string{"✓ accepted", "no log recorded it"})
	out, _ = hecatePermissions(t, home, "", 0, "accept", "--dir", dir)
	check(t, out, []string{"is accepted as it is"})

	out, _ = hecatePermissions(t, home, "", 0, "list", "--dir", dir)
	for _, text := range []string{"exec(echo) args(*)", "exec(npm) args(*)", "docs.example"} {
		id := idShown.FindStringSubmatch(out[strings.Index(out, text):])
		if id == nil {
			t.Fatalf("%s has no id in\n%s", text, out)
		}
		said, _ := hecatePermissions(t, home, "", 0, "revoke", "--dir", dir, id[1][:len(id[1])-4])
		check(t, said, []string{"took " + text + " out of", "no log recorded it"})
	}
	left, err := os.ReadFile(filepath.Join(dir, permission.ProjectFile))
	if err != nil || strings.Contains(string(left), "echo") || strings.Contains(string(left), "npm") || !strings.Contains(string(left), "# of the project") {
		t.Errorf("%s, %v", left, err)
	}
	for _, args := range [][]string{{"revoke", "--dir", dir, "grant_nothing"}, {"list", "--dir", dir, "--task", "task_1"}, {"revoke", "--dir", dir, "--task", "task_1", "x"}, {"accept", "--dir", home}} {
		hecatePermissions(t, home, "", exitFailed, args...)
	}
	hecatePermissions(t, home, "", exitUsage, "list", "--dir", filepath.Join(dir, "none"))
}

// A file that only forbids can be accepted as well, so that answers can be remembered in it.
func TestAcceptWhatGrantsNothing(t *testing.T) {
	dir, home := grantProject(t)
	if err := os.WriteFile(filepath.Join(dir, permission.ProjectFile), []byte("[permissions]\ndeny = [{ pattern = \"shell\", reason = \"\"\"\nUse exec,\nnot shell.\"\"\" }]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := hecatePermissions(t, home, "", 0, "list", "--dir", dir)
	check(t, out, []string{"the model is told: Use exec,\n    not shell.\n"})
	out, _ = hecatePermissions(t, home, "y\n", 0, "accept", "--dir", dir)
	check(t, out, []string{"grants nothing so far; once it is accepted, answers can be remembered in it\n", "✓ accepted"})
	if strings.Contains(out, "would grant") {
		t.Errorf("it shows\n%s", out)
	}
}

// What a file says that is shut out is shown, as not in force, beside what is wrong with
// it. Only what is forbidden has a reason that the model is told.
func TestPermissionsOfABrokenFile(t *testing.T) {
	dir, home := grantProject(t)
	for path, text := range map[string]string{
		filepath.Join(dir, permission.ProjectFile):              "[permissions]\ndeny = [\"shell(rm *)\", \"exec(npm) args(*)\"]\napprove = [\"exec(echo) args(*)\"]\n",
		filepath.Join(home, ".config", "hecate", "config.toml"): "[permissions]\napprove = [{ pattern = \"exec(go) args(*)\", reason = \"harmless\" }]\noops\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs := hecatePermissions(t, home, "", 0, "list", "--dir", dir)
	in, shut, _ := strings.Cut(out, "not in force until its file is mended:\n")
	check(t, shut, []string{"approve       exec(go) args(*)\n  = ", "  reason: harmless\n  grant_", "approve       exec(echo) args(*)\n  = "})
	check(t, in, []string{"deny          exec(npm) args(*)\n"})
	if strings.Contains(in, "approve") || strings.Contains(out, "the model is told") {
		t.Errorf("it shows\n%s", out)
	}
	check(t, errs, []string{"config.toml:3: refused: [file] it cannot be read", "config.toml:2: refused: [permissions.deny] pattern"})
}

// waitFor asks until there is an answer.
func waitFor[T any](t *testing.T, what string, ask func() (T, bool)) (found T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if found, ok := ask(); ok {
			return found
		}
	}
	t.Fatalf("%s does not come", what)
	return found
}

// With a server everything goes through it, and what was decided in a run, by which
// rule and by whom, is told from the log.
func TestPermissionsThroughAServer(t *testing.T) {
	dir, home := grantProject(t)
	server := realServer(t, "HOME="+home, "XDG_CONFIG_HOME=", "HECATE_OPERATOR_TOKEN_REQUIRED=never")
	at := []string{"--server", server.BaseURL(), "--dir", dir}
	task, _, err := server.CreateTask(t.Context(), client.NewTask{
		Prompt: "twice", ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: dir, Posture: permission.PostureLevels, TimeoutMS: 60_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	started, err := server.StartTask(t.Context(), task.ID, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	asked := waitFor(t, "an approval", func() (client.Approval, bool) {
		found, err := server.Approvals(t.Context(), task.ID)
		return append(found, client.Approval{})[0], err == nil && len(found) > 0
	})
	_, err = server.Resolve(t.Context(), task.ID, asked.ID, client.Answer{Decision: client.Approve, Calls: []client.CallAnswer{{ToolCallID: "call_1", Decision: client.Approve, Scope: "session"}}})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() (bool, bool) {
		r, err := server.Run(t.Context(), task.ID, started.ID)
		return true, err == nil && r.Status == "completed"
	})

	out, _ := hecatePermissions(t, home, "", 0, append([]string{"list", "--task", task.ID}, at...)...)
	check(t, out, []string{"session       exec(echo) args(*)", "in " + started.ID, "not accepted"})
	grant := regexp.MustCompile(`session +.*\n  (grant_[0-9a-f]+),`).FindStringSubmatch(out)[1]

	explained, _ := hecatePermissions(t, home, "", 0, "explain", "--server", server.BaseURL(), "--run", started.ID)
	check(t, explained, []string{
		"exec (call_1, model call 1): ", "asked in " + asked.ID + ": level 2 asks before exec (level-2)", "approved, scope session, by somebody, not proved by a token",
		"exec (call_2, model call 2): allow_visibly", "level 2; decided by answer (session), posture levels", "opened by " + grant + ": exec(echo) args(*), given in this run", "configuration ",
	})
	one, _ := hecatePermissions(t, home, "", 0, "explain", "--server", server.BaseURL(), "--run", task.ID, "--call", "call_2", "--json")
	var calls []pastCall
	if err := json.Unmarshal([]byte(one), &calls); err != nil || len(calls) != 1 || calls[0].Ruling.Rule != "session" || calls[0].Outcome != "completed" {
		t.Errorf("%v: %s", err, one)
	}
	hecatePermissions(t, home, "", exitFailed, "explain", "--server", server.BaseURL(), "--run", started.ID, "--call", "call_9")
	hecatePermissions(t, home, "", exitUsage, "explain", "--run", started.ID, "exec", "ls")
	hecatePermissions(t, home, "", exitUsage, "explain", "--call", "call_1")

	out, _ = hecatePermissions(t, home, "", 0, append([]string{"revoke", "--task", task.ID, grant[:12]}, at...)...)
	check(t, out, []string{"exec(echo) args(*) is given no longer in the session of " + task.ID})
	out, _ = hecatePermissions(t, home, "", 0, append([]string{"list", "--task", task.ID}, at...)...)
	check(t, out, []string{"nothing was given for the session"})

	out, _ = hecatePermissions(t, home, "y\n", 0, append([]string{"accept"}, at...)...)
	check(t, out, []string{"would grant:", "✓ accepted"})
	if strings.Contains(out, "no log recorded it") {
		t.Errorf("the log has it: %s", out)
	}
	listed, _ := hecatePermissions(t, home, "", 0, append([]string{"list", "--json"}, at...)...)
	var p client.Permissions
	if err := json.Unmarshal([]byte(listed), &p); err != nil || !p.ProjectAccepted || len(p.Entries) != 3 {
		t.Fatalf("%v: %s", err, listed)
	}
	hecatePermissions(t, home, "", 0, append([]string{"revoke", p.Entries[0].ID}, at...)...)
	own, err := os.ReadFile(filepath.Join(home, ".config", "hecate", "config.toml"))
	if err != nil || strings.Contains(string(own), "docs.example") {
		t.Errorf("%s, %v", own, err)
	}
}
