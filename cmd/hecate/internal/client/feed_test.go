package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hecate/cmd/hecate/internal/client"
)

// notes are texts that would break a careless reader of frames.
var notes = []string{"plain", "two\nlines\r\nand\rmore", "data: x\n\nevent: done", "\u2028 \u0000 🙂", ": ok", ""}

func frameOf(sequence int64) string {
	event := map[string]any{
		"schema_version": "1", "event_id": fmt.Sprintf("evt_%d", sequence), "run_id": "run_1", "task_id": "task_1",
		"sequence": sequence, "occurred_at": "2026-01-02T03:04:05Z", "type": "external.event",
		"data": map[string]any{"note": notes[int(sequence)%len(notes)]},
	}
	data, _ := json.Marshal(map[string]any{"object": "event", "data": event})
	return fmt.Sprintf("id: %d\nevent: event\ndata: %s\n\n", sequence, data)
}

// stream is what a server sends to somebody who has read up to after.
func stream(after, last int64, newline string) string {
	var out strings.Builder
	out.WriteString(": ok\n\n")
	for s := after + 1; s <= last; s++ {
		if s%2 == 0 {
			out.WriteString(": heartbeat\n\n")
		}
		out.WriteString(frameOf(s))
	}
	return strings.ReplaceAll(out.String(), "\n", newline)
}

func cursorOf(r *http.Request) int64 {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after_sequence"), 10, 64)
	header, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	return max(after, header)
}

// collect reads until the last event and fails unless it saw each of after+1 … last once, in order.
func collect(t *testing.T, c *client.Client, after, last int64) {
	t.Helper()
	want := after + 1
	for e, err := range c.Events(t.Context(), "task_1", after) {
		if err != nil {
			t.Fatalf("after event %d: %v", want-1, err)
		}
		if e.Sequence != want {
			t.Fatalf("got event %d, want %d", e.Sequence, want)
		}
		var data struct{ Note string }
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Note != notes[int(want)%len(notes)] {
			t.Fatalf("event %d holds %q (%v)", want, data.Note, err)
		}
		if want == last {
			return
		}
		want++
	}
	t.Fatalf("the feed ended at event %d", want-1)
}

// Wherever a connection breaks, the reader goes on with the event that follows the
// last complete one: none is lost, none comes twice.
func TestConnectionCutAtEveryByte(t *testing.T) {
	const last = 3
	for _, newline := range []string{"\n", "\r\n", "\r"} {
		whole := stream(0, last, newline)
		for cut := range len(whole) + 1 {
			var connections atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if connections.Add(1) > 1 {
					io.WriteString(w, stream(cursorOf(r), last, newline))
					return
				}
				io.WriteString(w, whole[:cut])
				w.(http.Flusher).Flush()
				if cut%2 == 0 {
					panic(http.ErrAbortHandler) // a broken connection instead of a tidy end
				}
			}))
			c, err := client.New(server.URL, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			collect(t, c, 0, last)
			server.Close()
		}
	}
}

// A server that drops every connection after few bytes still gets its whole story told.
func TestEveryConnectionCut(t *testing.T) {
	const first, last = 3, 40
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest := stream(cursorOf(r), last, "\n")
		io.WriteString(w, rest[:min(len(rest), 700)])
	}))
	defer server.Close()
	c, err := client.New(server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	collect(t, c, first, last)
}

// roundTrip answers requests without a network, so that waiting costs no time.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(body)}
}

func TestServerStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c, _ := client.New("http://gone", "", roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("connection refused")
		}))
		var last error
		for _, err := range c.Events(t.Context(), "task_1", 0) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), "http://gone stays away") {
			t.Fatalf("the feed ended with %v", last)
		}
		if waited := time.Since(begin); waited < 20*time.Second || waited > time.Minute {
			t.Errorf("gave up after %v", waited)
		}
	})
}

// Where somebody waits and can end it, the server may stay away for as long as it likes.
func TestServerStaysAwayLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
		defer stop()
		c, _ := client.New("http://gone", "", roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("connection refused")
		}))
		said := 0
		for _, err := range c.EventsUnless(ctx, "task_1", 0, true, func(error) { said++ }) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the feed ended with %v", err)
			}
		}
		if said < 20000 { // about every three seconds
			t.Errorf("it tried %d times", said)
		}
	})
}

// A refusal is final: asking again would only get the same answer.
func TestRefusalIsFinal(t *testing.T) {
	asked := 0
	c, _ := client.New("http://h", "secret", roundTrip(func(r *http.Request) (*http.Response, error) {
		asked++
		if got := r.Header.Get("X-Hecate-Runtime-Token"); got != "secret" {
			t.Errorf("token %q", got)
		}
		return answer(401, strings.NewReader(`{"error":{"type":"unauthorized","message":"runtime token is required"}}`)), nil
	}))
	for _, err := range c.Events(t.Context(), "task_1", 0) {
		want := "runtime token is required (401 unauthorized); set HECATE_RUNTIME_TOKEN to the server's token"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// silent is a body that says nothing until its request ends, as behind a dead link.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }

func TestSilentConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		c, _ := client.New("http://h", "", roundTrip(func(r *http.Request) (*http.Response, error) {
			if connections++; connections == 1 {
				return answer(200, io.MultiReader(strings.NewReader(frameOf(1)), silent{r.Context()})), nil
			}
			return answer(200, strings.NewReader(stream(cursorOf(r), 3, "\n"))), nil
		}))
		collect(t, c, 0, 3)
		if connections != 2 {
			t.Errorf("%d connections", connections)
		}
	})
}

func TestCallerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, _ := client.New("http://h", "", roundTrip(func(r *http.Request) (*http.Response, error) {
			return answer(200, silent{r.Context()}), nil
		}))
		go func() { time.Sleep(time.Second); cancel() }()
		var last error
		for _, err := range c.Events(ctx, "task_1", 0) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("ended with %v", last)
		}
	})
}
