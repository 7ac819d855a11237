package run

import "hecate/domain/event"

// FileApplied is recorded when somebody has the change written that a patch proposes.
type FileApplied struct {
	ArtifactID     string `json:"artifact_id"`
	Path           string `json:"path"`            // absolute
	ArtifactStatus string `json:"artifact_status"` // applied
	OperationID    string `json:"operation_id"`
}

// EventType names the event on the wire.
func (FileApplied) EventType() string { return "tool.file.applied" }

var _ = event.Define(FileApplied{ArtifactID: "artifact_2", Path: "/ws/a", ArtifactStatus: "applied", OperationID: "op_1"})

// FileReverted is recorded when somebody has the change of a patch taken back.
type FileReverted struct {
	ArtifactID     string `json:"artifact_id"`
	Path           string `json:"path"`            // absolute
	ArtifactStatus string `json:"artifact_status"` // reverted
	BeforeExisted  bool   `json:"before_existed"`  // the file has its old content again; else it is gone again
	OperationID    string `json:"operation_id"`
}

// EventType names the event on the wire.
func (FileReverted) EventType() string { return "tool.file.reverted" }

var _ = event.Define(FileReverted{ArtifactID: "artifact_2", Path: "/ws/a", ArtifactStatus: "reverted", BeforeExisted: true, OperationID: "op_1"})
