package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/run"
	"hecate/tools/tooltest"
)

// The commands of shells are run through rtk where the chat wants that, after the same checks
// and in the same wrapper; what the events show of it has no secrets.
func TestCommandsThroughRTK(t *testing.T) {
	bin, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(bin, "rtk")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"rtk $1 $2\"\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w := tooltest.New(t)
	w.Env.RTK = true
	out := func(name string, in args) string {
		t.Helper()
		r := w.Call(tool(t, name), in)
		_, text, _ := strings.Cut(r.Text, "--- stdout ---\n")
		return r.ErrorText + text
	}
	if got := out("shell_exec", args{"command": "echo hi"}); !strings.HasPrefix(got, "hi\n") {
		t.Errorf("without rtk on the machine: %q", got)
	}
	w.Env.Settings.RTKPath = program
	for name, in := range map[string]args{"shell_exec": {"command": "echo hi"}, "shell": {"command": "echo hi"}, "git_exec": {"command": "version >/dev/null; echo hi"}} {
		if got := out(name, in); !strings.HasPrefix(got, "rtk sh -lc\nhi\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := out("exec", args{"program": "echo", "args": []string{"hi"}}); !strings.HasPrefix(got, "hi\n") {
		t.Errorf("no shell: %q", got)
	}
	if got := out("shell_exec", args{"command": "curl x"}); !strings.HasPrefix(got, "sandbox policy denied: network access is disabled") {
		t.Errorf("a forbidden command: %q", got)
	}

	w.Env.ToolName = "shell_exec"
	p, err := tool(t, "shell_exec").Prepare(marshal(t, args{"command": `API_KEY='a b' MY_TOKEN=t"$x"\ y make; export Db_Password="q\"q" && KEYS=3 echo $?`}))
	if err != nil {
		t.Fatal(err)
	}
	begun := p.Before(w.Env)
	c, _ := begun[2].(run.ShellCommand)
	if strings.Join(c.Argv[:3], " ") != "rtk sh -lc" || !c.RTK || !begun[0].(run.ToolInvoked).RTK || !begun[1].(run.ToolStarted).RTK {
		t.Errorf("got %+v", begun)
	}
	want := `'API_KEY=[redacted] MY_TOKEN=[redacted] make; export Db_Password=[redacted] && KEYS=3 echo $?'`
	if c.RTKBefore != "sh -lc "+want || c.RTKAfter != "rtk sh -lc "+want {
		t.Errorf("got %q, %q, want %q", c.RTKBefore, c.RTKAfter, want)
	}
	r := w.Call(tool(t, "shell"), args{"command": "true"})
	if r.Input["hecate.sandbox.rtk.command.after"] != "rtk sh -lc true" || r.Input["hecate.sandbox.rtk.enabled"] != true || r.Output["hecate.sandbox.rtk.enabled"] != true {
		t.Errorf("the step: %v, %v", r.Input, r.Output)
	}
	w.Env.RTK = false
	if r := w.Call(tool(t, "shell"), args{"command": "true"}); r.Input["hecate.sandbox.rtk.enabled"] != nil {
		t.Errorf("a chat that does not want it: %v", r.Input)
	}
}
