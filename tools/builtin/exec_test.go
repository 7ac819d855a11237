package builtin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/permission/command"
	"hecate/domain/run"
	"hecate/tools/sandbox"
	"hecate/tools/tooltest"
)

func TestExecResults(t *testing.T) {
	w := tooltest.New(t)
	w.Write("sub/f", "x")
	w.Write("plain", "#!/bin/sh\necho no\n")
	w.Write("run.sh", "#!/bin/sh\necho \"$#\" \"$1\"\n")
	if err := os.Chmod(filepath.Join(w.Dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args args
		want string
		kind string
		code int64
	}{
		{args{"program": "echo", "args": []string{"a  b", "$HOME", "*", "`id`", "; rm x", "", "'\"\n"}}, "status=completed\n--- stdout ---\na  b $HOME * `id` ; rm x  '\"\n\n--- stderr ---\n", "", 0},
		{args{"program": "ls", "working_directory": "sub"}, "status=completed\n--- stdout ---\nf\n--- stderr ---\n", "", 0},
		{args{"program": "./run.sh", "args": []string{"x y"}}, "status=completed\n--- stdout ---\n1 x y\n--- stderr ---\n", "", 0},
		{args{"program": "../run.sh", "working_directory": "sub"}, "status=completed\n--- stdout ---\n0 \n--- stderr ---\n", "", 0},
		{args{"program": "sh", "args": []string{"-c", "exit 7"}}, "status=failed\nerror=exit status 7\n--- stdout ---\n--- stderr ---\n", "exec_failed", 7},
		{args{"program": "no-such-program"}, "status=failed\nerror=program \"no-such-program\" was not found\n--- stdout ---\n--- stderr ---\n", "exec_failed", -1},
		{args{"program": "go test ./..."}, "status=failed\nerror=program \"go test ./...\" was not found; put its arguments into args, or use shell_exec for a shell command\n--- stdout ---\n--- stderr ---\n", "exec_failed", -1},
		{args{"program": "./plain"}, "status=failed\nerror=program \"./plain\" cannot be run: permission denied\n--- stdout ---\n--- stderr ---\n", "exec_failed", -1},
		{args{"program": "ls", "working_directory": ".."}, "status=failed\nerror=sandbox policy denied: path \"..\" escapes allowed root \"" + w.Dir + "\"\n--- stdout ---\n--- stderr ---\n", "sandbox_policy_denied", -1},
		{args{"program": "curl", "args": []string{"x.example"}}, "status=failed\nerror=sandbox policy denied: network access is disabled\n--- stdout ---\n--- stderr ---\n", "sandbox_policy_denied", -1},
		{args{"program": "env", "args": []string{"A=b", "sh", "-c", "wget x"}}, "status=failed\nerror=sandbox policy denied: network access is disabled\n--- stdout ---\n--- stderr ---\n", "sandbox_policy_denied", -1},
	} {
		r := w.Call(tool(t, "exec"), c.args)
		if r.Text != c.want || r.ErrorKind != c.kind || r.ExitCode != c.code || r.Error != (c.kind != "") {
			t.Errorf("%v:\ngot  %q %q %d\nwant %q %q %d", c.args, r.Text, r.ErrorKind, r.ExitCode, c.want, c.kind, c.code)
		}
	}
	w.Env.ReadOnly = true
	for program, denied := range map[string]bool{"touch": true, "true": false} {
		if r := w.Call(tool(t, "exec"), args{"program": program, "args": []string{"x"}}); (r.ErrorText == "sandbox policy denied: write access is disabled") != denied {
			t.Errorf("%s in a read-only task: %s", program, r.Text)
		}
	}
	w.Env.Network = true
	if r := w.Call(tool(t, "exec"), args{"program": "true", "args": []string{"http://127.0.0.1/"}}); r.ErrorText != `sandbox policy denied: host "127.0.0.1" is loopback` {
		t.Errorf("a private URL: %s", r.Text)
	}
}

// What the model sets reaches the program, literally, in place of the server's own.
func TestExecEnvironment(t *testing.T) {
	t.Setenv("LANG", "server")
	t.Setenv("SECRET_KEY", "of the server")
	t.Setenv("GIT_DIR", "/elsewhere")
	w := tooltest.New(t)
	script := `printf '%s|' "$A" "$LANG" "$GOMAXPROCS" "$SECRET_KEY" "$GIT_DIR" "$GIT_AUTHOR_NAME"; env | grep -c HECATE_`
	for _, wrapper := range wrappers() {
		w.Env.Settings.Wrapper = wrapper
		r := w.Call(tool(t, "exec"), args{"program": "sh", "args": []string{"-c", script}, "env": args{
			"A": "$HOME `id` = \"x\"\n", "LANG": "model", "GOMAXPROCS": "3", "GIT_AUTHOR_NAME": "M",
		}})
		if want := "$HOME `id` = \"x\"\n|model|3|||M|0\n"; !strings.Contains(r.Text, "stdout ---\n"+want) {
			t.Errorf("%s: got %q, want %q", wrapper.Kind, r.Text, want)
		}
		if r := w.Call(tool(t, "exec"), args{"program": "sh", "args": []string{"-c", "printf '%s' $A $LANG"}}); !strings.Contains(r.Text, "\nserver\n") {
			t.Errorf("%s: the next call has %q", wrapper.Kind, r.Text)
		}
	}
}

// wrappers are the ways in which commands are confined on this machine.
func wrappers() []sandbox.Wrapper {
	out := []sandbox.Wrapper{{Kind: sandbox.WrapperNone}}
	if w := sandbox.Detect(); w.Kind != sandbox.WrapperNone {
		out = append(out, w)
	}
	return out
}

// A library that the model has loaded into its program is not loaded into what confines
// and supervises that program.
func TestExecEnvironmentIsTheProgramsAlone(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler: that LD_PRELOAD stays inside is not tested")
	}
	w := tooltest.New(t)
	w.Write("lib.c", `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
	char exe[256] = {0}; FILE *f = fopen(getenv("TRACE"), "a");
	if (readlink("/proc/self/exe", exe, sizeof exe - 1) > 0 && f) fprintf(f, "%s\n", exe);
	if (f) fclose(f);
}`)
	lib := filepath.Join(w.Dir, "lib.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, filepath.Join(w.Dir, "lib.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	real, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		t.Fatal(err)
	}
	for _, wrapper := range wrappers() {
		w.Env.Settings.Wrapper = wrapper
		w.Write("trace", "")
		r := w.Call(tool(t, "exec"), args{"program": "cat", "args": []string{"/dev/null"}, "env": args{"LD_PRELOAD": lib, "TRACE": filepath.Join(w.Dir, "trace")}})
		if got := w.Read("trace"); r.Error || got != real+"\n" {
			t.Errorf("%s: loaded into %q; %s", wrapper.Kind, got, r.Text)
		}
	}
}

func TestExecRefusesWhatIsTheRuntimes(t *testing.T) {
	for _, a := range []args{
		{"program": " "},
		{"program": "a\x00b"},
		{"program": "a", "args": []string{"b\x00c"}},
		{"program": "a", "env": args{"": "x"}},
		{"program": "a", "env": args{"A=B": "x"}},
		{"program": "a", "env": args{"A\x00": "x"}},
		{"program": "a", "env": args{"A": "x\x00"}},
		{"program": "a", "env": args{"PATH": "./bin"}},
		{"program": "a", "env": args{"HOME": "/tmp"}},
		{"program": "a", "env": args{"HECATE_COMMAND_ENV_0": "PATH=x"}},
		{"program": "a", "env": args{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "x"}},
	} {
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool(t, "exec").Prepare(raw); err == nil || !strings.HasPrefix(err.Error(), "exec") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		if _, err := tool(t, "exec").Prepare([]byte(`{"program":"git","env":{"` + name + `":"x"}}`)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s may be set", name)
		}
	}
}

// Names that choose what code runs are refused, or seen by the decision, which asks.
func TestExecShowsTheDecisionWhatChoosesCode(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "RUSTC_WRAPPER", "PATH", "NODE_OPTIONS", "BASH_ENV", "PYTHONSTARTUP",
		"GIT_SSH_COMMAND", "HOME", "HTTPS_PROXY", "GIT_EXTERNAL_DIFF", "PAGER",
	} {
		p, err := tool(t, "exec").Prepare([]byte(`{"program":"cargo","args":["test"],"env":{"RUST_BACKTRACE":"1","` + name + `":"./x"}}`))
		if err != nil {
			continue
		}
		if got := command.Choosing(p.Facts(place(t)).Env); !slices.Equal(got, []string{name}) {
			t.Errorf("with %s the decision asks about %q", name, got)
		}
		if shown, _ := json.Marshal(p.Input); !strings.Contains(string(shown), name+"=./x") {
			t.Errorf("%s is not shown: %s", name, shown)
		}
	}
}

func TestExecFacts(t *testing.T) {
	f := factsOf(t, "exec", args{"program": "./run", "args": []string{"-c", "npm ci"}})
	real, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if f.Resolved != real || !slices.Equal(f.Argv, []string{"./run", "-c", "npm ci"}) || len(f.Programs) != 1 || f.Principal != "" {
		t.Errorf("%+v", f)
	}
	f = factsOf(t, "exec", args{"program": "env", "args": []string{"A=1", "sh", "-c", "npm ci && x"}})
	var got []string
	for _, p := range f.Programs {
		got = append(got, p.Argv[0])
	}
	if !slices.Equal(got, []string{"env", "sh", "npm", "x"}) || f.Opaque {
		t.Errorf("%q, opaque %t", got, f.Opaque)
	}
}

func TestExecEventsSayEverything(t *testing.T) {
	w := tooltest.New(t)
	w.Env.ToolName = "exec"
	p, err := tool(t, "exec").Prepare([]byte(`{"program":"printf","args":["it's %s","a b"],"env":{"B":"2","A":"1"},"working_directory":"."}`))
	if err != nil {
		t.Fatal(err)
	}
	posture := run.ShellPosture{ToolCallID: "call_1", ToolName: "exec", Kind: "shell", Wrapper: "none", OutputLimitBytes: 4 << 20}
	want := []event.Payload{
		run.ToolInvoked{ShellPosture: posture},
		run.ToolStarted{ShellPosture: posture},
		run.ShellCommand{
			ShellPosture: posture, Argv: []string{"printf", "it's %s", "a b"}, Command: event.NewText(`printf "it's %s" 'a b'`), Dir: w.Dir,
			EnvKeys: []string{"PATH", "HOME", "A", "B"}, SandboxLayer: "none", TimeoutMS: 20000, WorkingDirectory: w.Dir, ToolTimeoutMS: 20000, StepID: "step_1",
			StdoutArtifactID: w.Env.ArtifactID("stdout"), StderrArtifactID: w.Env.ArtifactID("stderr"),
		},
	}
	if d := cmp.Diff(want, p.Before(w.Env), cmp.AllowUnexported(event.Text{})); d != "" {
		t.Error(d)
	}
	input := map[string]any{"argv": []string{"printf", "it's %s", "a b"}, "env": []string{"A=1", "B=2"}, "working_directory": "."}
	if d := cmp.Diff(input, p.Input); d != "" {
		t.Error(d)
	}
	if p.Line != "exec details withheld (args=2 env=2 command_bytes=18)" || p.Complete {
		t.Errorf("%q %t", p.Line, p.Complete)
	}
	r := p.Run(t.Context(), w.Env)
	if d := cmp.Diff([]string{"stdout@0 it's a b", "tool.shell.exited", "tool.completed"}, kinds(append(w.Emitted(), r.Facts...))); d != "" || r.Title != "exec (completed)" {
		t.Errorf("%s %s", r.Title, d)
	}
}

// However much the model writes, an event shows a bounded part and says what there is.
func TestExecShowsABoundedPart(t *testing.T) {
	for name, list := range map[string][]string{
		"one long": {strings.Repeat("é", 50_000)}, "many short": slices.Repeat([]string{""}, 50_000), "many": slices.Repeat([]string{"argument"}, 5_000),
	} {
		raw, err := json.Marshal(args{"program": "x", "args": list})
		if err != nil {
			t.Fatal(err)
		}
		p, err := tool(t, "exec").Prepare(raw)
		if err != nil {
			t.Fatal(err)
		}
		argv := p.Input["argv"].([]string)
		if n := len(strings.Join(argv, "   ")); n > 8<<10 || argv[0] != "x" || !strings.Contains(argv[len(argv)-1], "in all)") {
			t.Errorf("%s: %d entries of %d bytes, the last is %.80q", name, len(argv), n, argv[len(argv)-1])
		}
	}
}

// Git works on the repository of the workspace, whatever the server's environment says.
func TestExecGitIgnoresTheServersEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"GIT_EXTERNAL_DIFF": "/bin/false", "GIT_SSH_COMMAND": "/bin/false", "GIT_PAGER": "/bin/false", "GIT_DIR": "/elsewhere",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "/bin/false",
	} {
		t.Setenv(name, value)
	}
	w := tooltest.New(t)
	repo(t, w)
	w.Write("n.txt", "n\n")
	r := w.Call(tool(t, "exec"), args{"program": "git", "args": []string{"status", "--short"}})
	if r.Text != "status=completed\n--- stdout ---\n?? n.txt\n--- stderr ---\n" {
		t.Error(r.Text)
	}
}
