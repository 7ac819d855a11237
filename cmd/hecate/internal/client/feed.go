package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// How a lost feed is found again.
const (
	quietMax     = 45 * time.Second // the server comments at least every 15 s; after this the connection is dead
	retryFirst   = 100 * time.Millisecond
	retryMax     = 3 * time.Second
	failuresMax  = 15 // in a row, without a byte in between: about half a minute
	feedEventTag = "event"
)

// Events follows a task's events behind the position after, for as long as the
// caller goes on. A broken connection is opened again at the last complete event,
// so that none is missed and none comes twice. The sequence ends with an error:
// the server refused, it stayed away, or ctx ended.
func (c *Client) Events(ctx context.Context, task string, after int64) iter.Seq2[Event, error] {
	return c.EventsUnless(ctx, task, after, false, func(error) {})
}

// EventsUnless is Events that says while it goes on why the server does not answer, and nil
// once it does again. If it is patient, it waits for the server for as long as the caller does.
func (c *Client) EventsUnless(ctx context.Context, task string, after int64, patient bool, away func(error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		cursor, failures := after, 0
		for {
			conn, err := c.openFeed(ctx, task, cursor)
			var heard bool
			if failures > 0 {
				away(err)
			}
			if err == nil {
				heard, err = conn.read(&cursor, yield)
				conn.close()
			}
			switch {
			case errors.Is(err, errStopped):
				return
			case ctx.Err() != nil:
				yield(Event{}, ctx.Err())
				return
			case final(err):
				yield(Event{}, err)
				return
			}
			if heard {
				failures = 0
			}
			if failures++; failures > failuresMax && !patient {
				yield(Event{}, fmt.Errorf("follow the events: the server at %s stays away: %w", c.base, err))
				return
			}
			if !pause(ctx, failures) {
				yield(Event{}, ctx.Err())
				return
			}
		}
	}
}

var (
	errStopped  = errors.New("the caller has seen enough")
	errBadFrame = errors.New("a frame of the event feed is no event")
)

// final reports whether asking again cannot help.
func final(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status/100 == 4 && refused.Status != http.StatusRequestTimeout && refused.Status != http.StatusTooManyRequests
	}
	return errors.Is(err, errFrameTooLarge) || errors.Is(err, errBadFrame)
}

// pause waits before the n-th try in a row: not at all before the first, since a
// proxy that cuts a long stream is no reason to wait.
func pause(ctx context.Context, n int) bool {
	if n <= 1 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(min(retryFirst<<min(n-2, failuresMax), retryMax)) // of many tries the wait would not fit
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// feedConn is one connection of the feed. The watchdog cuts it when it falls silent.
type feedConn struct {
	body     io.ReadCloser
	watchdog *time.Timer
	cancel   context.CancelFunc
	heard    bool
}

func (c *Client) openFeed(ctx context.Context, task string, cursor int64) (*feedConn, error) {
	at := strconv.FormatInt(cursor, 10)
	query := url.Values{"task_id": {task}, "after_sequence": {at}}
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "Last-Event-Id": {at}}
	return c.openStream(ctx, apiPath+"/events/stream?"+query.Encode(), header)
}

func (c *Client) openStream(ctx context.Context, path string, header http.Header) (*feedConn, error) {
	ctx, cancel := context.WithCancel(ctx)
	watchdog := time.AfterFunc(quietMax, cancel)
	res, err := c.send(ctx, http.MethodGet, path, nil, header)
	if err != nil {
		watchdog.Stop()
		cancel()
		return nil, err
	}
	return &feedConn{body: res.Body, watchdog: watchdog, cancel: cancel}, nil
}

func (f *feedConn) close() {
	f.watchdog.Stop()
	f.cancel()
	f.body.Close()
}

// Read passes bytes on and tells the watchdog that the server lives.
func (f *feedConn) Read(p []byte) (int, error) {
	n, err := f.body.Read(p)
	if n > 0 {
		f.heard = true
		f.watchdog.Reset(quietMax)
	}
	return n, err
}

// read yields events behind *cursor and moves it. It reports whether the server said anything.
func (f *feedConn) read(cursor *int64, yield func(Event, error) bool) (bool, error) {
	frames := newFrameReader(f)
	for {
		fr, err := frames.next()
		if err != nil {
			return f.heard, err
		}
		if fr.name != feedEventTag {
			continue
		}
		var body struct{ Data Event }
		if err := json.Unmarshal(fr.data, &body); err != nil {
			return f.heard, fmt.Errorf("%w: %w", errBadFrame, err)
		}
		if body.Data.Sequence <= *cursor {
			continue
		}
		*cursor = body.Data.Sequence
		if !yield(body.Data, nil) {
			return f.heard, errStopped
		}
	}
}
