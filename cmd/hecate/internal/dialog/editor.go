package dialog

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"hecate/cmd/hecate/internal/terminal"
)

// editor is a text of one line that somebody types.
type editor struct {
	text []rune
	at   int // where the next character goes
}

func newEditor(text string) editor {
	r := []rune(text)
	return editor{r, len(r)}
}

func (e *editor) String() string { return string(e.text) }

// blanks stand for what divides words and has no place in one line.
var blanks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// insert adds what was typed or pasted. Line breaks become blanks; other controls have no
// place in one line.
func (e *editor) insert(s string) {
	r := slices.DeleteFunc([]rune(blanks.Replace(s)), unicode.IsControl)
	e.text = slices.Insert(e.text, e.at, r...)
	e.at += len(r)
}

// key handles a key that moves, deletes or types.
func (e *editor) key(k tea.KeyPressMsg) {
	switch k.Keystroke() {
	case "left", "ctrl+b":
		e.at = max(e.at-1, 0)
	case "right", "ctrl+f":
		e.at = min(e.at+1, len(e.text))
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.text)
	case "backspace", "ctrl+h":
		if e.at > 0 {
			e.at--
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case "delete", "ctrl+d":
		if e.at < len(e.text) {
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case "ctrl+u":
		e.text, e.at = slices.Clone(e.text[e.at:]), 0
	case "ctrl+k":
		e.text = e.text[:e.at]
	default:
		if k.Mod&^tea.ModShift == 0 {
			e.insert(k.Text)
		}
	}
}

// view is the part around the cursor that fits into columns, harmless, and the column
// of the cursor in it.
func (e *editor) view(columns int) (text string, cursor int) {
	before, after := terminal.Exact(string(e.text[:e.at])), terminal.Exact(string(e.text[e.at:]))
	for terminal.Columns(before) >= columns { // what stands before the cursor goes out at the left
		r := []rune(before)
		before = string(r[1:])
	}
	cursor = terminal.Columns(before)
	return before + terminal.Cut(after, max(columns-cursor, 0)), cursor
}
