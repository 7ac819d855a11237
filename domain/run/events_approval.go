package run

import "hecate/domain/event"

// ApprovalKind says what stands before the gate.
type ApprovalKind string

// The kinds of approval.
const (
	ApprovalShell   ApprovalKind = "shell_command"
	ApprovalGit     ApprovalKind = "git_exec"
	ApprovalFile    ApprovalKind = "file_write"
	ApprovalNetwork ApprovalKind = "network_egress"
	ApprovalBundle  ApprovalKind = "agent_loop_tool_call" // a bundle of tool calls inside the loop
)

// ApprovalRequested asks a person. Digest names exactly what is asked for; a yes
// covers that and nothing else, once, in this run.
type ApprovalRequested struct {
	ApprovalID        string         `json:"approval_id"`
	Kind              ApprovalKind   `json:"kind"`
	Status            string         `json:"status"` // pending
	PolicyReason      string         `json:"policy_reason"`
	StepID            string         `json:"step_id,omitempty"` // gates inside the loop
	RequestedBy       string         `json:"requested_by,omitempty"`
	ModelCallIndex    int64          `json:"model_call_index,omitempty"`
	SourceRunID       string         `json:"source_run_id,omitempty"` // of an inherited bundle: the run whose model asked for it,
	SourceIndex       int64          `json:"source_model_call_index,omitempty"`
	Digest            string         `json:"digest"` // hex SHA-256, see BundleDigest
	Calls             []ApprovalCall `json:"calls,omitempty"`
	Summary           []string       `json:"action_summary,omitempty"`
	SummaryIncomplete bool           `json:"action_summary_incomplete,omitempty"`
}

// ApprovalCall is one call of the bundle with the ruling about it.
type ApprovalCall struct {
	ToolCallID string `json:"tool_call_id"`
	ToolName   string `json:"tool_name"`
	Ruling     Ruling `json:"ruling"`
}

// EventType names the event on the wire.
func (ApprovalRequested) EventType() string { return "approval.requested" }

var _ = event.Define(ApprovalRequested{
	ApprovalID: "approval_1", Kind: ApprovalBundle, Status: "pending", PolicyReason: "Agent requested tools that require approval: shell_exec",
	StepID: "step_2", ModelCallIndex: 1, Digest: "ab12",
	Calls: []ApprovalCall{{ToolCallID: "c1", ToolName: "shell_exec", Ruling: Ruling{Decision: "ask", Level: 2, Layer: "gate", Rule: "runtime-policy", Posture: "runtime"}}},
})

// ApprovalResolved is the answer.
type ApprovalResolved struct {
	ApprovalID string       `json:"approval_id"`
	Kind       ApprovalKind `json:"kind"`
	Decision   string       `json:"decision"` // approved, rejected or cancelled
	Status     string       `json:"status"`   // the same
	By         string       `json:"by"`       // operator, or system when the run was cancelled
	Comment    string       `json:"comment"`
	Scope      string       `json:"scope"`            // once
	Digest     string       `json:"digest,omitempty"` // of what was approved
}

// EventType names the event on the wire.
func (ApprovalResolved) EventType() string { return "approval.resolved" }

var _ = event.Define(ApprovalResolved{ApprovalID: "approval_1", Kind: ApprovalBundle, Decision: "approved", Status: "approved", By: "operator", Scope: "once", Digest: "ab12"})
