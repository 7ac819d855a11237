package run

import (
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
)

// PermissionChanged says that an entry of a permission file was added or removed for
// this run, or that the attempt failed. The file is the truth; this is its history.
type PermissionChanged struct {
	Change     permission.Change `json:"change"`
	File       string            `json:"file,omitempty"`
	Saved      bool              `json:"saved"`             // false: Problem says why not; a grant then holds for the session only
	Problem    string            `json:"problem,omitempty"` // what went wrong, and what to do about it
	GrantID    string            `json:"grant_id,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"` // of a config_edit
}

// EventType names the event on the wire.
func (PermissionChanged) EventType() string { return "permission.changed" }

var _ = event.Define(PermissionChanged{
	Change: permission.Change{Layer: permission.LayerProject, List: permission.ListPromoted, Text: "exec(cargo) args(*)"},
	File:   "/home/you/project/.hecate/config.toml", Saved: true, GrantID: "grant_1",
})

// PermissionRevoked ends a grant that was given for the session. Runs that go on from
// this one do not have it.
type PermissionRevoked struct {
	GrantID string `json:"grant_id"`
	Scope   string `json:"scope"`
	By      string `json:"by"` // operator
}

// EventType names the event on the wire.
func (PermissionRevoked) EventType() string { return "permission.revoked" }

var _ = event.Define(PermissionRevoked{GrantID: "grant_1", Scope: "exec(cargo) args(*)", By: "operator"})

// Repeat is how a completed attempt looks to the repetition guard. Contents are
// compared by hash (xxhash, 16 hex digits): equality is all that is asked of them.
type Repeat struct {
	Kind    repetition.Kind `json:"kind"`
	Call    string          `json:"call"`              // of tool and arguments
	Result  string          `json:"result"`            // of what came of it
	Content string          `json:"content,omitempty"` // of what has changed in the workspace, after it
}

// ProgressCheckStarted is durable before a fast model is asked whether a repeated call
// makes progress.
type ProgressCheckStarted struct {
	ModelCallIndex int64              `json:"model_call_index,omitempty"` // of the answer that the call belongs to
	ToolCallID     string             `json:"tool_call_id"`
	ToolName       string             `json:"tool_name"`
	Trigger        repetition.Trigger `json:"trigger"`
	Count          int                `json:"count"` // attempts; of a cycle, its length
	Provider       string             `json:"provider,omitempty"`
	Model          string             `json:"model,omitempty"`
	// ReservedPicoUSD is the most that the check may cost, where that is kept free of the
	// task's ceiling. It counts as spent if nobody learns what the check has cost.
	ReservedPicoUSD int64 `json:"reserved_pico_usd,omitempty"`
}

// EventType names the event on the wire.
func (ProgressCheckStarted) EventType() string { return "repetition.check.started" }

var _ = event.Define(ProgressCheckStarted{ModelCallIndex: 3, ToolCallID: "c1", ToolName: "read_file", Trigger: repetition.Unchanged, Count: 2})

// ProgressCheckCompleted is what came of the check, with a bill of its own. It is no
// part of the conversation.
type ProgressCheckCompleted struct {
	ModelCallIndex int64                 `json:"model_call_index,omitempty"`
	ToolCallID     string                `json:"tool_call_id"`
	Assessment     repetition.Assessment `json:"assessment"`
	Observations   []string              `json:"observations,omitempty"` // what the model points to, bounded
	Problem        string                `json:"problem,omitempty"`      // why there is no usable assessment
	Route          Route                 `json:"route,omitzero"`
	Usage          *Usage                `json:"usage,omitempty"`
	Asked          bool                  `json:"asked"` // a request has left that may have cost something
	CostPicoUSD    int64                 `json:"cost_pico_usd"`
	CostKnown      bool                  `json:"cost_known"`
}

// EventType names the event on the wire.
func (ProgressCheckCompleted) EventType() string { return "repetition.check.completed" }

var _ = event.Define(ProgressCheckCompleted{
	ModelCallIndex: 3, ToolCallID: "c1", Assessment: repetition.Loop, Asked: true, CostPicoUSD: 1_000_000, CostKnown: true,
	Observations: []string{"the same file was read twice and had not changed"},
})

// LockWaiting says that an allowed call waits for execution locks. It has not begun,
// and it is decided about again when it has them.
type LockWaiting struct {
	ModelCallIndex int64    `json:"model_call_index,omitempty"`
	ToolCallID     string   `json:"tool_call_id"`
	ToolName       string   `json:"tool_name"`
	Locks          []string `json:"locks"` // all that the call needs, sorted
	Lock           string   `json:"lock"`  // the one that is held
	HeldByRun      string   `json:"held_by_run_id"`
	HeldByStep     string   `json:"held_by_step_id,omitempty"`
}

// EventType names the event on the wire.
func (LockWaiting) EventType() string { return "tool.lock.waiting" }

var _ = event.Define(LockWaiting{ModelCallIndex: 1, ToolCallID: "c1", ToolName: "exec", Locks: []string{"build-output"}, Lock: "build-output", HeldByRun: "run_2", HeldByStep: "step_5"})
