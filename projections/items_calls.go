package projections

// The states of a call.
const (
	CallNotStarted = "not_started" // nothing ran so far, or ever will if the run has ended
	CallRunning    = "running"
	CallFinished   = "finished" // its outcome is known; blocked and refused calls never ran
	CallUnknown    = "unknown"  // its effect may have happened
)

// Call is one call of a tool that a run's model asked for, that the run inherited
// without an outcome from an earlier one, or that a direct run consists of.
type Call struct {
	ToolCallID      string `json:"tool_call_id" doc:"As the model named it; of a direct run the id of its step."`
	ToolName        string `json:"tool_name" doc:"The tool; of a direct run shell, git or file."`
	ModelCallIndex  int64  `json:"model_call_index,omitempty" doc:"The model call of this run that asked for it."`
	SourceRunID     string `json:"source_run_id,omitempty" doc:"Of an inherited call: the earlier run whose model asked for it."`
	SourceIndex     int64  `json:"source_model_call_index,omitempty" doc:"The model call of that run."`
	State           string `json:"state" doc:"How far it has come; unknown means that its effect may have happened." enum:"not_started,running,finished,unknown"`
	Outcome         string `json:"outcome,omitempty" doc:"How it ended, once that is known." enum:"completed,failed,blocked,refused,cancelled,unknown"`
	StepID          string `json:"step_id,omitempty" doc:"The step that shows it; absent before it starts."`
	StepRunID       string `json:"step_run_id,omitempty" doc:"The earlier run in which that step stands, of a call that had ended before this run began."`
	OperatorOutcome string `json:"operator_outcome,omitempty" doc:"What an operator found out about a call whose outcome was unknown." enum:"done,not_done"`
}

// RunStats counts the runs that have not ended.
type RunStats struct {
	Queued               int64 `json:"queued_runs" doc:"Runs that wait for a worker."`
	Running              int64 `json:"running_runs" doc:"Runs that a worker executes."`
	AwaitingApproval     int64 `json:"awaiting_approval_runs" doc:"Runs that wait for a person."`
	OldestQueuedSeconds  int64 `json:"oldest_queued_age_seconds" doc:"How long the run that has been queued longest has been so."`
	OldestRunningSeconds int64 `json:"oldest_running_age_seconds" doc:"How long the run that has been running longest has been so."`
	WaitingWorkspace     int64 `json:"waiting_workspace_runs" doc:"Those of the queued runs whose workspace no live worker reaches."`
}
