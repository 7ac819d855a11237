package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/api/auth"
	v1 "hecate/api/v1"
)

const presetsPath = base + "/agent-presets"

// object is a JSON object as it came.
type object map[string]any

// got reads an answer of a status.
func got(t *testing.T, a apitest.Answer, status int, name string) object {
	t.Helper()
	var e struct {
		Object string
		Data   object
	}
	if err := json.Unmarshal(a.Body, &e); err != nil || a.Status != status || e.Object != name {
		t.Fatalf("%d %s, want %d %s", a.Status, a.Body, status, name)
	}
	return e.Data
}

func refused(t *testing.T, a apitest.Answer, status int, typ, word string) {
	t.Helper()
	if a.Status != status || a.ErrorType() != typ || !strings.Contains(string(a.Body), word) {
		t.Errorf("%d %s, want %d %s with %q", a.Status, a.Body, status, typ, word)
	}
}

// The built-in policies are the same on every server.
func TestBuiltInPresets(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	a := s.Do(t, "GET", presetsPath, nil)
	var list []json.RawMessage
	if object := a.Data(t, &list); object != "agent_presets" {
		t.Errorf("the list is %s", object)
	}
	golden(t, "agent_presets.json", append(indented(t, a.Body), '\n'))
	one := s.Do(t, "GET", presetsPath+"/architecture", nil)
	var item json.RawMessage
	if object := one.Data(t, &item); object != "agent_preset" || string(item) != string(list[0]) {
		t.Errorf("by itself it is %s", one.Body)
	}
}

// A policy is written, looked at, changed and deleted.
func TestPresetFromCreationToDeletion(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	p := got(t, s.Do(t, "POST", presetsPath, object{"name": " Mine ", "unknown": 1, "built_in": true, "skill_ids": []string{"a", " a "}}), http.StatusCreated, "agent_preset")
	id, _ := p["id"].(string)
	if !regexp.MustCompile(`^prof_[0-9a-f]{24}$`).MatchString(id) || p["created_at"] == nil || p["created_at"] != p["updated_at"] {
		t.Errorf("%v", p)
	}
	for _, x := range []string{"id", "created_at", "updated_at"} {
		delete(p, x)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"approval_policy":"inherit","browser_allowed":false,"browser_interactions_allowed":false,"built_in":false,` +
		`"context_source_policy":"inherit","name":"Mine","network_allowed":false,"project_memory_policy":"inherit","skill_ids":["a"],` +
		`"surface":"any","tools_enabled":false,"writes_allowed":false}`; string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
	path := presetsPath + "/" + id
	changed := got(t, s.Do(t, "PATCH", path, object{"tools_enabled": true, "browser_allowed": true, "browser_allowed_origins": []string{"HTTPS://A.example:443/"}}), http.StatusOK, "agent_preset")
	if origins, _ := changed["browser_allowed_origins"].([]any); len(origins) != 1 || origins[0] != "https://a.example" {
		t.Errorf("%v", changed)
	}
	same := got(t, s.Do(t, "PATCH", path, "{}"), http.StatusOK, "agent_preset")
	if same["updated_at"] != changed["updated_at"] || same["name"] != "Mine" {
		t.Errorf("changing nothing gives %v", same)
	}
	off := got(t, s.Do(t, "PATCH", path, object{"tools_enabled": false, "name": nil}), http.StatusOK, "agent_preset")
	if off["browser_allowed"] != false || off["browser_allowed_origins"] != nil || off["name"] != "Mine" {
		t.Errorf("without tools: %v", off)
	}
	if shown := got(t, s.Do(t, "GET", path, nil), http.StatusOK, "agent_preset"); shown["updated_at"] != off["updated_at"] {
		t.Errorf("it is shown as %v", shown)
	}
	var list []apitest.Item
	if s.Do(t, "GET", presetsPath, nil).Data(t, &list); !slices.ContainsFunc(list, func(i apitest.Item) bool { return i.ID == id }) {
		t.Errorf("it is not in %v", list)
	}
	if a := s.Do(t, "DELETE", path, nil); a.Status != http.StatusNoContent || len(a.Body) > 0 || a.Header.Get("Hecate-Position") != "4" {
		t.Errorf("delete: %d %s %v", a.Status, a.Body, a.Header)
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		refused(t, s.Do(t, method, path, "{}"), http.StatusNotFound, "not_found", id)
	}
}

// What cannot be is refused with the contract's words, and nothing has happened.
func TestBadPresets(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	got(t, s.Do(t, "POST", presetsPath, object{"id": "mine", "name": "Mine"}), http.StatusCreated, "agent_preset")
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		typ, word    string
	}{
		{"POST", "", object{"id": "mine", "name": "Other"}, 409, "conflict", "mine"},
		{"POST", "", object{"id": "planning", "name": "Mine"}, 409, "conflict", "planning"},
		{"PATCH", "/planning", object{}, 409, "conflict", "built in"},
		{"DELETE", "/planning", nil, 409, "conflict", "built in"},
		{"PATCH", "/nobody", object{"name": "x"}, 404, "not_found", "nobody"},
		{"DELETE", "/nobody", nil, 404, "not_found", "nobody"},
		{"GET", "/nobody", nil, 404, "not_found", "nobody"},
		{"POST", "", object{}, 400, "invalid_request", "name"},
		{"POST", "", "", 400, "invalid_request", "JSON"},
		{"POST", "", `{"name": "x"`, 400, "invalid_request", "JSON"},
		{"POST", "", object{"name": "x", "tools_enabled": "yes"}, 400, "invalid_request", "tools_enabled"},
		{"POST", "", object{"name": "x", "id": "a/b"}, 400, "invalid_request", "id"},
		{"POST", "", object{"name": "x", "surface": "everywhere"}, 400, "invalid_request", "surface"},
		{"POST", "", object{"name": "x", "approval_policy": "maybe"}, 400, "invalid_request", "approval_policy"},
		{"POST", "", object{"name": "x", "browser_allowed": true, "browser_allowed_origins": []string{"https://a.example"}}, 400, "invalid_request", "tools_enabled"},
		{"PATCH", "/mine", object{"tools_enabled": true, "browser_allowed": true}, 400, "invalid_request", "browser_allowed_origins"},
		{"PATCH", "/mine", object{"name": ""}, 400, "invalid_request", "name"},
		{"PATCH", "/mine", "", 400, "invalid_request", "JSON"},
		{"PUT", "/mine", object{}, 405, "method_not_allowed", "PUT"},
	} {
		a := s.Do(t, c.method, presetsPath+c.path, c.body)
		if c.method == "PUT" {
			c.word = "Allow"
		}
		refused(t, a, c.status, c.typ, c.word)
	}
	if now, err := s.Store.Head(t.Context()); now != head || err != nil {
		t.Errorf("the log went from %d to %d, %v", head, now, err)
	}
}

// A named request is carried out once.
func TestPresetIsCreatedOnce(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	create := func() apitest.Answer {
		return s.Do(t, "POST", presetsPath, object{"name": "Mine"}, "Idempotency-Key", "k1")
	}
	if first, again := create(), create(); first.Status != http.StatusCreated || string(first.Body) != string(again.Body) {
		t.Errorf("first %s, again %s", first.Body, again.Body)
	}
}

// The answer of a change does not wait for read models that are gone.
func TestPresetsWithoutReadModels(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Slow: true, Patience: 1})
	a := s.Do(t, "POST", presetsPath, object{"name": "Mine"})
	if p := got(t, a, http.StatusCreated, "agent_preset"); p["name"] != "Mine" || a.Header.Get("Hecate-Stale") != "true" {
		t.Errorf("%v %v", p, a.Header)
	}
}

// A task shows what it keeps of its policy, and keeps it when the policy changes or goes.
func TestTaskOfAPreset(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	got(t, s.Do(t, "POST", presetsPath, object{
		"id": "mine", "name": "Mine", "surface": "hecate_task", "tools_enabled": true, "network_allowed": true, "browser_interactions_allowed": true,
		"browser_allowed_origins": []string{"https://a.example"}, "approval_policy": "block", "instructions": "Be careful.",
		"execution_profile": "repo_local", "provider_hint": "acme", "model_hint": "m1",
	}), http.StatusCreated, "agent_preset")
	task := got(t, s.Do(t, "POST", base+"/tasks", object{
		"prompt": "go", "agent_preset_id": " mine ", "system_prompt": "Be quick.", "agent_preset_approval_policy": "allow", "agent_preset_tools_enabled": false,
	}), http.StatusOK, "task")
	for member, want := range map[string]any{
		"agent_preset_id": "mine", "agent_preset_tools_enabled": true, "agent_preset_browser_allowed": false,
		"agent_preset_browser_interactions_allowed": true, "agent_preset_approval_policy": "block", "system_prompt": "Be quick.",
		"execution_profile": "repo_local", "execution_kind": "agent_loop", "requested_provider": "acme", "requested_model": "m1",
		"sandbox_read_only": true, "sandbox_network": true, "permission_posture": nil,
	} {
		if task[member] != want {
			t.Errorf("%s is %v, want %v", member, task[member], want)
		}
	}
	if origins, _ := task["agent_preset_browser_allowed_origins"].([]any); len(origins) != 1 || origins[0] != "https://a.example" {
		t.Errorf("origins %v", origins)
	}
	id, _ := task["id"].(string)
	path := base + "/tasks/" + id
	before := got(t, s.Do(t, "GET", path, nil), http.StatusOK, "task")
	got(t, s.Do(t, "PATCH", presetsPath+"/mine", object{"tools_enabled": false, "approval_policy": "allow", "writes_allowed": true}), http.StatusOK, "agent_preset")
	s.Do(t, "DELETE", presetsPath+"/mine", nil)
	if after := got(t, s.Do(t, "GET", path, nil), http.StatusOK, "task"); !equalJSON(t, before, after) {
		t.Errorf("the task went from %v to %v", before, after)
	}
	runID := s.StartRun(t, id)
	s.Do(t, "POST", path+"/runs/"+runID+"/cancel", nil)
	var again apitest.Item
	s.Do(t, "POST", path+"/runs/"+runID+"/retry", nil).Data(t, &again)
	state, err := s.X.LoadRun(t.Context(), again.ID)
	if err != nil || state.Spec.Preset == nil || state.Spec.Preset.Approval != "block" || !state.Spec.Preset.ToolsEnabled || !state.Spec.ReadOnly {
		t.Errorf("the retry froze %+v, %v", state.Spec, err)
	}
	if text := state.Spec.SystemPrompt.String(); text != "Be careful.\n\nBe quick." {
		t.Errorf("the retry is told %q", text)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// A policy without tools says so, and so does the answer that is made without read models.
func TestTaskWithoutTools(t *testing.T) {
	for name, o := range map[string]apitest.Options{"read": {}, "folded": {Slow: true, Patience: 1}} {
		s := apitest.Start(t, o)
		got(t, s.Do(t, "POST", presetsPath, object{"id": "talk", "name": "Talk"}), http.StatusCreated, "agent_preset")
		body := object{"prompt": "go", "execution_kind": "agent_loop", "agent_preset_id": "talk", "permission_posture": "levels"}
		task := got(t, s.Do(t, "POST", base+"/tasks", body), http.StatusOK, "task")
		if task["agent_preset_tools_enabled"] != false || task["agent_preset_approval_policy"] != "inherit" || task["permission_posture"] != "levels" {
			t.Errorf("%s: %v", name, task)
		}
		body["mcp_servers"] = []object{{"name": "x", "command": "y"}}
		refused(t, s.Do(t, "POST", base+"/tasks", body), http.StatusBadRequest, "invalid_request", "mcp_servers")
	}
}

// Which tasks cannot be made.
func TestBadTasksOfPresets(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	got(t, s.Do(t, "POST", presetsPath, object{"id": "hint", "name": "Hint", "provider_hint": "acme", "model_hint": "m1"}), http.StatusCreated, "agent_preset")
	for word, body := range map[string]object{
		"agent_preset_id: agent preset":      {"execution_kind": "agent_loop", "agent_preset_id": "nobody"},
		"agent_preset_id: \\\"safe_external": {"execution_kind": "agent_loop", "agent_preset_id": "safe_external_review"},
		"agent_preset_id needs":              {"execution_kind": "shell", "shell_command": "true", "agent_preset_id": "planning"},
		"requested_model":                    {"execution_kind": "agent_loop", "agent_preset_id": "hint", "requested_provider": "other"},
		"permission_posture":                 {"execution_kind": "agent_loop", "permission_posture": "none"},
		"permission_posture \\\"levels\\\"":  {"execution_kind": "shell", "shell_command": "true", "permission_posture": "levels"},
	} {
		body["prompt"] = "go"
		refused(t, s.Do(t, "POST", base+"/tasks", body), http.StatusBadRequest, "invalid_request", word)
	}
	s.X.LevelsForbidden = true
	refused(t, s.Do(t, "POST", base+"/tasks", object{"prompt": "go", "execution_kind": "agent_loop", "permission_posture": "levels"}),
		http.StatusForbidden, "forbidden", "HECATE_TASK_LEVELS_POSTURE")
}

// An agent's command that reaches the server cannot loosen the policy that the next task is
// made from: neither by changing it, nor by putting another one in its place.
func TestChangesOfPresetsNeedProof(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Operators: holders{janes: "jane"}, Proof: v1.ProofAuto})
	got(t, s.Do(t, "POST", presetsPath, object{"id": "mine", "name": "Mine", "approval_policy": "require"}), http.StatusCreated, "agent_preset")
	mine := presetsPath + "/mine"
	refused(t, s.Do(t, "PATCH", mine, object{"approval_policy": "allow"}), http.StatusForbidden, "forbidden", auth.OperatorHeader)
	refused(t, s.Do(t, "DELETE", mine, nil), http.StatusForbidden, "forbidden", auth.OperatorHeader)
	refused(t, s.Do(t, "POST", presetsPath, object{"id": "mine", "name": "Mine"}), http.StatusConflict, "conflict", "mine")
	if p := got(t, s.Do(t, "GET", mine, nil), http.StatusOK, "agent_preset"); p["approval_policy"] != "require" {
		t.Errorf("it says %v", p)
	}
	got(t, s.Do(t, "PATCH", mine, object{"approval_policy": "allow"}, auth.OperatorHeader, janes), http.StatusOK, "agent_preset")
	if a := s.Do(t, "DELETE", mine, nil, auth.OperatorHeader, janes); a.Status != http.StatusNoContent {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
