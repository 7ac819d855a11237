package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/domain/permission"
	"hecate/eventstore"
)

// The statistics count what waits and who works, over the whole log.
func TestStats(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Policies: []permission.Policy{permission.PolicyShell}})
	for range 2 {
		s.StartRun(t, s.Task(t, nil))
	}
	working := s.StartRun(t, s.Task(t, nil))
	s.StartRun(t, s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true"})) // waits for a person
	store := s.Store
	if err := store.Register(t.Context(), eventstore.Worker{Instance: "instance_1", Node: "runtime_1", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Claim(t.Context(), "instance_1", "run-"+working, 0); err != nil {
		t.Fatal(err)
	}
	s.Talk(t, working)
	var got map[string]any
	if object := s.Do(t, "GET", base+"/system/stats", nil).Data(t, &got); object != "runtime_stats" {
		t.Errorf("object %s", object)
	}
	at, _ := got["checked_at"].(string)
	if _, err := time.Parse("2006-01-02T15:04:05.000000000Z", at); err != nil {
		t.Error(err)
	}
	delete(got, "checked_at")
	want := map[string]any{
		"queue_depth": 2.0, "queue_capacity": 0.0, "queue_backend": "memory", "worker_count": 2.0, "in_flight_jobs": 1.0,
		"queued_runs": 2.0, "running_runs": 1.0, "awaiting_approval_runs": 1.0, "oldest_queued_age_seconds": 0.0, "oldest_running_age_seconds": 0.0,
		"waiting_workspace_runs": 0.0, "store_backend": "memory", "max_concurrent_runs": 8.0, "rtk_available": false,
		"workers": []any{map[string]any{"node": "runtime_1", "instance": "instance_1", "claims": 1.0}},
	}
	for _, seconds := range []string{"oldest_queued_age_seconds", "oldest_running_age_seconds"} {
		if age, ok := got[seconds].(float64); ok && age < 60 {
			got[seconds] = 0.0 // however long the test took
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	idle := apitest.Start(t, apitest.Options{})
	if idle.Do(t, "GET", base+"/system/stats", nil).Data(t, &got); got["workers"] == nil {
		t.Errorf("%v", got)
	}
}

// Cost is summed up exactly, and a list of nothing is asked for with 0.
func TestUsage(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for range 3 {
		s.Talk(t, s.StartRun(t, s.Task(t, nil)))
	}
	type sum struct {
		Key      string `json:"key"`
		Scope    string `json:"scope"`
		Provider string `json:"provider"`
		Backend  string `json:"backend"`
		Micro    int64  `json:"used_micros_usd"`
		USD      string `json:"used_usd"`
		Known    bool   `json:"cost_known"`
		Unknown  int64  `json:"unknown_cost_calls"`
	}
	for query, want := range map[string]sum{
		"":                                {"global", "global", "", "memory", 12600, "0.012600", true, 0},
		"?scope=nonsense":                 {"global", "global", "", "memory", 12600, "0.012600", true, 0},
		"?scope=provider&provider=openai": {"global:provider:openai", "provider", "openai", "memory", 12600, "0.012600", true, 0},
		"?scope=provider&provider=other":  {"global:provider:other", "provider", "other", "memory", 0, "0.000000", true, 0},
		"?key=global:provider:openai":     {"global:provider:openai", "custom", "openai", "memory", 12600, "0.012600", true, 0},
		"?key=somebody":                   {"somebody", "custom", "", "memory", 0, "0.000000", true, 0},
	} {
		var got sum
		if object := s.Do(t, "GET", base+"/usage/summary"+query, nil).Data(t, &got); object != "usage_summary" || got != want {
			t.Errorf("%s: %s %+v, want %+v", query, object, got, want)
		}
	}
	for query, want := range map[string]int{"": 3, "?limit=0": 0, "?limit=2": 2, "?limit=99999": 3} {
		var got []json.RawMessage
		if object := s.Do(t, "GET", base+"/usage/events"+query, nil).Data(t, &got); object != "usage_events" || got == nil || len(got) != want {
			t.Errorf("%s: %s, %d events", query, object, len(got))
		}
	}
	for _, query := range []string{"?limit=-1", "?limit=x"} {
		if a := s.Do(t, "GET", base+"/usage/events"+query, nil); a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}
