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
	Kind        Kind   `json:"kind"`                  // patch_apply, patch_revert, take or restore
	Reach       string `json:"reach,omitempty"`       // the place where the workspace stands, see run.claimed
	ArtifactID  string `json:"artifact_id,omitempty"` // the patch

	Preview bool         `json:"preview,omitempty"` // say what would be done, and do nothing
	Digest  string       `json:"digest,omitempty"`  // of the preview that was looked at: what is done is what it says
	Take    *TakePlan    `json:"take,omitempty"`
	Restore *RestorePlan `json:"restore,omitempty"`
}

// TakePlan is what somebody wants to have of what a run has changed, and how.
type TakePlan struct {
	Paths     []string `json:"paths,omitempty"`     // files, and directories with all below them; none: everything
	Branch    string   `json:"branch,omitempty"`    // a new branch for it; "": the files themselves are changed
	Sensitive bool     `json:"sensitive,omitempty"` // files that make programs run, or say what agents may do, as well
	Markers   bool     `json:"markers,omitempty"`   // texts that conflict get the usual markers, instead of nothing being done
}

// RestorePlan is the moment to which a workspace is to be put back.
type RestorePlan struct {
	Before string `json:"before"`          // the step or operation before which it is to be again
	Force  bool   `json:"force,omitempty"` // also what was changed since by others than the run
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
	Landed  *Landed    `json:"landed,omitempty"`  // of take and restore: what was done, or would be
}

// Landed says what became, or would become, of each file.
type Landed struct {
	Target string `json:"target"`           // the directory
	Branch string `json:"branch,omitempty"` // the new branch
	Commit string `json:"commit,omitempty"` // on it; of a preview the one that it would stand on
	Before string `json:"before,omitempty"` // the snapshot that the changes count from; "" if nothing was changed,
	After  string `json:"after,omitempty"`  // and the one that they lead to
	Digest string `json:"digest"`           // of all that matters for what is done

	Files          []LandedFile `json:"files"` // at most LandedMax
	FilesCount     int64        `json:"files_count"`
	Conflicts      int64        `json:"conflicts,omitempty"`
	Withheld       int64        `json:"withheld,omitempty"`
	NotUndone      []string     `json:"not_undone,omitempty"` // of restore: what no snapshot holds and stays as it is, at most LandedMax
	NotUndoneCount int64        `json:"not_undone_count,omitempty"`
	LeftBehind     []string     `json:"left_behind,omitempty"` // of take: what no snapshot holds and why, at most LandedMax
	Diff           event.Text   `json:"diff,omitzero"`         // unified, of a preview
	DiffCut        bool         `json:"diff_cut,omitempty"`    // the diff goes on
}

// LandedMax is how many files and paths each list of Landed holds.
const LandedMax = 500

// LandedFile is what becomes of one file.
type LandedFile struct {
	Path    string `json:"path"`             // below the directory; quoted as in Go if it is no UTF-8
	Outcome string `json:"outcome"`          // written, merged, deleted, already, conflicted or withheld
	Reason  string `json:"reason,omitempty"` // of a conflict, to be read after the path
	Class   string `json:"class,omitempty"`  // of a file that makes programs run, or says what agents may do: which kind
}

// Texts lists what may move out of the log.
func (c *Completed) Texts() []*event.Text {
	if c.Landed == nil {
		return nil
	}
	return []*event.Text{&c.Landed.Diff}
}

// EventType names the event on the wire.
func (Completed) EventType() string { return "workspace.operation.completed" }

var _ = event.Define(Completed{Outcome: Refused, Fault: fault.KindConflict, Code: "conflict", Message: "the file was changed"})
