package stream_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/api/stream"
	"hecate/domain/run"
	"hecate/projections/runs"
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

func (r *recorder) frames(t *testing.T) []runFrame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return untilEnd(t, apitest.NewStream(strings.NewReader(r.text.String())))
}

// follow serves a run's stream to so many clients until the test ends.
func follow(t *testing.T, s *apitest.Server, streams *stream.Runs, clients int) (out []*recorder) {
	reader, log := feed.NewReader(s.Store), slog.New(slog.DiscardHandler)
	streams.Hub, streams.Feed, streams.Log, streams.Patience = feed.NewHub(reader, log), reader, log, 2*time.Second
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	wg.Go(func() { _ = streams.Hub.Run(ctx) })
	for range clients {
		r := &recorder{header: http.Header{}}
		out = append(out, r)
		wg.Go(func() { streams.Serve(r, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx), "t", "r", 0) })
	}
	return out
}

// Many followers of a run ask the read models no more often than one.
func TestFollowersShareWhatTheyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &typing{changed: make(chan struct{})}
		s := apitest.Start(t, apitest.Options{Pipes: true})
		beginRun(t, s, "t", "r")
		apitest.Append(t, s.Store, "run-r", run.ModelCallStarted{ModelCallIndex: 1, StepID: "step_1"})
		var asked atomic.Int64
		views := runs.NewViews(s.Models, s.Store, func(context.Context, string) (string, bool) {
			asked.Add(1)
			text, version := p.Partial("r")
			return text, version > 0
		})
		clients := follow(t, s, &stream.Runs{Views: views, Models: s.Models, Progress: p}, 50)
		for range 40 {
			time.Sleep(50 * time.Millisecond)
			p.add("abc ")
		}
		apitest.Append(t, s.Store, "run-r", run.TaskUpdated{})
		time.Sleep(time.Second)
		for _, c := range clients {
			all := c.frames(t)
			if last := all[len(all)-1]; last.ID != "8" || !strings.Contains(last.Data, strings.Repeat("abc ", 40)) {
				t.Fatalf("the last of %d pictures has id %s", len(all), last.ID)
			}
		}
		if n := asked.Load(); n > 30 {
			t.Errorf("50 followers asked for %d pictures in 2 seconds", n)
		}
	})
}

// gate is read models that get somewhere when a test says so.
type gate struct{ open chan struct{} }

func (g gate) WaitFor(ctx context.Context, _ int64, _ ...string) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// While the read models are late, events still come; the picture follows once it is
// right, also if nothing happens any more.
func TestLateReadModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t, apitest.Options{Pipes: true})
		beginRun(t, s, "t", "r")
		models := gate{make(chan struct{})}
		client := follow(t, s, &stream.Runs{Views: runs.NewViews(s.Models, s.Store, nil), Models: models}, 1)[0]
		apitest.Append(t, s.Store, "run-r", run.ApprovalRequested{ApprovalID: "a", Status: "pending"}, run.AwaitingApproval{})
		time.Sleep(20 * time.Second)
		early := client.frames(t)
		if n := len(early); n != 6 || early[n-1].EventType != "run.awaiting_approval" {
			t.Errorf("%d frames", n)
		}
		close(models.open)
		time.Sleep(3 * time.Second)
		late := client.frames(t)
		if last := late[len(late)-1]; len(late) != 7 || len(last.Approvals) != 1 {
			t.Errorf("%d frames, then %+v", len(late), last.shown)
		}
	})
}
