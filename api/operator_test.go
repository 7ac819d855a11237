package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/api/auth"
	v1 "hecate/api/v1"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// holders are operators by their tokens.
type holders map[string]string

func (h holders) Operator(token string) string { return h[token] }

const (
	janes   = "5Yd9janes-token-that-nobody-may-print-0123456"
	runtime = "runtime-token-0123456789"
)

// lastActor is who caused the newest event.
func lastActor(t *testing.T, s *apitest.Server) (a eventstore.Actor) {
	t.Helper()
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if records, err := s.Store.ReadAll(t.Context(), head-1, 1); err == nil && len(records) == 1 {
		a = records[0].Actor
	}
	return a
}

// The log says who asked, and whether that was proved or only said.
func TestWhoAsked(t *testing.T) {
	open := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane"}})
	closed := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane"}, Token: runtime})
	for name, c := range map[string]struct {
		s       *apitest.Server
		headers []string
		want    eventstore.Actor
	}{
		"nobody":                  {open, nil, eventstore.Actor{Kind: "client"}},
		"a claim":                 {open, []string{auth.ActorHeader, "ci.bot@example-1_2"}, eventstore.Actor{Kind: "client", Name: "ci.bot@example-1_2"}},
		"an operator":             {open, []string{auth.OperatorHeader, janes}, eventstore.Actor{Kind: "operator", Name: "jane"}},
		"a claim beside a proof":  {open, []string{auth.OperatorHeader, janes, auth.ActorHeader, "root"}, eventstore.Actor{Kind: "operator", Name: "jane"}},
		"a claim of a known name": {open, []string{auth.ActorHeader, "jane"}, eventstore.Actor{Kind: "client", Name: "jane"}},
		"the runtime token":       {closed, []string{auth.TokenHeader, runtime}, eventstore.Actor{Kind: "operator", Name: "runtime-token"}},
		"with a claim":            {closed, []string{auth.TokenHeader, runtime, auth.ActorHeader, "root"}, eventstore.Actor{Kind: "operator", Name: "runtime-token"}},
		"both tokens":             {closed, []string{auth.TokenHeader, runtime, auth.OperatorHeader, janes}, eventstore.Actor{Kind: "operator", Name: "jane"}},
		"no token is asked for":   {open, []string{auth.TokenHeader, runtime}, eventstore.Actor{Kind: "client"}},
	} {
		c.s.Do(t, "POST", base+"/tasks", `{"prompt":"x","execution_kind":"agent_loop"}`, c.headers...).Data(t, nil)
		if got := lastActor(t, c.s); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A token that proves nothing is refused, never taken for none; and nobody gets to
// read it afterwards.
func TestWrongOperatorTokens(t *testing.T) {
	const planted = "planted-secret-of-another-server-01234567890"
	var log bytes.Buffer
	open := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane", "": "empty"}, Log: &log})
	closed := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane"}, Token: runtime, Log: &log})
	none := apitest.Start(t, apitest.Options{Log: &log})
	for name, c := range map[string]struct {
		s       *apitest.Server
		headers []string
		status  int
	}{
		"unknown":                         {open, []string{auth.OperatorHeader, planted}, 401},
		"empty":                           {open, []string{auth.OperatorHeader, ""}, 401},
		"a part":                          {open, []string{auth.OperatorHeader, janes[:len(janes)-1]}, 401},
		"more":                            {open, []string{auth.OperatorHeader, janes + "6"}, 401},
		"twice":                           {open, []string{auth.OperatorHeader, janes, auth.OperatorHeader, janes}, 401},
		"unknown beside a claim":          {open, []string{auth.OperatorHeader, planted, auth.ActorHeader, "jane"}, 401},
		"nobody has one":                  {none, []string{auth.OperatorHeader, planted}, 401},
		"beside the runtime token":        {closed, []string{auth.TokenHeader, runtime, auth.OperatorHeader, planted}, 401},
		"in place of the runtime token":   {closed, []string{auth.OperatorHeader, janes}, 401},
		"as the runtime token":            {closed, []string{auth.TokenHeader, janes}, 401},
		"the runtime token as operator's": {closed, []string{auth.TokenHeader, runtime, auth.OperatorHeader, runtime}, 401},
		"a claim with a line break":       {open, []string{auth.ActorHeader, "jane doe"}, 400},
		"an empty claim":                  {open, []string{auth.ActorHeader, ""}, 400},
		"two claims":                      {open, []string{auth.ActorHeader, "a", auth.ActorHeader, "b"}, 400},
		"a long claim":                    {open, []string{auth.ActorHeader, strings.Repeat("x", 65)}, 400},
		"a claim in other letters":        {open, []string{auth.ActorHeader, "j\u00e4ne"}, 400},
	} {
		for _, method := range []string{"GET", "POST"} {
			a := c.s.Do(t, method, base+"/tasks", nil, c.headers...)
			if a.Status != c.status || strings.Contains(string(a.Body), planted) || strings.Contains(string(a.Body), janes[:20]) {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		if head, err := c.s.Store.Head(t.Context()); err != nil || head != 0 {
			t.Fatalf("%s: something was recorded, or %v", name, err)
		}
	}
	if text := log.String(); strings.Contains(text, planted) || strings.Contains(text, janes[:20]) {
		t.Errorf("a token is in the log: %s", text)
	}
	if a := open.Do(t, "GET", "/healthz", nil, auth.OperatorHeader, planted); a.Status != 200 {
		t.Errorf("health: %d", a.Status)
	}
}

// question is a run that waits for a person.
type question struct{ task, run, path string }

func ask(t *testing.T, s *apitest.Server, network bool) (q question) {
	t.Helper()
	q.task = s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true", "sandbox_network": network})
	q.run = s.StartRun(t, q.task)
	state, err := s.X.LoadRun(t.Context(), q.run)
	if err != nil || state.Approval == nil {
		t.Fatalf("%+v, %v", state, err)
	}
	q.path = base + "/tasks/" + q.task + "/approvals/" + state.Approval.ApprovalID + "/resolve"
	return q
}

func waits(t *testing.T, s *apitest.Server, q question) bool {
	t.Helper()
	state, err := s.X.LoadRun(t.Context(), q.run)
	return err == nil && state.Status == run.StatusAwaitingApproval && state.Approval != nil
}

var gates = []permission.Policy{permission.PolicyShell}

// As long as something that an agent started may reach the server, an answer needs proof.
func TestDecisionsNeedProof(t *testing.T) {
	jane := []string{auth.OperatorHeader, janes}
	for name, c := range map[string]struct {
		options apitest.Options
		network bool                              // of the task that asks
		before  func(*testing.T, *apitest.Server) // what else is going on
		headers []string
		allowed bool
	}{
		"confined, no network":               {apitest.Options{Sandbox: "bwrap"}, false, nil, nil, true},
		"a claim is no proof":                {apitest.Options{}, false, nil, []string{auth.ActorHeader, "jane"}, false},
		"no wrapper":                         {apitest.Options{}, false, nil, nil, false},
		"no wrapper, operator":               {apitest.Options{}, false, nil, jane, true},
		"its own network":                    {apitest.Options{Sandbox: "bwrap"}, true, nil, nil, false},
		"its own network, operator":          {apitest.Options{Sandbox: "bwrap"}, true, nil, jane, true},
		"another task's network":             {apitest.Options{Sandbox: "bwrap"}, false, func(t *testing.T, s *apitest.Server) { ask(t, s, true) }, nil, false},
		"another task's network, operator":   {apitest.Options{Sandbox: "bwrap"}, false, func(t *testing.T, s *apitest.Server) { ask(t, s, true) }, jane, true},
		"a task with network that rests":     {apitest.Options{Sandbox: "bwrap"}, false, rests, nil, true},
		"network that ended a moment ago":    {apitest.Options{Sandbox: "bwrap"}, false, cancelled, nil, false},
		"network that ended long ago":        {apitest.Options{Sandbox: "bwrap"}, false, endedLongAgo, nil, true},
		"the read models are behind":         {apitest.Options{Sandbox: "bwrap", Slow: true, Patience: 10 * time.Millisecond}, false, nil, nil, false},
		"always":                             {apitest.Options{Sandbox: "bwrap", Proof: v1.ProofAlways}, false, nil, nil, false},
		"always, operator":                   {apitest.Options{Sandbox: "bwrap", Proof: v1.ProofAlways}, false, nil, jane, true},
		"never":                              {apitest.Options{Proof: v1.ProofNever}, true, nil, nil, true},
		"a wrapper that is not known enough": {apitest.Options{Sandbox: "sandbox-exec"}, false, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			o.Policies, o.Operators = gates, holders{janes: "jane"}
			if o.Proof == "" {
				o.Proof = v1.ProofAuto
			}
			s := apitest.Start(t, o)
			if c.before != nil {
				c.before(t, s)
			}
			q := ask(t, s, c.network)
			a := s.Do(t, "POST", q.path, `{"decision":"approve"}`, c.headers...)
			switch {
			case c.allowed && a.Status != http.StatusOK:
				t.Errorf("%d %s", a.Status, a.Body)
			case c.allowed:
				return
			case a.Status != http.StatusForbidden || a.ErrorType() != "forbidden" || !waits(t, s, q):
				t.Errorf("%d %s, waiting: %v", a.Status, a.Body, waits(t, s, q))
			}
			for _, word := range []string{auth.OperatorHeader, "operator.token", "hecate approve"} {
				if !strings.Contains(string(a.Body), word) {
					t.Errorf("%q is not in %s", word, a.Body)
				}
			}
		})
	}
}

func rests(t *testing.T, s *apitest.Server) {
	s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true", "sandbox_network": true})
}

func cancelled(t *testing.T, s *apitest.Server) {
	q := ask(t, s, true)
	s.Do(t, "POST", base+"/tasks/"+q.task+"/runs/"+q.run+"/cancel", nil).Data(t, nil)
}

func endedLongAgo(t *testing.T, s *apitest.Server) {
	const taskID, runID = "task_00000000000000000000dead", "run_00000000000000000000dead"
	apitest.Append(t, s.Store, "task-"+taskID, task.Created{Definition: task.Definition{ExecutionKind: run.KindShell, Network: true}}, task.RunOpened{RunID: runID, Number: 1})
	apitest.Append(t, s.Store, "run-"+runID,
		run.Created{TaskID: taskID, Number: 1, Status: run.StatusQueued, Kind: run.Orchestrator, Spec: run.Spec{ExecutionKind: run.KindShell, Network: true}},
		run.Queued{Kind: run.Orchestrator}, run.Cancelled{By: "operator", Reason: "run cancelled"})
	apitest.Append(t, s.Store, "task-"+taskID, task.RunClosed{RunID: runID, Status: "cancelled"})
}

// A page in a browser cannot answer an approval: it is refused by the head of its
// request, before the body is there.
func TestPagesAnswerNothing(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Policies: gates, Sandbox: "bwrap", Proof: v1.ProofAuto})
	q := ask(t, s, false)
	own := strings.TrimPrefix(s.URL, "http://")
	const body = `{"decision":"approve"}`
	for name, head := range map[string][]string{
		"text/plain":                  {"Content-Type: text/plain"},
		"text/plain with JSON in it":  {"Content-Type: text/plain; type=application/json"},
		"text/plain in capitals":      {"Content-Type: TEXT/Plain;charset=UTF-8"},
		"a form":                      {"Content-Type: application/x-www-form-urlencoded"},
		"a form with files":           {"Content-Type: multipart/form-data; boundary=x"},
		"two types":                   {"Content-Type: application/json", "Content-Type: text/plain"},
		"a null origin":               {"Content-Type: application/json", "Origin: null"},
		"a foreign origin":            {"Content-Type: application/json", "Origin: https://evil.example.com"},
		"another port":                {"Content-Type: application/json", "Origin: http://127.0.0.1:1"},
		"another name of this server": {"Content-Type: application/json", "Origin: http://localhost:" + own[strings.LastIndex(own, ":")+1:]},
		"another site":                {"Content-Type: application/json", "Sec-Fetch-Site: cross-site"},
		"a site beside it":            {"Content-Type: application/json", "Sec-Fetch-Site: same-site"},
		"an untyped body by fetch":    {"Sec-Fetch-Mode: no-cors"},
		"an untyped body by a page":   {"Origin: http://" + own},
		"an untyped body by its name": {"User-Agent: Mozilla/5.0 (X11; Linux x86_64)"},
		"a rebound name":              {"Content-Type: application/json", "Host: evil.example.com"},
		"a rebound name, own origin":  {"Content-Type: application/json", "Host: evil.example.com", "Origin: http://evil.example.com"},
		"a form, forwarded":           {"Content-Type: application/x-www-form-urlencoded", "Forwarded: for=127.0.0.1", "X-Forwarded-Host: " + own},
	} {
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(head, "\n"), "Host: evil") {
			head = append(head, "Host: "+own)
		}
		// The body never comes.
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\n%s\r\nContent-Length: %d\r\n\r\n", q.path, strings.Join(head, "\r\n"), len(body))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden || !waits(t, s, q) {
			t.Errorf("%s: %d, waiting: %v", name, res.StatusCode, waits(t, s, q))
		}
		_ = conn.Close()
	}
	// The server's own pages may.
	s.Do(t, "POST", q.path, body, "Content-Type", "application/json", "Origin", s.URL, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors").Data(t, nil)
}
