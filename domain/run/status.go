package run

// Status is where a run stands.
type Status string

// The states of a run. Completed, failed and cancelled are final.
const (
	StatusQueued           Status = "queued"
	StatusRunning          Status = "running"
	StatusAwaitingApproval Status = "awaiting_approval"
	StatusCompleted        Status = "completed"
	StatusFailed           Status = "failed"
	StatusCancelled        Status = "cancelled"
)

// Terminal reports whether the run has ended for good.
func (s Status) Terminal() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// The kinds of execution.
const (
	KindAgentLoop = "agent_loop"
	KindShell     = "shell"
	KindGit       = "git"
	KindFile      = "file"
)
