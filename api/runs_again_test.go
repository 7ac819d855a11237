package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/domain/run"
)

// followed is what the tests look at of a run that follows another.
type followed struct {
	apitest.Item

	Prior     int64  `json:"prior_cost_micros_usd"`
	Workspace string `json:"workspace_path"`
}

// ended creates a task with a run that talked and then failed.
func ended(t *testing.T, s *apitest.Server) (task, runPath string) {
	t.Helper()
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	s.Talk(t, runID)
	s.Advance(t, runID, run.Failed{Code: "run_failed", Message: "the network is away", Reason: "provider_error", ModelCallCount: 1})
	return base + "/tasks/" + id, base + "/tasks/" + id + "/runs/" + runID
}

// A run that ended is done again, gone on from, continued, or taken back to a call.
func TestFollowingARun(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, c := range []struct {
		action, body string
		goesOn       bool // with the bill and the workspace
		reason       string
	}{
		{"retry", "", false, ""},
		{"retry", `{"reason": 7`, false, ""},
		{"retry", `{"reason":"again"}`, false, ""},
		{"resume", `{}`, true, ""},
		{"resume", `{"reason":" net is back ","budget_micros_usd":777,"unknown":[1]}`, true, "net is back"},
		{"continue", `{"prompt":"and a test"}`, true, "session_prompt"},
		{"retry-from-model-call", `{"model_call_index":1,"reason":"try another way"}`, true, "try another way"},
	} {
		t.Run(c.action+c.body, func(t *testing.T) {
			s := apitest.Start(t, apitest.Options{})
			task, source := ended(t, s)
			a := s.Do(t, "POST", source+"/"+c.action, c.body, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01", "X-Request-Id", "mine")
			var r followed
			if object := a.Data(t, &r); object != "task_run" || r.Status != "queued" || r.Number != 2 || source == task+"/runs/"+r.ID {
				t.Fatalf("%s", a.Body)
			}
			if r.RequestID != "mine" || r.TraceID != trace || a.Header.Get("X-Trace-Id") != trace {
				t.Errorf("the trace was not joined: %s, %v", a.Body, a.Header)
			}
			if c.goesOn != (r.Prior == 4200) || c.goesOn != (r.Workspace == "/tmp/ws") {
				t.Errorf("prior cost %d, workspace %q", r.Prior, r.Workspace)
			}
			var from struct {
				Data []struct {
					Type string
					Data struct {
						From   string `json:"from_run_id"`
						Reason string `json:"reason"`
					}
				}
			}
			decodeInto(t, s.Do(t, "GET", task+"/runs/"+r.ID+"/events", nil).Body, &from)
			told := len(from.Data) > 1 && from.Data[1].Type == "run.resumed_from_event" && strings.HasSuffix(source, from.Data[1].Data.From) && from.Data[1].Data.Reason == c.reason
			if told != c.goesOn {
				t.Errorf("events %+v", from.Data)
			}
		})
	}
}

// Resume can raise a task's ceiling and never lowers it.
func TestResumeRaisesTheCeiling(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	task, source := ended(t, s)
	s.Do(t, "POST", source+"/resume", `{"budget_micros_usd":777}`).Data(t, nil)
	var got struct {
		Budget int64  `json:"budget_micros_usd"`
		Latest string `json:"latest_run_id"`
	}
	if s.Do(t, "GET", task, nil).Data(t, &got); got.Budget != 777 {
		t.Errorf("the ceiling is %d", got.Budget)
	}
	next := task + "/runs/" + got.Latest
	s.Do(t, "POST", next+"/cancel", nil)
	for _, body := range []string{`{"budget_micros_usd":776}`, `{"budget_micros_usd":-1}`, `{"budget_micros_usd":1e30}`, `{"budget_micros_usd":"900"}`} {
		if a := s.Do(t, "POST", next+"/resume", body); a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	if s.Do(t, "GET", task, nil).Data(t, &got); got.Budget != 777 || task+"/runs/"+got.Latest != next {
		t.Errorf("a refused resume changed the task: %+v", got)
	}
}

// What cannot be followed is refused, and nothing is opened.
func TestFollowingIsRefused(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	_, failed := ended(t, s)
	activeTask, active := base+"/tasks/"+s.Task(t, nil), ""
	activeRun := s.StartRun(t, strings.TrimPrefix(activeTask, base+"/tasks/"))
	active = activeTask + "/runs/" + activeRun
	s.Talk(t, activeRun)
	silentTask, silent := ended(t, s) // ends below before it says anything
	var next apitest.Item
	s.Do(t, "POST", silent+"/retry", nil).Data(t, &next)
	silent = silentTask + "/runs/" + next.ID
	s.Do(t, "POST", silent+"/cancel", nil)
	_, busy := ended(t, s) // another run of its task is open
	s.Do(t, "POST", busy+"/retry", nil)
	doneTask, done := ended(t, s)
	s.Do(t, "POST", done+"/retry", nil).Data(t, &next)
	s.Talk(t, next.ID)
	s.Advance(t, next.ID, run.Finished{FinalStatus: run.StatusCompleted, ModelCallCount: 1})
	done = doneTask + "/runs/" + next.ID
	shell := s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true"})
	shellRun := base + "/tasks/" + shell + "/runs/" + s.StartRun(t, shell)
	s.Do(t, "POST", shellRun+"/cancel", nil)
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const prompt, first = `{"prompt":"x"}`, `{"model_call_index":1}`
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{base + "/tasks/nope/runs/nope/retry", "", 404},
		{activeTask + "/runs/nope/retry", "", 404},
		{activeTask + strings.TrimPrefix(failed, failed[:len(activeTask)]) + "/retry", "", 404}, // a run of another task
		{failed + "/resume", "", 400},
		{failed + "/resume", "null", 400},
		{failed + "/resume", `{} {}`, 400},
		{failed + "/resume", `{"reason":1}`, 400},
		{failed + "/resume", `{"reason":"` + strings.Repeat("x", 5<<10) + `"}`, 400},
		{failed + "/continue", "", 400},
		{failed + "/continue", `{"prompt":"` + strings.Repeat("x", 2<<20) + `"}`, 400},
		{failed + "/continue", `{}`, 400},
		{failed + "/continue", `{"prompt":" \n "}`, 400},
		{failed + "/continue", `{"prompt":["x"]}`, 400},
		{failed + "/retry-from-model-call", "", 400},
		{failed + "/retry-from-model-call", `{}`, 400},
		{failed + "/retry-from-model-call", `{"model_call_index":0}`, 400},
		{failed + "/retry-from-model-call", `{"model_call_index":2}`, 400},
		{failed + "/retry-from-model-call", `{"model_call_index":-1}`, 400},
		{failed + "/retry-from-model-call", `{"model_call_index":1.5}`, 400},
		{failed + "/retry-from-model-call", `{"model_call_index":"1"}`, 400},
		{failed + "/retry-from-model-call", `{"model_call_index":1,"reason":"` + strings.Repeat("x", 5<<10) + `"}`, 400},

		{active + "/retry", "", 409},
		{active + "/resume", "{}", 409},
		{active + "/continue", prompt, 409},
		{active + "/retry-from-model-call", first, 400},

		{busy + "/retry", "", 409},
		{busy + "/resume", "{}", 409},
		{busy + "/continue", prompt, 409},
		{busy + "/retry-from-model-call", first, 409},

		{done + "/resume", "{}", 409},
		{silent + "/continue", prompt, 400},
		{silent + "/retry-from-model-call", first, 400},
		{shellRun + "/continue", prompt, 400},
		{shellRun + "/retry-from-model-call", first, 400},
	} {
		a := s.Do(t, "POST", c.path, c.body)
		want := "invalid_request"
		if c.status == http.StatusNotFound {
			want = "not_found"
		}
		if a.Status != c.status || a.ErrorType() != want {
			t.Errorf("%s %.60s: %d %s, want %d", c.path, c.body, a.Status, a.Body, c.status)
		}
	}
	if now, err := s.Store.Head(t.Context()); err != nil || now != head {
		t.Errorf("the log went from %d to %d, error %v", head, now, err)
	}
}

// A reason of any length lets a run be cancelled, or done again.
func TestLongReasons(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	runPath := base + "/tasks/" + id + "/runs/" + s.StartRun(t, id)
	long := `{"reason":"x` + strings.Repeat("\u00e9", 1<<20) + `"}`
	var r apitest.Item
	if s.Do(t, "POST", runPath+"/cancel", long).Data(t, &r); r.Status != "cancelled" || len(r.LastError) > 5<<10 || strings.Contains(r.LastError, "\ufffd") {
		t.Errorf("%s, an error of %d bytes", r.Status, len(r.LastError))
	}
	if s.Do(t, "POST", runPath+"/retry", long).Data(t, &r); r.Number != 2 {
		t.Errorf("%+v", r)
	}
}

// Of many requests to go on from one run, in whatever ways, exactly one opens a run.
func TestOneOfManyFollows(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	task, source := ended(t, s)
	bodies := map[string]string{"retry": "", "resume": "{}", "continue": `{"prompt":"x"}`, "retry-from-model-call": `{"model_call_index":1}`}
	var mu sync.Mutex
	var wg sync.WaitGroup
	good := 0
	for action, body := range bodies {
		for range 4 {
			wg.Go(func() {
				a := s.Do(t, "POST", source+"/"+action, body)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case a.Status == http.StatusOK:
					good++
				case a.Status != http.StatusConflict || a.ErrorType() != "invalid_request":
					t.Errorf("%s: %d %s", action, a.Status, a.Body)
				}
			})
		}
	}
	wg.Wait()
	var all []apitest.Item
	if s.Do(t, "GET", task+"/runs", nil).Data(t, &all); good != 1 || len(all) != 2 || all[0].Number != 2 {
		t.Errorf("%d requests succeeded, runs %+v", good, all)
	}
}

// When the read models are late, the run that was opened and the call that was settled
// are shown as the log has them.
func TestStaleFollowing(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Slow: true, Patience: 10 * time.Millisecond})
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	s.Talk(t, runID)
	step := s.Doubt(t, runID)
	runPath := base + "/tasks/" + id + "/runs/" + runID
	s.Do(t, "POST", runPath+"/cancel", nil)
	settled := s.Do(t, "POST", runPath+"/steps/"+step+"/settle", `{"outcome":"done"}`)
	var shown struct {
		apitest.Item

		Index   int64  `json:"index"`
		Kind    string `json:"kind"`
		Outcome string `json:"outcome"`
	}
	if settled.Data(t, &shown); shown.ID != step || shown.Index != 2 || shown.Kind != "tool" || shown.Status != "failed" || shown.Outcome != "unknown" {
		t.Errorf("%s", settled.Body)
	}
	resumed := s.Do(t, "POST", runPath+"/resume", `{"budget_micros_usd":900}`)
	var next struct {
		followed

		From   string `json:"resumed_from_run_id"`
		Kind   string `json:"resume_kind"`
		Budget int64  `json:"budget_micros_usd"`
	}
	resumed.Data(t, &next)
	if next.Status != "queued" || next.Number != 2 || next.Prior != 4200 || next.Workspace != "/tmp/ws" || next.From != runID || next.Kind != "resume" || next.Budget != 900 {
		t.Errorf("%s", resumed.Body)
	}
	for _, a := range []apitest.Answer{settled, resumed} {
		if a.Header.Get("Hecate-Stale") != "true" {
			t.Errorf("%v", a.Header)
		}
	}
}

// A run that was opened is never "not found", however late the read models are.
func TestWhatTheReadModelsLackIsNotMissing(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Slow: true, Patience: 10 * time.Millisecond})
	id := s.Task(t, nil)
	path := base + "/tasks/" + id + "/runs/" + s.StartRun(t, id)
	if a := s.Do(t, "GET", path, nil); a.Status != http.StatusServiceUnavailable || a.ErrorType() != "unavailable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	prompt := apitest.Start(t, apitest.Options{})
	if a := prompt.Do(t, "GET", path, nil); a.Status != http.StatusNotFound {
		t.Errorf("at another server: %d %s", a.Status, a.Body)
	}
}
