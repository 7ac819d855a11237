package builtin

import (
	"context"
	"fmt"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
)

// shellExec runs a shell command for the model.
var shellExec = tools.New(tools.Spec[commandIn]{
	Name: "shell_exec",
	Summary: "Run a command with sh in the workspace and return its status, output and errors. " +
		"For a single program use exec instead, which needs no quoting and can be approved once for all its arguments; this is for pipes, " +
		"redirections, globs and chains. Everything it starts ends with it: nothing can be left running in the background.",
	Check:  requireCommand("shell_exec", "shell"),
	Input:  commandIn.input,
	Line:   withheld("shell_exec"),
	Facts:  commandFacts(shellKind),
	Before: shellBegins,
	Handle: func(ctx context.Context, env *tools.Env, in commandIn) tools.Result {
		return runShell(ctx, env, in, false)
	},
})

// shell runs the command of a shell task.
var shell = tools.New(tools.Spec[commandIn]{
	Name: "shell", Summary: "Run the command of a shell task.", Direct: true,
	Check:  requireCommand("shell", "shell"),
	Input:  commandIn.input,
	Line:   withheld("shell"),
	Facts:  commandFacts(shellKind),
	Before: shellBegins,
	Handle: func(ctx context.Context, env *tools.Env, in commandIn) tools.Result {
		return runShell(ctx, env, in, true)
	},
})

// withheld is the approval line of a command: it may hold anything, so only its
// size is told.
func withheld(tool string) func(commandIn) (string, bool) {
	return func(in commandIn) (string, bool) {
		return fmt.Sprintf("%s command details withheld (command_bytes=%d)", tool, len(in.Command)), false
	}
}

func shellBegins(env *tools.Env, in commandIn) []event.Payload {
	c := run.ShellCommand{
		ShellPosture: run.ShellPosture{RTK: usesRTK(env)},
		Argv:         withRTK(env, []string{"sh", "-lc", tools.Shown(in.Command)}), Command: event.NewText(in.Command), EnvKeys: []string{"PATH", "HOME"},
	}
	c.RTKBefore, c.RTKAfter = rtkShown(env, in.Command)
	return commandBegins(env, in.WorkingDirectory, c)
}

// commandBegins are the events before a command with live output is started in dir; c
// says what that is.
func commandBegins(env *tools.Env, dir string, c run.ShellCommand) []event.Payload {
	p := run.ShellPosture{
		ToolCallID: env.ToolCallID, ToolName: env.ToolName, Kind: "shell", Wrapper: wrapperKind(env),
		Network: env.Network, ReadOnly: env.ReadOnly, OutputLimitBytes: env.Settings.OutputMaxBytes, RTK: c.RTK,
	}
	c.ShellPosture, c.StepID, c.SandboxLayer = p, env.StepID, p.Wrapper
	c.Dir, c.TimeoutMS = tools.Shown(commandDir(env, dir)), env.CommandTimeout().Milliseconds()
	c.WorkingDirectory, c.ToolTimeoutMS = c.Dir, c.TimeoutMS
	c.StdoutArtifactID, c.StderrArtifactID = env.ArtifactID(process.Stdout), env.ArtifactID(process.Stderr)
	return []event.Payload{run.ToolInvoked{ShellPosture: p}, run.ToolStarted{ShellPosture: p}, c}
}

func runShell(ctx context.Context, env *tools.Env, in commandIn, direct bool) tools.Result {
	return runLive(ctx, env, shellKind, shellKind.invocation(env, in), direct)
}

// runLive runs a command whose output becomes events while it runs.
func runLive(ctx context.Context, env *tools.Env, kind commandKind, call invocation, direct bool) tools.Result {
	rec := newRecorder(ctx, env)
	x := runCommand(ctx, env, kind, call, false, rec.write)
	r := x.result(direct)
	r.Facts = append(rec.finish(), x.ends()...)
	return r
}

// ends are the events that close a shell command.
func (x *execution) ends() []event.Payload {
	res := run.ShellResult{
		ExitCode: int64(x.res.ExitCode), StdoutBytes: x.res.Stdout, StderrBytes: x.res.Stderr,
		TimedOut: x.res.TimedOut, Cancelled: x.res.Cancelled, Truncated: x.res.Truncated,
	}
	end := run.ToolEnd{
		ToolCallID: x.env.ToolCallID, ToolName: x.env.ToolName, Kind: "shell", DurationMS: x.res.Duration.Milliseconds(),
		Summary: "exited with status 0", Error: tools.ErrorText(x.errorText()), ShellResult: res,
	}
	if x.res.Err != nil {
		end.Summary = end.Error
	}
	var out []event.Payload
	if x.started {
		exited := run.ShellExited{
			ToolCallID: x.env.ToolCallID, ExitCode: res.ExitCode, StdoutBytes: res.StdoutBytes, StderrBytes: res.StderrBytes,
			Truncated: res.Truncated, ShellResult: res,
		}
		if x.res.Signal != "" {
			exited.Signal = &x.res.Signal
		}
		out = append(out, exited)
	}
	switch {
	case x.res.Cancelled:
		return append(out, run.ToolCancelled{ToolEnd: end})
	case x.res.TimedOut:
		end.AfterMS = x.env.CommandTimeout().Milliseconds()
		return append(out, run.ToolTimedOut{ToolEnd: end})
	case x.res.Err != nil:
		if x.res.ExitCode > 0 {
			end.Summary = fmt.Sprintf("exited with status %d", x.res.ExitCode)
		}
		return append(out, run.ToolFailed{ToolEnd: end})
	}
	return append(out, run.ToolCompleted{ToolEnd: end})
}
