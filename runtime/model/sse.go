package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// EventBytesMax is the largest single event of an upstream stream. A whole file
// in the arguments of one call is normal; past this the call fails with
// invalid_response.
const EventBytesMax = 64 << 20

// StreamBytesMax is the most that one streamed answer may send in all.
const StreamBytesMax = 256 << 20

var (
	errEventTooLarge  = errors.New("a stream event is larger than 64 MiB")
	errStreamTooLarge = errors.New("the stream is longer than 256 MiB")
	byteOrderMark     = []byte("\xef\xbb\xbf")
)

// sseEvent is one event. Data is valid until the next call of next.
type sseEvent struct {
	name string
	data []byte
	cut  bool // the stream ended before the blank line that closes an event
}

// sseReader splits a stream into events as browsers do, with two liberties: an
// event that the end of the stream leaves open is returned, marked as cut, and
// fields other than event and data are skipped (nobody reconnects here).
type sseReader struct {
	r        *bufio.Reader
	line     []byte // reused
	data     []byte // reused
	total    int64
	afterCR  bool // the last line ended in CR: an LF that follows belongs to it
	started  bool
	eventMax int
}

func newSSEReader(r io.Reader) *sseReader {
	return &sseReader{r: bufio.NewReaderSize(r, 16<<10), eventMax: EventBytesMax}
}

// next returns the next event that has data, io.EOF at the end, or what reading
// failed with. With that comes whether data of another event had arrived (cut).
func (s *sseReader) next() (sseEvent, error) {
	var name string
	s.data = s.data[:0]
	lines := 0
	for {
		line, err := s.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return sseEvent{cut: lines > 0 || bytes.HasPrefix(s.line, []byte("data"))}, err
		}
		ended := err != nil
		field, value := splitField(line)
		switch field {
		case "data":
			if lines > 0 {
				s.data = append(s.data, '\n')
			}
			s.data = append(s.data, value...)
			lines++
		case "event":
			name = string(value)
		}
		if len(s.data) > s.eventMax {
			return sseEvent{}, errEventTooLarge
		}
		if ended || len(line) == 0 {
			if lines > 0 {
				return sseEvent{name: name, data: s.data, cut: ended}, nil
			}
			if ended {
				return sseEvent{}, io.EOF
			}
			name = ""
		}
	}
}

// splitField cuts a line at its first colon; a comment has the empty field name.
func splitField(line []byte) (string, []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	return string(field), bytes.TrimPrefix(value, []byte(" "))
}

// readLine returns the next line without its end, which is LF, CR or CRLF. At
// the end of the stream it returns what is left together with io.EOF.
//
// It never waits for the byte after a CR: that would hold back an event until
// the next one arrives.
func (s *sseReader) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		chunk, err := s.fill()
		if err != nil {
			return s.trimMark(), err
		}
		if s.afterCR {
			s.afterCR = false
			if chunk[0] == '\n' {
				s.discard(1)
				continue
			}
		}
		end := lineEnd(chunk)
		if end < 0 {
			s.line = append(s.line, chunk...)
			s.discard(len(chunk))
			if len(s.line) > s.eventMax {
				return nil, errEventTooLarge
			}
			continue
		}
		s.line = append(s.line, chunk[:end]...)
		s.afterCR = chunk[end] == '\r'
		s.discard(end + 1)
		if s.total > StreamBytesMax {
			return nil, errStreamTooLarge
		}
		return s.trimMark(), nil
	}
}

// fill returns what is buffered, after one read if that is nothing.
func (s *sseReader) fill() ([]byte, error) {
	if s.r.Buffered() == 0 {
		if _, err := s.r.Peek(1); err != nil {
			return nil, err
		}
	}
	return s.r.Peek(s.r.Buffered())
}

func (s *sseReader) discard(n int) {
	// Only bytes that fill has shown are discarded, which cannot fail.
	_, _ = s.r.Discard(n)
	s.total += int64(n)
}

// trimMark drops a byte-order mark from the first line of the stream.
func (s *sseReader) trimMark() []byte {
	if s.started {
		return s.line
	}
	s.started = true
	return bytes.TrimPrefix(s.line, byteOrderMark)
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
