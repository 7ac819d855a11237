package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"hecate/api/apitest"
	"hecate/api/request"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// A request that its client named changes something once, however often it is sent,
// and each time gets the first one's answer.
func TestNamedRequests(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Policies: []permission.Policy{permission.PolicyShell}})
	_, failed := ended(t, s)
	doubtTask, doubtRun := s.Task(t, nil), ""
	doubtRun = s.StartRun(t, doubtTask)
	s.Talk(t, doubtRun)
	step := s.Doubt(t, doubtRun)
	gated := s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true"})
	s.Do(t, "POST", base+"/tasks/"+doubtTask+"/runs/"+doubtRun+"/cancel", nil)
	s.StartRun(t, gated)
	var approvals []apitest.Item
	s.Do(t, "GET", base+"/tasks/"+gated+"/approvals", nil).Data(t, &approvals)
	open := s.Task(t, nil)
	openRun := base + "/tasks/" + open + "/runs/" + s.StartRun(t, open)
	opens := map[string]string{"retry": "", "resume": "{}", "continue": `{"prompt":"x"}`, "retry-from-model-call": `{"model_call_index":1}`}
	requests := map[string]string{
		base + "/tasks": `{"prompt":"x","execution_kind":"agent_loop"}`,
		base + "/tasks/" + s.Task(t, nil) + "/start": "",
		openRun + "/events":                          `{"type":"ci.build"}`,
		openRun + "/cancel":                          `{"reason":"first"}`,
		failed + "/retry":                            "",
		base + "/tasks/" + gated + "/approvals/" + approvals[0].ID + "/resolve":           `{"decision":"approve"}`,
		base + "/tasks/" + doubtTask + "/runs/" + doubtRun + "/steps/" + step + "/settle": `{"outcome":"done"}`,
	}
	for action, body := range opens {
		_, source := ended(t, s)
		requests[source+"/"+action] = body
	}
	for path, body := range requests {
		var first, second apitest.Item
		s.Do(t, "POST", path, body, request.KeyHeader, "k 1").Data(t, &first)
		head, err := s.Store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again := s.Do(t, "POST", path, body, request.KeyHeader, "k 1")
		if again.Status != http.StatusOK {
			t.Errorf("%s again: %d %s", path, again.Status, again.Body)
			continue
		}
		if again.Data(t, &second); second.ID != first.ID || second.Sequence != first.Sequence || second.Status != first.Status || second.Number != first.Number {
			t.Errorf("%s: first %+v, then %+v", path, first, second)
		}
		if now, err := s.Store.Head(t.Context()); err != nil || now != head {
			t.Errorf("%s again: the log went from %d to %d, error %v", path, head, now, err)
		}
	}
}

// A name belongs to its path, and without one every request is a request of its own.
func TestNamesBelongToTheirPath(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	const body = `{"prompt":"x","execution_kind":"agent_loop"}`
	ids := map[string]bool{}
	for _, key := range []string{"a", "A", "", "", strings.Repeat("x", 200)} {
		var headers []string
		if key != "" {
			headers = []string{request.KeyHeader, key}
		}
		var task apitest.Item
		s.Do(t, "POST", base+"/tasks", body, headers...).Data(t, &task)
		ids[task.ID] = true
	}
	if len(ids) != 5 {
		t.Errorf("%d tasks of 5 requests", len(ids))
	}
	for id := range ids {
		s.Do(t, "POST", base+"/tasks/"+id+"/start", nil, request.KeyHeader, "a").Data(t, nil)
	}
	for _, headers := range [][]string{
		{request.KeyHeader, ""},
		{request.KeyHeader, strings.Repeat("x", 201)},
		{request.KeyHeader, "caf\u00e9"},
		{request.KeyHeader, "a\tb"},
		{request.KeyHeader, "a", request.KeyHeader, "a"},
	} {
		if a := s.Do(t, "POST", base+"/tasks", body, headers...); a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" {
			t.Errorf("%q: %d %s", headers, a.Status, a.Body)
		}
	}
	if a := s.Do(t, "GET", base+"/tasks", nil, request.KeyHeader, ""); a.Status != http.StatusOK {
		t.Errorf("a name for what changes nothing: %d", a.Status)
	}
}

// A refused request has not used up its name.
func TestRefusedRequestKeepsItsName(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	path := base + "/tasks/" + id + "/start"
	if a := s.Do(t, "POST", path, nil, request.KeyHeader, "k"); a.Status != http.StatusConflict {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.Advance(t, runID, run.Failed{Code: "run_failed", Message: "m"})
	var r apitest.Item
	if s.Do(t, "POST", path, nil, request.KeyHeader, "k").Data(t, &r); r.Number != 2 {
		t.Errorf("%+v", r)
	}
}

// A client that asks again before it has its answer still opens one run and is told
// of that one.
func TestNamedRequestsAtOnce(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	path := base + "/tasks/" + s.Task(t, nil) + "/start"
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids := map[string]int{}
	for range 8 {
		wg.Go(func() {
			a := s.Do(t, "POST", path, nil, request.KeyHeader, "k")
			mu.Lock()
			defer mu.Unlock()
			if a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
				return
			}
			var r apitest.Item
			a.Data(t, &r)
			ids[r.ID]++
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("runs %v", ids)
	}
}
