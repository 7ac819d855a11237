package terminal

import "io"

// Screen is an output whose last line may be a status that goes away as soon as
// something lasting is written. Use it from one goroutine.
type Screen struct {
	out   io.Writer
	style Style
	live  bool // out is a terminal that can take a status
	shown bool
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
	return s.out.Write(p)
}

// Status shows what goes on at the moment, "" for nothing, in place of what was shown before.
func (s *Screen) Status(text string) {
	if !s.live || text == "" && !s.shown {
		return
	}
	s.shown = text != ""
	// What fails here fails again, and is noticed, with the next lasting line.
	_, _ = io.WriteString(s.out, clearLine+s.style.Dim(Cut(text, s.style.Columns-1)))
}
