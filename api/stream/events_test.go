package stream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
)

const (
	base   = "/hecate/v1"
	events = base + "/events/stream"
)

// list returns the envelopes of a list, page by page.
func list(t testing.TB, s *apitest.Server, path string) []string {
	t.Helper()
	var out []string
	for after := int64(0); ; {
		var page []json.RawMessage
		s.Do(t, "GET", fmt.Sprintf("%s?after_sequence=%d", path, after), nil).Data(t, &page)
		if len(page) == 0 {
			return out
		}
		for _, e := range page {
			out = append(out, string(e))
			var i apitest.Item
			if err := json.Unmarshal(e, &i); err != nil {
				t.Fatal(err)
			}
			after = i.Sequence
		}
	}
}

// envelope takes the event out of a frame of the cross-run stream.
func envelope(t testing.TB, f apitest.Frame) string {
	t.Helper()
	var d struct {
		Object string          `json:"object"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal([]byte(f.Data), &d); err != nil || d.Object != "event" || f.Event != "event" {
		t.Fatalf("%+v: %v", f, err)
	}
	var i apitest.Item
	if err := json.Unmarshal(d.Data, &i); err != nil || strconv.FormatInt(i.Sequence, 10) != f.ID {
		t.Fatalf("id %s of %s", f.ID, d.Data)
	}
	return string(d.Data)
}

// The first bytes come at once, and nothing on the way is asked to hold them back.
func TestStreamOpensAtOnce(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	resp, _ := s.Subscribe(t.Context(), t, events, "Accept-Encoding", "gzip")
	defer resp.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != ": ok\n\n" {
		t.Errorf("%q, %v", first, err)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Encoding": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A stream from the beginning is the list, and goes on with what happens later.
func TestStreamEqualsList(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	resp, frames := s.Subscribe(t.Context(), t, events)
	defer resp.Body.Close()
	half := len(list(t, s, base+"/events"))
	next := func() string {
		f, err := frames.Next()
		if err != nil {
			t.Fatal(err)
		}
		return envelope(t, f)
	}
	var got []string
	for range half {
		got = append(got, next())
	}
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	note := "a\nb\rc\r\nd\u2028e\x00f \U0001F600 data: x\n\nid: 7"
	s.Do(t, "POST", base+"/tasks/"+id+"/runs/"+runID+"/events", map[string]any{"note": note}).Data(t, new(apitest.Item))
	want := list(t, s, base+"/events")
	for len(got) < len(want) {
		got = append(got, next())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-list +stream):\n%s", diff)
	}
	var e struct{ Data struct{ Note string } }
	if err := json.Unmarshal([]byte(got[len(got)-1]), &e); err != nil || e.Data.Note != note {
		t.Errorf("the note came back as %q", e.Data.Note)
	}
	s.Stop()
	if _, err := frames.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at shutdown: %v", err)
	}
}

func TestStreamFilters(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	other := s.Task(t, nil)
	s.StartRun(t, other)
	resp, frames := s.Subscribe(t.Context(), t, events+"?task_id="+other+"&event_type=run.queued,run.finished")
	defer resp.Body.Close()
	f, err := frames.Next()
	if err != nil || !strings.Contains(f.Data, other) || !strings.Contains(f.Data, `"run.queued"`) {
		t.Errorf("%+v, %v", f, err)
	}
	// The greater cursor counts.
	resp, frames = s.Subscribe(t.Context(), t, events+"?after_sequence=3", "Last-Event-ID", "10")
	defer resp.Body.Close()
	if f, err = frames.Next(); err != nil || f.ID != "11" {
		t.Errorf("%+v, %v", f, err)
	}
}

// A deletion hides what a stream has not sent.
func TestDeletedTaskLeavesTheStream(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	resp, frames := s.Subscribe(t.Context(), t, events)
	defer resp.Body.Close()
	if _, err := frames.Next(); err != nil {
		t.Fatal(err)
	}
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	s.Do(t, "POST", base+"/tasks/"+id+"/runs/"+runID+"/cancel", nil).Data(t, new(apitest.Item))
	if a := s.Do(t, "DELETE", base+"/tasks/"+id, nil); a.Status != http.StatusNoContent {
		t.Fatal(a.Status)
	}
	resp, frames = s.Subscribe(t.Context(), t, events+"?after_sequence=3")
	defer resp.Body.Close()
	other := s.Task(t, nil)
	s.StartRun(t, other)
	deadline := time.AfterFunc(2*time.Minute, func() { resp.Body.Close() })
	defer deadline.Stop()
	for {
		f, err := frames.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.Data, id) {
			t.Fatalf("an event of a deleted task: %s", f.Data)
		}
		if strings.Contains(f.Data, other) {
			return
		}
	}
}
