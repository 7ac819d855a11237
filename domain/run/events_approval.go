package run

import (
	"hecate/domain/event"
	"hecate/domain/permission"
)

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
	RememberIn        string         `json:"remember_in,omitempty"` // the file that an answer for good is written to
	Place             *Place         `json:"place,omitempty"`       // where the calls work, once that is known
}

// PlaceKind says what a workspace is.
type PlaceKind string

// The kinds of workspaces.
const (
	PlaceWorktree PlaceKind = "worktree" // a copy of a directory under git, with its history
	PlaceCopy     PlaceKind = "copy"     // a copy of any other directory
	PlaceClone    PlaceKind = "clone"    // of a repository that is named by its address
	PlaceEmpty    PlaceKind = "empty"    // nothing was there
	PlaceInPlace  PlaceKind = "in_place" // the operator's own directory
)

// Place is where the calls of a run work.
type Place struct {
	Kind   PlaceKind `json:"kind"`
	Path   string    `json:"path,omitempty"`   // of the workspace
	Source string    `json:"source,omitempty"` // the directory or repository that it mirrors; "" for those that mirror nothing
	Ref    string    `json:"ref,omitempty"`    // what is checked out as the question is asked: a branch, or a commit
}

// ApprovalCall is one call of the bundle with the ruling about it, and what a person
// should see and can answer if it asks.
type ApprovalCall struct {
	ToolCallID string            `json:"tool_call_id"`
	ToolName   string            `json:"tool_name"`
	Ruling     Ruling            `json:"ruling"`
	Gates      []permission.Gate `json:"gates,omitempty"`       // all that ask; a yes opens these and no others
	Reason     string            `json:"reason,omitempty"`      // why it asks
	Offer      *permission.Offer `json:"offer,omitempty"`       // what could be remembered so that it would not ask again
	Answers    []string          `json:"answers,omitempty"`     // y a A e n N, as far as they are possible
	Notes      []string          `json:"notes,omitempty"`       // what a person should see beside the call
	Locks      []string          `json:"locks,omitempty"`       // execution locks that it waits for once it is allowed, sorted
	Files      []FileDigest      `json:"files,omitempty"`       // what it runs, as it stands when it is asked about
	Program    string            `json:"program,omitempty"`     // what it starts or acts on, where its arguments do not say it
	ConfigFile string            `json:"config_file,omitempty"` // the permission file that it changes
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
	Scope      string       `json:"scope" erased:"keep"` // once, or the widest of its calls: session or project
	Digest     string       `json:"digest,omitempty"`    // of what was answered
	Continue   bool         `json:"continue,omitempty"`  // a rejection after which the run goes on
	Calls      []CallAnswer `json:"calls,omitempty"`     // decided one by one; a call that is not listed is covered by a yes
}

// CallAnswer is a person's answer to one call of a bundle.
type CallAnswer struct {
	ToolCallID string        `json:"tool_call_id"`
	Decision   string        `json:"decision"`        // approved or denied
	Note       string        `json:"note,omitempty"`  // of a refusal: what the model is told beside it
	Grant      *SessionGrant `json:"grant,omitempty"` // given with a yes for more than this call
	// CoveredBy is the call whose Grant is all that was said about this one: it runs if
	// that covers it, and is asked about again if not.
	CoveredBy string `json:"covered_by,omitempty"`
}

// Scope says for how long the yes is that stands among these answers.
func (c CallAnswer) Scope(among []CallAnswer) string {
	for _, x := range among {
		if x.ToolCallID == c.CoveredBy && x.Grant != nil {
			return x.Grant.scope()
		}
	}
	if c.Grant != nil {
		return c.Grant.scope()
	}
	return ScopeOnce
}

// SessionGrant is what a person gave for the session: the chain of runs that go on
// from each other.
type SessionGrant struct {
	ID       string `json:"id"`
	Scope    string `json:"scope"`              // a pattern, or a host
	Host     bool   `json:"host,omitempty"`     // the scope is a host
	Remember bool   `json:"remember,omitempty"` // to be written into the project's file, too
}

// EventType names the event on the wire.
func (ApprovalResolved) EventType() string { return "approval.resolved" }

var _ = event.Define(ApprovalResolved{ApprovalID: "approval_1", Kind: ApprovalBundle, Decision: "approved", Status: "approved", By: "operator", Scope: "once", Digest: "ab12"})
