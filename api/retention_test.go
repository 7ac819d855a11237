package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/api/request"
	v1 "hecate/api/v1"
	"hecate/commands"
	"hecate/domain/retention"
	"hecate/projections"
)

const (
	retentionRun  = base + "/system/retention/run"
	retentionRuns = base + "/system/retention/runs"
)

// pruner records passes that find something in one subsystem.
type pruner struct {
	x      *commands.Executor
	passes int
	asked  [][]string
}

func (p *pruner) Manual(ctx context.Context, m commands.Meta, only []string) (commands.RetentionResult, error) {
	return p.x.RecordRetention(ctx, m, func() (retention.Finished, bool) {
		p.passes++
		p.asked = append(p.asked, only)
		return retention.Finished{StartedAt: p.x.Clock.Now(), Trigger: retention.TriggerManual, RequestID: m.RequestID, Results: []retention.Result{
			{Name: retention.ModelCallEvents, Deleted: int64(p.passes), MaxAgeMS: (168 * time.Hour).Milliseconds(), MaxCount: 100_000, Through: 7},
			{Name: retention.ChatApprovals, Skipped: true},
		}}, true
	})
}

// pass is an item of the list.
type pass struct {
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	Trigger    string
	Actor      string
	RequestID  string `json:"request_id"`
	Results    []struct {
		Name    string
		Deleted int64
		MaxAge  string `json:"max_age"`
		Skipped bool
	}
}

func TestRetention(t *testing.T) {
	p := &pruner{}
	s := apitest.Start(t, apitest.Options{Retention: func(x *commands.Executor) v1.Retention { p.x = x; return p }})
	var list []pass
	if object := s.Do(t, "GET", retentionRuns, nil).Data(t, &list); object != "retention_runs" || list == nil || len(list) != 0 {
		t.Errorf("%s %v", object, list)
	}
	for i, body := range []any{nil, map[string]any{}, `{"subsystems":["model_call_events","no such"]}`} {
		var got pass
		if object := s.Do(t, "POST", retentionRun, body, "X-Request-Id", fmt.Sprint("req_", i)).Data(t, &got); object != "retention_run" {
			t.Error(object)
		}
		if got.Trigger != "manual" || got.Actor != fmt.Sprint("operator:req_", i) || got.RequestID != fmt.Sprint("req_", i) || got.FinishedAt.Before(got.StartedAt) ||
			len(got.Results) != 2 || got.Results[0].Deleted != int64(i+1) || got.Results[0].MaxAge != "168h0m0s" || !got.Results[1].Skipped || got.Results[1].MaxAge != "" {
			t.Errorf("%+v", got)
		}
	}
	if !slices.EqualFunc(p.asked, [][]string{nil, nil, {"model_call_events", "no such"}}, slices.Equal) {
		t.Errorf("asked for %v", p.asked)
	}
	for query, want := range map[string]string{"": "req_2 req_1 req_0", "?limit=2": "req_2 req_1", "?limit=0": "", "?limit=100000": "req_2 req_1 req_0"} {
		s.Do(t, "GET", retentionRuns+query, nil).Data(t, &list)
		var got []string
		for _, p := range list {
			got = append(got, p.RequestID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?limit=-1", "?limit=NaN", "?limit=1.5"} {
		a := s.Do(t, "GET", retentionRuns+query, nil)
		refused(t, a, http.StatusBadRequest, "invalid_request", "limit query parameter must be a non-negative integer")
	}
	for _, body := range []string{"{", "[]", `{"subsystems":"all"}`} {
		refused(t, s.Do(t, "POST", retentionRun, body), http.StatusBadRequest, "invalid_request", "")
	}
	for range 2 { // named, it is done once
		var got pass
		if s.Do(t, "POST", retentionRun, nil, request.KeyHeader, "k").Data(t, &got); len(got.Results) != 2 || got.Results[0].Deleted != 4 || p.passes != 4 {
			t.Errorf("%+v after %d passes", got, p.passes)
		}
	}
	without := apitest.Start(t, apitest.Options{})
	refused(t, without.Do(t, "POST", retentionRun, nil), http.StatusServiceUnavailable, "gateway_error", "prunes nothing")
}

// A pass is a trace, in the one of the request that asked for it.
func TestRetentionTraces(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Retention: func(x *commands.Executor) v1.Retention { return &pruner{x: x} }})
	runID, _ := start(t, s, "req-1", otherTrace)
	a := s.Do(t, "POST", retentionRun, nil, "Traceparent", "00-"+callerTrace+"-00f067aa0ba902b7-01")
	var done pass
	a.Data(t, &done)
	var list []projections.Trace
	if s.Do(t, "GET", base+"/traces", nil).Data(t, &list); len(list) != 2 || list[1].RunID != runID {
		t.Fatalf("%+v", list)
	}
	name := fmt.Sprint("retention:manual:", done.StartedAt.UnixNano())
	if it := list[0]; it.RequestID != name || it.TraceID != callerTrace || it.RunID != "" || it.StatusCode != "ok" || it.SpanCount != 2 {
		t.Errorf("%+v", it)
	}
	var d projections.TraceDetail
	if s.Do(t, "GET", base+"/traces?request_id="+name, nil).Data(t, &d); len(d.Spans) != 2 {
		t.Fatalf("%+v", d)
	}
	root, run := d.Spans[0], d.Spans[1]
	if root.Name != "gateway.request" || len(root.ParentID) != 16 || run.Name != "retention.run" || run.ParentID != root.SpanID || run.EndTime == "" {
		t.Errorf("%+v", d)
	}
	var events []string
	for _, e := range run.Events {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, " "); got != "retention.run.started retention.subsystem.finished retention.history.persisted retention.run.finished" {
		t.Error(got)
	}
	if run.Attributes["retention.trigger"] != "manual" || run.Attributes["retention.deleted"] != 1.0 || run.Events[1].Attributes["retention.subsystem"] != "model_call_events" {
		t.Errorf("%+v", run)
	}
	if s.Do(t, "GET", base+"/traces?limit=1", nil).Data(t, &list); len(list) != 1 || list[0].RequestID != name {
		t.Errorf("%+v", list)
	}
	for _, unknown := range []string{"retention:manual:1", "retention:manual:x", "retention:"} {
		refused(t, s.Do(t, "GET", base+"/traces?request_id="+unknown, nil), http.StatusNotFound, "not_found", "not found")
	}
}
