package terminal

import (
	"os"
	"strings"

	"golang.org/x/term"
)

// Limits of the layout in columns. Lines longer than the upper one are hard to
// read; below the lower one nothing is aligned any more.
const (
	columnsMin     = 40
	columnsMax     = 100
	columnsDefault = 80
)

// Style is how output looks at its destination. The zero value is plain text
// without alignment: what a file or a pipe gets.
type Style struct {
	Colour  bool
	Columns int  // width to lay out for; 0 means lines end where they end
	Redraws bool // what was drawn can be taken back
}

// StyleOf looks at where output goes. Colours, and what is drawn again, need a terminal
// that is not "dumb" and an environment without NO_COLOR; getenv reads that environment.
func StyleOf(f *os.File, getenv func(string) string) Style {
	if !term.IsTerminal(int(f.Fd())) {
		return Style{}
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = columnsDefault
	}
	name := getenv("TERM")
	able := getenv("NO_COLOR") == "" && name != "" && name != "dumb"
	return Style{Colour: able, Redraws: able}.Wide(columns)
}

// Wide is the style for a terminal of so many columns.
func (s Style) Wide(columns int) Style {
	s.Columns = min(max(columns, columnsMin), columnsMax)
	return s
}

// The colours follow one rule: green went well, red did not, yellow waits for
// you, cyan is the model, dim is detail.
func (s Style) Bold(t string) string   { return s.paint("1", t) }
func (s Style) Dim(t string) string    { return s.paint("2", t) }
func (s Style) Red(t string) string    { return s.paint("31", t) }
func (s Style) Green(t string) string  { return s.paint("32", t) }
func (s Style) Yellow(t string) string { return s.paint("33", t) }
func (s Style) Cyan(t string) string   { return s.paint("36", t) }

func (s Style) paint(code, t string) string {
	if !s.Colour || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// Row places a detail at the right edge of the line that starts with left, dimmed.
// Without a width, two blanks stand between them; where both don't fit on a line, the
// detail stands on the next one.
func (s Style) Row(left, right string) string {
	if right == "" {
		return left
	}
	gap := s.Columns - Columns(plain(left)) - Columns(right)
	if s.Columns > 0 && gap < 2 {
		return left + "\n" + strings.Repeat(" ", max(s.Columns-Columns(right), 0)) + s.Dim(right)
	}
	return left + strings.Repeat(" ", max(gap, 2)) + s.Dim(right)
}

// plain takes our own colours off again, to measure what is left.
func plain(s string) string { return withoutColours(s) }
