//go:build linux

package blackbox_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEventsAfterACursor(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	all := r.events(t)
	part(t, all, 0, 4)
	third := strconv.FormatInt(all[2].num("sequence"), 10)
	for name, got := range map[string][]doc{
		"query":              s.list(t, r.path()+"/events?after_sequence="+third),
		"header":             s.ask(t, "GET", r.path()+"/events", nil, "Last-Event-ID", third).ok(t).envelope(t).list("data"),
		"query beats header": s.ask(t, "GET", r.path()+"/events?after_sequence="+third, nil, "Last-Event-ID", "1").ok(t).envelope(t).list("data"),
	} {
		equal(t, name, shape(got, "sequence"), shape(all[3:], "sequence"))
	}
	equal(t, "a cursor that is no number", len(s.list(t, r.path()+"/events?after_sequence=x")), len(all))
	equal(t, "object", s.ask(t, "GET", r.path()+"/events", nil).ok(t).envelope(t).str("object"), "task_run_events")
}

// Callers may add events to any run, in any state, and only in names of their own.
func TestPostedEvents(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	before := r.becomes(t, "completed").String()
	post := func(body any) answer { return s.ask(t, "POST", r.path()+"/events", body) }

	plain := post(args{}).ok(t).envelope(t)
	equal(t, "object", plain.str("object"), "task_run_event")
	want{"type": "external.event", "run_id": r.id, "task_id": r.task, "schema_version": "1"}.check(t, "default", plain.obj("data"))

	rich := post(args{
		"type": "ci.finished", "step_id": "step_x", "status": "green", "note": "fine",
		"data": args{"status": "overridden", "build": 7, "run": args{"x": 1}, "steps": 1, "artifacts": 1, "snapshot": 1},
	}).ok(t).envelope(t).obj("data")
	want{
		"type": "ci.finished", "data/step_id": "step_x", "data/status": "green", "data/note": "fine", "data/build": 7,
		"data/run": absent, "data/steps": absent, "data/artifacts": absent, "data/snapshot": absent,
	}.check(t, "merged", rich)
	events := r.events(t)
	equal(t, "the event as it is read", events[len(events)-1].String(), rich.String())
	equal(t, "the run", r.now(t).String(), before)

	for _, body := range []string{"", "{", "[]", `{"type": 5}`, `{"data": 5}`} {
		post(body).refused(t, 400, "invalid_request")
	}
	equal(t, "events after refusals", len(r.events(t)), len(events))
}

func TestReservedTypesAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	n := len(r.events(t))
	for _, kind := range []string{
		"run.finished", "run.anything", "task.updated", "approval.resolved", "model.call.completed", "assistant.final_answer",
		"tool.completed", "tool.dispatch.settled", "policy.tool_blocked", "gap.run_disconnected",
	} {
		s.ask(t, "POST", r.path()+"/events", args{"type": kind}).refused(t, 400, "invalid_request")
	}
	equal(t, "events", len(r.events(t)), n)
}

// Whatever a note holds comes back as it went in, by the list and as one frame of a stream.
func TestOddCharactersInEvents(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	note := "lf\n cr\r crlf\r\n\n ls\u2028 ps\u2029 nul\x00 emoji🎈 data: x\nid: 7\nevent: y\n\n: z"
	posted := s.post(t, r.path()+"/events", args{"type": "odd.note", "note": note, "data": args{"k\n": "v\r"}})
	equal(t, "note in the answer", posted.str("data", "note"), note)
	equal(t, "member in the answer", posted.str("data", "k\n"), "v\r")

	cursor := strconv.FormatInt(posted.num("sequence")-1, 10)
	events := s.list(t, r.path()+"/events?after_sequence="+cursor)
	equal(t, "list", fmt.Sprint(events), fmt.Sprint([]doc{posted}))
	feed := s.follow(t, patience, api+"/events/stream?task_id="+r.task+"&after_sequence="+cursor)
	f, err := feed.event()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(posted.num("sequence"))
	if f.id != want || f.event != "event" || f.body(t).String() != posted.String() {
		t.Errorf("frame %+v, want %s", f, posted)
	}
	own := s.follow(t, patience, r.path()+"/stream?after_sequence="+cursor).rest(t)
	for _, f := range own {
		if f.id != want || f.event != "snapshot" && f.event != "done" {
			t.Errorf("frame id %q event %q", f.id, f.event)
		}
	}
}

func TestCrossRunList(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := s.begin(t, sh("true")), s.begin(t, sh("false"))
	a.becomes(t, "completed")
	b.becomes(t, "failed")
	query := func(q string) doc { return s.ask(t, "GET", api+"/events?"+q, nil).ok(t).envelope(t) }

	mine := query("task_id=" + a.task)
	equal(t, "object", mine.str("object"), "events")
	equal(t, "one task", fmt.Sprint(mine.list("data")), fmt.Sprint(a.events(t)))
	last := mine.list("data")[len(mine.list("data"))-1].num("sequence")
	equal(t, "next cursor", mine.num("next_after_sequence"), last)

	types := query("task_id=" + b.task + "&event_type=run.failed,run.created")
	equal(t, "two types", shape(types.list("data"), "type"), "run.created run.failed")
	none := query("task_id=task_none")
	if len(none.list("data")) > 0 || none.has("next_after_sequence") {
		t.Errorf("unknown task: %s", none)
	}
	contains(t, "empty page", string(s.ask(t, "GET", api+"/events?task_id=task_none", nil).body), `"data":[]`)
	for _, bad := range []string{"after_sequence=-1", "after_sequence=x", "limit=0", "limit=-1", "limit=x"} {
		s.ask(t, "GET", api+"/events?"+bad, nil).refused(t, 400, "invalid_request")
	}
	for _, bad := range []string{"after_sequence=-1", "after_sequence=x"} {
		s.ask(t, "GET", api+"/events/stream?"+bad, nil).refused(t, 400, "invalid_request")
	}

	paged := pages(t, s.client, "limit=3&task_id="+a.task)
	equal(t, "pages of three", fmt.Sprint(paged), fmt.Sprint(a.events(t)))
}

// pages reads a cross-run list to its end.
func pages(t *testing.T, c *client, query string) (all []doc) {
	t.Helper()
	for after := int64(0); ; {
		d := c.ask(t, "GET", fmt.Sprintf("%s/events?after_sequence=%d&%s", api, after, query), nil).ok(t).envelope(t)
		if len(d.list("data")) == 0 {
			return all
		}
		all = append(all, d.list("data")...)
		after = d.num("next_after_sequence")
	}
}

// A page never has more than 500 events, and the order is one for all runs.
func TestLongHistories(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory")
	r := s.begin(t, sh("true"))
	r.becomes(t, "completed")
	atOnce(8, func(int) error {
		for range 70 {
			if _, err := s.send("POST", r.path()+"/events", args{"type": "many.more"}); err != nil {
				return err
			}
		}
		return nil
	})
	equal(t, "a page of the run", len(s.list(t, r.path()+"/events")), 500)
	equal(t, "the usual page", len(s.list(t, api+"/events")), 200)
	equal(t, "the largest page", len(s.list(t, api+"/events?limit=100000")), 500)
	all := r.events(t)
	equal(t, "posted events", len(ofType(all, "many.more")), 560)
	if !slices.IsSortedFunc(all, func(a, b doc) int { return int(a.num("sequence") - b.num("sequence")) }) {
		t.Error("sequences are not in order")
	}
	equal(t, "cross-run list", fmt.Sprint(pages(t, s.client, "limit=500")), fmt.Sprint(all))
}

// What the model did is told when it happened: the account of call 1 stands before
// call 2 begins, and can be read while call 2 goes on.
func TestModelCallsAreToldWhenTheyHappen(t *testing.T) {
	t.Parallel()
	s := open(t)
	r, c := s.agentRun(t, []reply{
		{Text: "I look.", Calls: asks(call("c1", "list_dir", args{"path": "."})).Calls, Usage: &[2]int64{10, 2}},
		{Text: "half", HangAfterText: true},
	})
	c.awaitRequests(t, 2)
	eventually(t, "the second call is in the list", func() bool { return len(ofType(r.events(t), "model.call.started")) == 2 })
	history := r.history(t)
	first, second := strings.Index(history, "model.call.completed"), strings.LastIndex(history, "model.call.started")
	if first < 0 || first > second {
		t.Errorf("call 1 is not told before call 2: %s", history)
	}
	r.cancel(t)
}

// rawEvents maps the sequences of a list to what was sent for them, byte for byte.
func rawEvents(body []byte) (map[int64]string, int64, error) {
	var page struct {
		Data []json.RawMessage `json:"data"`
		Next int64             `json:"next_after_sequence"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, 0, err
	}
	out := map[int64]string{}
	for _, raw := range page.Data {
		var e struct {
			Sequence int64 `json:"sequence"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, 0, err
		}
		out[e.Sequence] = string(raw)
	}
	return out, page.Next, nil
}
