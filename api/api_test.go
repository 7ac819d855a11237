package api_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/api/auth"
	"hecate/domain/permission"
	"hecate/domain/run"
)

const base = "/hecate/v1"

// A task is created, started, looked at, cancelled and deleted.
func TestTaskFromCreationToDeletion(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	created := s.Do(t, "POST", base+"/tasks", map[string]any{
		"prompt": " fix it ", "execution_kind": "agent_loop", "unknown_member": []int{1}, "status": "completed",
	}, "X-Request-Id", "mine-1")
	var task apitest.Item
	if object := created.Data(t, &task); object != "task" || task.Status != "not_started" {
		t.Errorf("created %s: %s", object, created.Body)
	}
	if created.Header.Get("X-Request-Id") != "mine-1" || created.Header.Get("Hecate-Position") != "1" {
		t.Errorf("headers %v", created.Header)
	}

	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	started := s.Do(t, "POST", base+"/tasks/"+task.ID+"/start", nil, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01", "X-Request-Id", "mine-2")
	var r apitest.Item
	if object := started.Data(t, &r); object != "task_run" || r.Status != "queued" || r.Number != 1 || r.TaskID != task.ID {
		t.Errorf("started %s: %s", object, started.Body)
	}
	if r.RequestID != "mine-2" || r.TraceID != trace || started.Header.Get("X-Trace-Id") != trace || len(started.Header.Get("X-Span-Id")) != 16 {
		t.Errorf("the trace was not joined: %s, %v", started.Body, started.Header)
	}
	runPath := base + "/tasks/" + task.ID + "/runs/" + r.ID
	for path, object := range map[string]string{
		base + "/tasks/" + task.ID: "task", base + "/tasks": "tasks", base + "/tasks?project_id=": "tasks",
		runPath: "task_run", base + "/tasks/" + task.ID + "/runs": "task_runs",
		runPath + "/steps": "task_steps", runPath + "/artifacts": "task_artifacts", runPath + "/patches": "task_patches",
		base + "/tasks/" + task.ID + "/artifacts": "task_artifacts", base + "/tasks/" + task.ID + "/approvals": "task_approvals",
		runPath + "/events": "task_run_events", base + "/events": "events",
	} {
		a := s.Do(t, "GET", path, nil)
		var data json.RawMessage
		if got := a.Data(t, &data); got != object || string(data) == "null" {
			t.Errorf("%s is %s", path, a.Body)
		}
	}
	if a := s.Do(t, "DELETE", base+"/tasks/"+task.ID, nil); a.Status != http.StatusConflict || a.ErrorType() != "invalid_request" {
		t.Errorf("deleting with an open run: %d %s", a.Status, a.Body)
	}

	cancelled := s.Do(t, "POST", runPath+"/cancel", `{"reason": 7`)
	if cancelled.Data(t, &r); r.Status != "cancelled" || r.LastError != "run cancelled" {
		t.Errorf("cancelled: %s", cancelled.Body)
	}
	again := s.Do(t, "POST", runPath+"/cancel", map[string]any{"reason": "other"})
	if again.Data(t, &r); r.LastError != "run cancelled" {
		t.Errorf("cancelled again: %s", again.Body)
	}
	if a := s.Do(t, "DELETE", base+"/tasks/"+task.ID, nil); a.Status != http.StatusNoContent || len(a.Body) != 0 {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	for _, path := range []string{base + "/tasks/" + task.ID, runPath, runPath + "/events", runPath + "/stream"} {
		if a := s.Do(t, "GET", path, nil); a.Status != http.StatusNotFound || a.ErrorType() != "not_found" {
			t.Errorf("%s of a deleted task: %d %s", path, a.Status, a.Body)
		}
	}
	if a := s.Do(t, "DELETE", base+"/tasks/"+task.ID, nil); a.Status != http.StatusNotFound {
		t.Errorf("deleting twice: %d", a.Status)
	}
	var events []apitest.Item
	if s.Do(t, "GET", base+"/events", nil).Data(t, &events); len(events) != 0 {
		t.Errorf("%d events of a deleted task are in the feed", len(events))
	}
}

// Of many starts at once exactly one opens a run.
func TestOneOfManyStarts(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	const n = 12
	answers := make([]apitest.Answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { answers[i] = s.Do(t, "POST", base+"/tasks/"+id+"/start", "{}") })
	}
	wg.Wait()
	good := 0
	for _, a := range answers {
		switch {
		case a.Status == http.StatusOK:
			good++
		case a.Status != http.StatusConflict || a.ErrorType() != "invalid_request":
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if good != 1 {
		t.Errorf("%d starts succeeded", good)
	}
}

// What is wrong with a request is said with a 4xx, and nothing has changed.
func TestBadRequests(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	runPath := base + "/tasks/" + id + "/runs/" + runID
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		typ                string
	}{
		{"POST", "/tasks", "", 400, "invalid_request"},
		{"POST", "/tasks", "null", 400, "invalid_request"},
		{"POST", "/tasks", "[]", 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x"`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop"} {}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop"}x`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":7,"execution_kind":"agent_loop"}`, 400, "invalid_request"},
		{"POST", "/tasks", "{\"prompt\":\"\xff\",\"execution_kind\":\"agent_loop\"}", 400, "invalid_request"},
		{"POST", "/tasks", `{"execution_kind":"agent_loop"}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x"}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"magic"}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop","timeout_ms":-1}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop","budget_micros_usd":1.5}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop","budget_micros_usd":-1}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop","workspace_mode":"cloud"}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"execution_kind":"shell"}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop","project_id":"p"}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"x","execution_kind":"agent_loop","mcp_servers":[{}]}`, 400, "invalid_request"},
		{"POST", "/tasks", `{"prompt":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "request_too_large"},
		{"GET", "/tasks?limit=-1", "", 400, "invalid_request"},
		{"GET", "/tasks?limit=x", "", 400, "invalid_request"},
		{"GET", "/tasks/nope", "", 404, "not_found"},
		{"DELETE", "/tasks/nope", "", 404, "not_found"},
		{"POST", "/tasks/nope/start", "", 404, "not_found"},
		{"POST", "/tasks/" + id + "/start", "{", 400, "invalid_request"},
		{"POST", "/tasks/" + id + "/start", "", 409, "invalid_request"},
		{"GET", "/tasks/" + id + "/runs/nope", "", 404, "not_found"},
		{"GET", "/tasks/nope/runs", "", 404, "not_found"},
		{"POST", "/tasks/" + id + "/runs/nope/cancel", "", 404, "not_found"},
		{"GET", "/tasks/" + id + "/runs/nope/stream", "", 404, "not_found"},
		{"GET", "/tasks/" + id + "/runs/nope/events", "", 404, "not_found"},
		{"POST", "/tasks/" + id + "/runs/nope/events", "{}", 404, "not_found"},
		{"POST", strings.TrimPrefix(runPath, base) + "/events", `{"type":"run.finished"}`, 400, "invalid_request"},
		{"POST", strings.TrimPrefix(runPath, base) + "/events", `{"data":[]}`, 400, "invalid_request"},
		{"POST", strings.TrimPrefix(runPath, base) + "/events", ``, 400, "invalid_request"},
		{"POST", "/tasks/" + id + "/approvals/nope/resolve", `{"decision":"approve"}`, 404, "not_found"},
		{"GET", "/events?after_sequence=-1", "", 400, "invalid_request"},
		{"GET", "/events?limit=0", "", 400, "invalid_request"},
		{"GET", "/events/stream?after_sequence=x", "", 400, "invalid_request"},
		{"GET", "/nothing", "", 404, "not_found"},
		{"PUT", "/tasks", "{}", 405, "method_not_allowed"},
		{"POST", "/system/projections/rebuild", `{"name":"nope"}`, 404, "not_found"},
		{"GET", "/tasks?min_position=x", "", 400, "invalid_request"},
		{"GET", "/tasks/a%00b", "", 400, "invalid_request"},
		{"GET", "/tasks?status=%ff", "", 400, "invalid_request"},
		{"GET", "/tasks?status=%zz", "", 400, "invalid_request"},
		{"POST", strings.TrimPrefix(runPath, base) + "/events", `{"note":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "request_too_large"},
		{"POST", strings.TrimPrefix(runPath, base) + "/retry", `{"reason":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "request_too_large"},
		{"GET", strings.TrimPrefix(runPath, base) + "/context", "", 404, "not_found"},
	} {
		a := s.Do(t, c.method, base+c.path, c.body)
		if a.Status != c.status || a.ErrorType() != c.typ {
			t.Errorf("%s %s %.60s: %d %s", c.method, c.path, c.body, a.Status, a.Body)
		}
		if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: headers %v", c.method, c.path, a.Header)
		}
	}
	if a := s.Do(t, "PUT", base+"/tasks", "{}"); !strings.Contains(a.Header.Get("Allow"), "POST") {
		t.Errorf("405 without the methods that are allowed: %v", a.Header)
	}
	if now, err := s.Store.Head(t.Context()); err != nil || now != head {
		t.Errorf("the log went from %d to %d, error %v", head, now, err)
	}
}

// Clients of old send no Content-Type, or a wrong one; only the types that web pages
// can send unasked are refused (see the access tests).
func TestContentTypeIsNotChecked(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for _, ct := range []string{"", "application/octet-stream", "text/json", "nonsense;;"} {
		a := s.Do(t, "POST", base+"/tasks", `{"prompt":"x","execution_kind":"agent_loop"}`, "Content-Type", ct)
		if a.Status != http.StatusOK {
			t.Errorf("%q: %d %s", ct, a.Status, a.Body)
		}
	}
}

// An approval is answered through its own task, once, with a decision that is one.
func TestApprovals(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Policies: []permission.Policy{permission.PolicyShell}})
	type asked struct{ task, run, approval string }
	ask := func() (out asked) {
		out.task = s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true"})
		out.run = s.StartRun(t, out.task)
		var list []apitest.Item
		s.Do(t, "GET", base+"/tasks/"+out.task+"/approvals", nil).Data(t, &list)
		if len(list) != 1 || list[0].Status != "pending" || list[0].RunID != out.run {
			t.Fatalf("approvals %+v", list)
		}
		out.approval = list[0].ID
		return out
	}
	status := func(a asked) string {
		var r apitest.Item
		s.Do(t, "GET", base+"/tasks/"+a.task+"/runs/"+a.run, nil).Data(t, &r)
		return r.Status
	}
	a, b := ask(), ask()
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(task, approval, body string) apitest.Answer {
		return s.Do(t, "POST", base+"/tasks/"+task+"/approvals/"+approval+"/resolve", body)
	}
	if got := resolve(a.task, b.approval, `{"decision":"approve"}`); got.Status != http.StatusNotFound {
		t.Errorf("through another task: %d %s", got.Status, got.Body)
	}
	for _, body := range []string{`{"decision":"maybe"}`, `{}`, ``, `{"decision":["approve"]}`, `{"verdict":"approve"}`, `{"decision":"approve","note":"` + strings.Repeat("x", 5<<10) + `"}`} {
		if got := resolve(b.task, b.approval, body); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
	if got := resolve(b.task, b.approval, `{"decision":"approve","digest":"00"}`); got.Status != http.StatusConflict {
		t.Errorf("wrong digest: %d %s", got.Status, got.Body)
	}
	if now, _ := s.Store.Head(t.Context()); now != head || status(a) != "awaiting_approval" || status(b) != "awaiting_approval" {
		t.Fatal("a refused answer changed something")
	}

	got := resolve(b.task, b.approval, `{"decision":" Approve ","note":"fine","unknown":1}`)
	var item apitest.Item
	if object := got.Data(t, &item); object != "task_approval" || item.Status != "approved" || got.Header.Get("X-Trace-Id") == "" {
		t.Errorf("approved: %s", got.Body)
	}
	if status(a) != "awaiting_approval" || status(b) != "queued" {
		t.Errorf("a is %s, b is %s", status(a), status(b))
	}
	if got := resolve(b.task, b.approval, `{"decision":"reject"}`); got.Status != http.StatusConflict || got.ErrorType() != "invalid_request" {
		t.Errorf("second answer: %d %s", got.Status, got.Body)
	}
	if got := resolve(b.task, b.approval, `{"decision":"maybe"}`); got.Status != http.StatusBadRequest {
		t.Errorf("an unreadable second answer: %d %s", got.Status, got.Body)
	}
	if resolve(a.task, a.approval, `{"decision":"DENY"}`).Data(t, &item); item.Status != "rejected" || status(a) != "cancelled" {
		t.Errorf("rejected: %+v, run %s", item, status(a))
	}
}

// Numbers of a caller's event come back as they were written.
func TestPostedEvent(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	id := s.Task(t, nil)
	path := base + "/tasks/" + id + "/runs/" + s.StartRun(t, id) + "/events"
	a := s.Do(t, "POST", path, `{"type":"ci.build","note":"n","data":{"big":9007199254740993,"exact":1.50,"note":"old","run":1}}`)
	var e struct {
		Type     string          `json:"type"`
		Sequence int64           `json:"sequence"`
		Data     json.RawMessage `json:"data"`
	}
	if object := a.Data(t, &e); object != "task_run_event" || e.Type != "ci.build" || string(e.Data) != `{"big":9007199254740993,"exact":1.50,"note":"n"}` {
		t.Errorf("%s", a.Body)
	}
	if a.Header.Get("Hecate-Position") != strconv.FormatInt(e.Sequence, 10) {
		t.Errorf("position %s, sequence %d", a.Header.Get("Hecate-Position"), e.Sequence)
	}
	var one []apitest.Item
	s.Do(t, "GET", path, nil, "Last-Event-ID", strconv.FormatInt(e.Sequence-1, 10)).Data(t, &one)
	if len(one) != 1 || one[0].Type != "ci.build" {
		t.Errorf("after the one before: %+v", one)
	}
	if s.Do(t, "GET", path+"?after_sequence=nonsense", nil, "Last-Event-ID", "999999").Data(t, &one); len(one) < 3 {
		t.Errorf("a bad cursor gave %d events", len(one))
	}
}

// When the read models don't get there in time, the answer comes from the log and
// says so; a read that demands the position is refused.
func TestStaleAnswers(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Slow: true, Patience: 20 * time.Millisecond, Policies: []permission.Policy{permission.PolicyShell}})
	created := s.Do(t, "POST", base+"/tasks", map[string]any{"execution_kind": "shell", "shell_command": "true"})
	var task, r, approval apitest.Item
	created.Data(t, &task)
	started := s.Do(t, "POST", base+"/tasks/"+task.ID+"/start", nil)
	started.Data(t, &r)
	if created.Header.Get("Hecate-Stale") != "true" || started.Header.Get("Hecate-Stale") != "true" || r.Status != "awaiting_approval" || r.TaskID != task.ID {
		t.Errorf("%s\n%s", created.Body, started.Body)
	}
	state, err := s.X.LoadRun(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	resolved := s.Do(t, "POST", base+"/tasks/"+task.ID+"/approvals/"+state.Approval.ApprovalID+"/resolve", `{"decision":"approve"}`)
	if resolved.Data(t, &approval); approval.Status != "approved" || approval.RunID != r.ID {
		t.Errorf("%s", resolved.Body)
	}
	a := s.Do(t, "GET", base+"/tasks", nil, "Hecate-Min-Position", started.Header.Get("Hecate-Position"))
	if a.Status != http.StatusServiceUnavailable || a.ErrorType() != "unavailable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestHealthAndWhoAmI(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	var health struct {
		Status, Version string
		Sandbox         struct {
			OS struct{ Kind string } `json:"os_isolation"`
		}
	}
	a := s.Do(t, "GET", "/healthz", nil)
	if err := json.Unmarshal(a.Body, &health); err != nil || health.Status != "ok" || health.Version != "1.2.3" || health.Sandbox.OS.Kind != "none" {
		t.Errorf("%s", a.Body)
	}
	var who struct {
		Role string `json:"role"`
		Host struct {
			ID    string `json:"id"`
			Local bool   `json:"local_only_actions_available"`
		} `json:"runtime_host"`
	}
	if object := s.Do(t, "GET", base+"/whoami", nil).Data(t, &who); object != "session" || who.Role != "operator" || who.Host.ID == "" || !who.Host.Local {
		t.Errorf("%s %+v", object, who)
	}
	if s.Do(t, "GET", base+"/whoami", nil, "X-Forwarded-For", "10.0.0.1").Data(t, &who); who.Host.Local {
		t.Error("a request through a proxy is told that it is local")
	}
}

// A caller can ask as whom the log has it.
func TestWhoAmINamesTheActor(t *testing.T) {
	open := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane"}})
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"nobody":      {nil, `{"kind":"client","verified":false}`},
		"a claim":     {[]string{auth.ActorHeader, "ci"}, `{"kind":"client","name":"ci","verified":false}`},
		"an operator": {[]string{auth.OperatorHeader, janes}, `{"kind":"operator","name":"jane","verified":true}`},
	} {
		var who struct {
			Actor json.RawMessage `json:"actor"`
		}
		if open.Do(t, "GET", base+"/whoami", nil, c.headers...).Data(t, &who); string(who.Actor) != c.want {
			t.Errorf("%s: %s", name, who.Actor)
		}
	}
	document := string(open.Do(t, "GET", "/openapi.json", nil).Body)
	for _, header := range []string{auth.TokenHeader, auth.OperatorHeader, auth.ActorHeader} {
		if !strings.Contains(document, `"`+header+`"`) {
			t.Errorf("the document does not have the header %s", header)
		}
	}
}

func TestProjections(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.Task(t, nil)
	for i, a := range []apitest.Answer{
		s.Do(t, "GET", base+"/system/projections", nil),
		s.Do(t, "POST", base+"/system/projections/rebuild", nil),
		s.Do(t, "POST", base+"/system/projections/rebuild", `{"name":"runs"}`),
	} {
		var list []struct {
			Name           string
			Position, Head int64
			Rebuilding     bool
		}
		if object := a.Data(t, &list); object != "projections" || len(list) != 4 || list[0].Name != "runs" || list[1].Name != "usage" || list[2].Name != "presets" || list[3].Name != "audit" {
			t.Fatalf("%s", a.Body)
		}
		for _, m := range list {
			if m.Position != 1 || m.Head != 1 || m.Rebuilding {
				t.Errorf("%d: %+v", i, m)
			}
		}
	}
	var tasks []apitest.Item
	if s.Do(t, "GET", base+"/tasks", nil).Data(t, &tasks); len(tasks) != 1 {
		t.Errorf("%d tasks after the rebuild", len(tasks))
	}
}

// The story's resources look as the contract says.
func TestResourcesOfAStory(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	task := base + "/tasks/" + apitest.TaskID
	r := task + "/runs/" + apitest.RunID
	for name, path := range map[string]string{
		"task": task, "run": r, "steps": r + "/steps", "artifacts": r + "/artifacts", "approvals": task + "/approvals",
		"patches": r + "/patches", "answer": r + "/artifacts/" + run.FinalAnswerID(apitest.RunID),
	} {
		a := s.Do(t, "GET", path, nil, "Hecate-Min-Position", strconv.FormatInt(head, 10))
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
			continue
		}
		golden(t, name+".json", indented(t, a.Body))
	}
	if a := s.Do(t, "GET", task+"/runs/other/artifacts/"+run.FinalAnswerID(apitest.RunID), nil); a.Status != http.StatusNotFound {
		t.Errorf("an artifact of another run: %d", a.Status)
	}
	if a := s.Do(t, "GET", r+"/patches/"+run.FinalAnswerID(apitest.RunID), nil); a.Status != http.StatusNotFound {
		t.Errorf("a patch that is none: %d", a.Status)
	}
}
