package show

import (
	"strings"

	"hecate/cmd/hecate/internal/terminal"
)

// Weight is how a line stands out.
type Weight int

// The weights.
const (
	Plain Weight = iota
	Strong
	Muted
	Warning
)

// Paint colours text by its weight.
func (w Weight) Paint(st terminal.Style, text string) string {
	switch w {
	case Strong:
		return st.Bold(text)
	case Muted:
		return st.Dim(text)
	case Warning:
		return st.Yellow(text)
	}
	return text
}

// Line is one line of a prompt before it is laid out. Its texts are harmless.
type Line struct {
	Weight Weight
	Lead   string // stands before the text
	Next   string // stands before the rest of a text that is too long for one row
	Text   string
	Exact  bool // folded wherever it falls, so that no character is lost
}

// Row is a line as it fits on the screen.
type Row struct {
	Weight Weight
	Text   string
}

// Rows lays lines out to a width; 0 is as wide as they are.
func Rows(lines []Line, columns int) []Row {
	var out []Row
	for _, l := range lines {
		for i, piece := range l.pieces(columns) {
			lead := l.Lead
			if i > 0 {
				lead = l.Next
			}
			out = append(out, Row{l.Weight, strings.TrimRight(lead+piece, " ")})
		}
	}
	return out
}

// pieces break the text where it does not fit beside its leads.
func (l Line) pieces(columns int) []string {
	if columns == 0 {
		return []string{l.Text}
	}
	text, split := l.Text, terminal.Fold
	if !l.Exact {
		split = terminal.Fit
		if terminal.Columns(l.Lead+text) > columns { // blanks count for nothing where a line is broken
			indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
			text = indent + strings.Join(strings.Fields(text), " ")
		}
	}
	first := split(text, max(columns-terminal.Columns(l.Lead), 1))
	if len(first) == 1 {
		return first
	}
	rest := strings.TrimPrefix(text, first[0])
	if !l.Exact {
		rest = strings.TrimLeft(rest, " ")
	}
	return append(first[:1], split(rest, max(columns-terminal.Columns(l.Next), 1))...)
}

// proseIndent stands before all but the first row of foreign prose. No line of ours
// begins there.
const proseIndent = "       "

// prose makes a line of each line of a text that somebody else wrote.
func prose(w Weight, lead, text string) []Line {
	var out []Line
	for line := range strings.SplitSeq(strings.ReplaceAll(terminal.Text(strings.TrimSpace(text)), "\t", "    "), "\n") {
		out = append(out, Line{Weight: w, Lead: lead, Next: proseIndent, Text: strings.TrimRight(line, " ")})
		lead = proseIndent
	}
	return out
}
