// Package stream sends server-sent events: the cross-run feed and the live picture
// of one run. A stream holds little for its client but a cursor: whoever reads too
// slowly is cut off or catches up from the log, and slows nobody else down.
package stream

import (
	"errors"
	"net/http"
	"time"
)

// Times of a stream.
const (
	beatGap  = 15 * time.Second // the longest silence; proxies cut quieter connections
	writeMax = 10 * time.Second // a client that takes nothing for this long is gone
)

// portionMax is how many bytes a client has writeMax to take, besides what the network
// between holds. A slow client is served slowly, however large an event is.
const portionMax = 64 << 10

// errNoBody is for a request that asks about a stream and not for it.
var errNoBody = errors.New("the request wants no body")

// writer sends frames to one client.
type writer struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	portion int       // bytes left of what was last given time to
	last    time.Time // when the client had everything
}

// open begins the answer and sends first at once, so that the client knows that it
// is connected before anything happens. Close a writer that was opened.
func open(w http.ResponseWriter, r *http.Request, first string) (*writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil, errNoBody
	}
	s := &writer{w: w, c: http.NewResponseController(w)}
	// A stream lives longer than any limit that a server sets for reading a request.
	_ = s.c.SetReadDeadline(time.Time{}) // not every ResponseWriter can
	return s, s.send([]byte(first))
}

// close leaves the server time to write the end.
func (s *writer) close() { s.extend() }

// extend gives the client time to take a portion.
func (s *writer) extend() {
	s.portion = portionMax
	// A server without deadlines, as in some tests, still notices when the client leaves.
	_ = s.c.SetWriteDeadline(time.Now().Add(writeMax))
}

// write hands bytes over. An error means that the client is gone.
func (s *writer) write(p []byte) error {
	for len(p) > 0 {
		if s.portion == 0 {
			s.extend()
		}
		n, err := s.w.Write(p[:min(len(p), s.portion)])
		if err != nil {
			return err
		}
		s.portion -= n
		p = p[n:]
	}
	return nil
}

// flush sends what was written to the client. The next bytes get time of their own.
func (s *writer) flush() error {
	err := s.c.Flush()
	s.portion, s.last = 0, time.Now()
	return err
}

// send writes the parts in order and flushes them.
func (s *writer) send(parts ...[]byte) error {
	for _, p := range parts {
		if err := s.write(p); err != nil {
			return err
		}
	}
	return s.flush()
}

// beat sends a comment if the stream was silent for too long.
func (s *writer) beat(comment string) error {
	if time.Since(s.last) < beatGap {
		return nil
	}
	return s.send([]byte(comment))
}

// untilBeat is how long the stream may stay silent.
func (s *writer) untilBeat() time.Duration { return max(0, beatGap-time.Since(s.last)) }
