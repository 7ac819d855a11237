package permission_test

import (
	"testing"

	"hecate/domain/permission"
)

func TestDecide(t *testing.T) {
	def := permission.Default
	for _, c := range []struct {
		name     string
		policies []permission.Policy
		readOnly bool
		call     permission.Call
		want     permission.Decision
		rule     string
	}{
		{"a command asks by default", def, false, permission.Call{Tool: "shell_exec"}, permission.Ask, "runtime-policy"},
		{"git reading asks with git", def, false, permission.Call{Tool: "git_diff"}, permission.Ask, "runtime-policy"},
		{"an edit asks by default", def, false, permission.Call{Tool: "apply_patch"}, permission.Ask, "runtime-policy"},
		{"reading is silent", def, false, permission.Call{Tool: "read_file"}, permission.Allow, "runtime-policy"},
		{"reading asks if configured", []permission.Policy{permission.PolicyRead}, false, permission.Call{Tool: "grep"}, permission.Ask, "runtime-policy"},
		{"listing asks under all_tools only", []permission.Policy{permission.PolicyRead}, false, permission.Call{Tool: "list_dir"}, permission.Allow, "runtime-policy"},
		{"all_tools asks for everything", []permission.Policy{permission.PolicyAll}, false, permission.Call{Tool: "list_dir"}, permission.Ask, "runtime-policy"},
		{"an empty list asks for nothing", nil, false, permission.Call{Tool: "shell_exec"}, permission.AllowVisibly, "runtime-policy"},
		{"read-only is no question", def, true, permission.Call{Tool: "shell_exec"}, permission.Deny, "sandbox_read_only"},
		{"read-only forbids an edit", nil, true, permission.Call{Tool: "file_edit"}, permission.Deny, "sandbox_read_only"},
		{"read-only allows a proposal", nil, true, permission.Call{Tool: "file_edit", Propose: true}, permission.AllowVisibly, "runtime-policy"},
		{"read-only cannot be approved away", []permission.Policy{permission.PolicyAll}, true, permission.Call{Tool: "file_write"}, permission.Deny, "sandbox_read_only"},
	} {
		v := permission.Decide(c.call, permission.Posture{Policies: c.policies, ReadOnly: c.readOnly})
		if v.Decision != c.want || v.Rule != c.rule {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, v.Decision, v.Rule, c.want, c.rule)
		}
		if v.Decision == permission.Deny && v.Reason == "" {
			t.Errorf("%s: denied without a reason", c.name)
		}
	}
}

func TestParsePolicies(t *testing.T) {
	if p, err := permission.ParsePolicies(""); err != nil || len(p) != 0 {
		t.Errorf("empty: %v, %v", p, err)
	}
	if p, err := permission.ParsePolicies(" git_exec, ,shell_exec,git_exec"); err != nil || len(p) != 2 {
		t.Errorf("list: %v, %v", p, err)
	}
	if _, err := permission.ParsePolicies("shell_exec,rm"); err == nil {
		t.Error("an unknown name is accepted")
	}
}
