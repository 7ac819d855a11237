package terminal

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Screen is an output below whose last line may stand what goes on at the moment: rows
// that are drawn again and again, and that something lasting pushes down. Use it from
// one goroutine.
//
// A change is one write, in which what stays the same is written over itself, so nothing
// flickers. Rows are drawn with the wrapping of lines switched off: one that takes more
// columns than it was measured at does not break the drawing.
type Screen struct {
	out     io.Writer
	style   Style
	file    *os.File      // out, if it has a size of its own
	wanted  []string      // the rows to show below what lasts
	passing bool          // the next lasting text ends them
	drawn   []string      // the rows that are on the screen
	columns int           // for which they were drawn
	open    bool          // the last lasting text has not ended its line
	held    *bytes.Buffer // what waits until the terminal is ours again; nil if it is
}

// NewScreen returns a screen on out. Unless the style allows it, nothing but what lasts is shown.
func NewScreen(out io.Writer, style Style) *Screen {
	s := &Screen{out: out, style: style}
	if f, ok := out.(*os.File); ok && style.Redraws {
		s.file = f
	}
	return s
}

const (
	wrapOff   = "\x1b[?7l"
	wrapOn    = "\x1b[?7h"
	clearRow  = "\x1b[K" // to its end
	clearRest = "\x1b[J" // of the screen
)

// rowsDefault is the height of a terminal that does not tell.
const rowsDefault = 24

// Size is how many columns and rows there are at the moment.
func (s *Screen) Size() (columns, rows int) {
	if s.file != nil {
		if c, r, err := term.GetSize(int(s.file.Fd())); err == nil && c > 0 && r > 0 {
			return c, r
		}
	}
	return s.style.Columns, rowsDefault
}

// Redraws reports whether anything but what lasts is shown.
func (s *Screen) Redraws() bool { return s.style.Redraws }

// Write writes something lasting.
func (s *Screen) Write(p []byte) (int, error) {
	if s.held != nil {
		return s.held.Write(p)
	}
	if !s.style.Redraws || len(p) == 0 {
		return s.out.Write(p)
	}
	var b strings.Builder
	b.WriteString(s.takeBack())
	b.Write(p)
	if s.passing {
		s.wanted, s.passing = nil, false
	}
	if s.open = p[len(p)-1] != '\n'; !s.open {
		b.WriteString(s.draw())
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Show shows rows below what lasts, none for no rows, until others are shown. They are
// harmless, and fit the columns.
func (s *Screen) Show(rows ...string) {
	s.passing = false
	s.show(rows)
}

func (s *Screen) show(rows []string) {
	if !s.style.Redraws {
		return
	}
	columns, _ := s.Size()
	same := slices.Equal(rows, s.drawn) && columns == s.columns
	if s.wanted = rows; s.held != nil || s.open || same {
		return
	}
	// What fails here fails again, and is noticed, with the next lasting line.
	_, _ = io.WriteString(s.out, s.draw())
}

// Status shows one row until something lasting is written, "" for none.
func (s *Screen) Status(text string) {
	if text == "" {
		s.Show()
		return
	}
	columns, _ := s.Size()
	s.show([]string{s.style.Dim(Cut(text, columns-1))})
	s.passing = true
}

// Forget leaves what is on the screen where it is: something else has written there.
func (s *Screen) Forget() { s.drawn = nil }

// draw is what replaces the drawn rows by the wanted ones.
func (s *Screen) draw() string {
	up := s.up()
	if len(s.wanted) == 0 && len(s.drawn) == 0 {
		return ""
	}
	columns, _ := s.Size()
	if len(s.drawn) > 0 && columns != s.columns {
		up += clearRest // rows that the terminal broke, it would join again later
	}
	s.drawn, s.columns = slices.Clone(s.wanted), columns
	if len(s.wanted) == 0 {
		return up + clearRest
	}
	return wrapOff + up + strings.Join(s.wanted, clearRow+"\r\n") + clearRest + "\r" + wrapOn
}

// takeBack is what makes room for something lasting.
func (s *Screen) takeBack() string {
	if len(s.drawn) == 0 {
		return ""
	}
	up := s.up()
	s.drawn = nil
	return up + clearRest
}

// up goes to the beginning of what is drawn, from the beginning of its last row: there, the
// echo of a key does not begin another row. A terminal that became narrower has broken rows
// that were longer.
func (s *Screen) up() string {
	columns, _ := s.Size()
	rows := 0
	for i, row := range s.drawn {
		rows++
		if i < len(s.drawn)-1 && columns > 0 && columns < s.columns {
			rows += max(Columns(plain(row))-1, 0) / columns
		}
	}
	if rows <= 1 {
		return "\r"
	}
	return "\x1b[" + strconv.Itoa(rows-1) + "A\r"
}

// Hold keeps back what is written while something else draws on the terminal.
func (s *Screen) Hold() {
	s.Show()
	if s.held == nil {
		s.held = &bytes.Buffer{}
	}
}

// Release writes what was held back.
func (s *Screen) Release() error {
	if s.held == nil {
		return nil
	}
	held := s.held
	s.held = nil
	_, err := s.Write(held.Bytes())
	return err
}

// Notify rings, for somebody who looks elsewhere, and hands terminals that can show one
// a notification (OSC 9); for no text it only rings. It does nothing where there is no
// terminal.
func (s *Screen) Notify(text string) error {
	if s.style.Columns == 0 || s.held != nil {
		return nil
	}
	ring := "\a"
	if text != "" {
		ring = "\x1b]9;" + Cut(Line(text), notifyColumns) + "\a" + ring
	}
	_, err := io.WriteString(s.out, ring)
	return err
}

// notifyColumns bounds a notification.
const notifyColumns = 120
