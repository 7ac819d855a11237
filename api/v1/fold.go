package v1

import (
	"context"

	"hecate/api/request"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/projections"
)

// What follows makes an item from the fold that a command decided on. It is the
// answer when the read models are late, and it says what the command did when they
// are already further.

// asOf is base as the run was at s. Base may be the zero item.
func asOf(s *run.State, base projections.Run) projections.Run {
	base.ID, base.TaskID, base.Number, base.Orchestrator = s.ID, s.TaskID, s.Number, run.Orchestrator
	base.Status, base.ModelCallCount = string(s.Status), s.CallsDone
	base.CostMicroUSD, base.PriorMicroUSD, base.CostKnown = run.MicroUSD(s.SpentPicoUSD), run.MicroUSD(s.PriorPicoUSD), s.CostKnown
	base.StepCount, base.WorkspacePath = s.Steps, s.WorkspacePath
	base.Model, base.Provider, base.ProviderKind = s.Route.Model, s.Route.Provider, s.Route.ProviderKind
	base.BudgetMicroUSD = s.BudgetMicroUSD
	if s.Source != nil {
		base.ResumedFrom, base.ResumeKind, base.SourceIndex = s.Source.RunID, string(s.Source.Kind), s.Source.ModelCallIndex
	}
	if s.Status == run.StatusQueued {
		base.WaitingReason, base.WorkerNode = "", ""
	}
	if !s.Status.Terminal() {
		base.FinishedAt, base.LastError, base.OTelStatus, base.OTelMessage = "", "", "", ""
	}
	return base
}

// taskItem is a task without runs.
func taskItem(ctx context.Context, id string, s task.State) projections.Task {
	d := s.Definition
	out := projections.Task{
		ID: id, Status: "not_started", Title: d.Title, Prompt: d.Prompt.String(), SystemPrompt: d.SystemPrompt.String(),
		ExecutionKind: d.ExecutionKind, ExecutionProfile: d.ExecutionProfile, ShellCommand: d.ShellCommand.String(),
		GitCommand: d.GitCommand.String(), FileOperation: d.FileOperation, FilePath: d.FilePath, FileContent: d.FileContent.String(),
		WorkspaceMode: d.WorkspaceMode, WorkingDirectory: d.WorkingDirectory, Repo: d.Repo, BaseBranch: d.BaseBranch,
		AllowedRoot: d.AllowedRoot, ReadOnly: d.ReadOnly, Network: d.Network, TimeoutMS: d.TimeoutMS, Priority: d.Priority,
		RequestedModel: d.Model, RequestedProvider: d.Provider, BudgetMicroUSD: s.BudgetMicroUSD, ProjectID: d.ProjectID,
		LatestRequestID: request.From(ctx).ID,
	}
	out.Freeze(d)
	return out
}

// stepItem is a call without a known outcome, after somebody said what came of it.
func stepItem(s *run.State, id string) projections.Step {
	out := projections.Step{ID: id, TaskID: s.TaskID, RunID: s.ID, Kind: s.Spec.ExecutionKind, Status: "failed", Result: "error"}
	if out.Kind == run.KindAgentLoop {
		out.Kind = "tool"
	}
	for _, d := range s.Doubtful {
		if d.Call.StepID != id {
			continue
		}
		out.ToolName, out.ErrorKind, out.Outcome = d.Call.ToolName, d.Call.ErrorKind, string(d.Call.Outcome)
		if d.Call.Outcome != run.OutcomeUnknown { // the run's end left it open
			out.Status, out.ErrorKind = "cancelled", "run_cancelled"
		}
	}
	for n := int64(1); n <= s.Steps; n++ {
		if s.StepID(n) == id {
			out.Index = n
		}
	}
	return out
}
