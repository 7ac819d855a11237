package builtin

import (
	"errors"
	"fmt"
	"strings"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/terminal"
)

// Limits of the terminal tools. Source: agent runtime text, terminals.
const terminalShown = 8192 // bytes of output that a result shows, unless the call says otherwise

// terminalID is the argument of the tools that need no other.
type terminalID struct {
	TerminalID string `json:"terminal_id" jsonschema:"id that terminal_open returned"`
}

func (in terminalID) input() map[string]any { return map[string]any{"terminal_id": in.TerminalID} }

// facts are what is known of a call that looks at a terminal or ends it.
func (in terminalID) facts(tools.Place) permission.Facts {
	return permission.Facts{Principal: in.TerminalID}
}

// programOf names the program of a terminal of the run. Without the terminal the call
// that needs it can only fail.
func programOf(at tools.Place, id string) (name string, ok bool) {
	if at.Terminals == nil {
		return "", true // not known here
	}
	t, ok := at.Terminals.Get(id)
	if !ok {
		return "", false
	}
	return t.Name(), true
}

// requireTerminal makes the Check of a tool whose arguments hold a terminal's id.
func requireTerminal[In any](tool string, id func(*In) string) func(*In) error {
	return func(in *In) error {
		if id(in) == "" {
			return fmt.Errorf("%s: terminal_id is required", tool)
		}
		return nil
	}
}

// terminalLine is the approval line of a call that names a terminal and nothing secret.
func terminalLine(tool, id string) (string, bool) {
	shown := tools.Cut(id, nameShownMax)
	return tool + " " + tools.ShownName(shown), shown == id
}

// findTerminal finds a terminal of the run, or returns the answer that there is none.
func findTerminal(env *tools.Env, id string) (*terminal.Terminal, tools.Result) {
	if env.Terminals != nil {
		if t, ok := env.Terminals.Get(id); ok {
			return t, tools.Result{}
		}
	}
	text := fmt.Sprintf("terminal %q not found", tools.Cut(id, nameShownMax))
	if env.Opened != nil && env.Opened(id) {
		// The registry of the worker that opened it is gone, and its processes went with it.
		text += "; its worker stopped or lost the run, and the process was ended with all that it started; open another one"
	}
	return nil, refused(env, "%s", text)
}

// terminalView is what a result tells of a terminal.
type terminalView struct {
	env       *tools.Env
	t         *terminal.Terminal
	shown     int    // bytes of output
	alive     string // what the title says while the process runs
	timedOut  bool
	problem   string // why the call failed; "" if it did not
	errorKind string
}

// result makes the tool's result.
func (v terminalView) result() tools.Result {
	r, ended := v.t.Result()
	text, cut := v.t.Tail(v.shown)
	tellWithheld(v.env, v.t.Withheld())
	out := map[string]any{"terminal_id": v.t.ID(), "running": !ended, "output_bytes": len(text), "truncated": cut}
	state := v.alive
	var b strings.Builder
	fmt.Fprintf(&b, "terminal_id=%s running=%t", v.t.ID(), !ended)
	problem := v.problem
	if ended {
		state = "exited"
		fmt.Fprintf(&b, " exit_code=%d", r.ExitCode)
		out["exit_code"] = r.ExitCode
		if problem == "" {
			problem = terminalEnd(r)
		}
	}
	if v.timedOut {
		b.WriteString(" timeout=true")
		out["timeout"] = true
	}
	if cut {
		b.WriteString(" truncated=true")
	}
	if problem != "" {
		b.WriteString("\nerror=" + problem)
		out["error"] = problem
	}
	if text != "" {
		b.WriteString("\n--- output ---\n" + text)
	}
	if v.problem != "" {
		state = "failed"
	}
	return v.settled(tools.Result{Text: b.String(), Title: v.env.ToolName + " (" + state + ")", Output: out, ExitCode: int64(r.ExitCode)})
}

func (v terminalView) settled(r tools.Result) tools.Result {
	r.Outcome = run.OutcomeCompleted
	if v.problem != "" {
		r.Error, r.Outcome, r.ErrorText, r.ErrorKind = true, run.OutcomeFailed, v.problem, v.errorKind
	}
	return r
}

// terminalEnd says how a process ended that neither exited nor was killed by a call.
func terminalEnd(r process.Result) string {
	switch {
	case r.Err == nil, r.Cancelled, r.ExitCode > 0:
		return ""
	case errors.Is(r.Err, process.ErrLeaseOver):
		return "the worker lost its lease on the run, so the process was ended"
	}
	return r.Err.Error()
}
