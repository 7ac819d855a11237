//go:build linux

package blackbox_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// frame is one event of a stream, or a comment if it has nothing else.
type frame struct {
	id, event, data string
	comment         string
}

// stream reads server-sent events by the letter of the WHATWG rules.
type stream struct {
	resp *http.Response
	in   *bufio.Reader
	stop context.CancelFunc
	cr   bool // the last line ended with CR, so an LF right after belongs to it
}

// follow starts a stream; the limit bounds its whole life.
func (c *client) follow(t *testing.T, limit time.Duration, path string, header ...string) *stream {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	t.Cleanup(stop)
	s, err := c.connect(ctx, path, header...)
	if err != nil {
		t.Fatalf("follow %s: %v", path, err)
	}
	if s.resp.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(s.resp.Body) // shown only
		t.Fatalf("follow %s: status %d: %s", path, s.resp.StatusCode, raw)
	}
	return s
}

func (c *client) connect(ctx context.Context, path string, header ...string) (*stream, error) {
	ctx, stop := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, "GET", c.base+path, nil)
	if err != nil {
		stop()
		return nil, err
	}
	req.Header = c.header.Clone()
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: c.hc.Transport}).Do(req) // without the time limit of other requests
	if err != nil {
		stop()
		return nil, err
	}
	return &stream{resp: resp, in: bufio.NewReader(resp.Body), stop: stop}, nil
}

func (s *stream) close() {
	s.stop()
	_ = s.resp.Body.Close() // the connection is given up
}

// line returns the next line without its end; CR, LF and CRLF all end one.
func (s *stream) line() (string, error) {
	var b strings.Builder
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return "", err
		}
		wasCR := s.cr
		s.cr = c == '\r'
		switch {
		case c == '\n' && wasCR:
		case c == '\n' || c == '\r':
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
}

// next returns the next event or comment. A frame that the end cuts off is not one.
func (s *stream) next() (frame, error) {
	var f frame
	var data []string
	for {
		line, err := s.line()
		if err != nil {
			return frame{}, err
		}
		if line == "" {
			if data != nil || f.id != "" || f.event != "" {
				f.data = strings.Join(data, "\n")
				return f, nil
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			if data == nil && f.id == "" && f.event == "" {
				return frame{comment: value}, nil
			}
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			data = append(data, value)
		}
	}
}

// event returns the next frame that is no comment.
func (s *stream) event() (frame, error) {
	for {
		f, err := s.next()
		if err != nil || f.comment == "" && f.event != "" {
			return f, err
		}
	}
}

// rest reads the events until the server closes the stream.
func (s *stream) rest(t *testing.T) (frames []frame) {
	t.Helper()
	for {
		f, err := s.event()
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatalf("after %d frames: %v", len(frames), err)
		}
		frames = append(frames, f)
	}
}

// body returns the data of a frame inside its envelope.
func (f frame) body(t *testing.T) doc {
	t.Helper()
	d, err := parse([]byte(f.data))
	if err != nil {
		t.Fatalf("frame %+v: %v", f, err)
	}
	return d.obj("data")
}
