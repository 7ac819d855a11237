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
	Kind        Kind   `json:"kind"`            // patch_apply, patch_revert, changes or take
	Reach       string `json:"reach,omitempty"` // the place where the workspace stands, see run.claimed
	ArtifactID  string `json:"artifact_id,omitempty"`

	Paths     []string `json:"paths,omitempty"`     // of a take: these files only, and those in these directories
	Sensitive bool     `json:"sensitive,omitempty"` // of a take: files that can make others run programs as well
	Branch    string   `json:"branch,omitempty"`    // of a take: a new branch in the source repository; empty for its directory
	Expect    string   `json:"expect,omitempty"`    // of a take: digest of the changes that were looked at
	Message   string   `json:"message,omitempty"`   // of a take to a branch: of the commit
}

// EventType names the event on the wire.
func (Requested) EventType() string { return "workspace.operation.requested" }

var _ = event.Define(Requested{
	OperationID: "op_1", TaskID: "task_1", RunID: "run_1", Kind: PatchRevert, Reach: "workspaces_1", ArtifactID: "artifact_2",
	Paths: []string{"src"}, Sensitive: true, Branch: "agent/fix", Expect: "digest_1", Message: "Fix it",
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

	Changes *ChangeSet `json:"changes,omitempty"` // of changes and take
	Diff    event.Text `json:"diff,omitzero"`     // of changes: unified, cut at a bound
}

// EventType names the event on the wire.
func (Completed) EventType() string { return "workspace.operation.completed" }

// Texts lists what may move out of the log.
func (c *Completed) Texts() []*event.Text { return []*event.Text{&c.Diff} }

var _ = event.Define(Completed{
	Outcome: Done, Fault: fault.KindConflict, Code: "conflict", Message: "the file was changed",
	Changes: &ChangeSet{
		Digest: "digest_1", Source: "/src", SourceHead: "9f2c", Files: []File{{Path: "a.txt", Kind: "update", Size: 3, Binary: true, Sensitive: "hooks", Moved: true, Conflict: "both changed it"}},
		Unread: []string{"big.bin is too large"}, DiffCut: true, Branch: "agent/fix", Commit: "1a2b",
	},
	Diff: event.NewText("--- a/a.txt\n+++ b/a.txt\n"),
})

// ChangeSet is what a workspace has that the copy that it began as had not.
type ChangeSet struct {
	Digest     string   `json:"digest"`                // names exactly these changes
	Source     string   `json:"source"`                // directory that the workspace is a copy of
	SourceHead string   `json:"source_head,omitempty"` // commit that the source was at when it was copied
	Files      []File   `json:"files"`                 // by path; of a take: those that landed
	Unread     []string `json:"unread,omitempty"`      // what could not be looked at, and why
	DiffCut    bool     `json:"diff_cut,omitempty"`    // the diff is not whole

	Branch string `json:"branch,omitempty"` // of a take to a branch
	Commit string `json:"commit,omitempty"` // of a take to a branch
}

// Moved reports whether the source has moved on in a file of the set.
func (c *ChangeSet) Moved() bool {
	for _, f := range c.Files {
		if f.Moved {
			return true
		}
	}
	return false
}

// File is one file that differs.
type File struct {
	Path      string `json:"path"` // below the workspace; bytes that are no UTF-8 are replaced
	Kind      string `json:"kind"` // add, update or delete
	Size      int64  `json:"size"` // bytes of the new content, of the old one of a delete
	Binary    bool   `json:"binary,omitempty"`
	Sensitive string `json:"sensitive,omitempty"` // class of files that can make others run programs, or say what agents may do
	Moved     bool   `json:"moved,omitempty"`     // the source is no longer what was copied
	Conflict  string `json:"conflict,omitempty"`  // why it cannot land in the source's directory as that is
}
