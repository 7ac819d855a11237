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

// WorkspaceCopied is recorded when an isolated workspace is ready: what its changes are
// later compared with, and where they can land.
type WorkspaceCopied struct {
	Tree       string `json:"tree"`                  // snapshot of the copy before the run touched it
	Source     string `json:"source"`                // directory that was copied, links resolved
	SourceHead string `json:"source_head,omitempty"` // commit that it was at, of a repository
}

// EventType names the event on the wire.
func (WorkspaceCopied) EventType() string { return "workspace.copied" }

var _ = event.Define(WorkspaceCopied{Tree: "4b825dc6", Source: "/src", SourceHead: "9f2c"})

// WorkspaceTaken is recorded when somebody lands changes of the workspace in its source.
type WorkspaceTaken struct {
	OperationID string      `json:"operation_id"`
	Digest      string      `json:"digest"` // of the changes that were looked at
	Source      string      `json:"source"` // directory
	Branch      string      `json:"branch,omitempty"`
	Commit      string      `json:"commit,omitempty"` // of the branch
	Files       []TakenFile `json:"files"`            // at most 1000
	FileCount   int64       `json:"file_count"`       // of all
}

// TakenFile is one file that landed.
type TakenFile struct {
	Path   string `json:"path"`             // below the source
	Kind   string `json:"kind"`             // add, update or delete
	Before string `json:"before,omitempty"` // id of the content in the copy that the run began with
	After  string `json:"after,omitempty"`  // id of the content in the workspace
}

// EventType names the event on the wire.
func (WorkspaceTaken) EventType() string { return "workspace.taken" }

var _ = event.Define(WorkspaceTaken{
	OperationID: "op_1", Digest: "digest_1", Source: "/src", Branch: "agent/fix", Commit: "1a2b",
	Files: []TakenFile{{Path: "a.txt", Kind: "update", Before: "0a", After: "0b"}}, FileCount: 1,
})
