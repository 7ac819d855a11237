// Package webhook calls an HTTP receiver when something happens that a person may want to
// know at once: an approval waits, an approval was answered, a run has ended.
//
// A message says what happened and where to look, and holds no arguments, texts or
// outputs. It is signed in the way of Standard Webhooks: HMAC-SHA256 over id, time and
// body, in the headers webhook-id, webhook-timestamp and webhook-signature. It is tried a
// bounded number of times and then given up; the log has what happened in any case.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hecate/domain/clock"
	"hecate/eventstore"
	"hecate/projections/forward"
)

const (
	attemptsMax = 6                // of one message; the pauses between them are forward's
	requestMax  = 10 * time.Second // one attempt
	answerMax   = 64 << 10         // bytes of an answer that are read, so that the connection can be used again
)

// Log is what a hook needs of the log.
type Log interface {
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)
}

// Config says who is called, and of what.
type Config struct {
	URL      *url.URL // http or https, any address: the operator names it
	Secret   Secret
	Messages []string // types of messages; nil means Default
	Console  string   // base URL that links begin with
	Log      Log
	Clock    clock.Clock
	Logger   *slog.Logger
}

// Hook is a sink of forward. It sends one message after the other.
type Hook struct {
	c      Config
	client *http.Client
	name   string

	trying   int64 // position of the message that has failed so far,
	attempts int   // and how often
	down     bool  // the last message was given up: those that follow get one attempt each
}

var _ forward.Sink = (*Hook)(nil)

// New returns a hook.
func New(c Config) *Hook {
	if c.Messages == nil {
		c.Messages = Default
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // takes proxies from the environment
	transport.MaxIdleConnsPerHost = 1
	return &Hook{c: c, name: Name(c.URL), client: &http.Client{
		Transport: transport, Timeout: requestMax,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // what is signed for one is not for another
	}}
}

// Name names a receiver without what may be secret: user, path and query of its URL.
func Name(u *url.URL) string { return "webhook " + u.Scheme + "://" + u.Host }

// Close closes idle connections.
func (h *Hook) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Send calls the receiver for each of the records that it wants to hear of.
func (h *Hook) Send(ctx context.Context, records []eventstore.Record) (done forward.Done, err error) {
	for i := range records {
		m, wanted, err := h.message(ctx, &records[i])
		if err != nil {
			return done, err
		}
		if wanted {
			err = h.post(ctx, m)
		}
		switch {
		case !wanted:
		case err == nil:
			h.attempts, h.down = 0, false
			done.Messages++
		case ctx.Err() != nil:
			return done, err
		case h.giveUp(m, err):
			done.Records++
			done.GivenUp++
			return done, err
		default:
			return done, err
		}
		done.Records++
	}
	return done, nil
}

// giveUp counts a failed attempt and reports whether it was the last.
func (h *Hook) giveUp(m message, err error) bool {
	if h.trying != m.Sequence {
		h.trying, h.attempts = m.Sequence, 0
	}
	h.attempts++
	var refused *refusal
	gone := errors.As(err, &refused) && refused.status == http.StatusGone
	if h.attempts < attemptsMax && !h.down && !gone {
		return false
	}
	h.c.Logger.Warn("gave up a webhook message", "target", h.name, "type", m.Type, "run_id", m.RunID, "sequence", m.Sequence, "attempts", h.attempts, "error", err)
	h.attempts, h.down = 0, true
	return true
}

// post makes one attempt.
func (h *Hook) post(ctx context.Context, m message) error {
	body, err := m.encode()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.c.URL.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("make a request for the receiver: its URL makes no sense")
	}
	at := h.c.Clock.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Hecate")
	request.Header.Set("Webhook-Id", m.ID)
	request.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	request.Header.Set("Webhook-Signature", h.c.Secret.Sign(m.ID, at, body))
	response, err := h.client.Do(request)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) { // it shows the whole URL
			err = inner.Err
		}
		return fmt.Errorf("call the receiver: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, answerMax)) // what it says does not matter
	if response.StatusCode/100 != 2 {
		return &refusal{status: response.StatusCode, after: retryAfter(response.Header)}
	}
	return nil
}

// refusal is an answer that is no success.
type refusal struct {
	status int
	after  time.Duration
}

func (r *refusal) Error() string {
	if r.status/100 == 3 {
		return fmt.Sprintf("the receiver answered %d: redirects are not followed, name the right URL", r.status)
	}
	return fmt.Sprintf("the receiver answered %d %s", r.status, strings.ToLower(http.StatusText(r.status)))
}

// RetryAfter is how long the receiver wants to be left alone.
func (r *refusal) RetryAfter() time.Duration { return r.after }

// retryAfter reads the header's seconds. Its other form, a date, is rare, and our own
// pauses do as well.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func (h *Hook) wants(kind string) bool { return slices.Contains(h.c.Messages, kind) }
