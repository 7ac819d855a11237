package operation

import (
	"hecate/domain/event"
	"hecate/domain/fault"
)

// Requested is recorded when somebody asks for something to be done to a run's workspace.
type Requested struct {
	OperationID string `json:"operation_id"`
	TaskID      string `json:"task_id"`
	RunID       string `json:"run_id"`
	Kind        Kind   `json:"kind"`            // patch_apply or patch_revert
	Reach       string `json:"reach,omitempty"` // the place where the workspace stands, see run.claimed
	ArtifactID  string `json:"artifact_id,omitempty"`
}

// EventType names the event on the wire.
func (Requested) EventType() string { return "workspace.operation.requested" }

var _ = event.Define(Requested{
	OperationID: "op_1", TaskID: "task_1", RunID: "run_1", Kind: PatchRevert, Reach: "workspaces_1", ArtifactID: "artifact_2",
})

// Begun is recorded right before a worker changes files for an operation. After it a
// worker that takes the operation over compares the files first.
type Begun struct {
	NodeID   string `json:"node_id"`
	Instance string `json:"instance"` // of the worker process
	Epoch    int64  `json:"epoch"`    // of its claim
}

// EventType names the event on the wire.
func (Begun) EventType() string { return "workspace.operation.begun" }

var _ = event.Define(Begun{NodeID: "runtime_1", Instance: "instance_1", Epoch: 7})

// Completed is recorded when an operation is over, in one append with what it adds to the run.
type Completed struct {
	Outcome Outcome    `json:"outcome"`           // done, refused or unknown
	Fault   fault.Kind `json:"fault,omitempty"`   // of what was not done: invalid, conflict, not_found, unprocessable or unavailable
	Code    string     `json:"code,omitempty"`    // of what was not done: its stable name
	Message string     `json:"message,omitempty"` // of what was not done: why, for whoever asked
}

// EventType names the event on the wire.
func (Completed) EventType() string { return "workspace.operation.completed" }

var _ = event.Define(Completed{Outcome: Refused, Fault: fault.KindConflict, Code: "conflict", Message: "the file was changed"})
