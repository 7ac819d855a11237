package builtin

import (
	"context"
	"errors"
	"fmt"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/sandbox"
)

// terminalWrite writes to a terminal's standard input.
var terminalWrite = tools.New(tools.Spec[terminalWriteIn]{
	Name: "terminal_write",
	Summary: "Write to the standard input of a program that terminal_open started; end lines with \\n. " +
		"What a shell or an interpreter is given is checked first; on a terminal device (pty) it gets whole lines and, of control characters, only ^C, ^D, ^Z and ^\\. " +
		"What the program answers comes with terminal_read or terminal_wait.",
	Check: requireTerminal("terminal_write", func(in *terminalWriteIn) string { return in.TerminalID }),
	Input: func(in terminalWriteIn) map[string]any {
		return map[string]any{"terminal_id": in.TerminalID, "input_chars": len([]rune(in.Input))}
	},
	Line: func(in terminalWriteIn) (string, bool) {
		return fmt.Sprintf("terminal_write input details withheld (input_bytes=%d)", len(in.Input)), false
	},
	Facts:   terminalWriteFacts,
	Program: func(at tools.Place, in terminalWriteIn) (string, bool) { return programOf(at, in.TerminalID) },
	Handle:  writeTerminal,
})

type terminalWriteIn struct {
	TerminalID string `json:"terminal_id" jsonschema:"id that terminal_open returned"`
	Input      string `json:"input" jsonschema:"text to write"`
}

// terminalWriteFacts are those of what the program would run once it has the input, with
// what it waits for the end of.
func terminalWriteFacts(at tools.Place, in terminalWriteIn) permission.Facts {
	texts, kind, dir := []string{in.Input}, sandbox.InputShell, ""
	if at.Terminals != nil {
		if t, ok := at.Terminals.Get(in.TerminalID); ok {
			texts, kind = t.Typed(in.Input)
			dir = t.Dir()
		}
	}
	if kind != sandbox.InputShell {
		texts = []string{""}
	}
	f := at.Command(in.Input, texts[0], dir, sandbox.Programs)
	for _, text := range texts[1:] {
		more := at.Command(in.Input, text, dir, sandbox.Programs)
		f.Programs, f.Opaque = append(f.Programs, more.Programs...), f.Opaque || more.Opaque
	}
	f.Opaque = f.Opaque || kind == sandbox.InputCode // which can start any program
	return f
}

func writeTerminal(ctx context.Context, env *tools.Env, in terminalWriteIn) tools.Result {
	t, none := findTerminal(env, in.TerminalID)
	if t == nil {
		return none
	}
	v := terminalView{env: env, t: t, shown: terminalShown, alive: "started"}
	err := t.Write(ctx, in.Input)
	switch {
	case err == nil:
		return v.result()
	case ctx.Err() != nil:
		return tools.Cancelled(ctx, env.ToolName)
	}
	r := refused(env, "%v", err)
	if errors.As(err, new(*sandbox.Denied)) {
		r.ErrorKind = tools.KindPolicy
	}
	return r
}
