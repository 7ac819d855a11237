// Package stream sends server-sent events: the cross-run feed and the live picture
// of one run. A stream holds nothing for its client but a cursor: whoever reads too
// slowly is cut off or catches up from the log, and slows nobody else down.
package stream

import (
	"net/http"
	"time"
)

// Times of a stream.
const (
	beatGap  = 15 * time.Second // the longest silence; proxies cut quieter connections
	writeMax = 10 * time.Second // a client that takes nothing for this long is gone
)

// writer sends frames to one client.
type writer struct {
	w    http.ResponseWriter
	c    *http.ResponseController
	last time.Time // of the last bytes sent
}

// open begins the answer and sends first at once, so that the client knows that it
// is connected before anything happens.
func open(w http.ResponseWriter, first string) (*writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	s := &writer{w: w, c: http.NewResponseController(w)}
	// A stream lives longer than any limit that a server sets for reading a request.
	_ = s.c.SetReadDeadline(time.Time{}) // not every ResponseWriter can
	w.WriteHeader(http.StatusOK)
	return s, s.send([]byte(first))
}

// send writes the parts in order and flushes them. An error means that the client is gone.
func (s *writer) send(parts ...[]byte) error {
	s.last = time.Now()
	// A server without deadlines, as in some tests, still notices when the client leaves.
	_ = s.c.SetWriteDeadline(s.last.Add(writeMax))
	for _, p := range parts {
		if _, err := s.w.Write(p); err != nil {
			return err
		}
	}
	return s.c.Flush()
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
