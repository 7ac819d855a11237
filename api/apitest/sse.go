package apitest

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Frame is one server-sent event.
type Frame struct {
	ID, Event, Data string
}

// Stream reads server-sent events strictly: a line that is none of what the servers
// here may send, a field that comes twice, or a frame without data is an error.
type Stream struct {
	r        *bufio.Reader
	Comments []string
}

// NewStream reads from r.
func NewStream(r io.Reader) *Stream { return &Stream{r: bufio.NewReader(r)} }

// Buffered is how many bytes were read beyond the last frame.
func (s *Stream) Buffered() int { return s.r.Buffered() }

// Next returns the next frame. io.EOF is the end between two frames; anything cut off
// in the middle of one is io.ErrUnexpectedEOF.
func (s *Stream) Next() (f Frame, err error) {
	began := false
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			if err == io.EOF && (began || line != "") {
				err = io.ErrUnexpectedEOF
			}
			return f, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.ContainsAny(line, "\r\x00"):
			return f, fmt.Errorf("line %q breaks the frame", line)
		case line == "" && !began:
			continue
		case line == "":
			if f.Data == "" {
				return f, fmt.Errorf("a frame without data: %+v", f)
			}
			return f, nil
		case strings.HasPrefix(line, ":"):
			s.Comments = append(s.Comments, line)
			continue
		}
		began = true
		if err := f.set(line); err != nil {
			return f, err
		}
	}
}

func (f *Frame) set(line string) error {
	name, value, _ := strings.Cut(line, ": ")
	field := map[string]*string{"id": &f.ID, "event": &f.Event, "data": &f.Data}[name]
	if field == nil || *field != "" {
		return fmt.Errorf("unexpected line %q", line)
	}
	*field = value
	return nil
}
