package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
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

// A connection that breaks after any byte loses nothing and repeats nothing.
func TestEveryByteOffset(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	s.StartRun(t, id)
	s.StartRun(t, s.Task(t, nil))
	want := list(t, s, base+"/events")
	var whole bytes.Buffer
	resp, _ := s.Subscribe(t.Context(), t, events)
	frames := apitest.NewStream(io.TeeReader(resp.Body, &whole))
	for range want {
		if _, err := frames.Next(); err != nil {
			t.Fatal(err)
		}
	}
	resp.Body.Close()
	for cut := range whole.Len() {
		var got []string
		last := ""
		read := func(s *apitest.Stream) {
			for {
				f, err := s.Next()
				if err != nil {
					return
				}
				got, last = append(got, envelope(t, f)), f.ID
			}
		}
		read(apitest.NewStream(bytes.NewReader(whole.Bytes()[:cut])))
		if cut%97 == 0 { // ask the server now and then; below, its answer is known
			resp, again := s.Subscribe(t.Context(), t, events, "Last-Event-ID", last)
			for len(got) < len(want) {
				f, err := again.Next()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, envelope(t, f))
			}
			resp.Body.Close()
		} else {
			got = append(got, want[len(got):]...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut after %d bytes:\n%s", cut, diff)
		}
	}
}

// Five runs go on while a client is thrown out a hundred times.
func TestReconnects(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	writing := make(chan struct{})
	const rounds = 200
	go func() {
		defer close(writing)
		for i := range rounds {
			r := fmt.Sprintf("r%d", i%5)
			if i < 5 {
				apitest.Append(t, s.Store, "run-"+r, run.Created{TaskID: "task_" + r, Number: 1, Kind: "builtin"})
			}
			apitest.Append(t, s.Store, "run-"+r, run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: event.NewText(strings.Repeat("x", i))})
			apitest.Append(t, s.Store, "task-"+r, task.BudgetRaised{MicroUSD: int64(i)})
		}
	}()
	var got []string
	last := "0"
	for cut := 0; len(got) < rounds+5; cut++ {
		ctx, leave := context.WithCancel(t.Context())
		resp, frames := s.Subscribe(ctx, t, events, "Last-Event-ID", last)
		if cut < 100 { // break after a random number of bytes
			frames = apitest.NewStream(io.LimitReader(resp.Body, rand.Int64N(3000)))
		}
		for len(got) < rounds+5 {
			f, err := frames.Next()
			if err != nil {
				break
			}
			got, last = append(got, envelope(t, f)), f.ID
		}
		leave()
		resp.Body.Close()
	}
	<-writing
	if diff := cmp.Diff(list(t, s, base+"/events"), got); diff != "" {
		t.Errorf("(-list +stream):\n%s", diff)
	}
}

// Twenty clients listen, one of them never reads. The others get everything.
func TestClientThatNeverReads(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	stuck, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	if _, err := fmt.Fprintf(stuck, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", events); err != nil {
		t.Fatal(err)
	}
	const clients, chunks = 19, 200
	done := make(chan error, clients)
	for range clients {
		resp, frames := s.Subscribe(t.Context(), t, events)
		defer resp.Body.Close()
		go func() {
			for n := 0; n < chunks+1; n++ {
				if _, err := frames.Next(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	apitest.Append(t, s.Store, "run-r", run.Created{TaskID: "task_r", Number: 1, Kind: "builtin"})
	text := event.NewText(strings.Repeat("0123456789abcdef", 1000))
	for range chunks { // 3 MB
		apitest.Append(t, s.Store, "run-r", run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: text})
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
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
	deadline := time.AfterFunc(5*time.Second, func() { resp.Body.Close() })
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
