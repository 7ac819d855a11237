package api_test

import (
	"net/http"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/domain/run"
)

// An operator says once what came of a call whose outcome nobody knows, and the next
// run's model is told.
func TestSettlingACall(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	s.Talk(t, runID)
	step := s.Doubt(t, runID)
	s.Advance(t, runID, run.Failed{Code: "run_failed", Message: "enough", Reason: "provider_error"})
	runPath := base + "/tasks/" + id + "/runs/" + runID
	settle := func(step, body string) apitest.Answer { return s.Do(t, "POST", runPath+"/steps/"+step+"/settle", body) }

	other := s.Task(t, nil)
	if a := s.Do(t, "POST", base+"/tasks/"+other+"/runs/"+runID+"/steps/"+step+"/settle", `{"outcome":"done"}`); a.Status != http.StatusNotFound {
		t.Errorf("through another task: %d %s", a.Status, a.Body)
	}
	for _, body := range []string{``, `{}`, `{"outcome":"perhaps"}`, `{"outcome":true}`, `{"outcome":"done","note":"` + strings.Repeat("x", 5<<10) + `"}`} {
		if a := settle(step, body); a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" {
			t.Errorf("%.60s: %d %s", body, a.Status, a.Body)
		}
	}
	var steps []apitest.Item
	s.Do(t, "GET", runPath+"/steps", nil).Data(t, &steps)
	if a := settle(steps[0].ID, `{"outcome":"done"}`); a.Status != http.StatusConflict || a.ErrorType() != "invalid_request" {
		t.Errorf("a step that is no call: %d %s", a.Status, a.Body)
	}

	a := settle(step, `{"outcome":" Done ","note":"the file is there"}`)
	var got apitest.Item
	if object := a.Data(t, &got); object != "task_step" || got.ID != step || got.Status != "failed" {
		t.Errorf("%s", a.Body)
	}
	if a := settle(step, `{"outcome":"not_done"}`); a.Status != http.StatusConflict || a.ErrorType() != "invalid_request" {
		t.Errorf("settled twice: %d %s", a.Status, a.Body)
	}
	type call struct {
		ID       string `json:"tool_call_id"`
		State    string `json:"state"`
		Operator string `json:"operator_outcome"`
		StepID   string `json:"step_id"`
	}
	var calls []call
	if object := s.Do(t, "GET", runPath+"/tool-calls", nil).Data(t, &calls); object != "task_tool_calls" || len(calls) != 1 || calls[0] != (call{"c1", "unknown", "done", step}) {
		t.Errorf("%s %+v", object, calls)
	}
	var next apitest.Item
	s.Do(t, "POST", runPath+"/resume", "{}").Data(t, &next)
	state, err := s.X.LoadRun(t.Context(), next.ID)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(state.Notes); n != 1 || !strings.Contains(state.Notes[0].Content.String(), "the file is there") {
		t.Errorf("%d notes for the model", n)
	}
}
