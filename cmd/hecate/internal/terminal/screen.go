package terminal

import (
	"bytes"
	"io"
)

// Screen is an output whose last line may be a status that goes away as soon as
// something lasting is written. Use it from one goroutine.
type Screen struct {
	out   io.Writer
	style Style
	live  bool // out is a terminal that can take a status
	shown bool
	held  *bytes.Buffer // what waits until the terminal is ours again; nil if it is
}

// NewScreen returns a screen on out. Without a width in the style there is no
// terminal behind it, and no status is shown.
func NewScreen(out io.Writer, style Style) *Screen {
	return &Screen{out: out, style: style, live: style.Columns > 0}
}

const clearLine = "\r\x1b[2K"

// Write writes something lasting.
func (s *Screen) Write(p []byte) (int, error) {
	s.Status("")
	if s.held != nil {
		return s.held.Write(p)
	}
	return s.out.Write(p)
}

// Status shows what goes on at the moment, "" for nothing, in place of what was shown before.
func (s *Screen) Status(text string) {
	if !s.live || s.held != nil || text == "" && !s.shown {
		return
	}
	s.shown = text != ""
	// What fails here fails again, and is noticed, with the next lasting line.
	_, _ = io.WriteString(s.out, clearLine+s.style.Dim(Cut(text, s.style.Columns-1)))
}

// Hold keeps back what is written while something else draws on the terminal.
func (s *Screen) Hold() {
	s.Status("")
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
	_, err := s.out.Write(held.Bytes())
	return err
}

// Notify rings, for somebody who looks elsewhere, and hands terminals that can show one
// a notification (OSC 9); for no text it only rings. It does nothing where there is no
// terminal.
func (s *Screen) Notify(text string) error {
	if !s.live || s.held != nil {
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
