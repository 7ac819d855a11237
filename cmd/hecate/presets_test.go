package main

import (
	"strings"
	"testing"
)

// Work policies are listed in a line each, and shown in full one by one.
func TestPresetsCommand(t *testing.T) {
	s := newContractServer(t, nil)
	mine := obj{
		"id": "mine", "name": "Mine\x1b[2J", "surface": "any", "tools_enabled": true, "writes_allowed": true, "network_allowed": true,
		"browser_allowed": true, "browser_interactions_allowed": true, "browser_allowed_origins": []any{"https://a.example", "https://b.example"},
		"approval_policy": "block", "project_memory_policy": "inherit", "context_source_policy": "inherit", "model_hint": "m1",
		"instructions": "Be careful.\nBe quick.", "skill_ids": []any{"s1"},
	}
	talk := obj{"id": "talk", "name": "Talk", "surface": "hecate_task", "approval_policy": "require", "built_in": true}
	s.answers = obj{"/agent-presets": []any{mine, talk}, "/agent-presets/mine": mine}
	check(t, succeed(t, "presets", "--server", s.URL), []string{
		"POLICY  FOR", `mine    any          tools, writes, network, browser, browser actions  block     yours     Mine\x1b[2J`,
		"talk    hecate_task  nothing                                           require   built in  Talk",
	})
	if list := succeed(t, "presets", "list", "--server", s.URL); strings.Count(list, "\n") != 3 {
		t.Errorf("the list:\n%s", list)
	}
	check(t, succeed(t, "presets", "--json", "--server", s.URL), []string{`"id": "talk"`})
	check(t, succeed(t, "presets", "show", "mine", "--server", s.URL), []string{
		`Mine\x1b[2J  yours`, "origins   https://a.example, https://b.example\n", "approval  block\n", "model     m1\n", "skills    s1\n", "  Be careful.\n  Be quick.\n",
	})
	check(t, succeed(t, "presets", "show", "mine", "--json", "--server", s.URL), []string{`"approval_policy": "block"`})
	a, _, errs := testApp(t)
	if code := a.run([]string{"presets", "show", "nobody", "--server", s.URL}); code != exitFailed || !strings.Contains(errs.String(), "there is no work policy nobody") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// The posture of levels is allowed unless the operator forbids it.
func TestConfigLevels(t *testing.T) {
	for value, want := range map[string]string{"": "allow", "allow": "allow", "forbid": "forbid"} {
		if c, err := readConfig([]string{"HECATE_TASK_LEVELS_POSTURE=" + value}); err != nil || c.Levels != want {
			t.Errorf("%q: %q, %v", value, c.Levels, err)
		}
	}
	if _, err := readConfig([]string{"HECATE_TASK_LEVELS_POSTURE=never"}); err == nil || !strings.Contains(err.Error(), "HECATE_TASK_LEVELS_POSTURE") {
		t.Errorf("never: %v", err)
	}
}
