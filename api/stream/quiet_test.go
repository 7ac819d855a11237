package stream_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/api/stream"
)

// recorder is a client that keeps what it gets.
type recorder struct {
	mu     sync.Mutex
	header http.Header
	text   strings.Builder
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}
func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

// A stream on which nothing happens says so every 15 seconds, without an id.
func TestQuietStreamBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := apitest.Executor(t).Store
		hub := feed.NewHub(feed.NewReader(store), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { _ = hub.Run(ctx) })
		out := &recorder{header: http.Header{}}
		e := stream.Events{Hub: hub, Log: slog.New(slog.DiscardHandler)}
		e.Serve(out, httptest.NewRequest("GET", "/", nil).WithContext(ctx), 0, feed.Filter{})
		wg.Wait()
		if want := ": ok\n\n" + strings.Repeat(": heartbeat\n\n", 4); out.text.String() != want {
			t.Errorf("%q", out.text.String())
		}
	})
}
