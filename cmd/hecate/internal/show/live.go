package show

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

// Live writes one run's events as they come, for somebody who watches.
type Live struct {
	out     io.Writer
	style   terminal.Style
	bundles Bundles
	figures figures
	calls   map[string]Call     // proposed, by tool call id
	shells  map[string]*command // running commands, by tool call id
	settled map[string]bool     // calls whose end is on the screen
	header  int64               // the model call whose header is written
	started time.Time           // when the latest model call began
	held    string              // text of the model that may turn out to be the answer
	waiting string
	since   time.Time
	retry   *modelCall // the attempt that is waited for
	lock    *LockWait  // the lock that is waited for
	node    string     // whose worker had the run last
	typing  typing
	asks    string // what waits for a person, in short

	// Workspace is the directory that the run works in, once it is known.
	Workspace string
	// Direct is what a run without a model does, in short; "" for one with a model.
	Direct string
	// Answer is the model's final answer, once there is one.
	Answer string
	// CostMicroUSD is what the run has cost so far; CostKnown is false if some of it is not known.
	CostMicroUSD int64
	CostKnown    bool
	// PriorMicroUSD is what the runs had cost that this one goes on from.
	PriorMicroUSD int64
	// Warnings is what the operator should know though it did not stop the run.
	Warnings []client.Warning
	// Refused is what was refused since nobody was there to ask.
	Refused []Refusal
	// Name says who answered an approval, "" if that is not known. It may be nil.
	Name func(approvalID string) string
	// Queued is since when the run waits for a worker; zero while it does not.
	Queued time.Time

	doubts Doubts
}

// Refusal is a call that nobody was there to approve.
type Refusal struct {
	Call  string            // on one line
	Gates []permission.Gate // what asked about it, as far as it is known
}

// NewLive returns a Live that writes to out.
func NewLive(out io.Writer, style terminal.Style) *Live {
	return &Live{
		out: out, style: style, CostKnown: true,
		calls: map[string]Call{}, shells: map[string]*command{}, settled: map[string]bool{},
	}
}

// Bundles returns what the run's model asked for so far.
func (l *Live) Bundles() *Bundles { return &l.bundles }

// Unknown lists the run's calls whose outcome nobody knows.
func (l *Live) Unknown(runID string) []Doubt { return l.doubts.Unknown(&l.bundles, runID) }

// Event writes one event.
func (l *Live) Event(e client.Event) {
	l.bundles.Add(e)
	l.doubts.Add(e)
	l.figures.add(e)
	switch family, _, _ := strings.Cut(e.Type, "."); family {
	case "model":
		l.modelEvent(e)
	case "assistant":
		l.assistantEvent(e)
	case "tool", "policy":
		l.toolEvent(e)
	case "run", "approval", "gap":
		l.runEvent(e)
	case "permission", "repetition":
		l.permissionEvent(e)
	}
}

func (l *Live) modelEvent(e client.Event) {
	d := decode[modelCall](e)
	switch e.Type {
	case "model.call.started":
		l.flush()
		l.started = e.OccurredAt
		l.typing = typing{after: e.Sequence}
		l.figures.called(d.Index, d.Model)
		l.wait(fmt.Sprintf("model call %d", d.Index), e)
	case "model.call.retrying":
		l.flush()
		l.typing = typing{after: e.Sequence}
		l.figures.called(d.Index, d.NextModel)
		l.wait(fmt.Sprintf("model call %d", d.Index), e)
		l.retry = &d
		l.note(d.trouble() + "; " + d.next())
		if d.Message != "" {
			l.plain(l.style.Dim(terminal.Cut(terminal.Line(d.Message), TextColumns(l.style)-2)))
		}
	case "model.call.completed":
		l.CostMicroUSD = max(l.CostMicroUSD, d.RunCost)
		known := d.Cost > 0 || d.RunCost > 0
		if d.CostKnown != nil {
			known = *d.CostKnown
		}
		l.CostKnown = l.CostKnown && known
		if l.header < d.Index { // else it came after the text, and only the sum matters
			l.modelHeader(d.Index, l.account(d, known, e.OccurredAt))
		}
	case "model.call.failed":
		l.flush()
		l.wait("", e)
		l.line(l.style.Red("✗"), fmt.Sprintf("model call %d failed: %s", d.Index, terminal.Line(d.Message)), "")
	case "model.call.abandoned":
		l.flush()
		l.CostKnown = false // its answer may have been made and paid for
		l.note(fmt.Sprintf("model call %d was interrupted (%s)", d.Index, d.Reason))
	}
}

// wordsColumns is below which width figures stand alone where that is clear.
const wordsColumns = 60

// account is the detail beside a model call: tokens, cost and time.
func (l *Live) account(d modelCall, known bool, at time.Time) string {
	var parts []string
	if d.Usage != nil {
		in := Count(d.Usage.Input, "token")
		if l.style.Columns > 0 && l.style.Columns < wordsColumns {
			in, _, _ = strings.Cut(in, " ")
		}
		parts = append(parts, in+" in", fmt.Sprintf("%d out", d.Usage.Output))
	}
	if known {
		parts = append(parts, dollars(d.Cost))
	}
	if !l.started.IsZero() {
		parts = append(parts, Duration(at.Sub(l.started)))
	}
	return strings.Join(parts, " · ")
}

func (l *Live) modelHeader(index int64, detail string) {
	l.header, l.waiting, l.retry = index, "", nil
	l.line(l.style.Cyan("●"), l.style.Bold(fmt.Sprintf("model call %d", index)), detail)
}

func (l *Live) assistantEvent(e client.Event) {
	d := decode[assistant](e)
	if l.header < d.Index && e.Type != "assistant.final_answer" {
		l.modelHeader(d.Index, "")
	}
	switch e.Type {
	case "assistant.text_complete":
		l.held = d.Text.String()
		l.typing.text = ""
	case "assistant.tool_call_proposed":
		l.flush()
		if b := l.bundles.Of(e.RunID); b != nil && len(b.Calls) > 0 {
			c := b.Calls[len(b.Calls)-1]
			l.calls[c.ID] = c
		}
	case "assistant.final_answer":
		l.held, l.Answer = "", d.Summary.String()
	}
}

// flush writes the text that was held back: more came after it, so it was no answer.
func (l *Live) flush() {
	if l.held == "" {
		return
	}
	for _, line := range terminal.Wrap(terminal.Text(strings.TrimSpace(l.held)), TextColumns(l.style)-2) {
		l.plain(line)
	}
	l.held = ""
}

// TextColumns is the width that prose is wrapped to.
func TextColumns(st terminal.Style) int {
	if st.Columns == 0 {
		return 80
	}
	return st.Columns
}

func (l *Live) wait(what string, e client.Event) {
	l.retry, l.lock = nil, nil
	l.waiting, l.since = strings.TrimSpace(terminal.Line(what)), e.OccurredAt
}

// line writes a line with a mark before it and a dimmed detail at its end.
func (l *Live) line(mark, text, detail string) {
	fmt.Fprintln(l.out, l.style.Row(mark+" "+text, detail))
}

// note writes something that the operator should know.
func (l *Live) note(text string) {
	for i, line := range terminal.Wrap(terminal.Line(text), TextColumns(l.style)-2) {
		if i == 0 {
			l.line(l.style.Yellow("!"), line, "")
		} else {
			l.plain(line)
		}
	}
}

// plain writes a line that belongs to the mark above it.
func (l *Live) plain(text string) {
	fmt.Fprintln(l.out, strings.TrimRight("  "+text, " "))
}

func (l *Live) shortPath(path string) string { return terminal.Line(inWorkspace(l.Workspace, path)) }

// inWorkspace cuts the workspace off a path: every path of a run begins with it.
func inWorkspace(workspace, path string) string {
	if workspace != "" {
		if rel, err := filepath.Rel(workspace, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}
