package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/permission/command"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/sandbox"
	"hecate/tools/terminal"
)

// terminalOpen starts a process that goes on after the call.
var terminalOpen = tools.New(tools.Spec[terminalOpenIn]{
	Name: "terminal_open",
	Summary: "Start a program that keeps running while other calls are made, such as a server, a watcher or a shell, and return its terminal_id. " +
		"The program is run directly with its arguments, and with pipes unless pty is true; without a command it is the user's shell, which reads commands that terminal_write writes. " +
		"When it exits, and with the run at the latest, everything it started ends too.",
	Check: checkTerminalOpen,
	Input: terminalOpenIn.input,
	Line:  terminalOpenLine,
	Facts: terminalOpenFacts,
	Program: func(_ tools.Place, in terminalOpenIn) (string, bool) {
		if in.Command != "" {
			return "", true // it is an argument
		}
		return in.line(), true
	},
	Before: terminalBegins,
	Handle: openTerminal,
})

type terminalOpenIn struct {
	Command          string   `json:"command,omitempty" jsonschema:"name or path of the program, without arguments; the user's shell if left out"`
	Args             []string `json:"args,omitempty" jsonschema:"its arguments, one an entry"`
	WorkingDirectory string   `json:"working_directory,omitempty" jsonschema:"directory to run it in, relative to the workspace; the workspace itself if left out"`
	PTY              bool     `json:"pty,omitempty" jsonschema:"true: a terminal device of 120 columns and 40 rows (TERM=dumb) for its input and output, for programs that ask only where they have one; what is typed is shown again in the output, and errors are not marked. Pipes if left out"`
}

// ttyVariables are set for a program with a terminal device: nobody renders what it draws,
// and a pager would wait for a key.
var ttyVariables = []string{"TERM=dumb", "PAGER=cat"}

func (in terminalOpenIn) argv() []string {
	program := in.Command
	if program == "" {
		program = userShell()
	}
	return append([]string{program}, in.Args...)
}

// userShell is the shell of who runs the server.
func userShell() string {
	if sh := os.Getenv("SHELL"); filepath.IsAbs(sh) {
		return sh
	}
	return "sh"
}

// line is the command as one text, which no other command has.
func (in terminalOpenIn) line() string { return command.Quote(in.argv()) }

func checkTerminalOpen(in *terminalOpenIn) error {
	switch {
	case in.Command != "" && strings.TrimSpace(in.Command) == "":
		return errors.New("terminal_open: command is blank; leave it out for the user's shell")
	case slices.ContainsFunc(in.argv(), hasNUL):
		return errors.New("terminal_open: a command and its arguments cannot hold NUL bytes")
	}
	return nil
}

func (in terminalOpenIn) input() map[string]any {
	var args any // null if there are none
	if len(in.Args) > 0 {
		args = shownList(in.Args)
	}
	out := map[string]any{"command": in.Command, "args": args, "working_directory": in.WorkingDirectory}
	if in.PTY {
		out["pty"] = true
	}
	return out
}

// terminalOpenLine tells how much there is to look at: arguments may hold anything.
func terminalOpenLine(in terminalOpenIn) (string, bool) {
	return withheld("terminal_open")(commandIn{Command: in.line()})
}

// terminalOpenFacts are those of a program that is run directly. What patterns name is its
// whole line, see the permission text on background.
func terminalOpenFacts(at tools.Place, in terminalOpenIn) permission.Facts {
	f := at.Exec(in.argv(), in.WorkingDirectory, sandbox.Programs)
	f.Principal, f.Argv, f.Resolved = in.line(), nil, ""
	return f
}

func terminalBegins(env *tools.Env, in terminalOpenIn) []event.Payload {
	out := commandBegins(env, in.WorkingDirectory, run.ShellCommand{
		Argv: shownList(in.argv()), Command: event.NewText(in.line()), EnvKeys: []string{"PATH", "HOME"},
	})
	// What the process writes is in results, and it may run as long as the run does.
	c, _ := out[len(out)-1].(run.ShellCommand)
	c.StdoutArtifactID, c.StderrArtifactID, c.TimeoutMS, c.ToolTimeoutMS = "", "", 0, 0
	return append(out[:len(out)-1], c)
}

func openTerminal(_ context.Context, env *tools.Env, in terminalOpenIn) tools.Result {
	t, err := startTerminal(env, in)
	if err != nil {
		if errors.Is(err, process.ErrLeaseOver) {
			return tools.Fenced(env.ToolName)
		}
		r := refused(env, "%v", err)
		if errors.As(err, new(*sandbox.Denied)) {
			r.ErrorKind = tools.KindPolicy
		}
		r.Facts = []event.Payload{run.ToolFailed{ToolEnd: terminalEnds(env, r.ErrorText)}}
		return r
	}
	r := terminalView{env: env, t: t, shown: terminalShown, alive: "started"}.result()
	r.Facts = []event.Payload{run.ToolCompleted{ToolEnd: terminalEnds(env, "")}}
	return r
}

// terminalEnds ends the call, not the process.
func terminalEnds(env *tools.Env, problem string) run.ToolEnd {
	end := run.ToolEnd{ToolCallID: env.ToolCallID, ToolName: env.ToolName, Kind: "shell", Summary: "started", Error: tools.ErrorText(problem)}
	if problem != "" {
		end.Summary, end.ExitCode = end.Error, -1
	}
	return end
}

// startTerminal checks and starts the process, as a command of the other tools would be.
func startTerminal(env *tools.Env, in terminalOpenIn) (*terminal.Terminal, error) {
	if env.Terminals == nil {
		return nil, errors.New("no terminals can be opened here; use exec or shell_exec")
	}
	var scanner *sandbox.Scanner
	newScanner := sandbox.NewScanner
	call := invocation{dir: in.WorkingDirectory, argv: in.argv(), tty: in.PTY}
	if in.PTY {
		newScanner, call.set = sandbox.NewTTYScanner, ttyVariables
	}
	call.check = func(p sandbox.Policy) error {
		p.Attached = true
		scanner = newScanner(in.argv(), p)
		return sandbox.CheckArgv(in.argv(), p)
	}
	x := &execution{env: env, dir: commandDir(env, in.WorkingDirectory), call: call}
	argv, set, err := x.prepare()
	if err != nil {
		if findProgram(x.dir, in.argv()[0]) != nil && !errors.As(err, new(*sandbox.Denied)) {
			return nil, fmt.Errorf("resolve terminal executable %q: %w", tools.Cut(in.argv()[0], nameShownMax), err)
		}
		return nil, err
	}
	return env.Terminals.Open(terminal.Spec{
		ID: terminal.IDOf(env.RunID, env.StepID), Step: env.StepID, Name: tools.Cut(in.line(), nameShownMax), Dir: x.dir, Scanner: scanner, Secrets: env.Settings.Secrets,
		Command: process.Command{Argv: argv, Set: set, Dir: x.dir, Lease: env.Settings.Lease, TTY: in.PTY},
	})
}
