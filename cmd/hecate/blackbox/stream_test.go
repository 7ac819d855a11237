//go:build linux

package blackbox_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// checkFrames asserts what holds for every stream of a run: ids are the sequences of
// events that exist and never go down; the last frame alone is done, and terminal.
func checkFrames(t *testing.T, r run, frames []frame) {
	t.Helper()
	known := map[string]bool{"0": true}
	for _, e := range r.events(t) {
		known[strconv.FormatInt(e.num("sequence"), 10)] = true
	}
	last := int64(0)
	for i, f := range frames {
		d := f.body(t)
		seq := d.num("sequence")
		if strconv.FormatInt(seq, 10) != f.id || !known[f.id] || seq < last {
			t.Errorf("frame %d: id %q, sequence %d after %d", i, f.id, seq, last)
		}
		if d.str("run", "id") != r.id || d.str("event_type") == "" || (f.event == "done") != (i == len(frames)-1) {
			t.Errorf("frame %d: %s %s", i, f.event, d)
		}
		last = seq
	}
	if len(frames) == 0 {
		t.Fatal("no frames")
	}
	done := frames[len(frames)-1].body(t)
	if !done.flag("terminal") || done.num("sequence") <= 0 || frames[len(frames)-1].event != "done" {
		t.Errorf("the stream ends with %+v", frames[len(frames)-1])
	}
	for _, step := range done.list("steps") {
		if s := step.str("status"); s == "running" || s == "awaiting_approval" {
			t.Errorf("a step of a finished run is %s", s)
		}
	}
	for _, a := range done.list("approvals") {
		if a.str("status") == "pending" {
			t.Errorf("an approval of a finished run is pending: %s", a)
		}
	}
}

// The stream of a run shows its whole history and ends with it.
func TestStreamOfAFinishedRun(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("echo hi"))
	r.becomes(t, "completed")
	n := len(r.events(t))
	feed := s.follow(t, patience, r.path()+"/stream", "Accept-Encoding", "gzip")
	h := feed.resp.Header
	contains(t, "content type", h.Get("Content-Type"), "text/event-stream")
	contains(t, "cache control", h.Get("Cache-Control"), "no-cache")
	equal(t, "buffering", h.Get("X-Accel-Buffering"), "no")
	equal(t, "encoding", h.Get("Content-Encoding"), "")
	frames := feed.rest(t)
	checkFrames(t, r, frames)
	var types []string
	for _, f := range frames {
		types = append(types, f.body(t).str("event_type"))
	}
	for _, e := range r.events(t) {
		if !slices.Contains(types, e.str("type")) {
			t.Errorf("the stream does not show %s: %v", e.str("type"), types)
		}
	}
	done := frames[len(frames)-1].body(t)
	want{"run/status": "completed", "steps": present, "artifacts": present, "activity": present}.check(t, "last frame", done)
	equal(t, "events after reading the stream", len(r.events(t)), n)
}

// A client that comes back at the end gets the state once more, under its own cursor.
func TestStreamAtTheEnd(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	events := r.events(t)
	cursor := strconv.FormatInt(events[len(events)-1].num("sequence"), 10)
	for name, feed := range map[string]*stream{
		"query":  s.follow(t, patience, r.path()+"/stream?after_sequence="+cursor),
		"header": s.follow(t, patience, r.path()+"/stream", "Last-Event-ID", cursor),
	} {
		frames := feed.rest(t)
		if len(frames) != 2 || frames[0].event != "snapshot" || frames[1].event != "done" || frames[0].id != cursor || frames[1].id != cursor {
			t.Errorf("%s: %+v", name, frames)
		}
		checkFrames(t, r, frames)
	}

	posted := s.post(t, r.path()+"/events", args{"type": "late.note"})
	frames := s.follow(t, patience, r.path()+"/stream?after_sequence="+cursor).rest(t)
	checkFrames(t, r, frames)
	d := frames[0].body(t)
	want{"event_type": "late.note", "sequence": int(posted.num("sequence")), "terminal": true, "run/id": r.id}.check(t, "posted", d)
}

// However a run ends, its subscribers hear of it at once, from one consistent state.
func TestStreamsEndWithTheirRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replies []reply
		act     func(t *testing.T, r run)
		status  string
	}{
		"completed": {[]reply{says("done")}, func(*testing.T, run) {}, "completed"},
		"failed":    {[]reply{says(" ")}, func(*testing.T, run) {}, "failed"},
		"cancelled": {[]reply{{Text: "half an answer", HangAfterText: true}}, func(t *testing.T, r run) { r.cancel(t) }, "cancelled"},
		"rejected": {
			[]reply{asks(shell("c1", "true"))},
			func(t *testing.T, r run) { r.resolve(t, r.parked(t).str("id"), "reject").ok(t) }, "cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gated(t)
			r, _ := s.agentRun(t, c.replies)
			feed := s.follow(t, patience, r.path()+"/stream")
			first, err := feed.event()
			if err != nil {
				t.Fatal(err)
			}
			c.act(t, r)
			frames := append([]frame{first}, feed.rest(t)...)
			checkFrames(t, r, frames)
			want{"run/status": c.status, "terminal": true}.check(t, "last frame", frames[len(frames)-1].body(t))
		})
	}
}

// Text that still arrives is seen in the stream, under the sequence of the latest event.
func TestStreamShowsUnfinishedText(t *testing.T) {
	t.Parallel()
	s := open(t)
	r, c := s.agentRun(t, []reply{{Text: "This answer is going to take its time.", HangAfterText: true}})
	c.awaitRequests(t, 1)
	feed := s.follow(t, patience, r.path()+"/stream")
	var frames []frame
	for {
		f, err := feed.event()
		if err != nil {
			t.Fatalf("after %d frames: %v", len(frames), err)
		}
		frames = append(frames, f)
		if strings.Contains(f.data, "take its time.") {
			break
		}
	}
	r.cancel(t)
	checkFrames(t, r, append(frames, feed.rest(t)...))
}

// Quiet streams stay open: the first bytes come at once, and a comment every 15 s.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s := gated(t)
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "true"))})
	r.parked(t)
	feed := s.follow(t, patience, api+"/events/stream?event_type=never.happens")
	first, err := feed.next()
	if err != nil || first.comment != "ok" {
		t.Fatalf("the feed opens with %+v, %v", first, err)
	}
	errs := atOnce(2, func(i int) error {
		if i == 0 {
			f, err := feed.next()
			if err == nil && (f.comment == "" || f.id != "") {
				err = fmt.Errorf("%+v is no heartbeat", f)
			}
			return err
		}
		own, err := s.connect(deadline(t, patience), r.path()+"/stream")
		for err == nil {
			var f frame
			if f, err = own.next(); f.comment != "" {
				return nil
			}
		}
		return err
	})
	for i, err := range errs {
		if err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	r.cancel(t)
}

// The feed goes on where its cursor says, and the greater one of two counts.
func TestFeedCursors(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	events := r.events(t)
	part(t, events, 0, 5)
	low, high := strconv.FormatInt(events[0].num("sequence"), 10), strconv.FormatInt(events[3].num("sequence"), 10)
	path := api + "/events/stream?task_id=" + r.task
	for name, c := range map[string]struct {
		path   string
		header []string
		want   doc
	}{
		"no cursor":     {path, nil, events[0]},
		"query":         {path + "&after_sequence=" + low, nil, events[1]},
		"header":        {path, []string{"Last-Event-ID", high}, events[4]},
		"both":          {path + "&after_sequence=" + low, []string{"Last-Event-ID", high}, events[4]},
		"both, reverse": {path + "&after_sequence=" + high, []string{"Last-Event-ID", low}, events[4]},
		"one type":      {path + "&event_type=run.finished", nil, events[len(events)-1]},
	} {
		f, err := s.follow(t, patience, c.path, c.header...).event()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		equal(t, name, f.body(t).String(), c.want.String())
	}
}

// A subscriber that loses its connection a hundred times sees what one sees that
// never does: every event once, in order.
func TestFeedSurvivesReconnects(t *testing.T) {
	t.Parallel()
	s := serve(t)
	old := s.begin(t, sh("true"))
	old.becomes(t, "completed")
	start := int64(0)
	for _, e := range pages(t, s.client, "limit=500") {
		start = e.num("sequence")
	}
	ctx, finish := context.WithCancel(deadline(t, 2*patience))
	defer finish()

	var producers sync.WaitGroup
	producers.Go(func() { produce(ctx, s) })
	got, reconnects := []string{}, 0
	for cursor := start; reconnects < 100; reconnects++ {
		feed, err := s.connect(ctx, api+"/events/stream", "Last-Event-ID", strconv.FormatInt(cursor, 10))
		if err != nil {
			t.Fatalf("reconnect %d: %v", reconnects, err)
		}
		for range rand.IntN(12) {
			f, err := feed.event()
			if err != nil {
				t.Fatalf("reconnect %d: %v", reconnects, err)
			}
			got = append(got, f.id+" "+f.body(t).str("event_id"))
			cursor, err = strconv.ParseInt(f.id, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
		}
		feed.close()
	}
	finish()
	producers.Wait()
	var all []string
	for _, e := range pages(t, s.client, "limit=500") {
		if e.num("sequence") > start {
			all = append(all, fmt.Sprint(e.num("sequence"), " ", e.str("event_id")))
		}
	}
	if len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
		t.Errorf("%d events were seen, %d exist; first difference at %d", len(got), len(all), firstDifference(got, all))
	}
}

// produce keeps five runs busy until the context ends.
func produce(ctx context.Context, s *server) {
	atOnce(5, func(int) int {
		n := 0
		for ; ctx.Err() == nil; n++ {
			made, err := s.send("POST", api+"/tasks", sh("echo x; echo y"))
			if err != nil {
				break
			}
			d, _ := parse(made.body) // an empty id makes the next requests fail, and the feed run dry
			task := api + "/tasks/" + d.str("data", "id")
			started, _ := s.send("POST", task+"/start", nil)
			d, _ = parse(started.body)
			for range 10 {
				_, _ = s.send("POST", task+"/runs/"+d.str("data", "id")+"/events", args{"type": "made.up"})
			}
		}
		return n
	})
}

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// A subscriber that never reads slows nobody down.
func TestSlowSubscriberHarmsNobody(t *testing.T) {
	t.Parallel()
	s := open(t)
	dir := t.TempDir()
	for range 3 {
		s.follow(t, 2*patience, api+"/events/stream") // nobody reads it
	}
	r := s.begin(t, sh("head -c 1500000 /dev/zero | tr '\\0' x; head -c 1500000 /dev/zero | tr '\\0' y"), in(dir))
	feed := s.follow(t, patience, api+"/events/stream?task_id="+r.task)
	for bytes := 0; ; {
		f, err := feed.event()
		if err != nil {
			t.Fatal(err)
		}
		e := f.body(t)
		bytes += len(e.str("data", "data"))
		if e.str("type") == "run.finished" {
			equal(t, "output in the feed", bytes, 3_000_000)
			break
		}
		if e.str("type") == "run.failed" {
			t.Fatal(e)
		}
	}
}

func TestStreamsOfNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	for _, path := range []string{"/tasks/task_none/runs/" + r.id, "/tasks/" + r.task + "/runs/run_none"} {
		feed, err := s.connect(t.Context(), api+path+"/stream")
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(feed.resp.Body) // judged below
		answer{feed.resp.StatusCode, feed.resp.Header, raw}.refused(t, 404, "not_found")
	}
}
