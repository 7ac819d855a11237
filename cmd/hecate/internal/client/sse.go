package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// frameMax is the largest single frame, in bytes. A whole file in one event is normal.
const frameMax = 64 << 20

var errFrameTooLarge = errors.New("a frame of the event feed is larger than 64 MiB")

// frame is one complete server-sent event.
type frame struct {
	id   string
	name string
	data []byte
}

// frameReader splits a stream into frames. A frame counts only with the blank line
// that ends it: what a broken connection leaves half-read is asked for again.
type frameReader struct {
	r       *bufio.Reader
	afterCR bool
	begun   bool
}

func newFrameReader(r io.Reader) *frameReader { return &frameReader{r: bufio.NewReader(r)} }

// next returns the next frame that has data, or what ended the stream.
func (f *frameReader) next() (frame, error) {
	var out frame
	hasData := false
	for {
		line, err := f.line()
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			if hasData {
				return out, nil
			}
			out = frame{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "id":
			out.id = string(value)
		case "event":
			out.name = string(value)
		case "data":
			if hasData {
				out.data = append(out.data, '\n')
			}
			out.data = append(out.data, value...)
			hasData = true
			if len(out.data) > frameMax {
				return frame{}, errFrameTooLarge
			}
		}
	}
}

// line returns the next complete line without its end: LF, CR or CRLF. It never
// waits for what may follow a CR.
func (f *frameReader) line() ([]byte, error) {
	var line []byte
	for {
		b, err := f.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if f.afterCR {
			f.afterCR = false
			if b == '\n' {
				continue
			}
		}
		if b == '\n' || b == '\r' {
			f.afterCR = b == '\r'
			if !f.begun {
				f.begun = true
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return line, nil
		}
		if line = append(line, b); len(line) > frameMax {
			return nil, errFrameTooLarge
		}
	}
}
