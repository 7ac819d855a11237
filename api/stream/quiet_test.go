package stream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hecate/api/apitest"
	"hecate/domain/run"
)

// idleProxy forwards to s and cuts a connection on which nothing comes for a time.
func idleProxy(t *testing.T, s *apitest.Server, limit time.Duration) *apitest.Server {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := s.Dial(ctx)
		return impatient{c, limit}, err
	}
	return apitest.Pipe(t, &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	})
}

type impatient struct {
	net.Conn
	limit time.Duration
}

func (c impatient) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// pauses notes the longest time between two reads that brought something.
type pauses struct {
	io.Reader
	last, longest time.Duration
	began         time.Time
}

func (p *pauses) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	now := time.Since(p.began)
	p.longest, p.last = max(p.longest, now-p.last), now
	return n, err
}

// A stream on which nothing happens says so every 15 seconds without an id, so that
// proxies keep it. What comes after the silence comes through.
func TestQuietStreamsBehindAProxy(t *testing.T) {
	for path, comment := range map[string]string{events: ": heartbeat", runStream: ": keep-alive"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := apitest.Start(t, apitest.Options{Pipes: true})
				beginRun(t, s, "t", "r")
				began := time.Now()
				resp, _ := idleProxy(t, s, 20*time.Second).Subscribe(t.Context(), t, path, "Accept-Encoding", "gzip")
				defer resp.Body.Close()
				if h := resp.Header; h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache" || h.Get("X-Accel-Buffering") != "no" || h.Get("Content-Encoding") != "" {
					t.Errorf("headers %v", h)
				}
				timed := &pauses{Reader: resp.Body, began: began}
				frames := apitest.NewStream(timed)
				go func() {
					time.Sleep(61 * time.Second)
					apitest.Append(t, s.Store, "run-r", run.TaskUpdated{})
				}()
				for id := ""; id != "7"; {
					f, err := frames.Next()
					if err != nil {
						t.Fatalf("after %v: %v", time.Since(began), err)
					}
					id = f.ID
				}
				if want := ": ok" + strings.Repeat("\n"+comment, 4); strings.Join(frames.Comments, "\n") != want {
					t.Errorf("%q", frames.Comments)
				}
				if timed.longest > 15*time.Second || time.Since(began) < 61*time.Second {
					t.Errorf("%v of silence in %v", timed.longest, time.Since(began))
				}
			})
		})
	}
}

// Ids are those of events, also after a long silence, and never go down.
func TestIDsAreSequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &typing{changed: make(chan struct{})}
		s := apitest.Start(t, apitest.Options{Pipes: true, Progress: p})
		id := s.Task(t, nil)
		runID := s.StartRun(t, id)
		st, err := s.X.LoadRun(t.Context(), runID)
		if err != nil {
			t.Fatal(err)
		}
		path := base + "/tasks/" + id + "/runs/" + runID
		resp, frames := s.Subscribe(t.Context(), t, path+"/stream")
		defer resp.Body.Close()
		go func() {
			advance(t, s, st, run.Started{Kind: run.Orchestrator}, run.ModelCallStarted{ModelCallIndex: 1, StepID: st.NextStepID()})
			time.Sleep(20 * time.Second)
			p.add("Half an answer")
			time.Sleep(20 * time.Second)
			advance(t, s, st, run.Finished{FinalStatus: run.StatusCompleted})
		}()
		check(t, s, path, 0, untilEnd(t, frames))
		if n := len(frames.Comments); n < 3 {
			t.Errorf("%d comments", n)
		}
	})
}

// A server that stops ends its streams between two frames, also those that have been
// quiet for longer than a write may take.
func TestStopEndsQuietStreams(t *testing.T) {
	for _, path := range []string{events, runStream} {
		synctest.Test(t, func(t *testing.T) {
			s := apitest.Start(t, apitest.Options{Pipes: true})
			beginRun(t, s, "t", "r")
			resp, frames := s.Subscribe(t.Context(), t, path)
			defer resp.Body.Close()
			go func() {
				time.Sleep(12 * time.Second)
				s.Stop()
			}()
			for {
				_, err := frames.Next()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
		})
	}
}
