package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
)

// happened returns the event that a frame is about: "" for pictures.
func happened(t testing.TB, f apitest.Frame) string {
	t.Helper()
	var d struct {
		Data struct {
			Type     string            `json:"type"`       // of the cross-run stream
			Cause    string            `json:"event_type"` // of a run's
			Activity []json.RawMessage `json:"activity"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(f.Data), &d); err != nil {
		t.Fatal(err)
	}
	switch {
	case f.Event == "event":
		return f.ID + " " + d.Data.Type
	case f.Event == "snapshot" && d.Data.Cause != "snapshot" && d.Data.Activity == nil:
		return f.ID + " " + d.Data.Cause
	}
	return ""
}

// history returns what happened, from a list of events.
func history(t testing.TB, s *apitest.Server, path string) (out []string) {
	t.Helper()
	for _, raw := range list(t, s, path) {
		var i apitest.Item
		if err := json.Unmarshal([]byte(raw), &i); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(i.Sequence, " ", i.Type))
	}
	return out
}

// A stream of a hundred events may break after any byte. Whoever then comes back with
// the last id has every event once.
func TestCutAfterEveryByte(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	beginRun(t, s, "t", "r")
	appendRound(t, s.Store, "r", 1, 4)
	for range 43 {
		apitest.Append(t, s.Store, "run-r", run.TaskUpdated{}, run.Warned{Code: "c", Message: "m"})
	}
	apitest.Append(t, s.Store, "external-r", run.ExternalEvent{RunID: "r", TaskID: "t", Type: "ci.done", Data: map[string]any{"note": "a\r\nid: 7\n\ndata: x\u2028"}})
	apitest.Append(t, s.Store, "run-r", run.Finished{FinalStatus: run.StatusCompleted}, run.TaskUpdated{})
	want := history(t, s, base+"/events")
	if len(want) < 98 {
		t.Fatalf("%d events", len(want))
	}
	for _, path := range []string{events, runStream} {
		t.Run(path, func(t *testing.T) { cutAfterEveryByte(t, s, path, want) })
	}
}

func cutAfterEveryByte(t *testing.T, s *apitest.Server, path string, want []string) {
	isRun := path == runStream
	// follow reads on after an id until everything is there.
	follow := func(after string, missing int, raw io.Writer) (frames []apitest.Frame, ends []int) {
		resp, _ := s.Subscribe(t.Context(), t, path, "Last-Event-ID", after)
		defer resp.Body.Close()
		counted := &counter{r: io.TeeReader(resp.Body, raw)}
		in := apitest.NewStream(counted)
		for isRun || missing > 0 {
			f, err := in.Next()
			if isRun && errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if frames = append(frames, f); happened(t, f) != "" {
				missing--
			}
			ends = append(ends, int(counted.n)-in.Buffered())
		}
		return frames, ends
	}
	var raw bytes.Buffer
	frames, ends := follow("0", len(want), &raw)
	var got []string
	last, from := "0", 0
	for i, end := range append(ends, raw.Len()) {
		// What a cut inside of this frame leaves is no frame.
		for cut := from; cut < end; cut++ {
			if cut-from > 2000 && end-cut > 100 { // the middle of a long line
				cut += 50
			}
			f, err := apitest.NewStream(bytes.NewReader(raw.Bytes()[from:cut])).Next()
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d of %d to %d: %+v, %v", cut, from, end, f, err)
			}
		}
		rest, _ := follow(last, len(want)-len(got), io.Discard)
		all := slices.Clone(got)
		for _, f := range rest {
			if h := happened(t, f); h != "" {
				all = append(all, h)
			}
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Fatalf("cut after frame %d, id %s:\n%s", i, last, diff)
		}
		if isRun && (len(rest) < 2 || rest[len(rest)-1].Event != "done") {
			t.Fatalf("cut after frame %d: no end", i)
		}
		if i == len(frames) {
			break
		}
		if h := happened(t, frames[i]); h != "" {
			got = append(got, h)
		}
		last, from = frames[i].ID, end
	}
}

// A client is thrown out a hundred times while runs go on.
func TestReconnects(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	const runs, rounds = 5, 200
	for i := range runs {
		beginRun(t, s, fmt.Sprint("t", i), fmt.Sprint("r", i))
	}
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for i := range rounds {
			n := fmt.Sprint(i % runs)
			apitest.Append(t, s.Store, "run-r"+n, run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: event.NewText(strings.Repeat("x", i))}, run.TaskUpdated{})
			apitest.Append(t, s.Store, "task-t"+n, task.BudgetRaised{MicroUSD: int64(i)})
			apitest.Append(t, s.Store, "external-r"+n, run.ExternalEvent{RunID: "r" + n, TaskID: "t" + n, Type: "ci.step"})
		}
	}()
	t.Run("all runs", func(t *testing.T) { reconnect(t, s, base+"/events", events, runs*4+rounds*3) })
	t.Run("one run", func(t *testing.T) {
		path := base + "/tasks/t1/runs/r1"
		reconnect(t, s, path+"/events", path+"/stream", 4+rounds*3/runs)
	})
	<-writing
}

func reconnect(t *testing.T, s *apitest.Server, listed, path string, total int) {
	var got []string
	last := "0"
	for cut := 0; len(got) < total; cut++ {
		ctx, leave := context.WithCancel(t.Context())
		resp, frames := s.Subscribe(ctx, t, path, "Last-Event-ID", last)
		if cut < 100 { // break after a random number of bytes
			frames = apitest.NewStream(io.LimitReader(resp.Body, rand.Int64N(3000)))
		}
		for len(got) < total {
			f, err := frames.Next()
			if err != nil {
				break
			}
			if h := happened(t, f); h != "" {
				got = append(got, h)
			}
			last = f.ID
		}
		leave()
		resp.Body.Close()
	}
	if diff := cmp.Diff(history(t, s, listed), got); diff != "" {
		t.Errorf("(-list +stream):\n%s", diff)
	}
}
