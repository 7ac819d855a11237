package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/sandbox"
	"hecate/tools/tooltest"
)

// opened opens a terminal in a step of its own and returns its id.
func opened(t *testing.T, w *tooltest.Workspace, in args) string {
	t.Helper()
	w.Env.StepID += "+"
	r := w.Call(tool(t, "terminal_open"), in)
	id, _ := r.Output["terminal_id"].(string)
	if r.Error || !strings.HasPrefix(r.Text, "terminal_id="+id+" running=") || id == "" {
		t.Fatalf("open: %+v", r)
	}
	return id
}

// script opens one that runs a shell script, whose input is data.
func script(t *testing.T, w *tooltest.Workspace, text string) string {
	t.Helper()
	return opened(t, w, args{"command": "sh", "args": []string{"-c", text}})
}

// patience is how long something may take that takes a moment on an idle machine. What these
// commands would do by themselves takes five times as long.
const patience = time.Minute

// shown waits until a terminal shows something.
func shown(t *testing.T, w *tooltest.Workspace, id, want string) tools.Result {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r := w.Call(tool(t, "terminal_read"), args{"terminal_id": id})
		if strings.Contains(r.Text, want) {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("it does not show %q: %s", want, r.Text)
		}
	}
}

func check(t *testing.T, r tools.Result, id, text, title string, failed bool) {
	t.Helper()
	if got := strings.ReplaceAll(r.Text, id, "ID"); got != text || r.Title != title || r.Error != failed {
		t.Errorf("got %q, %s, %t\nwant %q, %s, %t", got, r.Title, r.Error, text, title, failed)
	}
}

// The words are those that models know.
func TestTerminalResults(t *testing.T) {
	w := tooltest.New(t)
	id := script(t, w, "echo ready; read x; echo got $x >&2; exit 3")
	check(t, shown(t, w, id, "ready"), id, "terminal_id=ID running=true\n--- output ---\nready\n", "terminal_read (started)", false)
	check(t, w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 1}), id,
		"terminal_id=ID running=true timeout=true\n--- output ---\nready\n", "terminal_wait (running)", false)
	check(t, w.Call(tool(t, "terminal_read"), args{"terminal_id": id, "max_bytes": 3}), id,
		"terminal_id=ID running=true truncated=true\n--- output ---\ndy\n", "terminal_read (started)", false)
	if r := w.Call(tool(t, "terminal_write"), args{"terminal_id": id, "input": "it\n"}); r.Error || !strings.HasPrefix(r.Title, "terminal_write (") {
		t.Errorf("write: %+v", r)
	}
	r := w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000})
	check(t, r, id, "terminal_id=ID running=false exit_code=3\n--- output ---\nready\n[stderr] got it\n", "terminal_wait (exited)", false)
	if r.Outcome != run.OutcomeCompleted || r.Output["exit_code"] != 3 || r.Output["running"] != false || r.Output["output_bytes"] != 22 || r.ExitCode != 3 {
		t.Errorf("the step says %+v", r)
	}
	check(t, w.Call(tool(t, "terminal_write"), args{"terminal_id": id, "input": "more"}), id,
		"terminal_write: wrote 0 of 4 bytes: file already closed", "terminal_write (failed)", true)
	check(t, w.Call(tool(t, "terminal_kill"), args{"terminal_id": id}), id,
		"terminal_id=ID running=false exit_code=3\n--- output ---\nready\n[stderr] got it\n", "terminal_kill (exited)", false)

	id = opened(t, w, args{"command": "sleep", "args": []string{"300"}})
	check(t, w.Call(tool(t, "terminal_kill"), args{"terminal_id": id}), id, "terminal_id=ID running=false exit_code=-1", "terminal_kill (exited)", false)
	id = script(t, w, "kill -9 $$")
	check(t, w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000}), id, "terminal_id=ID running=false exit_code=-1\nerror=signal: killed", "terminal_wait (exited)", false)
	id = script(t, w, "yes | head -c 100000")
	if r := w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000}); !strings.Contains(r.Text, " exit_code=0 truncated=true\n") || len(r.Text) > 8192+200 {
		t.Errorf("%d bytes: %.200s", len(r.Text), r.Text)
	}
	if r := w.Call(tool(t, "terminal_read"), args{"terminal_id": id, "max_bytes": 1 << 30}); !strings.Contains(r.Text, " truncated=true\n") || len(r.Text) < 64<<10 || len(r.Text) > 64<<10+200 {
		t.Errorf("%d bytes: %.200s", len(r.Text), r.Text)
	}
}

func TestTerminalsThatAreNotThere(t *testing.T) {
	w := tooltest.New(t)
	id := opened(t, w, args{"command": "cat"})
	w.Env.Terminals = w.Terminals.Of("another run")
	for _, name := range []string{"terminal_write", "terminal_read", "terminal_wait", "terminal_kill"} {
		check(t, w.Call(tool(t, name), args{"terminal_id": id, "input": "x"}), id, fmt.Sprintf("%s: terminal %q not found", name, "ID"), name+" (failed)", true)
		if _, err := tool(t, name).Prepare([]byte(`{}`)); err == nil || err.Error() != name+": terminal_id is required" {
			t.Errorf("no id: %v", err)
		}
	}
	w.Env.Opened = func(x string) bool { return x == id }
	if r := w.Call(tool(t, "terminal_read"), args{"terminal_id": id}); !strings.Contains(r.Text, `" not found; its worker stopped or lost the run, and the process was ended`) {
		t.Errorf("after a takeover: %s", r.Text)
	}
	w.Env.Terminals = nil
	if r := w.Call(tool(t, "terminal_open"), args{"command": "cat"}); !r.Error {
		t.Errorf("without a registry: %+v", r)
	}
}

func TestWhatATerminalMayNotRun(t *testing.T) {
	w := tooltest.New(t)
	for name, c := range map[string]struct {
		in   args
		want string
	}{
		"detached":        {args{"command": "setsid", "args": []string{"sleep", "1"}}, `terminal_open: sandbox policy denied: "setsid" detaches processes`},
		"detached below":  {args{"command": "sh", "args": []string{"-c", "nohup x &"}}, `terminal_open: sandbox policy denied: "nohup" detaches processes`},
		"network":         {args{"command": "curl", "args": []string{"x"}}, "terminal_open: sandbox policy denied: network access is disabled"},
		"no program":      {args{"command": "no-such-program"}, `terminal_open: resolve terminal executable "no-such-program": program "no-such-program" was not found`},
		"a whole command": {args{"command": "npm run dev"}, "put its arguments into args"},
		"outside":         {args{"command": "cat", "working_directory": "/"}, "terminal_open: sandbox policy denied: path "},
	} {
		r := w.Call(tool(t, "terminal_open"), c.in)
		if !r.Error || !strings.Contains(r.Text, c.want) || r.Title != "terminal_open (failed)" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	w.Env.ReadOnly = true
	if r := w.Call(tool(t, "terminal_open"), args{"command": "touch", "args": []string{"f"}}); !strings.Contains(r.Text, "write access is disabled") {
		t.Errorf("read-only: %+v", r)
	}
	if w.Terminals.Has("run_1") {
		t.Error("something was opened")
	}
	for _, bad := range []string{`{"command":" "}`, `{"command":"a\u0000"}`, `{"args":["\u0000"]}`} {
		if _, err := tool(t, "terminal_open").Prepare([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestWhatMayNotBeTyped(t *testing.T) {
	w := tooltest.New(t)
	t.Setenv("SHELL", "/bin/sh")
	id := opened(t, w, args{})
	write := func(input string) tools.Result {
		return w.Call(tool(t, "terminal_write"), args{"terminal_id": id, "input": input})
	}
	for input, want := range map[string]string{
		"nohup touch made &\n": `terminal_write: sandbox policy denied: "nohup" detaches processes`,
		"curl x\n":             "terminal_write: sandbox policy denied: network access is disabled",
	} {
		if r := write(input); !r.Error || !strings.HasPrefix(r.Text, want) || r.ErrorKind != tools.KindPolicy {
			t.Errorf("%q: %+v", input, r)
		}
	}
	if r := write("set"); r.Error {
		t.Errorf("a beginning: %s", r.Text)
	}
	if r := write("sid touch made\n"); !strings.Contains(r.Text, "setsid") || !r.Error {
		t.Errorf("the end of it: %s", r.Text)
	}
	if r := write(" -o vi; echo still here\n"); r.Error {
		t.Errorf("another end: %s", r.Text)
	}
	shown(t, w, id, "still here\n")
	if w.Read("made") != "<absent>" {
		t.Error("something of what was refused was run")
	}
	data := opened(t, w, args{"command": "cat"})
	if r := w.Call(tool(t, "terminal_write"), args{"terminal_id": data, "input": "nohup curl x\n"}); r.Error {
		t.Errorf("data: %s", r.Text)
	}
	shown(t, w, data, "nohup curl x\n")
}

// A command and its arguments are one text for patterns, and no other one's.
func TestFactsOfTerminals(t *testing.T) {
	w := tooltest.New(t)
	at := tools.Place{Root: w.Env.Root, Path: w.Dir, Terminals: w.Env.Terminals}
	facts := func(name string, in args) (principal, programs string, opaque bool) {
		t.Helper()
		p, err := tool(t, name).Prepare(marshal(t, in))
		if err != nil {
			t.Fatal(err)
		}
		f := p.Facts(at)
		var all []string
		for _, x := range f.Programs {
			all = append(all, strings.Join(x.Argv, " "))
		}
		return f.Principal, strings.Join(all, "; "), f.Opaque
	}
	expect := func(what, principal, programs string, opaque bool) func(string, string, bool) {
		return func(p, all string, o bool) {
			t.Helper()
			if p != principal || all != programs || o != opaque {
				t.Errorf("%s: got %q, %q, %t, want %q, %q, %t", what, p, all, o, principal, programs, opaque)
			}
		}
	}
	expect("plain", "npm run dev", "npm run dev", false)(facts("terminal_open", args{"command": "npm", "args": []string{"run", "dev"}}))
	expect("quoted", "echo 'a b'", "echo a b", false)(facts("terminal_open", args{"command": "echo", "args": []string{"a b"}}))
	expect("behind", "env npm ci", "env npm ci; npm ci", false)(facts("terminal_open", args{"command": "env", "args": []string{"npm", "ci"}}))
	expect("a shell", "bash", "bash", true)(facts("terminal_open", args{"command": "bash"}))
	expect("unknown", "npm ci\n", "npm ci", false)(facts("terminal_write", args{"terminal_id": "x", "input": "npm ci\n"}))
	expect("kill", "x", "", false)(facts("terminal_kill", args{"terminal_id": "x"}))

	sh := opened(t, w, args{"command": "sh"})
	if r := w.Call(tool(t, "terminal_write"), args{"terminal_id": sh, "input": "echo a; tru"}); r.Error {
		t.Fatal(r.Text)
	}
	expect("in pieces", "e && npm ci\n", "echo a; true; npm ci", false)(facts("terminal_write", args{"terminal_id": sh, "input": "e && npm ci\n"}))
	data := opened(t, w, args{"command": "cat"})
	expect("data", "npm ci\n", "", false)(facts("terminal_write", args{"terminal_id": data, "input": "npm ci\n"}))
	w.Write("perl", "#!/bin/sh\ncat\n")
	if err := os.Chmod(filepath.Join(w.Dir, "perl"), 0o755); err != nil {
		t.Fatal(err)
	}
	code := opened(t, w, args{"command": "env", "args": []string{"./perl"}})
	expect("code", "system('npm')\n", "", true)(facts("terminal_write", args{"terminal_id": code, "input": "system('npm')\n"}))
}

func TestATerminalSeesNothingOfTheServer(t *testing.T) {
	t.Setenv("PROVIDER_API_KEY", "s3cret")
	w := tooltest.New(t)
	id := script(t, w, "env; cat /proc/$PPID/environ; echo end")
	if r := shown(t, w, id, "end"); strings.Contains(r.Text, "s3cret") || !strings.Contains(r.Text, "PATH=") {
		t.Error(r.Text)
	}
}

// However one ends, what it started ends too.
func TestNothingOutlivesATerminal(t *testing.T) {
	// A script is not looked at: it detaches, forks twice and ignores signals.
	const escape = `(setsid sh -c '(sh -c "trap \"\" TERM HUP INT; echo \$\$ >pid; exec sleep 300" &) ' &); until [ -s pid ]; do sleep 0.01; done; echo ready; sleep 300`
	for name, end := range map[string]func(*tooltest.Workspace, string){
		"killed": func(w *tooltest.Workspace, id string) { w.Call(tool(t, "terminal_kill"), args{"terminal_id": id}) },
		"closed": func(w *tooltest.Workspace, _ string) { w.Terminals.Shut() },
		"lease":  func(w *tooltest.Workspace, _ string) { w.Env.Settings.Lease.End() },
	} {
		t.Run(name, func(t *testing.T) {
			w := tooltest.New(t)
			w.Env.Settings.Lease = process.NewLease()
			w.Write("escape", escape)
			id := opened(t, w, args{"command": "sh", "args": []string{"escape"}})
			shown(t, w, id, "ready")
			x, _ := w.Env.Terminals.Get(id)
			end(w, id)
			if !x.Wait(t.Context(), patience) {
				t.Fatal("it lives")
			}
			if pid := strings.TrimSpace(w.Read("pid")); lives(pid) {
				t.Errorf("process %s is left", pid)
			}
			if name != "lease" {
				return
			}
			if r := w.Call(tool(t, "terminal_read"), args{"terminal_id": id}); !r.Error || r.ErrorKind != tools.KindLeaseLost {
				t.Errorf("under a lease that is over: %+v", r)
			}
		})
	}
}

// lives reports whether a process is there and no zombie.
func lives(pid string) bool {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

func TestAWaitEndsWithItsRun(t *testing.T) {
	w := tooltest.New(t)
	id := opened(t, w, args{"command": "cat"})
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(tools.ErrRunEnded) })
	if r := w.CallContext(ctx, tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000}); r.Outcome != run.OutcomeCancelled {
		t.Errorf("got %+v", r)
	}
}

func TestEventsOfATerminal(t *testing.T) {
	w := tooltest.New(t)
	p, err := tool(t, "terminal_open").Prepare(marshal(t, args{"command": "sh", "args": []string{"-c", "echo 'a b'"}}))
	if err != nil {
		t.Fatal(err)
	}
	w.Env.ToolName = "terminal_open"
	before := p.Before(w.Env)
	if got := strings.Join(kinds(before), " "); got != "tool.invoked tool.started tool.shell.command" {
		t.Fatal(got)
	}
	c, _ := before[2].(run.ShellCommand)
	if strings.Join(c.Argv, "|") != "sh|-c|echo 'a b'" || c.StdoutArtifactID != "" || c.TimeoutMS != 0 || c.StepID != "step_1" || c.Dir != w.Dir {
		t.Errorf("got %+v", c)
	}
	if r := p.Run(t.Context(), w.Env); strings.Join(kinds(r.Facts), " ") != "tool.completed" {
		t.Errorf("facts %v", kinds(r.Facts))
	}
	w.Env.ToolName = "terminal_open"
	if r := w.Call(tool(t, "terminal_open"), args{"command": "no-such-program"}); strings.Join(kinds(r.Facts), " ") != "tool.failed" {
		t.Errorf("facts of a failure %v", kinds(r.Facts))
	}
}

// The wrapper holds a terminal as it holds any other command.
func TestAWrappedTerminal(t *testing.T) {
	wrapper := sandbox.Detect()
	if wrapper.Kind == sandbox.WrapperNone {
		t.Skip("bubblewrap is not installed, or user namespaces are switched off: the confinement is not tested")
	}
	w := tooltest.New(t)
	w.Env.Settings.Wrapper = wrapper
	id := opened(t, w, args{"command": "sh"})
	input := "echo in >inside; echo out >../outside; echo done\n"
	if r := w.Call(tool(t, "terminal_write"), args{"terminal_id": id, "input": input}); r.Error {
		t.Fatal(r.Text)
	}
	shown(t, w, id, "\ndone\n")
	if _, err := os.Stat(filepath.Join(w.Dir, "..", "outside")); err == nil || w.Read("inside") != "in\n" {
		t.Error("it is not confined to the workspace")
	}
	check(t, w.Call(tool(t, "terminal_kill"), args{"terminal_id": id}), id,
		"terminal_id=ID running=false exit_code=-1\n--- output ---\ndone\n", "terminal_kill (exited)", false)
}

func marshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
