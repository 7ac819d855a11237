package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// Audit writes events of many runs: one line each, with who caused it, below the run
// that they belong to.
type Audit struct {
	out   io.Writer
	style terminal.Style
	last  time.Time
	where string
	runs  map[string]*Log // what earlier events of a run said, which sentences refer to
}

// NewAudit returns an Audit that writes to out.
func NewAudit(out io.Writer, style terminal.Style) *Audit {
	return &Audit{out: out, style: style, runs: map[string]*Log{}}
}

const (
	actorColumns = 16
	runsKept     = 256 // runs whose events are remembered
)

// Event writes one line.
func (a *Audit) Event(e client.Event) {
	a.head(e)
	log := a.runs[e.RunID]
	if log == nil {
		if len(a.runs) >= runsKept {
			clear(a.runs)
		}
		log = NewLog(io.Discard, a.style)
		a.runs[e.RunID] = log
	}
	name, who, text := terminal.Line(e.Type), ActorName(e.Actor), terminal.Cut(log.describe(e), textColumnsMax)
	head := fmt.Sprintf("%8d  %s  ", e.Sequence, a.last.Format("15:04:05.000"))
	plain := head + pad(who, actorColumns) + "  " + pad(name, typeColumns) + "  "
	if a.style.Columns > 0 {
		text = terminal.Cut(text, max(a.style.Columns-terminal.Columns(plain), textColumnsMin))
	}
	line := a.style.Dim(head) + pad(who, actorColumns) + "  " + log.paint(e, name) + strings.TrimPrefix(pad(name, typeColumns), name) + "  " + text
	fmt.Fprintln(a.out, strings.TrimRight(line, " "))
}

// head writes the day, and what the events belong to, where they change.
func (a *Audit) head(e client.Event) {
	at := e.OccurredAt.Local()
	if at.YearDay() != a.last.YearDay() || at.Year() != a.last.Year() {
		fmt.Fprintln(a.out, a.style.Dim(at.Format("2006-01-02 (MST)")))
	}
	a.last = at
	where := e.RunID
	switch {
	case e.TaskID != "" && e.RunID != "":
		where += " of " + e.TaskID
	case e.RunID == "":
		where = e.TaskID
	}
	if where != a.where && where != "" {
		fmt.Fprintln(a.out, a.style.Dim(terminal.Line(where)))
	}
	a.where = where
}

// pad fills a text up to a width. A longer one is not cut: names matter here.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-terminal.Columns(text), 0))
}

// ActorName is an actor on a line: by name, with a question mark where only its own word
// says so, else by kind.
func ActorName(a client.Actor) string {
	name := terminal.Line(a.Name)
	switch {
	case a.Kind == "worker" || a.Kind == "system" || name == "":
		return terminal.Line(a.Kind)
	case a.Verified != nil && !*a.Verified:
		name += "?"
	}
	if a.Org != "" {
		name += "@" + terminal.Line(a.Org)
	}
	return name
}
