package builtin

import (
	"context"
	"time"

	"hecate/domain/permission"
	"hecate/tools"
)

// terminalWait waits for the end of a terminal's program.
var terminalWait = tools.New(tools.Spec[terminalWaitIn]{
	Name: "terminal_wait",
	Summary: "Wait until a program that terminal_open started has exited, or for timeout_ms, and return its last output. " +
		"A program that still runs then goes on.",
	Check: requireTerminal("terminal_wait", func(in *terminalWaitIn) string { return in.TerminalID }),
	Input: func(in terminalWaitIn) map[string]any {
		return map[string]any{"terminal_id": in.TerminalID, "timeout_ms": in.TimeoutMS}
	},
	Line:    func(in terminalWaitIn) (string, bool) { return terminalLine("terminal_wait", in.TerminalID) },
	Facts:   func(at tools.Place, in terminalWaitIn) permission.Facts { return terminalID{in.TerminalID}.facts(at) },
	Program: func(at tools.Place, in terminalWaitIn) (string, bool) { return programOf(at, in.TerminalID) },
	Handle:  waitForTerminal,
})

type terminalWaitIn struct {
	TerminalID string `json:"terminal_id" jsonschema:"id that terminal_open returned"`
	TimeoutMS  int    `json:"timeout_ms,omitempty" jsonschema:"how long to wait, in milliseconds" minimum:"1" maximum:"60000" default:"10000"`
}

func waitForTerminal(ctx context.Context, env *tools.Env, in terminalWaitIn) tools.Result {
	t, none := findTerminal(env, in.TerminalID)
	if t == nil {
		return none
	}
	ended := t.Wait(ctx, time.Duration(in.TimeoutMS)*time.Millisecond)
	if !ended && ctx.Err() != nil {
		return tools.Cancelled(ctx, env.ToolName)
	}
	return terminalView{env: env, t: t, shown: terminalShown, alive: "running", timedOut: !ended}.result()
}
