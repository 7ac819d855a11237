package permission

import (
	"fmt"
	"slices"
	"strings"

	"hecate/domain/permission/pattern"
)

// Policy names a family of tools whose calls wait for a person.
type Policy string

// The policies that a server can be configured with.
const (
	PolicyShell   Policy = "shell_exec"
	PolicyGit     Policy = "git_exec"
	PolicyWrite   Policy = "file_write"
	PolicyNetwork Policy = "network_egress"
	PolicyRead    Policy = "read_file"
	PolicyAll     Policy = "all_tools"
)

// Default is the list that holds when none is configured.
var Default = []Policy{PolicyShell, PolicyGit, PolicyWrite}

// families says which policy gates which tool, by canonical name. Tools not named
// here are gated by all_tools only.
var families = map[string]Policy{
	"shell": PolicyShell, "exec": PolicyShell, "background": PolicyShell, "job_kill": PolicyShell,
	"terminal_write": PolicyShell, "terminal_read": PolicyShell, "terminal_wait": PolicyShell,
	"git_exec": PolicyGit, "git_status": PolicyGit, "git_diff": PolicyGit,
	"edit": PolicyWrite, "create": PolicyWrite, "search_replace": PolicyWrite, "apply_patch": PolicyWrite,
	"view": PolicyRead, "grep": PolicyRead, "glob": PolicyRead, "stat": PolicyRead, "blame": PolicyRead,
	"code_intelligence": PolicyRead, "artifact_read": PolicyRead, "read_attachment": PolicyRead, "search_attachment": PolicyRead,
	"http_request": PolicyNetwork, "web_search": PolicyNetwork, "web_fetch": PolicyNetwork,
}

// gates reports which policy, if any, asks before the tool. MCP servers have policies
// of their own.
func (p Posture) gates(tool string) (Policy, bool) {
	if slices.Contains(p.Policies, PolicyAll) && !pattern.IsMCP(tool) {
		return PolicyAll, true
	}
	f, ok := families[pattern.Canonical(tool)]
	return f, ok && slices.Contains(p.Policies, f)
}

// AsksBeforeNetwork reports whether a task with network access waits before it starts.
// A task without tools has no network that could be approved, and in the levels
// posture each call asks for itself.
func (p Posture) AsksBeforeNetwork() bool {
	return !p.ToolsOff && p.name() == PostureRuntime && !p.Flags.Yes && !p.Flags.YesReally && (slices.Contains(p.Policies, PolicyAll) || slices.Contains(p.Policies, PolicyNetwork))
}

// ParsePolicies reads a comma-separated list. An empty list means no gate; an
// unknown name is an error that names it.
func ParsePolicies(list string) ([]Policy, error) {
	var out []Policy
	for name := range strings.SplitSeq(list, ",") {
		switch p := Policy(strings.TrimSpace(name)); p {
		case "":
		case PolicyShell, PolicyGit, PolicyWrite, PolicyNetwork, PolicyRead, PolicyAll:
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		default:
			return nil, fmt.Errorf("unknown approval policy %q: use shell_exec, git_exec, file_write, network_egress, read_file or all_tools", p)
		}
	}
	return out, nil
}
