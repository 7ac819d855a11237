package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// runResult is what came of a run; --json prints it as the last line.
type runResult struct {
	TaskID         string           `json:"task_id"`
	RunID          string           `json:"run_id"`
	Status         string           `json:"status"` // completed, failed, cancelled, or unknown if we left before the end
	ExitCode       int              `json:"exit_code"`
	Answer         string           `json:"answer"`
	Error          string           `json:"error,omitempty"`
	Files          []changedFile    `json:"files"`
	CostMicroUSD   int64            `json:"cost_micros_usd"`
	CostKnown      bool             `json:"cost_known"`                      // false: the cost above is a lower bound
	PriorMicroUSD  int64            `json:"prior_cost_micros_usd,omitempty"` // of the runs that this one goes on from
	DurationMS     int64            `json:"duration_ms"`
	ModelCallCount int64            `json:"model_call_count"`
	WorkspacePath  string           `json:"workspace_path,omitempty"`
	Refused        []string         `json:"refused,omitempty"`     // calls that were refused since nobody was there to approve them
	Rejected       bool             `json:"rejected,omitempty"`    // by the person at the terminal
	Interrupted    bool             `json:"interrupted,omitempty"` // by Ctrl-C
	Reason         string           `json:"reason,omitempty"`      // why it failed, as a word for programs
	Warnings       []client.Warning `json:"warnings,omitempty"`    // what did not stop the run and is worth knowing
	Unknown        []unknownCall    `json:"unknown_calls,omitempty"`

	left    bool           // the run may still be going on
	refused []show.Refusal // the same as Refused, with what asked
}

// refuse notes a call that was refused since nobody was there to approve it.
func (r *runResult) refuse(x show.Refusal) {
	r.Refused, r.refused = append(r.Refused, x.Call), append(r.refused, x)
}

// unknownCall is a call that may have taken effect.
type unknownCall struct {
	StepID string `json:"step_id"`
	Call   string `json:"call"`
}

// ended gathers the result at the run's last event.
func (f *follower) ended(ctx context.Context, e client.Event) {
	var last struct {
		Calls   int64  `json:"model_call_count"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
	}
	_ = json.Unmarshal(e.Data, &last) // members that are absent or odd stay empty
	r := &f.result
	r.Status = map[string]string{"run.finished": "completed", "run.failed": "failed", "run.cancelled": "cancelled"}[e.Type]
	r.ModelCallCount, r.Error = last.Calls, last.Message
	if e.Type == "run.failed" {
		r.Reason = last.Reason
	}
	if e.Type == "run.cancelled" {
		r.Error = last.Reason
	}
	r.DurationMS = e.OccurredAt.Sub(f.created).Milliseconds()
	for _, x := range f.live.Refused {
		r.refuse(x)
	}
	f.account()
	f.settle(ctx)
	f.changes(ctx)
	switch {
	case r.Interrupted && r.Status != "completed":
		r.ExitCode = exitInterrupted
	case r.Rejected || len(r.Refused) > 0:
		r.ExitCode = exitRefused
	case r.Status == "completed":
		r.ExitCode = exitCompleted
	case r.Status == "cancelled":
		r.ExitCode = exitCancelled
	default:
		r.ExitCode = exitFailed
	}
}

func (f *follower) account() {
	f.result.Answer = f.live.Answer
	f.result.CostMicroUSD, f.result.CostKnown = f.live.CostMicroUSD, f.live.CostKnown
	f.result.PriorMicroUSD, f.result.Warnings = f.live.PriorMicroUSD, f.live.Warnings
	f.result.WorkspacePath = f.live.Workspace
	f.result.Unknown = nil
	for _, d := range f.live.Unknown(f.run) {
		f.result.Unknown = append(f.result.Unknown, unknownCall(d))
	}
}

// How long to wait until the lists that clients read have reached the run's end.
const (
	settleTries = 40
	settlePause = 50 * time.Millisecond
)

// settle waits for the lists, and takes from them how often a model was called: only
// the event of a completed run says that.
func (f *follower) settle(ctx context.Context) {
	for range settleTries {
		run, err := f.server.Run(ctx, f.task, f.run)
		if err != nil {
			return
		}
		f.result.ModelCallCount = int64(run.ModelCallCount)
		if client.Terminal(run.Status) {
			return
		}
		time.Sleep(settlePause)
	}
}

// conclude prints the result.
func (f *follower) conclude(r runResult) error {
	defer f.sayRefused(r)
	if f.json {
		line, err := json.Marshal(map[string]any{"object": "run_result", "data": r})
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		_, err = fmt.Fprintf(f.a.out, "%s\n", line)
		return err
	}
	st := f.a.outStyle
	if r.Answer != "" {
		fmt.Fprintln(f.out)
		for _, line := range terminal.Wrap(terminal.Text(strings.TrimSpace(r.Answer)), show.TextColumns(st)) {
			fmt.Fprintln(f.out, line)
		}
	}
	f.listFiles(r)
	fmt.Fprintln(f.out)
	f.verdict(r)
	return nil
}

// verdict is the last lines: how it went, what it cost and where to look.
func (f *follower) verdict(r runResult) {
	st := f.a.outStyle
	mark, text := st.Red("✗"), st.Bold(r.Status)
	switch {
	case r.Status == "completed":
		mark = st.Green("✓")
	case r.left && f.remote && f.cancel != "":
		mark, text = st.Yellow("!"), "detached; the server is cancelling the run"
	case r.left && f.remote:
		mark, text = st.Yellow("!"), "detached; the run goes on"
	case r.left:
		mark, text = st.Yellow("!"), "left before the end; the run may still be going on"
	}
	fmt.Fprintln(f.out, st.Row(mark+" "+text, r.account()))
	if r.Error != "" {
		for _, line := range terminal.Wrap(terminal.Text(strings.TrimSpace(r.Error)), show.TextColumns(st)-2) {
			fmt.Fprintln(f.out, "  "+line)
		}
	}
	f.caveats(r)
	if f.passing {
		return
	}
	take := ""
	if f.origin != "" && len(r.Files) > 0 && !r.left {
		take = "hecate take " + r.RunID
	}
	for _, row := range [][2]string{{"workspace", r.WorkspacePath}, {"take it", take}, {"history", "hecate log " + r.RunID}, {"go on", f.goOn(r)}} {
		if row[1] != "" {
			fmt.Fprintf(f.out, "  %s %s\n", st.Dim(fmt.Sprintf("%-9s", row[0])), terminal.Line(row[1]))
		}
	}
}

// sayRefused lists what the run had to do without, since nobody was there to ask.
func (f *follower) sayRefused(r runResult) {
	if len(r.Refused) == 0 {
		return
	}
	st := f.a.errStyle
	fmt.Fprintf(f.a.err, "%s refused, since nobody was there to approve:\n", st.Red("✗"))
	for _, hint := range hints(r.refused) {
		for _, x := range r.refused {
			if hintFor(x) == hint {
				fmt.Fprintln(f.a.err, "    "+x.Call)
			}
		}
		fmt.Fprintln(f.a.err, "  "+hint)
	}
}

// hints are what to do about the refused calls, in order, each once.
func hints(refused []show.Refusal) []string {
	var out []string
	for _, x := range refused {
		if hint := hintFor(x); !slices.Contains(out, hint) {
			out = append(out, hint)
		}
	}
	return out
}

// hintFor says what would have let a call run. Only what opens all that asked about it helps.
func hintFor(x show.Refusal) string {
	flags := permission.FlagsFor(x.Gates)
	if len(x.Gates) == 0 || len(flags) == 0 {
		return "run it on a terminal: nothing that is said ahead opens this"
	}
	for i, flag := range flags {
		if flag == permission.FlagAllowTools {
			flags[i] += " PATTERN"
			if slices.Contains(x.Gates, permission.GateHost) { // no pattern over URLs opens a host
				flags[i] = flag + " web_fetch"
			}
		}
	}
	return "run it on a terminal, or answer ahead with " + strings.Join(flags, " or ")
}

// account is how long the run took and what it cost.
func (r runResult) account() string {
	cost := "cost " + show.Cost(r.CostMicroUSD, r.CostKnown)
	if r.PriorMicroUSD > 0 {
		cost += ", after " + show.Cost(r.PriorMicroUSD, true) + " before it"
	}
	if r.left {
		return cost
	}
	return strings.Join([]string{show.Duration(time.Duration(r.DurationMS) * time.Millisecond), show.Count(r.ModelCallCount, "model call"), cost}, " · ")
}

// caveats are what the verdict leaves open.
func (f *follower) caveats(r runResult) {
	st := f.a.outStyle
	for _, w := range r.Warnings {
		for i, line := range terminal.Wrap(terminal.Line(w.Message), show.TextColumns(st)-4) {
			mark := st.Yellow("!")
			if i > 0 {
				mark = " "
			}
			fmt.Fprintln(f.out, "  "+mark+" "+line)
		}
	}
	for _, u := range r.Unknown {
		sayDoubts(f.out, st, r.RunID, []show.Doubt{show.Doubt(u)})
	}
}

func (f *follower) goOn(r runResult) string {
	if r.left && f.remote { // also what is attached to
		return "hecate attach " + r.RunID
	}
	return r.goOn()
}

// goOn is the command that takes an ended run further.
func (r runResult) goOn() string {
	switch {
	case r.Status == "completed" && r.ModelCallCount == 0:
		return "" // it has no conversation
	case r.Status == "completed":
		return "hecate continue " + r.RunID + ` "…"`
	case r.Reason == run.ReasonCeiling:
		return "hecate resume --budget USD " + r.RunID
	case r.Status == "failed" || r.Status == "cancelled":
		return "hecate resume " + r.RunID
	}
	return ""
}
