package dialog

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hecate/cmd/hecate/internal/show"
	"hecate/domain/permission"
)

// mode is what keys do.
type mode int

const (
	choosing  mode = iota
	editing        // the pattern
	reasoning      // why a call is denied
)

// Model is the state of a dialog.
type Model struct {
	prompts []show.Prompt
	options Options
	result  Result
	columns int // of the screen
	rows    int

	appeared int // how often something came into view
	// Of the prompt that is shown:
	at      int
	ready   bool // keys answer
	mode    mode
	all     bool // long thinking is shown completely
	edited  bool
	offset  int // lines out of view above
	editor  editor
	problem string // what is wrong with what was entered

	laid [2]layout // the prompt, with a preview of the thinking and with all of it
}

// layout is a prompt as it fits into a width. Calls may be long, and it is drawn often.
type layout struct {
	offer   *permission.Offer
	at      int
	columns int
	rows    []show.Row
}

// New returns the state in which the first prompt is shown.
func New(prompts []show.Prompt, o Options) *Model {
	return &Model{prompts: slices.Clone(prompts), options: o, ready: o.Pause == 0}
}

// readyMsg says that what appeared as the count-th has been in view for long enough to
// be answered.
type readyMsg struct{ count int }

// Init begins the time in which no key answers.
func (m *Model) Init() tea.Cmd { return m.appear() }

// appear begins that time for a call that comes into view.
func (m *Model) appear() tea.Cmd {
	m.appeared++
	m.ready = m.options.Pause == 0
	count := m.appeared
	return tea.Tick(m.options.Pause, func(time.Time) tea.Msg { return readyMsg{count} })
}

// Result is what was answered so far.
func (m *Model) Result() Result { return m.result }

// Update handles a key, the wheel or a new size.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		before := m.fits()
		m.columns, m.rows = msg.Width, msg.Height
		if m.fits() && !before {
			return m, m.appear()
		}
	case readyMsg:
		m.ready = m.ready || msg.count == m.appeared
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			m.scroll(-wheelRows)
		case tea.MouseWheelDown:
			m.scroll(wheelRows)
		}
	case tea.PasteMsg:
		if m.mode != choosing {
			m.editor.insert(msg.Content)
			m.problem = ""
		}
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// wheelRows is how far one step of the wheel scrolls.
const wheelRows = 3

func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	if k.Keystroke() == "ctrl+c" {
		m.result.Interrupted = true
		return tea.Quit
	}
	if m.scrollKey(k.Keystroke()) {
		return nil
	}
	switch {
	case m.done() || !m.ready || !m.fits() || k.IsRepeat:
		return nil
	case m.mode == choosing && k.Mod&^tea.ModShift == 0:
		return m.choose(k.Text)
	case m.mode != choosing:
		return m.enter(k)
	}
	return nil
}

func (m *Model) scrollKey(key string) bool {
	page := max(m.bodyRows()-1, 1)
	switch key {
	case "up":
		m.scroll(-1)
	case "down":
		m.scroll(1)
	case "pgup":
		m.scroll(-page)
	case "pgdown":
		m.scroll(page)
	default:
		return false
	}
	return true
}

func (m *Model) scroll(by int) {
	if m.fits() {
		m.offset = min(max(m.offset+by, 0), m.offsetMax())
	}
}

// choose handles a key while nothing is being typed.
func (m *Model) choose(key string) tea.Cmd {
	p := m.prompts[m.at]
	switch {
	case key == keyThinking && p.Long():
		m.all, m.offset = !m.all, 0
	case !p.Allows(key):
	case key == permission.AnswerEdit && p.Offer != nil:
		m.mode, m.editor, m.problem = editing, newEditor(p.Offer.Scope), ""
	case key == permission.AnswerDenyReason:
		m.mode, m.editor, m.problem = reasoning, newEditor(""), ""
	case key == permission.AnswerSession, key == permission.AnswerRemember:
		a := Answer{Key: key}
		if m.edited {
			a.Scope = p.Offer.Scope
		}
		return m.answer(a)
	case key == permission.AnswerOnce, key == permission.AnswerDeny:
		return m.answer(Answer{Key: key})
	}
	return nil
}

// keyThinking shows long thinking completely, and again its beginning.
const keyThinking = "t"

// enter handles a key while something is being typed.
func (m *Model) enter(k tea.KeyPressMsg) tea.Cmd {
	switch k.Keystroke() {
	case "esc":
		m.mode, m.problem = choosing, ""
	case "enter":
		if m.mode == editing {
			m.take()
			return nil
		}
		if reason := strings.TrimSpace(m.editor.String()); reason != "" {
			return m.answer(Answer{Key: permission.AnswerDenyReason, Note: reason})
		}
		m.problem = "write why, or Esc and n to deny without a reason"
	default:
		m.editor.key(k)
		m.problem = ""
	}
	return nil
}

// take makes the edited text the offer, if it can be one.
func (m *Model) take() {
	p := &m.prompts[m.at]
	offer, err := m.options.Edit(*p, m.editor.String())
	if err != nil {
		m.problem = err.Error()
		return
	}
	p.Offer, m.edited, m.mode = &offer, true, choosing
	m.offset = m.offsetMax() // where the answers stand
}

// answer takes an answer and goes on to the next call.
func (m *Model) answer(a Answer) tea.Cmd {
	m.result.Answers = Follow(m.prompts, append(m.result.Answers, a), m.options.Covers)
	m.at = len(m.result.Answers)
	m.mode, m.all, m.edited, m.offset, m.problem = choosing, false, false, 0, ""
	if m.done() {
		return tea.Quit
	}
	return m.appear()
}

func (m *Model) done() bool { return m.at >= len(m.prompts) }
