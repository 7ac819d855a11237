package api_test

import (
	"net/http"
	"slices"
	"testing"

	"hecate/api/apitest"
	"hecate/api/auth"
	v1 "hecate/api/v1"
	"hecate/domain/run"
)

// ways are the operations that open a run, with what else their bodies need.
var ways = map[string]string{
	"start": "", "retry": "", "resume": "", "continue": `"prompt":"more",`, "retry-from-model-call": `"model_call_index":1,`,
}

// opener is a task with an ended run, to open another one of.
func opener(t *testing.T, s *apitest.Server, network bool) func(way, body string, headers ...string) (apitest.Answer, *run.State) {
	task := s.Task(t, map[string]any{"prompt": "do it", "execution_kind": "agent_loop", "sandbox_network": network})
	source := s.StartRun(t, task)
	s.Talk(t, source)
	s.Do(t, "POST", base+"/tasks/"+task+"/runs/"+source+"/cancel", nil).Data(t, nil)
	return func(way, body string, headers ...string) (apitest.Answer, *run.State) {
		t.Helper()
		path := base + "/tasks/" + task + "/start"
		if way != "start" {
			path = base + "/tasks/" + task + "/runs/" + source + "/" + way
		}
		a := s.Do(t, "POST", path, body, headers...)
		if a.Status != http.StatusOK {
			return a, nil
		}
		var r apitest.Item
		a.Data(t, &r)
		state, err := s.X.LoadRun(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		s.Do(t, "POST", base+"/tasks/"+task+"/runs/"+r.ID+"/cancel", nil).Data(t, nil)
		return a, state
	}
}

// However a run is opened, answers can be taken along; they are the run's alone.
func TestAnswersAhead(t *testing.T) {
	open := opener(t, apitest.Start(t, apitest.Options{}), false)
	const permissions = `"permissions":{"on_ask":"refuse","attended":true,"allow_tools":["exec(go) args(test *)"],"yes":true,"yes_really":true,"project_config":"/etc/h.toml","novelty":1}}`
	want := run.Ahead{OnAsk: "refuse", Attended: true, AllowTools: []string{"exec(go) args(test *)"}, Yes: true, YesReally: true, ProjectConfig: "/etc/h.toml"}
	for way, more := range ways {
		_, s := open(way, "{"+more+permissions)
		if s == nil || s.Ahead.OnAsk != want.OnAsk || !slices.Equal(s.Ahead.AllowTools, want.AllowTools) || !s.Ahead.Attended || !s.Ahead.Yes || !s.Ahead.YesReally || s.Ahead.ProjectConfig != want.ProjectConfig {
			t.Errorf("%s: %+v", way, s)
		}
		for _, none := range []string{`"permissions":null}`, `"permissions":{}}`, `"other":1}`} {
			if a, s := open(way, "{"+more+none); s == nil || s.Ahead.Gives() || s.Ahead.OnAsk != "" {
				t.Errorf("%s %s: %s", way, none, a.Body)
			}
		}
	}
	// What is wrong with the rest of the body does not matter to a retry, and takes nothing away.
	if _, s := open("retry", `{"reason":5,"permissions":{"on_ask":"refuse"}}`); s == nil || s.Ahead.OnAsk != "refuse" {
		t.Errorf("%+v", s)
	}
	for _, body := range []string{"", "nonsense", "[1]", `{"reason":5}`, `{"permissions":{`} {
		if a, s := open("retry", body); s == nil || s.Ahead.Gives() {
			t.Errorf("retry %q: %s", body, a.Body)
		}
	}
}

// Permissions that cannot be understood are never left out.
func TestBadAnswersAhead(t *testing.T) {
	open := opener(t, apitest.Start(t, apitest.Options{}), false)
	for way, more := range ways {
		for _, bad := range []string{
			`5`, `[]`, `"yes"`, `{"yes":"true"}`, `{"on_ask":"shrug"}`, `{"allow_tools":"exec"}`, `{"allow_tools":["exec("]}`, `{"allow_tools":["nonsense(x)"]}`, `{"project_config":"a.toml"}`,
		} {
			if a, s := open(way, "{"+more+`"permissions":`+bad+`}`); s != nil || a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" {
				t.Errorf("%s %s: %d %s", way, bad, a.Status, a.Body)
			}
		}
		if a, s := open(way, "{"+more+`"reason":5,"permissions":{"yes":"true"}}`); s != nil || a.Status != http.StatusBadRequest {
			t.Errorf("%s with more that is wrong: %d %s", way, a.Status, a.Body)
		}
	}
}

// Who opens a run so that something need not ask must be allowed to answer; who only
// makes it ask less often of people must not.
func TestAnswersAheadNeedProof(t *testing.T) {
	for name, c := range map[string]struct {
		network bool
		sandbox string
		free    bool // nobody has to prove anything
	}{
		"no wrapper":             {false, "none", false},
		"confined":               {false, "bwrap", true},
		"confined, with network": {true, "bwrap", false},
	} {
		s := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane"}, Proof: v1.ProofAuto, Sandbox: c.sandbox})
		for way, more := range ways {
			open := opener(t, s, c.network)
			for _, gives := range []string{`{"yes":true}`, `{"yes_really":true}`, `{"allow_tools":["exec"]}`, `{"project_config":"/etc/h.toml"}`, `{"attended":true}`} {
				body := "{" + more + `"permissions":` + gives + `}`
				if a, s := open(way, body); (s != nil) != c.free {
					t.Errorf("%s: %s %s: %d %s", name, way, gives, a.Status, a.Body)
				}
				if a, s := open(way, body, auth.OperatorHeader, janes); s == nil {
					t.Errorf("%s: %s %s as an operator: %s", name, way, gives, a.Body)
				}
			}
			if a, s := open(way, "{"+more+`"permissions":{"on_ask":"refuse"}}`); s == nil {
				t.Errorf("%s: %s that gives nothing: %s", name, way, a.Body)
			}
		}
	}
	s := apitest.Start(t, apitest.Options{})
	if a := s.Do(t, "POST", base+"/tasks/task_nobody/start", `{"permissions":{"yes":true}}`); a.Status != http.StatusNotFound {
		t.Errorf("a task that is not there: %d", a.Status)
	}
}
