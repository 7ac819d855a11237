package stream_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/domain/run"
)

// A cursor that is none, or is not of this log, is an error before the stream begins:
// from anywhere else it would repeat events, or skip those up to the cursor.
func TestCursorsOfNothing(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	beginRun(t, s, "t", "r") // six records
	for _, path := range []string{events, runStream} {
		for _, c := range []struct{ query, header, message string }{
			{"x", "", "after_sequence must be a non-negative integer"},
			{"-1", "", "after_sequence must be a non-negative integer"},
			{"1.0", "", "after_sequence must be a non-negative integer"},
			{"99999999999999999999", "", "after_sequence must be a non-negative integer"},
			{"", "evt_01KAVD4S2W7QF3ZB5M8T9XNC6H", "Last-Event-ID must be a non-negative integer"},
			{"7", "", "after_sequence 7 is beyond the newest event, 6: it is not a cursor of this log; read again from the start"},
			{"", "9007199254740993", "Last-Event-ID 9007199254740993 is beyond the newest event, 6"},
		} {
			query := path
			if c.query != "" {
				query += "?after_sequence=" + c.query
			}
			a := s.Do(t, http.MethodGet, query, nil, "Last-Event-ID", c.header)
			if a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" || !strings.Contains(string(a.Body), c.message) {
				t.Errorf("%s with %q: %d %s", query, c.header, a.Status, a.Body)
			}
		}
	}
}

// A cursor may stand anywhere, also between events that were appended together, or at
// one of another run. What follows is sent, and nothing else.
func TestCursorsOfAnything(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	beginRun(t, s, "t", "r")
	apitest.Append(t, s.Store, "run-other", run.TaskUpdated{}) // 7
	apitest.Append(t, s.Store, "run-r", run.TaskUpdated{}, run.Warned{}, run.Finished{FinalStatus: run.StatusCompleted}, run.TaskUpdated{})
	for after, want := range map[string][]string{
		"6":  {"8 task.updated", "9 run.warning", "10 run.finished", "11 task.updated"},
		"7":  {"8 task.updated", "9 run.warning", "10 run.finished", "11 task.updated"},
		"9":  {"10 run.finished", "11 task.updated"},
		"10": {"11 task.updated"},
		"11": nil,
	} {
		resp, frames := s.Subscribe(t.Context(), t, runStream, "Last-Event-ID", after)
		var got []string
		for _, f := range untilEnd(t, frames) {
			if h := happened(t, f.sent); h != "" {
				got = append(got, h)
			}
		}
		resp.Body.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of the run, after %s:\n%s", after, diff)
		}
		resp, frames = s.Subscribe(t.Context(), t, events+"?task_id=t", "Last-Event-ID", after)
		got = nil
		for len(got) < len(want) {
			f, err := frames.Next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, happened(t, f))
		}
		resp.Body.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of all runs, after %s:\n%s", after, diff)
		}
	}
}

// Who asks about a stream without wanting it has an answer, and the connection for more.
func TestHead(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	beginRun(t, s, "t", "r")
	for _, path := range []string{events, runStream} {
		a := s.Do(t, http.MethodHead, path, nil)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d %v", path, a.Status, a.Header)
		}
	}
}

// When clients have left, whether they say so or just stop reading, nothing of them stays.
func TestClientsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t, apitest.Options{Pipes: true})
		beginRun(t, s, "t", "r")
		s.Client().CloseIdleConnections()
		ctx, leave := context.WithCancel(t.Context())
		for i := range 100 {
			path := []string{events, runStream}[i%2]
			if i%5 == 0 {
				defer request(t, s, path).Close()
				continue
			}
			resp, frames := s.Subscribe(ctx, t, path)
			defer resp.Body.Close()
			if err := new(ids).read(frames, 4); err != nil {
				t.Fatal(err)
			}
		}
		apitest.Append(t, s.Store, "run-r", chunk)
		leave()
		time.Sleep(time.Minute) // for those that do not read
		synctest.Wait()
		all := make([]byte, 1<<20)
		stacks := string(all[:runtime.Stack(all, true)])
		for _, of := range []string{"stream.(*Events)", "stream.(*Runs)", "http.(*conn)", "http.(*persistConn)"} {
			if n := strings.Count(stacks, of); n > 0 {
				t.Errorf("%d frames of %s on the stacks of\n%s", n, of, stacks)
			}
		}
	})
}
