package show

import (
	"fmt"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// figures are what the status line says of the run as a whole.
type figures struct {
	begun  time.Time
	model  string // of the latest call
	latest int64  // the index of the latest model call
	calls  int64  // of the model
}

func (f *figures) add(e client.Event) {
	if f.begun.IsZero() {
		f.begun = e.OccurredAt
	}
}

func (f *figures) called(index int64, model string) {
	if model != "" {
		f.model = model
	}
	if index != f.latest {
		f.latest = index
		f.calls++
	}
}

// typing is an answer of the model that is still coming.
type typing struct {
	after int64 // the event that it comes after; what is older belongs to another one
	text  string
}

// Typing takes what has come of an answer by the event at a position of the log.
func (l *Live) Typing(at int64, text string) {
	if at >= l.typing.after && l.typing.after > 0 && l.header < l.figures.latest {
		l.typing.text = text
	}
}

// Resize lays out what follows for so many columns.
func (l *Live) Resize(columns int) {
	if l.style.Columns > 0 {
		l.style = l.style.Wide(columns)
	}
}

// LockWait is an execution lock that a call waits for, and who had it when that began.
type LockWait struct{ Name, Run, Step string }

// Lock is the lock that is waited for, nil if none is or if it is known to be given back.
func (l *Live) Lock() *LockWait { return l.lock }

// GivenBack notes that who had the lock has it no longer. No event tells: the call goes on
// once a worker has time for it.
func (l *Live) GivenBack() {
	l.waiting = terminal.Line("waiting for its turn: " + l.lock.Run + " has given back " + l.lock.Name)
	l.lock = nil
}

// Doing says what the run is doing at the moment, "" for nothing worth saying.
func (l *Live) Doing(now time.Time) string {
	if l.retry != nil {
		if left := l.retry.wait() - now.Sub(l.since); left > 0 {
			return fmt.Sprintf("%s; next attempt in %ds%s", terminal.Line(l.retry.trouble()), int((left+time.Second-1)/time.Second), terminal.Line(l.retry.elsewhere()))
		}
	}
	if l.waiting == "" {
		return ""
	}
	if seconds := int(now.Sub(l.since).Seconds()); seconds > 0 {
		return fmt.Sprintf("%s  %ds", l.waiting, seconds)
	}
	return l.waiting
}

// How much of the status line and of an answer that is coming is shown.
const (
	doingMin   = 16  // columns of what the run does; figures give way to them
	typingPart = 4   // of the rows of a screen, one in so many for the answer
	typingMax  = 8   // rows of it
	typingEnd  = 160 // runes for each of its rows
)

// Rows are what stands below everything while the run goes on: the end of the answer
// that is coming, and the status line. doing is what the run does.
func (l *Live) Rows(doing string, now time.Time, columns, rows int) []string {
	room := columns - 1
	out := l.answerRows(room, min(rows/typingPart, typingMax))
	lead, text := l.style.Dim("… "), doing
	if l.asks != "" {
		lead, text = l.style.Yellow("? approve? "), l.asks
	} else if text == "" {
		text = "at work"
	}
	figures := l.list(now)
	width := func() int { return terminal.Columns(strings.Join(figures, " · ")) }
	leadColumns := 2
	if l.asks != "" {
		leadColumns = len("? approve? ")
	}
	for len(figures) > 1 && leadColumns+min(terminal.Columns(text), doingMin)+2+width() > room {
		figures = figures[1:]
	}
	text = terminal.Cut(text, max(room-leadColumns-2-width(), 0))
	gap := max(room-leadColumns-terminal.Columns(text)-width(), 1)
	return append(out, lead+l.style.Dim(text+strings.Repeat(" ", gap)+strings.Join(figures, " · ")))
}

// list is the figures, the dispensable ones first.
func (l *Live) list(now time.Time) []string {
	var out []string
	if l.figures.model != "" {
		out = append(out, terminal.Cut(terminal.Line(l.figures.model), 32))
	}
	if l.figures.calls > 0 {
		out = append(out, Count(l.figures.calls, "call"))
		switch {
		case l.CostKnown:
			out = append(out, dollars(l.CostMicroUSD))
		case l.CostMicroUSD > 0:
			out = append(out, "≥ "+dollars(l.CostMicroUSD))
		default:
			out = append(out, "cost unknown")
		}
	}
	return append(out, clock(now.Sub(l.figures.begun)))
}

// clock writes how long something goes on, in whole seconds.
func clock(d time.Duration) string {
	d = max(d, 0)
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return Duration(d)
}

// answerRows are the end of the text that the model has said last, as long as it is not
// on the screen for good.
func (l *Live) answerRows(columns, most int) []string {
	text := l.typing.text
	if text == "" {
		text = l.held
	}
	if text == "" || most <= 0 {
		return nil
	}
	if runes := []rune(text); len(runes) > most*typingEnd {
		text = string(runes[len(runes)-most*typingEnd:])
	}
	text = strings.ReplaceAll(terminal.Text(strings.TrimSpace(text)), "\t", "    ")
	lines := terminal.Fit(text, min(columns, TextColumns(l.style))-2)
	lines = lines[max(len(lines)-most, 0):]
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}
