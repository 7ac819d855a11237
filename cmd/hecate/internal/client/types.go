package client

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// Task is what somebody wants done.
type Task struct {
	ID                string     `json:"id"`
	Title             string     `json:"title"`
	Prompt            string     `json:"prompt"`
	Status            string     `json:"status"` // not_started, or the status of the latest run
	ExecutionKind     string     `json:"execution_kind"`
	WorkspaceMode     string     `json:"workspace_mode"`
	WorkingDirectory  string     `json:"working_directory"`
	ShellCommand      string     `json:"shell_command"` // what a task without a model does: one of
	GitCommand        string     `json:"git_command"`   // these, or the file
	FileOperation     string     `json:"file_operation"`
	FilePath          string     `json:"file_path"`
	FileContent       string     `json:"file_content"`
	SystemPrompt      string     `json:"system_prompt"`
	Repo              string     `json:"repo"`
	BaseBranch        string     `json:"base_branch"`
	AllowedRoot       string     `json:"sandbox_allowed_root"`
	ReadOnly          bool       `json:"sandbox_read_only"`
	Network           bool       `json:"sandbox_network"`
	TimeoutMS         int64      `json:"timeout_ms"` // of each command
	RequestedModel    string     `json:"requested_model"`
	RequestedProvider string     `json:"requested_provider"`
	LatestRunID       string     `json:"latest_run_id"`
	LatestModel       string     `json:"latest_model"`
	LatestProvider    string     `json:"latest_provider"`
	PendingApprovals  int        `json:"pending_approval_count"`
	BudgetMicroUSD    int64      `json:"budget_micros_usd"`
	LastError         string     `json:"last_error"`
	CreatedAt         *time.Time `json:"created_at"`
	UpdatedAt         *time.Time `json:"updated_at"`
}

// untitled is the title that the server gives to a task without one and without a prompt.
const untitled = "New task"

// Name is what a task is called: by what it does, if nobody gave it a title.
func (t Task) Name() string {
	name := ""
	switch {
	case t.Title != untitled:
	case t.ShellCommand != "":
		name = t.ShellCommand
	case t.GitCommand != "":
		name = "git " + t.GitCommand
	case t.FilePath != "":
		name = t.FileOperation + " " + t.FilePath
	}
	return cmp.Or(strings.TrimSpace(name), t.Title)
}

// NewTask is what a task is created from.
type NewTask struct {
	Prompt           string `json:"prompt"`
	ExecutionKind    string `json:"execution_kind"`
	WorkspaceMode    string `json:"workspace_mode"` // ephemeral or in_place
	WorkingDirectory string `json:"working_directory,omitempty"`
	Repo             string `json:"repo,omitempty"`        // what is cloned instead
	BaseBranch       string `json:"base_branch,omitempty"` // or a tag or commit
	ExecutionProfile string `json:"execution_profile,omitempty"`
	TimeoutMS        int64  `json:"timeout_ms,omitempty"` // of each command
	Model            string `json:"requested_model,omitempty"`
	Provider         string `json:"requested_provider,omitempty"`
	BudgetMicroUSD   int64  `json:"budget_micros_usd,omitempty"`  // 0 for no ceiling
	Posture          string `json:"permission_posture,omitempty"` // levels or runtime; "" is the server's choice
}

// Run is one attempt at a task.
type Run struct {
	ID             string     `json:"id"`
	TaskID         string     `json:"task_id"`
	Number         int        `json:"number"`
	Status         string     `json:"status"`
	Model          string     `json:"model"`
	Provider       string     `json:"provider"`
	WorkspacePath  string     `json:"workspace_path"`
	ModelCallCount int        `json:"model_call_count"`
	CostMicroUSD   int64      `json:"total_cost_micros_usd"`
	CostKnown      *bool      `json:"cost_known"` // nil: the server does not say
	LastError      string     `json:"last_error"`
	StartedAt      *time.Time `json:"started_at"`
	FinishedAt     *time.Time `json:"finished_at"`
	ResumedFrom    string     `json:"resumed_from_run_id"`     // the earlier run that this one follows
	ResumeKind     string     `json:"resume_kind"`             // retry, resume, continue or branch
	SourceIndex    int64      `json:"source_model_call_index"` // of a branch: the call that is made again
	PriorMicroUSD  int64      `json:"prior_cost_micros_usd"`   // of the runs that this one goes on from
	Warnings       []Warning  `json:"warnings"`
	WaitingReason  string     `json:"waiting_reason"` // workspace_unreachable, or ""
}

// Warning is something that an operator should know about a run.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Known reports whether the run's cost is all that it cost.
func (r Run) Known() bool {
	if r.CostKnown == nil {
		return r.CostMicroUSD > 0
	}
	return *r.CostKnown
}

// Terminal reports whether a run with this status has ended for good.
func Terminal(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// Approval is a question to a person, and its answer once there is one.
type Approval struct {
	ID                string     `json:"id"`
	TaskID            string     `json:"task_id"`
	RunID             string     `json:"run_id"`
	Kind              string     `json:"kind"`
	Status            string     `json:"status"` // pending, approved, rejected or cancelled
	Reason            string     `json:"reason"`
	Summary           []string   `json:"action_summary"`
	SummaryIncomplete bool       `json:"action_summary_incomplete"`
	ResolvedBy        string     `json:"resolved_by"`
	CreatedAt         *time.Time `json:"created_at"`
}

// Artifact is something that a run left behind.
type Artifact struct {
	ID      string `json:"id"`
	RunID   string `json:"run_id"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Status  string `json:"status"`
	Content string `json:"content_text"`
}

// Patch is one file's change.
type Patch struct {
	Artifact Artifact `json:"artifact"`
	Diff     string   `json:"diff"`
	Status   string   `json:"status"` // applied, proposed or reverted
	Path     string   `json:"path"`

	BeforeExisted bool `json:"before_existed"` // the file was there before the change
}

// Event is one fact of the log, as the public feed shows it.
type Event struct {
	EventID    string          `json:"event_id"`
	TaskID     string          `json:"task_id"`
	RunID      string          `json:"run_id"`
	Sequence   int64           `json:"sequence"`
	OccurredAt time.Time       `json:"occurred_at"`
	Type       string          `json:"type"`
	Data       json.RawMessage `json:"data"`
	Actor      Actor           `json:"actor"`
	CausedBy   int64           `json:"caused_by"` // sequence of the newest event that it was decided on, 0 for none
	ErasedBy   int64           `json:"erased_by"` // sequence of the event that says so, 0 for none

	Raw json.RawMessage `json:"-"` // the envelope as it came
}

// Actor is who caused an event.
type Actor struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Org      string `json:"org"`
	Verified *bool  `json:"verified"` // whether a token proved it; nil for what the server does by itself
}

// UnmarshalJSON reads the envelope and keeps it.
func (e *Event) UnmarshalJSON(b []byte) error {
	type plain Event
	if err := json.Unmarshal(b, (*plain)(e)); err != nil {
		return err
	}
	e.Raw = append(json.RawMessage(nil), b...)
	return nil
}

// Projection is the state of one read model.
type Projection struct {
	Name       string `json:"name"`
	Position   int64  `json:"position"` // what it has read
	Head       int64  `json:"head"`     // what there is to read
	Lag        int64  `json:"lag"`
	Parked     int64  `json:"parked"` // streams set aside because an event could not be read
	Rebuilding bool   `json:"rebuilding"`
	Trouble    string `json:"trouble"` // of a target outside: why nothing is sent
}
