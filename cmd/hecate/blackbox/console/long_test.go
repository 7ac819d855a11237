//go:build linux

package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"hecate/runtime/model/scripted"
)

// A run of ten thousand rows has only those rows in the page that are near the window.
func TestLongRun(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := conversation{prompt: "Short", replies: []scripted.Reply{says("Short it is.")}}
	path := s.run(t, s.agent(t, c))
	p := s.open(t, "/tasks")
	const rows = 10_000
	body := longPicture(t, s.send(t, "GET", path, nil), rows)
	requests := chromedp.Events(p.ctx, fetch.RequestPaused)
	_, err := chromedp.Call(p.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/stream*"}}})
	p.must(err)
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if strings.Contains(r.Request.URL, "/events/stream") {
				_, _ = chromedp.Call(p.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: r.RequestID}) // the test is over otherwise
				continue
			}
			_, _ = chromedp.Call(p.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: r.RequestID, ResponseCode: 200, Body: body, ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/event-stream"}},
			})
		}
	}()
	p.visit(path)
	p.sees("row-0")
	shown := `document.querySelectorAll('.window .row').length`
	if n := value[int](p, shown); n < 10 || n > 200 {
		t.Errorf("%d rows in the page", n)
	}
	p.until(`(window.scrollTo(0, document.documentElement.scrollHeight), document.body.innerText.includes('row-9999'))`)
	if n := value[int](p, shown); n > 200 {
		t.Errorf("%d rows in the page at its end", n)
	}
}

// longPicture is the stream of a run with that many rows.
func longPicture(t *testing.T, run map[string]any, rows int) []byte {
	t.Helper()
	var activity []args
	for i := range rows {
		activity = append(activity, args{"id": fmt.Sprint("step:s", i), "type": "tool_call", "status": "completed", "tool_name": fmt.Sprint("row-", i), "occurred_at": "2026-01-01T00:00:00.000000000Z"})
	}
	frame, err := json.Marshal(args{"object": "task_run_stream_event", "data": args{
		"sequence": 1_000_000, "terminal": true, "event_type": "snapshot", "run": run, "activity": activity, "steps": []any{}, "artifacts": []any{},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "id: 1000000\nevent: snapshot\ndata: %s\n\nid: 1000000\nevent: done\ndata: %s\n\n", frame, frame)
}
