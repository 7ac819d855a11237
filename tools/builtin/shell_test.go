package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/sandbox"
	"hecate/tools/tooltest"
)

func TestMain(m *testing.M) {
	process.SuperviseIfAsked()
	os.Exit(trustLocalServers(m.Run))
}

func TestShellExecResults(t *testing.T) {
	w := tooltest.New(t)
	w.Write("sub/f", "x")
	w.Link("sub", "inner")
	w.Link("/", "outer")
	for _, c := range []struct {
		args args
		want string
		kind string
		code int64
	}{
		{args{"command": "echo out; echo err >&2"}, "status=completed\n--- stdout ---\nout\n--- stderr ---\nerr\n", "", 0},
		{args{"command": "printf 'no newline'; exit 7"}, "status=failed\nerror=exit status 7\n--- stdout ---\nno newline\n--- stderr ---\n", "shell_command_failed", 7},
		{args{"command": "ls", "working_directory": "sub"}, "status=completed\n--- stdout ---\nf\n--- stderr ---\n", "", 0},
		{args{"command": "ls", "working_directory": w.Dir + "/sub"}, "status=completed\n--- stdout ---\nf\n--- stderr ---\n", "", 0},
		{args{"command": "ls", "working_directory": "inner"}, "status=completed\n--- stdout ---\nf\n--- stderr ---\n", "", 0},
		{args{"command": "ls", "working_directory": "gone"}, "status=failed\nerror=working directory \"gone\": not found\n--- stdout ---\n--- stderr ---\n", "shell_command_failed", -1},
		{args{"command": "ls", "working_directory": ".."}, "status=failed\nerror=sandbox policy denied: path \"..\" escapes allowed root \"" + w.Dir + "\"\n--- stdout ---\n--- stderr ---\n", "sandbox_policy_denied", -1},
		{args{"command": "ls", "working_directory": "outer"}, "status=failed\nerror=sandbox policy denied: path \"outer\" escapes allowed root \"" + w.Dir + "\": \"outer\" is a link to \"/\"\n--- stdout ---\n--- stderr ---\n", "sandbox_policy_denied", -1},
		{args{"command": "curl http://x.y"}, "status=failed\nerror=sandbox policy denied: network access is disabled\n--- stdout ---\n--- stderr ---\n", "sandbox_policy_denied", -1},
		{args{"command": "printf '\\377'"}, "status=completed\n--- stdout ---\n\uFFFD\n--- stderr ---\n", "", 0},
	} {
		r := w.Call(tool(t, "shell_exec"), c.args)
		if r.Text != c.want || r.ErrorKind != c.kind || r.ExitCode != c.code || r.Error != (c.kind != "") {
			t.Errorf("%v:\ngot  %q %q %d\nwant %q %q %d", c.args, r.Text, r.ErrorKind, r.ExitCode, c.want, c.kind, c.code)
		}
	}
	r := w.Call(tool(t, "shell_exec"), args{"command": "yes x | head -c 9000"})
	want := "status=completed\n--- stdout ---\n" + strings.Repeat("x\n", 2000) + "…(truncated)\nfull stdout: artifact_id=" + w.Env.ArtifactID("stdout") + " size=9000\n--- stderr ---\n"
	if r.Text != want {
		t.Errorf("long output: got %.100q … %q", r.Text, r.Text[max(0, len(r.Text)-150):])
	}
	if _, err := tool(t, "shell_exec").Prepare([]byte(`{"command":" "}`)); fmt.Sprint(err) != "shell_exec tool internal error: shell command is required" {
		t.Error(err)
	}
}

// kinds are the event types of facts; output chunks with what they hold.
func kinds(ps []event.Payload) []string {
	out := []string{}
	for _, p := range ps {
		if c, ok := p.(run.ShellOutput); ok {
			out = append(out, fmt.Sprintf("%s@%d %s", c.Stream, c.ByteOffset, c.Data.String()))
			continue
		}
		out = append(out, p.EventType())
	}
	return out
}

// All that happens to a command stands in events. How many of them a quick one
// leaves for its result is up to the machine; TestOutputWaitsALittleForMore has that.
func TestShellEventsOfAQuickCommand(t *testing.T) {
	for command, want := range map[string][]string{
		"printf out": {"stdout@0 out", "tool.shell.exited", "tool.completed"},
		"exit 3":     {"tool.shell.exited", "tool.failed"},
		"wget x":     {"tool.failed"},
	} {
		w := tooltest.New(t)
		r := w.Call(tool(t, "shell_exec"), args{"command": command})
		if d := cmp.Diff(want, kinds(append(w.Emitted(), r.Facts...))); d != "" {
			t.Errorf("%s: %s", command, d)
		}
	}
}

func TestShellEventsSayEverything(t *testing.T) {
	w := tooltest.New(t)
	w.Env.ToolName = "shell_exec"
	p, err := tool(t, "shell_exec").Prepare([]byte(`{"command":"exit 3","working_directory":"."}`))
	if err != nil {
		t.Fatal(err)
	}
	posture := run.ShellPosture{ToolCallID: "call_1", ToolName: "shell_exec", Kind: "shell", Wrapper: "none", OutputLimitBytes: 4 << 20}
	want := []event.Payload{
		run.ToolInvoked{ShellPosture: posture},
		run.ToolStarted{ShellPosture: posture},
		run.ShellCommand{
			ShellPosture: posture, Argv: []string{"sh", "-lc", "exit 3"}, Command: event.NewText("exit 3"), Dir: w.Dir, EnvKeys: []string{"PATH", "HOME"},
			SandboxLayer: "none", TimeoutMS: 20000, WorkingDirectory: w.Dir, ToolTimeoutMS: 20000, StepID: "step_1",
			StdoutArtifactID: w.Env.ArtifactID("stdout"), StderrArtifactID: w.Env.ArtifactID("stderr"),
		},
	}
	text := cmp.AllowUnexported(event.Text{})
	if d := cmp.Diff(want, p.Before(w.Env), text); d != "" {
		t.Error(d)
	}
	r := p.Run(t.Context(), w.Env)
	end, ok := r.Facts[1].(run.ToolFailed)
	if !ok {
		t.Fatalf("got %v", kinds(r.Facts))
	}
	end.DurationMS = 0
	res := run.ShellResult{ExitCode: 3}
	wantEnd := []event.Payload{
		run.ShellExited{ToolCallID: "call_1", ExitCode: 3, ShellResult: res},
		run.ToolFailed{ToolEnd: run.ToolEnd{ToolCallID: "call_1", ToolName: "shell_exec", Kind: "shell", Summary: "exited with status 3", Error: "exit status 3", ShellResult: res}},
	}
	if d := cmp.Diff(wantEnd, []event.Payload{r.Facts[0], end}, text); d != "" {
		t.Error(d)
	}
	if r.Title != "shell_exec (failed)" || r.Outcome != run.OutcomeFailed {
		t.Errorf("got %+v", r)
	}
	if d := cmp.Diff(map[string]any{"sub_status": "failed", "last_error": "exit status 3", "sub_step_count": 1, "artifact_count": 2}, r.Output); d != "" {
		t.Error(d)
	}
}

// A long command is whole in one place only, from where it may move out of the log.
func TestALongCommandIsRecordedOnce(t *testing.T) {
	w := tooltest.New(t)
	command := "true " + strings.Repeat("x", 1<<20)
	p, err := tool(t, "shell_exec").Prepare([]byte(`{"command":"` + command + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := command[:4096] + "…(1048581 bytes in all)"
	e := p.Before(w.Env)[2].(run.ShellCommand)
	if e.Command.String() != command || e.Argv[2] != want || p.Input["command"] != want {
		t.Errorf("argv has %d bytes, the input %d, the command %d", len(e.Argv[2]), len(fmt.Sprint(p.Input["command"])), e.Command.Len())
	}
}

// What a command writes goes out while it runs: here it ends only after that.
func TestOutputGoesOutWhileTheCommandRuns(t *testing.T) {
	w := tooltest.New(t)
	emit := w.Env.Emit
	w.Env.Emit = func(ctx context.Context, p event.Payload) error {
		if err := emit(ctx, p); err != nil {
			return err
		}
		if strings.Contains(p.(run.ShellOutput).Data.String(), "two") {
			w.Write("seen", "")
		}
		return nil
	}
	r := w.Call(tool(t, "shell_exec"), args{"command": "echo one; printf 'caf\\303' >&2; until [ -e seen ]; do printf two; sleep 0.01; done; printf '\\251' >&2; echo end"})
	if r.Error {
		t.Fatal(r.Text)
	}
	all := map[string]string{}
	for _, p := range append(w.Emitted(), r.Facts...) {
		if c, ok := p.(run.ShellOutput); ok {
			if c.ByteOffset != int64(len(all[c.Stream])) {
				t.Errorf("%s: a chunk at %d after %d bytes", c.Stream, c.ByteOffset, len(all[c.Stream]))
			}
			all[c.Stream] += c.Data.String()
			if c.ArtifactID != w.Env.ArtifactID(c.Stream) {
				t.Errorf("artifact %s", c.ArtifactID)
			}
		}
	}
	if out := all["stdout"]; !strings.HasPrefix(out, "one\ntwo") || !strings.HasSuffix(out, "two"+"end\n") || all["stderr"] != "café" {
		t.Errorf("got %q", all)
	}
}

func TestBigOutputComesInSmallPieces(t *testing.T) {
	w := tooltest.New(t)
	w.Env.Settings.OutputMaxBytes = 300_000
	r := w.Call(tool(t, "shell_exec"), args{"command": "yes €€€€€"})
	var got strings.Builder
	for _, p := range append(w.Emitted(), r.Facts...) {
		if c, ok := p.(run.ShellOutput); ok {
			if n := c.Data.Len(); n > 16<<10 {
				t.Errorf("a chunk of %d bytes", n)
			}
			got.WriteString(c.Data.String())
		}
	}
	if got.Len() != 300_000 || got.String() != strings.Repeat("€€€€€\n", 20000)[:300_000] {
		t.Errorf("%d bytes of output", got.Len())
	}
	if r.ErrorText != "command output exceeded limit of 300000 bytes; configure HECATE_TASK_MAX_OUTPUT_BYTES to widen" || r.ExitCode != -1 {
		t.Errorf("got %s, %d", r.ErrorText, r.ExitCode)
	}
	exited, ok := r.Facts[len(r.Facts)-2].(run.ShellExited)
	if !ok || !exited.Truncated || exited.StdoutBytes != 300_000 {
		t.Errorf("got %+v", exited)
	}
}

func TestACommandEndsWhenItsOutputCannotBeRecorded(t *testing.T) {
	w := tooltest.New(t)
	var first event.Payload
	w.Env.Emit = func(_ context.Context, p event.Payload) error {
		if first != nil {
			t.Error("more was emitted after an error")
		}
		first = p
		return errors.New("lease lost")
	}
	r := w.Call(tool(t, "shell_exec"), args{"command": "while :; do echo x; sleep 0.01; done"})
	if !r.Error || r.ErrorText != "lease lost" {
		t.Errorf("got %+v", r)
	}
	at := first.(run.ShellOutput).Data.Len()
	for _, p := range r.Facts {
		if c, ok := p.(run.ShellOutput); ok && c.ByteOffset != at {
			t.Errorf("a chunk at %d after %d bytes", c.ByteOffset, at)
		} else if ok {
			at += c.Data.Len()
		}
	}
	if exited, ok := r.Facts[len(r.Facts)-2].(run.ShellExited); !ok || exited.StdoutBytes != at {
		t.Errorf("%d bytes in all, got %v", at, kinds(r.Facts))
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	w := tooltest.New(t)
	w.Env.Timeout = 100 * time.Millisecond
	r := w.Call(tool(t, "shell_exec"), args{"command": "sleep 300"})
	if got := r.Text; got != "status=failed\nerror=context deadline exceeded\n--- stdout ---\n--- stderr ---\n" || r.ErrorKind != "shell_timeout" || r.ExitCode != -1 {
		t.Errorf("timeout: %+v", r)
	}
	if end, ok := r.Facts[1].(run.ToolTimedOut); !ok || end.AfterMS != 100 || !end.TimedOut {
		t.Errorf("timeout: %v", kinds(r.Facts))
	}
	w.Env.Timeout = 4 * time.Minute
	ctx, cancel := context.WithCancelCause(t.Context())
	w.Env.Emit = func(context.Context, event.Payload) error { cancel(tools.ErrRunEnded); return nil }
	r = w.CallContext(ctx, tool(t, "shell_exec"), args{"command": "echo begun; sleep 300"})
	if !strings.HasPrefix(r.Text, "status=cancelled\nerror=context canceled\n--- stdout ---\nbegun\n") || r.ErrorKind != "run_cancelled" || r.Outcome != run.OutcomeCancelled {
		t.Errorf("cancel: %+v", r)
	}
	if _, ok := r.Facts[1].(run.ToolCancelled); !ok {
		t.Errorf("cancel: %v", kinds(r.Facts))
	}
}

// A run that was not ended goes on after the server has come back, and its model is
// told that nobody chose to end this command.
func TestAServerThatStopsInterruptsTheCommand(t *testing.T) {
	w := tooltest.New(t)
	w.Env.Timeout = 4 * time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	w.Env.Emit = func(context.Context, event.Payload) error { cancel(); return nil }
	r := w.CallContext(ctx, tool(t, "shell_exec"), args{"command": "echo begun; sleep 300"})
	why := "the server stopped and ended the command with its processes; it may have had part of its effect"
	if r.Text != "status=failed\nerror="+why+"\n--- stdout ---\nbegun\n--- stderr ---\n" || r.ErrorText != why || r.ErrorKind != "interrupted" ||
		r.Outcome != run.OutcomeFailed || r.Title != "shell_exec (failed)" || r.ExitCode != -1 {
		t.Errorf("got %+v", r)
	}
	end, ok := r.Facts[1].(run.ToolFailed)
	if !ok || end.Error != why || end.Cancelled || end.ExitCode != -1 {
		t.Errorf("got %v, %+v", kinds(r.Facts), end)
	}
}

// A background child that holds the output does not hold the call.
func TestBackgroundChildrenDoNotHoldTheCall(t *testing.T) {
	w := tooltest.New(t)
	w.Env.Timeout = 4 * time.Minute
	for command, code := range map[string]int64{
		"sleep 300 & echo started":                      0,
		"setsid sleep 300 >/dev/null & echo started":    0,
		"(sleep 300; echo late) & echo started; exit 3": 3,
	} {
		begun := time.Now()
		r := w.Call(tool(t, "shell_exec"), args{"command": command})
		if took := time.Since(begun); took > patience || r.ExitCode != code || !strings.Contains(r.Text, "--- stdout ---\nstarted\n") {
			t.Errorf("%s: after %v: %+v", command, took, r)
		}
	}
}

func TestDirectShellStep(t *testing.T) {
	w := tooltest.New(t)
	r := w.Call(tool(t, "shell"), args{"command": "printf abc; exit 2"})
	if r.Title != "Shell command" || r.ErrorText != "exit status 2" || r.ErrorKind != "shell_command_failed" || r.ExitCode != 2 {
		t.Errorf("got %+v", r)
	}
	posture := map[string]any{
		"hecate.sandbox.wrapper.kind": "none", "hecate.sandbox.network.enabled": false, "hecate.sandbox.read_only": false, "hecate.sandbox.output_limit.bytes": int64(4 << 20),
	}
	wantIn := map[string]any{"timeout_ms": int64(20000), "working_directory": w.Dir, "hecate.tool.working_directory": w.Dir, "hecate.tool.timeout_ms": int64(20000)}
	wantOut := map[string]any{
		"stdout_bytes": int64(3), "stderr_bytes": int64(0), "exit_code": 2, "hecate.tool.exit_code": 2, "hecate.tool.stdout.bytes": int64(3),
		"hecate.tool.stderr.bytes": int64(0), "hecate.tool.timed_out": false, "hecate.tool.cancelled": false, "hecate.tool.output_truncated": false,
	}
	for k, v := range posture {
		wantIn[k], wantOut[k] = v, v
	}
	if d := cmp.Diff(wantIn, r.Input); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(wantOut, r.Output); d != "" {
		t.Error(d)
	}
}

func TestReadOnlyTasksRunNoChanges(t *testing.T) {
	w := tooltest.New(t)
	w.Env.ReadOnly = true
	if r := w.Call(tool(t, "shell"), args{"command": "touch x"}); r.ErrorText != "sandbox policy denied: write access is disabled" || r.ErrorKind != "sandbox_policy_denied" {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "x")); err == nil {
		t.Error("the file is there")
	}
}

// With the wrapper a command is held to the workspace by the kernel, whatever it
// is called, and is ended as a whole like any other.
func TestWrappedCommands(t *testing.T) {
	wrapper := sandbox.Detect()
	if wrapper.Kind == sandbox.WrapperNone {
		t.Skip("bubblewrap is not installed, or user namespaces are switched off: wrapped commands are not tested")
	}
	w := tooltest.New(t)
	w.Env.Settings.Wrapper = wrapper
	w.Write("sub/f", "")
	beside := filepath.Join(filepath.Dir(w.Dir), "beside")
	r := w.Call(tool(t, "shell_exec"), args{"command": "pwd; echo x >out; echo x >" + beside + "; exit 4", "working_directory": "sub"})
	if r.ExitCode != 4 || !strings.Contains(r.Text, "--- stdout ---\n"+w.Dir+"/sub\n--- stderr ---\n") || w.Read("sub/out") != "x\n" {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(beside); err == nil {
		t.Error("a file beside the workspace was written")
	}
	if exited, ok := r.Facts[len(r.Facts)-2].(run.ShellExited); !ok || exited.ExitCode != 4 {
		t.Errorf("got %v", kinds(r.Facts))
	}
	w.Env.Timeout = 4 * time.Minute
	ctx, cancel := context.WithCancelCause(t.Context())
	w.Env.Emit = func(context.Context, event.Payload) error { cancel(tools.ErrRunEnded); return nil }
	begun := time.Now()
	r = w.CallContext(ctx, tool(t, "shell_exec"), args{"command": "setsid sh -c 'while :; do echo x >>grow; sleep 0.01; done' & until [ -s grow ]; do :; done; echo grows; sleep 300"})
	if took := time.Since(begun); r.ErrorKind != "run_cancelled" || took > patience {
		t.Errorf("after %v: %+v", took, r)
	}
	size := len(w.Read("grow"))
	// Had the loop outlived the call, it would have written in the time that another call takes.
	w.Call(tool(t, "shell_exec"), args{"command": "sleep 0.1"})
	if now := len(w.Read("grow")); now != size {
		t.Errorf("the file went on growing from %d to %d bytes", size, now)
	}
}
