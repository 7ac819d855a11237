package builtin

import (
	"context"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/terminal"
)

// terminalKill ends a terminal's program.
var terminalKill = tools.New(tools.Spec[terminalID]{
	Name:    "terminal_kill",
	Summary: "End a program that terminal_open started, with all that it has started, and return its last output.",
	Check:   requireTerminal("terminal_kill", func(in *terminalID) string { return in.TerminalID }),
	Input:   terminalID.input,
	Line:    func(in terminalID) (string, bool) { return terminalLine("terminal_kill", in.TerminalID) },
	Facts:   func(at tools.Place, in terminalID) permission.Facts { return in.facts(at) },
	Program: func(at tools.Place, in terminalID) (string, bool) { return programOf(at, in.TerminalID) },
	Handle: func(ctx context.Context, env *tools.Env, in terminalID) tools.Result {
		t, none := findTerminal(env, in.TerminalID)
		if t == nil {
			return none
		}
		t.Kill()
		v := terminalView{env: env, t: t, shown: terminalShown, alive: "running"}
		if !t.Wait(context.WithoutCancel(ctx), terminal.CloseMax) {
			v.problem, v.errorKind = "the processes were told to end and are not gone yet", tools.KindDispatch
		}
		return v.result()
	},
})
