package projections

// Task is an item of tasks and the answer of a single task. What it says about its
// latest run follows that run.
type Task struct {
	ID                string      `json:"id"`
	Title             string      `json:"title"`
	Prompt            string      `json:"prompt"`
	SystemPrompt      string      `json:"system_prompt,omitempty"`
	ExecutionKind     string      `json:"execution_kind,omitempty"`
	ExecutionProfile  string      `json:"execution_profile,omitempty"`
	ShellCommand      string      `json:"shell_command,omitempty"`
	GitCommand        string      `json:"git_command,omitempty"`
	FileOperation     string      `json:"file_operation,omitempty"`
	FilePath          string      `json:"file_path,omitempty"`
	FileContent       string      `json:"file_content,omitempty"`
	WorkspaceMode     string      `json:"workspace_mode,omitempty"`
	WorkingDirectory  string      `json:"working_directory,omitempty"`
	Repo              string      `json:"repo,omitempty"`
	BaseBranch        string      `json:"base_branch,omitempty"`
	AllowedRoot       string      `json:"sandbox_allowed_root,omitempty"`
	ReadOnly          bool        `json:"sandbox_read_only,omitempty"`
	Network           bool        `json:"sandbox_network,omitempty"`
	TimeoutMS         int64       `json:"timeout_ms,omitempty"` // per command
	Priority          string      `json:"priority,omitempty"`
	RequestedModel    string      `json:"requested_model,omitempty"`
	RequestedProvider string      `json:"requested_provider,omitempty"`
	BudgetMicroUSD    int64       `json:"budget_micros_usd,omitempty"` // the ceiling as it stands now
	MCPServers        []MCPServer `json:"mcp_servers,omitempty"`

	ProjectID              string   `json:"project_id,omitempty"`
	WorkItemID             string   `json:"work_item_id,omitempty"`
	AssignmentID           string   `json:"assignment_id,omitempty"`
	OriginKind             string   `json:"origin_kind,omitempty"` // such as chat
	OriginID               string   `json:"origin_id,omitempty"`
	PresetID               string   `json:"agent_preset_id,omitempty"`
	PresetToolsEnabled     *bool    `json:"agent_preset_tools_enabled,omitempty"`   // shown when explicitly false
	PresetBrowserAllowed   *bool    `json:"agent_preset_browser_allowed,omitempty"` // shown when explicitly false
	PresetBrowserOrigins   []string `json:"agent_preset_browser_allowed_origins,omitempty"`
	PresetApproval         string   `json:"agent_preset_approval_policy,omitempty"` // inherit, require, block or allow
	SystemPromptPolicy     string   `json:"workspace_system_prompt_policy,omitempty"`
	WorkflowMode           string   `json:"workflow_mode,omitempty"`
	WorkflowVersion        string   `json:"workflow_version,omitempty"`
	Status                 string   `json:"status"` // not_started, then that of the latest run
	LatestRunID            string   `json:"latest_run_id,omitempty"`
	LatestModel            string   `json:"latest_model,omitempty"`
	LatestProvider         string   `json:"latest_provider,omitempty"`
	LatestRunStepCount     int64    `json:"latest_run_step_count,omitempty"`
	LatestRunArtifactCount int64    `json:"latest_run_artifact_count,omitempty"`
	PendingApprovalCount   int64    `json:"pending_approval_count,omitempty"`
	LastError              string   `json:"last_error,omitempty"` // of the last run that ended; a completed one clears it
	RootTraceID            string   `json:"root_trace_id,omitempty"`
	LatestTraceID          string   `json:"latest_trace_id,omitempty"`
	LatestRequestID        string   `json:"latest_request_id,omitempty"`
	CreatedAt              string   `json:"created_at,omitempty" format:"date-time"`
	UpdatedAt              string   `json:"updated_at,omitempty" format:"date-time"`
	StartedAt              string   `json:"started_at,omitempty" format:"date-time"`  // of the first run
	FinishedAt             string   `json:"finished_at,omitempty" format:"date-time"` // absent while a run is open

	PresetBrowserInteractions *bool  `json:"agent_preset_browser_interactions_allowed,omitempty"` // shown when explicitly false
	Posture                   string `json:"permission_posture,omitempty"`                        // levels; absent for runtime
}

// MCPServer is one MCP server of a task; values that are no $NAME reference are redacted.
type MCPServer struct {
	Name           string            `json:"name"`
	Command        string            `json:"command,omitempty"`
	Args           []string          `json:"args,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	URL            string            `json:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	ApprovalPolicy string            `json:"approval_policy,omitempty"`
}

// Run is an item of task_runs.
type Run struct {
	ID              string     `json:"id"`
	TaskID          string     `json:"task_id"`
	ProjectID       string     `json:"project_id,omitempty"`
	WorkItemID      string     `json:"work_item_id,omitempty"`
	AssignmentID    string     `json:"assignment_id,omitempty"`
	Number          int64      `json:"number"` // 1, 2, 3 … within the task
	Status          string     `json:"status"`
	Orchestrator    string     `json:"orchestrator,omitempty"`
	WorkflowMode    string     `json:"workflow_mode,omitempty"`
	WorkflowVersion string     `json:"workflow_version,omitempty"`
	Model           string     `json:"model,omitempty"`
	Provider        string     `json:"provider,omitempty"`
	ProviderKind    string     `json:"provider_kind,omitempty"`
	WorkspaceID     string     `json:"workspace_id,omitempty"`
	WorkspacePath   string     `json:"workspace_path,omitempty"`
	WorkspaceGoneAt string     `json:"workspace_removed_at,omitempty" format:"date-time"` // it stands there no more
	StepCount       int64      `json:"step_count,omitempty"`
	ApprovalCount   int64      `json:"approval_count,omitempty"`
	ArtifactCount   int64      `json:"artifact_count,omitempty"`
	ModelCallCount  int64      `json:"model_call_count"`                // answered model calls
	CostMicroUSD    int64      `json:"total_cost_micros_usd,omitempty"` // known cost, see run.MicroUSD
	PriorMicroUSD   int64      `json:"prior_cost_micros_usd,omitempty"` // of the runs that this one goes on from
	CostKnown       bool       `json:"cost_known"`                      // false if some call's cost is not in the total
	LastError       string     `json:"last_error,omitempty"`
	StartedAt       string     `json:"started_at,omitempty" format:"date-time"` // when the run was created
	FinishedAt      string     `json:"finished_at,omitempty" format:"date-time"`
	RequestID       string     `json:"request_id,omitempty"`
	TraceID         string     `json:"trace_id,omitempty"`
	RootSpanID      string     `json:"root_span_id,omitempty"`
	OTelStatus      string     `json:"otel_status_code,omitempty"` // ok or error, once the run has ended
	OTelMessage     string     `json:"otel_status_message,omitempty"`
	SourceRef       *SourceRef `json:"source_ref,omitempty"`
	ScheduleID      string     `json:"schedule_id,omitempty"`
	OccurrenceID    string     `json:"schedule_occurrence_id,omitempty"`
	ScheduledFor    string     `json:"scheduled_for,omitempty"`

	ResumedFrom    string    `json:"resumed_from_run_id,omitempty" doc:"The earlier run of the task that this one follows."`
	ResumeKind     string    `json:"resume_kind,omitempty" doc:"How it follows: retry and nothing is inherited, or resume, continue or branch." enum:"retry,resume,continue,branch"`
	SourceIndex    int64     `json:"source_model_call_index,omitempty" doc:"Of a branch: the model call of the earlier run that is made again."`
	BudgetMicroUSD int64     `json:"budget_micros_usd,omitempty" doc:"The task's cost ceiling that holds for this run and those before it that it goes on from."`
	Warnings       []Warning `json:"warnings,omitempty" doc:"What the operator should know though it does not stop the run."`
	WaitingReason  string    `json:"waiting_reason,omitempty" doc:"Why a queued run cannot be taken: workspace_unreachable until a worker starts that reaches its workspace." enum:"workspace_unreachable"`
	WorkerNode     string    `json:"worker_node,omitempty" doc:"The installation whose worker has the run."`
}

// Warning is something that an operator should know about a run.
type Warning struct {
	Code    string `json:"code" doc:"A word for programs, such as cost_ceiling_unenforceable."`
	Message string `json:"message" doc:"The same for people."`
}

// SourceRef says what asked for a run.
type SourceRef struct {
	Kind          string `json:"kind"` // chat_turn
	ChatSessionID string `json:"chat_session_id"`
	TurnID        string `json:"turn_id"`
	MessageID     string `json:"message_id"`
}

// Step is an item of task_steps: one thing that a run did or waits for.
type Step struct {
	ID           string         `json:"id"`
	TaskID       string         `json:"task_id"`
	RunID        string         `json:"run_id"`
	ParentStepID string         `json:"parent_step_id,omitempty"`
	Index        int64          `json:"index"` // 1, 2, 3 … within the run, without holes
	Kind         string         `json:"kind"`  // model, tool, approval, control, shell, git or file
	Title        string         `json:"title,omitempty"`
	Status       string         `json:"status"` // running, completed, failed, cancelled or awaiting_approval
	Phase        string         `json:"phase,omitempty"`
	Result       string         `json:"result,omitempty"` // success, error or denied
	ToolName     string         `json:"tool_name,omitempty"`
	Outcome      string         `json:"outcome,omitempty" doc:"How the tool call ended. Absent while it runs, and if the run ended before anybody knew." enum:"completed,failed,blocked,refused,cancelled,unknown"`
	Input        map[string]any `json:"input,omitempty"`
	Output       map[string]any `json:"output_summary,omitempty"`
	ExitCode     int64          `json:"exit_code,omitempty"`
	Error        string         `json:"error,omitempty"`
	ErrorKind    string         `json:"error_kind,omitempty"`
	ApprovalID   string         `json:"approval_id,omitempty"`
	StartedAt    string         `json:"started_at,omitempty" format:"date-time"`
	FinishedAt   string         `json:"finished_at,omitempty" format:"date-time"`
	RequestID    string         `json:"request_id,omitempty"`
	TraceID      string         `json:"trace_id,omitempty"`
	SpanID       string         `json:"span_id,omitempty"`
	ParentSpanID string         `json:"parent_span_id,omitempty"`

	Position int64 `json:"-"` // where in the log the step began; orders steps of the same time
}

// Artifact is an item of task_artifacts: a text that a run made.
type Artifact struct {
	ID          string `json:"id"`
	TaskID      string `json:"task_id"`
	RunID       string `json:"run_id"`
	StepID      string `json:"step_id,omitempty"`
	Kind        string `json:"kind"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	StorageKind string `json:"storage_kind,omitempty"` // inline
	Path        string `json:"path,omitempty"`
	ContentText string `json:"content_text,omitempty"`
	ObjectRef   string `json:"object_ref,omitempty"`
	SizeBytes   int64  `json:"size_bytes,omitempty"`
	SHA256      string `json:"sha256,omitempty"` // hex, of the content; absent while it grows
	Status      string `json:"status,omitempty"` // streaming, ready, cancelled, applied, proposed or reverted
	CreatedAt   string `json:"created_at,omitempty" format:"date-time"`
	RequestID   string `json:"request_id,omitempty"`
	TraceID     string `json:"trace_id,omitempty"`
	SpanID      string `json:"span_id,omitempty"`

	Position int64  `json:"-"` // where in the log the artifact began
	Preview  string `json:"-"` // how stdout and stderr begin, also if the content was not asked for
}

// Patch is an item of task_patches: an artifact of kind patch with what can be done to it.
type Patch struct {
	Artifact      Artifact `json:"artifact"`
	Diff          string   `json:"diff"` // the artifact's text
	Status        string   `json:"status"`
	Path          string   `json:"path,omitempty"`
	BeforeExisted bool     `json:"before_existed"`
}

// Activity is one line of a run's time line, made from a step, an artifact, an
// approval, a note or the run's end.
type Activity struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	Status      string         `json:"status,omitempty"`
	Title       string         `json:"title,omitempty"`
	StepID      string         `json:"step_id,omitempty"`
	ArtifactID  string         `json:"artifact_id,omitempty"`
	ApprovalID  string         `json:"approval_id,omitempty"`
	ToolName    string         `json:"tool_name,omitempty"`
	Kind        string         `json:"kind,omitempty"`
	Path        string         `json:"path,omitempty"`
	Summary     map[string]any `json:"summary,omitempty"`
	OccurredAt  string         `json:"occurred_at,omitempty" format:"date-time"`
	Terminal    bool           `json:"terminal,omitempty"`
	NeedsAction bool           `json:"needs_action,omitempty"`
}

// Message is one entry of the conversation artifact.
type Message struct {
	Role       string            `json:"role"` // system, user, assistant or tool
	Content    string            `json:"content"`
	Blocks     []any             `json:"content_blocks,omitempty"`
	ToolCalls  []MessageToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	ToolError  bool              `json:"tool_error,omitempty"`
}

// MessageToolCall is one call in an assistant's message.
type MessageToolCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"` // function
	Function MessageFunction `json:"function"`
}

// MessageFunction names the tool and its arguments as the model wrote them.
type MessageFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
