package secret

import (
	"slices"
	"strings"
)

// Stream withholds secrets from a text that comes in pieces. Of each piece it keeps back what
// may be the beginning of a secret until more of the text tells, which is less than the
// longest secret has, and nothing at all of most texts. The zero value withholds nothing.
type Stream struct {
	set   *Set
	held  string
	names []string
}

// Stream returns a stream that nothing was written to.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Write takes the next piece and returns what can be told of the text by now, which may be
// nothing, and what belongs to earlier pieces.
func (s *Stream) Write(piece string) string {
	t := s.set.current()
	if t == nil {
		held := s.held
		s.held = ""
		return held + piece
	}
	text := s.held + piece
	cut := t.open(text)
	var out strings.Builder
	done := 0
	t.regions(text, func(r region) {
		if r.end > cut { // what is open may lie across its end
			cut = min(cut, r.start)
			return
		}
		out.WriteString(text[done:r.start])
		s.names = t.mark(&out, r, s.names)
		done = r.end
	})
	s.held = strings.Clone(text[cut:])
	if done == 0 {
		return text[:cut]
	}
	out.WriteString(text[done:cut])
	return out.String()
}

// Rest is what is kept back as it would be if the text ended here.
func (s *Stream) Rest() string {
	rest, _ := s.set.Withhold(s.held)
	return rest
}

// End ends the text and returns what was kept back.
func (s *Stream) End() string {
	rest, names := s.set.Withhold(s.held)
	s.held = ""
	for _, n := range names {
		if !slices.Contains(s.names, n) {
			s.names = append(s.names, n)
		}
	}
	return rest
}

// Withheld returns the names of what was withheld so far.
func (s *Stream) Withheld() []string { return s.names[:len(s.names):len(s.names)] }
