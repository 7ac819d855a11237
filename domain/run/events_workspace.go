package run

import "hecate/domain/event"

// WorkspaceChanged is recorded when the files of the workspace are others than before,
// as far as snapshots hold them: after a call, an operation, or where nobody can tell
// by what. Without one nothing has changed.
type WorkspaceChanged struct {
	Before string `json:"before,omitempty"` // the snapshot before
	After  string `json:"after,omitempty"`  // the snapshot of what is there since; "" if there is none, see Problem

	// What changed it; all are "" for what happened between calls, or under a worker that vanished.
	StepID      string `json:"step_id,omitempty"`
	ToolCallID  string `json:"tool_call_id,omitempty"`
	ToolName    string `json:"tool_name,omitempty"`
	OperationID string `json:"operation_id,omitempty"`

	Files      []FileChange `json:"files,omitempty"`       // at most FilesListedMax
	FilesCount int64        `json:"files_count,omitempty"` // all of them
	Problem    string       `json:"problem,omitempty"`     // why no snapshot could be taken; none is from here on
}

// FilesListedMax is how many changed files one event lists.
const FilesListedMax = 100

// FileChange is one file that differs.
type FileChange struct {
	Path string `json:"path"` // below the workspace, or where its changes went; quoted as in Go if it is no UTF-8
	Kind string `json:"kind"` // add, update or delete
}

// EventType names the event on the wire.
func (WorkspaceChanged) EventType() string { return "workspace.changed" }

var _ = event.Define(WorkspaceChanged{
	Before: "1f2e", After: "3d4c", StepID: "step_2", ToolCallID: "c1", ToolName: "shell_exec",
	Files: []FileChange{{Path: "a.go", Kind: "update"}}, FilesCount: 1,
})

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

// WorkspaceTaken is recorded when what a run has changed in its copy was put into the
// directory that the copy was made from, or on a new branch there.
type WorkspaceTaken struct {
	OperationID string `json:"operation_id"`
	Target      string `json:"target"`           // the directory
	Branch      string `json:"branch,omitempty"` // the new branch; "" where the files themselves were changed
	Commit      string `json:"commit,omitempty"` // on the branch
	Before      string `json:"before"`           // the snapshot that the changes count from,
	After       string `json:"after"`            // and the one that they lead to
	Whole       bool   `json:"whole,omitempty"`  // all changes were taken
	FilesCount  int64  `json:"files_count"`      // that were written, merged or deleted

	Files []FileChange `json:"files,omitempty"` // these, below the target, at most FilesListedMax
}

// EventType names the event on the wire.
func (WorkspaceTaken) EventType() string { return "workspace.taken" }

var _ = event.Define(WorkspaceTaken{
	OperationID: "op_1", Target: "/src", Before: "1f2e", After: "3d4c", Whole: true, FilesCount: 2,
	Files: []FileChange{{Path: "a.go", Kind: "update"}, {Path: "b.go", Kind: "delete"}},
})

// WorkspaceRestored is recorded when the workspace was put back to an earlier moment.
type WorkspaceRestored struct {
	OperationID string `json:"operation_id"`
	Before      string `json:"before"` // the step, or the operation, before which the workspace was as it is again
	Snapshot    string `json:"snapshot"`
	FilesCount  int64  `json:"files_count"`
}

// EventType names the event on the wire.
func (WorkspaceRestored) EventType() string { return "workspace.restored" }

var _ = event.Define(WorkspaceRestored{OperationID: "op_1", Before: "step_2", Snapshot: "1f2e", FilesCount: 1})
