package run

import (
	"cmp"

	"hecate/domain/event"
	"hecate/domain/trace"
)

// Orchestrator is the value of every lifecycle event's kind: this runtime's own loop.
const Orchestrator = "builtin"

// Route is the provider and model of a run, as far as they are known.
type Route struct {
	Model        string `json:"model,omitempty"`
	Provider     string `json:"provider,omitempty"`
	ProviderKind string `json:"provider_kind,omitempty"` // cloud or local
}

// Created opens a run. It freezes what the run may do, so that later changes of
// the task or of the server's settings do not reach a run that has begun.
type Created struct {
	TaskID         string `json:"task_id"`
	Number         int64  `json:"number"` // 1, 2, 3 … within the task
	Status         Status `json:"status"` // queued, or awaiting_approval if a gate stands before it
	Kind           string `json:"kind"`
	Route          Route  `json:"route,omitzero"`
	ModelCallsMax  int64  `json:"model_calls_max,omitempty"`   // 0 for direct runs
	BudgetMicroUSD int64  `json:"budget_micros_usd,omitempty"` // the task's ceiling, 0 for none
	PriorPicoUSD   int64  `json:"prior_cost_pico_usd,omitempty"`
	// PriorHeldPicoUSD is what earlier runs had reserved for calls whose cost nobody knows.
	PriorHeldPicoUSD int64   `json:"prior_held_pico_usd,omitempty"`
	Source           *Source `json:"source,omitempty"`         // the earlier run that this one follows
	WorkspacePath    string  `json:"workspace_path,omitempty"` // inherited from it
	Reach            string  `json:"reach,omitempty"`          // where that workspace stands, see Claimed
	Spec             Spec    `json:"spec"`
	// Ahead are the answers that the run was opened with; Session what was given in the
	// runs that it goes on from.
	Ahead      Ahead          `json:"ahead,omitzero"`
	Session    []SessionGrant `json:"session_grants,omitempty"`
	RequestID  string         `json:"request_id,omitempty"`
	TraceID    string         `json:"trace_id,omitempty"`
	RootSpanID string         `json:"root_span_id,omitempty"`
	TraceFlags string         `json:"trace_flags,omitempty"` // W3C; "" is 01: somebody keeps the trace
	trace.Carried
}

// Spec is what a run works on: the part of its task that execution needs.
type Spec struct {
	ExecutionKind    string     `json:"execution_kind"` // agent_loop, shell, git or file
	Prompt           event.Text `json:"prompt,omitzero"`
	SystemPrompt     event.Text `json:"system_prompt,omitzero"`
	ShellCommand     event.Text `json:"shell_command,omitzero"`
	GitCommand       event.Text `json:"git_command,omitzero"`
	FileOperation    string     `json:"file_operation,omitempty"`
	FilePath         string     `json:"file_path,omitempty"`
	FileContent      event.Text `json:"file_content,omitzero"`
	WorkspaceMode    string     `json:"workspace_mode,omitempty"`
	WorkingDirectory string     `json:"working_directory,omitempty"`
	Repo             string     `json:"repo,omitempty"`
	BaseBranch       string     `json:"base_branch,omitempty"`
	AllowedRoot      string     `json:"sandbox_allowed_root,omitempty"`
	ReadOnly         bool       `json:"sandbox_read_only,omitempty"`
	Network          bool       `json:"sandbox_network,omitempty"`
	TimeoutMS        int64      `json:"timeout_ms,omitempty"`  // per command; 0 means the runtime's default
	RTK              bool       `json:"rtk_enabled,omitempty"` // shells are run through rtk where that is installed
	ExcludeGuidance  bool       `json:"exclude_guidance,omitempty"`

	// What decides about the run's calls, frozen on its task.
	Posture string  `json:"posture,omitempty"` // runtime or levels, see package permission; "" is runtime
	Preset  *Preset `json:"preset,omitempty"`  // of the work policy that the task was made from; nil without one

	Reuse *Reuse `json:"workspace_reuse,omitempty"` // nil: the run works in a workspace of its task's own
}

// Reuse is the isolated workspace of an earlier task, in which another one goes on as it
// stands: managed reuse. Source: agent runtime text, "Workspace modes".
type Reuse struct {
	TaskID string `json:"task_id"` // the task that it was made for
	RunID  string `json:"run_id"`  // the last run that worked in it before
	Path   string `json:"path"`
	Reach  string `json:"reach,omitempty"` // where it stands, see Claimed
}

// Preset is what a task keeps of the work policy that it was made from. Later changes
// of the policy do not reach it.
type Preset struct {
	ID                  string   `json:"id"`
	ToolsEnabled        bool     `json:"tools_enabled"`                  // false: no tool is offered, none may run
	NetworkAllowed      bool     `json:"network_allowed"`                // false: nothing that uses the network may run
	Approval            string   `json:"approval"`                       // inherit, allow, require or block; any other text counts as require
	BrowserAllowed      bool     `json:"browser_allowed,omitempty"`      // browser_inspect may ask
	BrowserInteractions bool     `json:"browser_interactions,omitempty"` // browser_flow may ask
	BrowserOrigins      []string `json:"browser_origins,omitempty"`      // exact ones, normalized
}

// Place is where the run belongs: in the trace of the request that opened it, below that
// request's span, or in a trace of its own. eventID is that of the event.
func (e Created) Place(eventID [16]byte) trace.Parent {
	if e.TraceID == "" {
		return trace.Parent{TraceID: trace.ID(eventID), Flags: trace.FlagsSampled}
	}
	return trace.Parent{TraceID: e.TraceID, SpanID: e.RootSpanID, Flags: cmp.Or(e.TraceFlags, trace.FlagsSampled)}
}

// EventType names the event on the wire.
func (Created) EventType() string { return "run.created" }

// Texts lists what may move out of the log.
func (e *Created) Texts() []*event.Text {
	s := &e.Spec
	return []*event.Text{&s.Prompt, &s.SystemPrompt, &s.ShellCommand, &s.GitCommand, &s.FileContent}
}

var _ = event.Define(Created{
	TaskID: "task_1", Number: 1, Status: StatusQueued, Kind: Orchestrator,
	Spec: Spec{ExecutionKind: KindAgentLoop, Prompt: event.NewText("fix the test")},
})

// Queued places a run before the workers. Resume says that it had begun already.
type Queued struct {
	Kind   string `json:"kind"`
	Route  Route  `json:"route,omitzero"`
	Resume bool   `json:"resume,omitempty"`
}

// EventType names the event on the wire.
func (Queued) EventType() string { return "run.queued" }

var _ = event.Define(Queued{Kind: Orchestrator})

// Started is recorded when a worker begins, or goes on, to execute the run.
type Started struct {
	Kind          string      `json:"kind"`
	Route         Route       `json:"route,omitzero"`
	WorkspaceID   string      `json:"workspace_id,omitempty"`
	WorkspacePath string      `json:"workspace_path,omitempty"`
	WorkerID      string      `json:"worker_id,omitempty"`
	Resume        *ResumeFrom `json:"resume,omitempty"` // nil for the first start of a plain run
}

// ResumeFrom says what a start goes on from.
type ResumeFrom struct {
	RunID          string   `json:"run_id"` // the run's own id after an approval or a crash
	StepID         string   `json:"step_id,omitempty"`
	Sequence       int64    `json:"sequence,omitempty"`         // position in the log of the last event before
	ModelCallIndex int64    `json:"model_call_index,omitempty"` // of the pending answer, in this run
	SourceRunID    string   `json:"source_run_id,omitempty"`    // of an inherited one: the run whose model gave it,
	SourceIndex    int64    `json:"source_model_call_index,omitempty"`
	Reason         string   `json:"reason,omitempty"`     // why an operator wanted a run to go on
	Approved       bool     `json:"approved,omitempty"`   // an approval lets the pending calls go
	ToolCalls      int64    `json:"tool_calls,omitempty"` // calls of the pending bundle
	Tools          []string `json:"tools,omitempty"`      // names of those still to run
}

// EventType names the event on the wire.
func (Started) EventType() string { return "run.started" }

var _ = event.Define(Started{Kind: Orchestrator, WorkspacePath: "/tmp/hecate-workspaces/task_1/run_1"})

// AwaitingApproval parks the run until a person decides. No worker holds it meanwhile.
type AwaitingApproval struct {
	Status Status `json:"status,omitempty"` // only for a gate before execution
	Kind   string `json:"kind,omitempty"`
}

// EventType names the event on the wire.
func (AwaitingApproval) EventType() string { return "run.awaiting_approval" }

var _ = event.Define(AwaitingApproval{})

// Finished ends a run well.
type Finished struct {
	FinalStatus    Status `json:"final_status"`
	ModelCallCount int64  `json:"model_call_count"`
}

// EventType names the event on the wire.
func (Finished) EventType() string { return "run.finished" }

var _ = event.Define(Finished{FinalStatus: StatusCompleted, ModelCallCount: 2})

// Failed ends a run that could not do what was asked.
type Failed struct {
	Code           string `json:"code"` // always run_failed on the wire; Reason is the machine's word
	Message        string `json:"message"`
	Retriable      bool   `json:"retriable"`
	ModelCallCount int64  `json:"model_call_count"`
	Reason         string `json:"reason,omitempty"` // such as max_model_calls_exceeded
}

// EventType names the event on the wire.
func (Failed) EventType() string { return "run.failed" }

var _ = event.Define(Failed{Code: "run_failed", Message: "exit status 7"})

// Cancelled ends a run because somebody said so.
type Cancelled struct {
	By     string `json:"by"`     // operator
	Reason string `json:"reason"` // the run's last error, such as "run cancelled: wrong branch"
}

// EventType names the event on the wire.
func (Cancelled) EventType() string { return "run.cancelled" }

var _ = event.Define(Cancelled{By: "operator", Reason: "run cancelled"})

// TaskUpdated tells followers of the run that its task changed with it.
type TaskUpdated struct{}

// EventType names the event on the wire.
func (TaskUpdated) EventType() string { return "task.updated" }

var _ = event.Define(TaskUpdated{})

// Disconnected marks a gap: the run's worker vanished and the run goes on from its log.
type Disconnected struct {
	Reason           string `json:"reason"` // boot_reconcile, worker_lease_expired or workspace_unreachable
	Action           string `json:"action"` // requeued, or waiting: no live worker reaches the run's workspace
	Message          string `json:"message,omitempty"`
	PriorStatus      Status `json:"prior_status"`
	RecoveredStatus  Status `json:"recovered_status"`
	RecoveryStrategy string `json:"recovery_strategy"` // requeue or periodic_requeue
	StaleThresholdMS int64  `json:"stale_threshold_ms,omitempty"`
}

// What follows a gap.
const (
	ActionRequeued = "requeued" // the run stands before the workers again
	ActionWaiting  = "waiting"  // until a worker starts that reaches the run's workspace
)

// EventType names the event on the wire.
func (Disconnected) EventType() string { return "gap.run_disconnected" }

var _ = event.Define(Disconnected{
	Reason: "boot_reconcile", Action: ActionRequeued, PriorStatus: StatusRunning,
	RecoveredStatus: StatusQueued, RecoveryStrategy: "requeue",
})

// ExternalEvent is what a caller added to a run. It stands in a stream of its own
// ("external-<run>") and moves nothing in the run.
type ExternalEvent struct {
	RunID  string         `json:"run_id"`
	TaskID string         `json:"task_id"`
	Type   string         `json:"type"` // as the caller named it
	Data   map[string]any `json:"data"`
}

// EventType names the event on the wire. The public feed shows Type instead.
func (ExternalEvent) EventType() string { return "external.event" }

var _ = event.Define(ExternalEvent{RunID: "run_1", TaskID: "task_1", Type: "external.event", Data: map[string]any{"note": "seen"}})
