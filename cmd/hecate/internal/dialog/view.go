package dialog

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

const (
	boxColumnsMax = 100 // longer lines are hard to read
	frameColumns  = 4   // the border and a blank at either side
	frameRows     = 4   // both borders, the rule above the keys, and the status below the box
)

// View draws the dialog.
func (m *Model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	switch {
	case m.done() || m.columns == 0:
	case !m.fits():
		v.SetContent(terminal.Cut(fmt.Sprintf("approve? Needs %d×%d or more.", ColumnsMin, RowsMin), m.columns))
	default:
		m.draw(&v)
	}
	return v
}

func (m *Model) fits() bool { return m.columns >= ColumnsMin && m.rows >= RowsMin }

func (m *Model) boxColumns() int  { return min(m.columns, boxColumnsMax) }
func (m *Model) textColumns() int { return m.boxColumns() - frameColumns }

// content are all rows of the prompt.
func (m *Model) content(all bool) []show.Row {
	l := &m.laid[0]
	if all {
		l = &m.laid[1]
	}
	if p := m.prompts[m.at]; l.rows == nil || l.at != m.at || l.columns != m.columns || l.offer != p.Offer {
		p = Current(m.prompts, m.result.Answers, m.options.Covers)
		*l = layout{p.Offer, m.at, m.columns, show.Rows(p.Lines(all), m.textColumns())}
	}
	return l.rows
}

// bodyRows is how many of them are in view: as many as there are without expanded
// thinking, so that the box keeps its size, and what a row more for entering takes away.
func (m *Model) bodyRows() int {
	if m.done() {
		return 0
	}
	keys := len(m.keys())
	whole := min(len(m.content(false))+keys, m.rows-frameRows)
	return max(whole-len(m.bottom()), 1)
}

func (m *Model) offsetMax() int { return max(len(m.content(m.all))-m.bodyRows(), 0) }

func (m *Model) draw(v *tea.View) {
	st, columns := m.options.Style, m.boxColumns()
	p, rows, body := m.prompts[m.at], m.content(m.all), m.bodyRows()
	m.offset = min(m.offset, max(len(rows)-body, 0)) // the window may have grown
	var out []string
	add := func(weight show.Weight, text string) {
		pad := strings.Repeat(" ", max(columns-frameColumns-terminal.Columns(text), 0))
		out = append(out, st.Dim("│")+" "+weight.Paint(st, text)+pad+" "+st.Dim("│"))
	}
	title := "permission"
	if at := p.Position(); at != "" {
		title += " · " + at
		if terminal.Columns(title+p.Level()) > columns-2*frameColumns {
			title = at
		}
	}
	out = append(out, rule(st, "┌", title, p.Level(), "┐", columns, false))
	for i := range body {
		if k := m.offset + i; k < len(rows) {
			add(rows[k].Weight, rows[k].Text)
		} else {
			add(show.Plain, "")
		}
	}
	hidden := marker(m.offset, len(rows)-m.offset-body)
	out = append(out, rule(st, "├", hidden, "", "┤", columns, true))
	if m.mode != choosing {
		_, cursor := m.editor.view(m.editorColumns())
		v.Cursor = tea.NewCursor(2+terminal.Columns(m.label())+cursor, len(out))
	}
	for _, r := range m.bottom() {
		add(r.Weight, r.Text)
	}
	out = append(out, rule(st, "└", "", "", "┘", columns, false), m.status())
	v.SetContent(strings.Join(out, "\n"))
}

// rule is a border with a text near either end.
func rule(st terminal.Style, begin, left, right, end string, columns int, warn bool) string {
	if right != "" {
		right = " " + right + " "
	}
	if left = terminal.Cut(left, columns-4-terminal.Columns(right)); left != "" {
		left = " " + left + " "
	}
	line := strings.Repeat("─", max(columns-2-terminal.Columns(left)-terminal.Columns(right), 0))
	painted := st.Bold(left)
	if warn {
		painted = st.Yellow(left)
	}
	return st.Dim(begin) + painted + st.Dim(line+right+end)
}

// marker counts the lines that are out of view.
func marker(above, below int) string {
	var parts []string
	if above > 0 {
		parts = append(parts, "↑ "+show.Count(int64(above), "line")+" above")
	}
	if below > 0 {
		parts = append(parts, "↓ "+show.Count(int64(below), "line")+" below")
	}
	return strings.Join(parts, " · ")
}

// status is the last line of the screen.
func (m *Model) status() string {
	text := "…"
	if m.ready {
		text = "approve?"
	}
	left := len(m.prompts) - m.at - 1
	detail := m.options.Interrupt
	if left > 0 {
		detail = "after it: " + show.Count(int64(left), "more call") + " · " + detail
	}
	return m.options.Style.Yellow(text) + "  " + m.options.Style.Dim(detail)
}

// bottom are the rows below the rule: the keys, or what is being typed.
func (m *Model) bottom() []show.Row {
	if m.mode == choosing {
		return m.keys()
	}
	text, _ := m.editor.view(m.editorColumns())
	hint, weight := m.hint()
	return []show.Row{
		{Weight: show.Plain, Text: m.label() + text},
		{Weight: weight, Text: terminal.Cut(terminal.Line(hint), m.textColumns())},
		{Weight: show.Muted, Text: "Enter takes it · Esc leaves it"},
	}
}

func (m *Model) label() string {
	if m.mode == reasoning {
		return "reason: "
	}
	if o := m.prompts[m.at].Offer; o != nil && o.IsHost {
		return "host: "
	}
	return "pattern: "
}

func (m *Model) editorColumns() int { return m.textColumns() - terminal.Columns(m.label()) }

// hint is what the text means as it stands, or what is wrong with it.
func (m *Model) hint() (string, show.Weight) {
	switch {
	case m.problem != "":
		return m.problem, show.Warning
	case m.mode == reasoning:
		return "The model is told this.", show.Muted
	}
	offer, err := m.options.Edit(m.prompts[m.at], m.editor.String())
	switch {
	case err != nil:
		return err.Error(), show.Muted
	case show.StartsOthers(offer):
		return "= " + offer.Covers, show.Warning
	}
	return "= " + offer.Covers, show.Plain
}

// words say in short what the keys do.
var words = map[string]string{
	permission.AnswerOnce: "once", permission.AnswerSession: "session", permission.AnswerRemember: "remember",
	permission.AnswerEdit: "edit", permission.AnswerDeny: "deny", permission.AnswerDenyReason: "reason",
}

// keys are the compact keys that stay in view whatever is scrolled.
func (m *Model) keys() []show.Row {
	p := m.prompts[m.at]
	var items []string
	for _, a := range p.Answers() {
		word := words[a]
		if p.Ends && a == permission.AnswerDeny {
			word = "refuse"
		}
		items = append(items, a+" "+word)
	}
	if p.Long() {
		more := "more"
		if m.all {
			more = "less"
		}
		items = append(items, keyThinking+" "+more)
	}
	weight := show.Strong
	if !m.ready {
		weight = show.Muted
	}
	var out []show.Row
	line := ""
	for _, item := range items {
		if line != "" && terminal.Columns(line)+3+terminal.Columns(item) > m.textColumns() {
			out, line = append(out, show.Row{Weight: weight, Text: line}), ""
		}
		if line != "" {
			line += "   "
		}
		line += item
	}
	return append(out, show.Row{Weight: weight, Text: line})
}
