package builtin

import (
	"context"

	"hecate/domain/permission"
	"hecate/tools"
)

// terminalRead shows what a terminal's program has written.
var terminalRead = tools.New(tools.Spec[terminalReadIn]{
	Name: "terminal_read",
	Summary: "Read the last output of a program that terminal_open started, at most 64 KiB: the same again if nothing was written since. " +
		"Lines of its standard error begin with [stderr].",
	Check:   requireTerminal("terminal_read", func(in *terminalReadIn) string { return in.TerminalID }),
	Input:   func(in terminalReadIn) map[string]any { return map[string]any{"terminal_id": in.TerminalID} },
	Line:    func(in terminalReadIn) (string, bool) { return terminalLine("terminal_read", in.TerminalID) },
	Facts:   func(at tools.Place, in terminalReadIn) permission.Facts { return terminalID{in.TerminalID}.facts(at) },
	Program: func(at tools.Place, in terminalReadIn) (string, bool) { return programOf(at, in.TerminalID) },
	Handle: func(_ context.Context, env *tools.Env, in terminalReadIn) tools.Result {
		t, none := findTerminal(env, in.TerminalID)
		if t == nil {
			return none
		}
		return terminalView{env: env, t: t, shown: in.MaxBytes, alive: "started"}.result()
	},
})

type terminalReadIn struct {
	TerminalID string `json:"terminal_id" jsonschema:"id that terminal_open returned"`
	MaxBytes   int    `json:"max_bytes,omitempty" jsonschema:"how much of the end of the output to show" minimum:"1" maximum:"65536" default:"8192"`
}
