//go:build linux

package sweep_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const api = "/hecate/v1"

// client is a caller that does not know of crashes: it sends a request again until it
// is answered. Where it goes may change under it.
type client struct {
	base atomic.Value // string
	hc   *http.Client
}

func newClient(base string) *client {
	c := &client{hc: &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}}
	c.base.Store(base)
	return c
}

// send sends a request until there is an answer, and returns its body if that is
// what was asked for. Everything that changes something needs a key.
func (c *client) send(ctx context.Context, method, path, key string, body any) ([]byte, error) {
	var in []byte
	if body != nil {
		var err error
		if in, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for {
		status, raw, err := c.once(ctx, method, path, key, in)
		switch {
		case err == nil && status == http.StatusOK:
			return raw, nil
		case err == nil && status == http.StatusServiceUnavailable: // the read models lag; the answer says to try again
			err = fmt.Errorf("status %d: %s", status, raw)
		case err == nil:
			return nil, fmt.Errorf("%s %s: status %d: %s", method, path, status, raw)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s %s: %w (%w)", method, path, context.Cause(ctx), err)
		case <-time.After(pollEvery):
		}
	}
}

func (c *client) once(ctx context.Context, method, path, key string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base.Load().(string)+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-Request-Id", "same") // answers repeat it
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.hc.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, raw, err
}

// doc is a JSON object; its readers give the zero value for what is not there.
type doc map[string]any

func (d doc) str(name string) string { s, _ := d[name].(string); return s }

func (d doc) num(name string) int64 { n, _ := d[name].(float64); return int64(n) }

// object and list read the data of an answer.
func (c *client) object(ctx context.Context, path string) (d doc, err error) {
	return d, c.data(ctx, path, &d)
}

func (c *client) list(ctx context.Context, path string) (l []doc, err error) {
	return l, c.data(ctx, path, &l)
}

func (c *client) data(ctx context.Context, path string, into any) error {
	raw, err := c.send(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	return inside(raw, into)
}

// inside reads the data of an envelope.
func inside(raw []byte, into any) error {
	envelope := struct{ Data any }{into}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return fmt.Errorf("read an answer: %w: %s", err, raw)
	}
	return nil
}

// seen is one event as a client got it.
type seen struct {
	sequence int64
	data     string // JSON
}

// events reads the whole list of events.
func (c *client) events(ctx context.Context) (out []seen, err error) {
	after := int64(0)
	for {
		var page []json.RawMessage
		if err := c.data(ctx, fmt.Sprintf("%s/events?limit=500&after_sequence=%d", api, after), &page); err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return out, nil
		}
		for _, raw := range page {
			var e struct{ Sequence int64 }
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			out = append(out, seen{e.Sequence, string(raw)})
			after = e.Sequence
		}
	}
}

// follow reads the feed of all events, however often it breaks off, and hands each
// event that it gets to see, until ctx ends.
func (c *client) follow(ctx context.Context, see func(seen)) {
	last := int64(0)
	for ctx.Err() == nil {
		// An error is the end of a connection, and then there is another one.
		_ = c.connection(ctx, last, func(e seen) {
			last = e.sequence
			see(e)
		})
		time.Sleep(pollEvery)
	}
}

// connection is one connection to the feed.
func (c *client) connection(ctx context.Context, after int64, see func(seen)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.Load().(string)+api+"/events/stream", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	resp, err := (&http.Client{Transport: c.hc.Transport}).Do(req) // without the time limit of other requests
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	id := ""
	for in := bufio.NewReader(resp.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err // what was cut off is not an event
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			var frame struct{ Data json.RawMessage }
			if err := json.Unmarshal([]byte(value), &frame); err != nil {
				return err
			}
			sequence, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return err
			}
			see(seen{sequence, string(frame.Data)})
		}
	}
}
