// Package permission decides for every tool call whether it runs silently,
// visibly, after a person's yes, or not at all. The decision is one pure function
// of the call and of the posture; what it says stands in the log with the call.
//
// This is the runtime posture: the list of policies (HECATE_TASK_APPROVAL_POLICIES)
// is the whole gate, under hard limits that nobody can approve away.
package permission

import (
	"fmt"
	"slices"
	"strings"
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

// families says which policy gates which tool. Tools not named here are gated by all_tools only.
var families = map[string]Policy{
	"shell_exec": PolicyShell, "terminal_open": PolicyShell, "terminal_write": PolicyShell,
	"terminal_read": PolicyShell, "terminal_wait": PolicyShell, "terminal_kill": PolicyShell,
	"git_exec": PolicyGit, "git_status": PolicyGit, "git_diff": PolicyGit,
	"file_write": PolicyWrite, "file_edit": PolicyWrite, "apply_patch": PolicyWrite,
	"read_file": PolicyRead, "grep": PolicyRead, "glob": PolicyRead,
	"code_intelligence": PolicyRead, "artifact_read": PolicyRead,
	"http_request": PolicyNetwork, "web_search": PolicyNetwork,
	"shell": PolicyShell, "git": PolicyGit, "file": PolicyWrite, // direct runs
}

// levels is how much a tool can do: 0 silent, 1 visible, 2 asks in the levels posture.
var levels = map[string]int{
	"read_file": 0, "list_dir": 0, "glob": 0, "grep": 0, "artifact_read": 0, "code_intelligence": 0,
	"git_status": 0, "git_diff": 0,
	"file_write": 1, "file_edit": 1, "apply_patch": 1,
}

// removedWhenReadOnly are tools that cannot promise to change nothing.
var removedWhenReadOnly = []string{
	"shell_exec", "git_exec", "file_write",
	"terminal_open", "terminal_write", "terminal_read", "terminal_wait", "terminal_kill",
}

// proposeWhenReadOnly are tools that may still propose a change in a read-only task.
var proposeWhenReadOnly = []string{"file_edit", "apply_patch"}

// Decision is what happens to a call.
type Decision string

// The decisions, from quiet to never.
const (
	Allow        Decision = "allow"
	AllowVisibly Decision = "allow_visibly"
	Ask          Decision = "ask"
	Deny         Decision = "deny"
)

// Call is what the decision may look at.
type Call struct {
	Tool    string
	Propose bool // the call only proposes a change
}

// Posture is what the decision is made under.
type Posture struct {
	Policies []Policy // the runtime policies of this server
	ReadOnly bool     // the task's sandbox_read_only
}

// Verdict is a decision with its reasons.
type Verdict struct {
	Decision Decision
	Level    int
	Layer    string // hard_limit, gate or default
	Rule     string // what decided, such as runtime-policy
	Policy   string // for a denial: the contract's policy name
	Reason   string
}

// PostureRuntime is the name of the posture that this package knows.
const PostureRuntime = "runtime"

// Decide rules over one call. Hard limits come first and cannot be approved.
func Decide(c Call, p Posture) Verdict {
	level, known := levels[c.Tool]
	if !known {
		level = 2
	}
	if v, denied := hardLimit(c, p, level); denied {
		return v
	}
	if gate, asks := p.gates(c.Tool); asks {
		return Verdict{Decision: Ask, Level: level, Layer: "gate", Rule: "runtime-policy", Reason: fmt.Sprintf("policy %s asks before %s", gate, c.Tool)}
	}
	d := Allow
	if level > 0 {
		d = AllowVisibly
	}
	return Verdict{Decision: d, Level: level, Layer: "default", Rule: "runtime-policy"}
}

func hardLimit(c Call, p Posture, level int) (Verdict, bool) {
	if !p.ReadOnly {
		return Verdict{}, false
	}
	v := Verdict{Decision: Deny, Level: level, Layer: "hard_limit", Rule: "sandbox_read_only", Policy: "sandbox_read_only"}
	switch {
	case slices.Contains(removedWhenReadOnly, c.Tool):
		v.Reason = "the task is read-only; use the reading tools, or propose a patch with file_edit or apply_patch"
	case slices.Contains(proposeWhenReadOnly, c.Tool) && !c.Propose:
		v.Reason = "the task is read-only; call it again with propose=true"
	default:
		return Verdict{}, false
	}
	return v, true
}

// gates reports which policy, if any, asks before the tool.
func (p Posture) gates(tool string) (Policy, bool) {
	if slices.Contains(p.Policies, PolicyAll) {
		return PolicyAll, true
	}
	f, ok := families[tool]
	return f, ok && slices.Contains(p.Policies, f)
}

// Offered reports whether the tool stands in the catalogue that the model sees.
func (p Posture) Offered(tool string) bool {
	return !p.ReadOnly || !slices.Contains(removedWhenReadOnly, tool)
}

// AsksBeforeNetwork reports whether a task with network access waits before it starts.
func (p Posture) AsksBeforeNetwork() bool {
	return slices.Contains(p.Policies, PolicyAll) || slices.Contains(p.Policies, PolicyNetwork)
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
