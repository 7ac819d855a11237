package apitest

import (
	"encoding/json"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// The task and the run of the story, and what somebody had done to its workspace.
const (
	OperationID = "op_7c6b5a4938271605f4e3d2c1"

	TaskID = "task_4f6b1f0c9d2e8a7b3c5d6e7f"
	RunID  = "run_0a1b2c3d4e5f60718293a4b5"
)

// Long is a text that does not fit into an event.
var Long = strings.Repeat("a long line of output\n", 1<<10)

// Story writes a history that has every event type of a run at least once. It is no
// history that a runtime would write: it ends in every possible way.
func Story(t testing.TB, store eventstore.Store) {
	t.Helper()
	Append(t, store, "task-"+TaskID,
		task.Created{Definition: task.Definition{Title: "story", Prompt: event.NewText("tell it"), ExecutionKind: run.KindAgentLoop}},
		task.RunOpened{RunID: RunID, Number: 1})
	Append(t, store, "run-"+RunID, storyOpening()...)
	Append(t, store, "run-"+RunID, storyTools()...)
	Append(t, store, "run-"+RunID, storyEnd()...)
	Append(t, store, "external-"+RunID, run.ExternalEvent{
		RunID: RunID, TaskID: TaskID, Type: "ci.build.finished",
		Data: map[string]any{"note": "line\u2028one\r\ndata: x", "build": json.Number("9007199254740993"), "ratio": json.Number("1.50")},
	})
	Append(t, store, "task-"+TaskID, task.RunClosed{RunID: RunID, Status: "completed"}, task.BudgetRaised{MicroUSD: 5000})
	Append(t, store, "run-"+RunID, storyAgain()...)
	Append(t, store, "run-"+RunID, storyPermissions()...)
	Append(t, store, "op-"+OperationID,
		operation.Requested{OperationID: OperationID, TaskID: TaskID, RunID: RunID, Kind: operation.PatchApply, Reach: "workspaces_1", ArtifactID: "artifact_5"},
		operation.Begun{NodeID: "runtime_1", Instance: "instance_1", Epoch: 4})
	Append(t, store, "run-"+RunID,
		run.FileApplied{ArtifactID: "artifact_5", Path: "/tmp/ws/a", ArtifactStatus: operation.Applied, OperationID: OperationID},
		run.FileReverted{ArtifactID: "artifact_3", Path: "/tmp/ws/a", ArtifactStatus: operation.Reverted, OperationID: "op_2"},
		run.WorkspaceChanged{Before: "1f2e", After: "3d4c", StepID: "step_3", ToolCallID: "c1", ToolName: "shell_exec", Files: []run.FileChange{{Path: "a", Kind: "update"}}, FilesCount: 1},
		run.WorkspaceTaken{OperationID: "op_3", Target: "/src", Before: "1f2e", After: "3d4c", Whole: true, FilesCount: 1},
		run.WorkspaceRestored{OperationID: "op_4", Before: "step_3", Snapshot: "1f2e", FilesCount: 1})
	Append(t, store, "op-"+OperationID, operation.Completed{Outcome: operation.Done})
}

func storyOpening() []event.Payload {
	route := run.Route{Model: "gpt-5", Provider: "openai", ProviderKind: "cloud"}
	return []event.Payload{
		run.Created{
			TaskID: TaskID, Number: 1, Status: run.StatusQueued, Kind: run.Orchestrator, Route: run.Route{Model: "gpt-5"}, ModelCallsMax: 8,
			Spec: run.Spec{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("tell it")}, RequestID: "req_1",
		},
		run.Queued{Kind: run.Orchestrator},
		run.Started{Kind: run.Orchestrator, WorkspaceID: "workspace_" + TaskID, WorkspacePath: "/tmp/ws", WorkerID: "worker-1"},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleSystem, Content: event.NewText("be brief")}, {Role: run.RoleUser, Content: event.NewText("tell it")}}},
		run.ModelCallStarted{ModelCallIndex: 1, StepID: "step_1", Model: "gpt-5", InputTokensEstimate: 12},
		run.ModelCallFailed{ModelCallIndex: 1, StepID: "step_1", Kind: "overloaded", Message: "busy", Retryable: true, Partial: event.NewText("I wi")},
		run.ModelCallAbandoned{ModelCallIndex: 1, StepID: "step_1", Reason: "worker vanished"},
		run.ModelResponseRecorded{ModelCallIndex: 2, FinishReason: "tool_calls", Message: run.Message{
			Role: run.RoleAssistant, Content: event.NewText(Long), Thinking: []json.RawMessage{
				json.RawMessage(`{"type":"thinking","thinking":"I had better look.","signature":"sealed"}`), json.RawMessage(`{"type":"redacted_thinking","data":"sealed"}`),
			}, ToolCalls: []run.ToolCall{
				{ID: "c1", Name: "shell_exec", Arguments: event.NewText(`{"command":"ls <a> & b","n":9007199254740993}`)},
				{ID: "c2", Name: "list_dir", Arguments: event.NewText(" ")},
				{ID: "c3", Name: "grep", Arguments: event.NewText("{pattern")},
			},
		}},
		run.ModelCallCompleted{
			ModelCallIndex: 2, StepID: "step_2", Route: route, CostMicroUSD: 12, RunCumulativeMicroUSD: 12, TaskCumulativeMicro: 12,
			CostPicoUSD: 12_000_000, CostKnown: true, ToolCalls: 3, Usage: &run.Usage{Input: 10, Output: 4},
		},
		run.AssistantText{ModelCallIndex: 2, Response: 8},
		run.ToolCallProposed{ModelCallIndex: 2, ToolCallID: "c1", ToolName: "shell_exec", Call: 0, Response: 8},
		run.ToolCallProposed{ModelCallIndex: 2, ToolCallID: "c2", ToolName: "list_dir", Call: 1, Response: 8},
		run.ToolCallProposed{ModelCallIndex: 2, ToolCallID: "c3", ToolName: "grep", Call: 2, Response: 8},
		run.ApprovalRequested{
			ApprovalID: "approval_1", Kind: run.ApprovalBundle, Status: "pending", PolicyReason: "Agent requested tools that require approval: shell_exec",
			StepID: "step_3", ModelCallIndex: 2, Digest: "ab12", Calls: []run.ApprovalCall{{ToolCallID: "c1", ToolName: "shell_exec", Ruling: storyRuling}},
			Summary: []string{"shell_exec command details withheld (command_bytes=10)"}, SummaryIncomplete: true,
		},
		run.AwaitingApproval{},
		run.ApprovalResolved{ApprovalID: "approval_1", Kind: run.ApprovalBundle, Decision: "approved", Status: "approved", By: "operator", Scope: "once", Digest: "ab12"},
		run.Queued{Kind: run.Orchestrator, Route: route, Resume: true},
		run.Started{
			Kind: run.Orchestrator, Route: route, WorkspacePath: "/tmp/ws", WorkerID: "worker-1",
			Resume: &run.ResumeFrom{RunID: RunID, StepID: "step_3", Sequence: 16, ModelCallIndex: 2, Approved: true, ToolCalls: 3, Tools: []string{"shell_exec"}},
		},
	}
}

var storyRuling = run.Ruling{Decision: "ask", Level: 2, Layer: "gate", Rule: "runtime-policy", Posture: "runtime"}

func storyTools() []event.Payload {
	posture := run.ShellPosture{ToolCallID: "c1", ToolName: "shell_exec", Kind: "shell", Wrapper: "bwrap", OutputLimitBytes: 4 << 20}
	end := run.ToolEnd{ToolCallID: "c1", ToolName: "shell_exec", Kind: "shell", DurationMS: 12, Summary: "exited with status 0", ShellResult: run.ShellResult{StdoutBytes: 5}}
	return []event.Payload{
		run.DispatchIntended{
			ModelCallIndex: 2, ToolCallID: "c1", ToolName: "shell_exec", CallDigest: "cd34", StepID: "step_5", StepKind: "tool",
			Title: "shell_exec (dispatching)", Input: map[string]any{"command": "ls"}, Ruling: storyRuling, ApprovalID: "approval_1",
		},
		run.ToolInvoked{ShellPosture: posture},
		run.ToolStarted{ShellPosture: posture},
		run.ShellCommand{
			ShellPosture: posture, Argv: []string{"sh", "-lc", "ls"}, Command: event.NewText(Long), Dir: "/tmp/ws", EnvKeys: []string{"PATH", "HOME"},
			SandboxLayer: "bwrap", TimeoutMS: 5000, ToolTimeoutMS: 5000, StepID: "step_5", StdoutArtifactID: "artifact_1", StderrArtifactID: "artifact_2",
		},
		run.ShellOutput{ToolCallID: "c1", Stream: "stdout", Data: event.NewText("a\x00\xffb\n"), ArtifactID: "artifact_1"},
		run.ShellExited{ToolCallID: "c1", StdoutBytes: 5, ShellResult: run.ShellResult{StdoutBytes: 5}},
		run.ToolCompleted{ToolEnd: end},
		run.ToolFailed{ToolEnd: end},
		run.ToolCancelled{ToolEnd: end},
		run.ToolTimedOut{ToolEnd: end},
		run.DispatchSettled{
			ModelCallIndex: 2, ToolCallID: "c1", ToolName: "shell_exec", StepID: "step_5", Outcome: run.OutcomeCompleted,
			Result: event.NewText("a\n"), Title: "shell_exec (completed)", Output: map[string]any{"sub_status": "completed"},
		},
		run.DispatchSettled{ModelCallIndex: 2, ToolCallID: "c2", ToolName: "list_dir", StepID: "step_6", Outcome: run.OutcomeCompleted, Result: event.NewText(Long), Title: "list_dir ."},
		run.ToolBlocked{ToolCallID: "c3", ToolName: "file_write", Kind: "builtin", Result: "blocked", Policy: "sandbox_read_only", Reason: "the task is read-only"},
		run.FilePatch{
			ToolCallID: "c4", ToolName: "file_write", Kind: "file", StepID: "step_7", Operation: "write", Path: "/tmp/ws/a", ArtifactID: "artifact_3",
			ArtifactStatus: "applied", BytesWritten: 2, DiffBytes: 40, Diff: event.NewText("--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n"),
			FileArtifactID: "artifact_4", Content: event.NewText("x\n"),
		},
		run.FilePatch{
			ToolCallID: "c5", ToolName: "file_edit", Kind: "file", StepID: "step_8", Operation: "propose", Path: "/tmp/ws/a", ArtifactID: "artifact_5",
			ArtifactStatus: "proposed", DiffBytes: int64(len(Long)), BeforeExisted: true, Diff: event.NewText(Long),
		},
		run.ArtifactRecorded{ArtifactID: "artifact_6", Kind: "git_summary", Name: "git-changes.json", MIMEType: "application/json", Status: "ready", Content: event.NewText("{}")},
	}
}

func storyEnd() []event.Payload {
	return []event.Payload{
		run.Disconnected{
			Reason: "boot_reconcile", Action: "requeued", PriorStatus: run.StatusRunning, RecoveredStatus: run.StatusQueued, RecoveryStrategy: "requeue",
		},
		run.ModelResponseRecorded{ModelCallIndex: 3, FinishReason: "stop", Message: run.Message{Role: run.RoleAssistant, Content: event.NewText("That is all.")}},
		run.FinalAnswer{ModelCallIndex: 3, ArtifactID: run.FinalAnswerID(RunID), Response: 36},
		run.Finished{FinalStatus: run.StatusCompleted, ModelCallCount: 2},
		run.Failed{Code: "run_failed", Message: "exit status 7", Reason: "tool_failed"},
		run.Cancelled{By: "operator", Reason: "run cancelled: enough"},
		run.TaskUpdated{},
	}
}

// storyAgain is what happens when a run goes on from an earlier one, or elsewhere.
func storyAgain() []event.Payload {
	return []event.Payload{
		run.Claimed{NodeID: "runtime_1", Instance: "instance_1", Epoch: 3, Reach: "workspaces_1", LeaseMS: 30000},
		run.ResumedFrom{FromRunID: "run_1", Reason: "again", FromSequence: 17, PriorMicroUSD: 12},
		run.ConversationInherited{
			FromRunID: "run_1", Segments: []run.Segment{{RunID: "run_1", Versions: []int64{4, 6}}},
			Pending: &run.Pending{RunID: "run_1", ModelCallIndex: 1, FinishReason: "tool_calls", Calls: []run.ToolCall{
				{ID: "c1", Name: "shell_exec", Arguments: event.NewText(Long)},
			}},
			Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText(Long)}},
			Notes:    []run.Message{{Role: run.RoleUser, Content: event.NewText("c1 was done")}},
		},
		run.Warned{Code: run.WarnCeilingUnenforceable, Message: "the price of model m is not known"},
		run.ModelCallRetrying{
			ModelCallIndex: 1, StepID: "step_1", Attempt: 1, Provider: "p", Model: "m", Kind: "overloaded",
			Message: "upstream error (529/overloaded_error): busy", WaitMS: 200, NextProvider: "q", NextModel: "n",
		},
		run.OutcomeStated{ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", StepID: "step_2", Done: true, Note: event.NewText(Long), By: "operator"},
		run.OutcomeStated{ModelCallIndex: 1, ToolCallID: "c2", ToolName: "shell_exec", StepID: "step_3", By: "operator"},
	}
}

// storyPermissions is what a run tells about what it may do.
func storyPermissions() []event.Payload {
	change := permission.Change{Layer: permission.LayerProject, List: permission.ListPromoted, Text: "exec(cargo) args(*)"}
	ruling := run.Ruling{Decision: "ask", Level: 2, Layer: "gate", Rule: "level-2", Posture: "levels", Config: "c0ff"}
	return []event.Payload{
		run.AssistantThinking{ModelCallIndex: 2, Response: 8},
		run.ApprovalRequested{
			ApprovalID: "approval_2", Kind: run.ApprovalBundle, Status: "pending", PolicyReason: "Agent requested tools that require approval: exec",
			StepID: "step_9", ModelCallIndex: 4, Digest: "cd34", RememberIn: "/home/you/project/.hecate/config.toml", Summary: []string{"exec arguments withheld (argument_bytes=20)"},
			Calls: []run.ApprovalCall{{
				ToolCallID: "c6", ToolName: "exec", Ruling: ruling, Gates: []permission.Gate{permission.GateLevel}, Reason: "level 2 asks before exec",
				Offer:   &permission.Offer{Scope: change.Text, Covers: "cargo with any arguments", List: permission.ListPromoted},
				Answers: []string{"y", "a", "A", "e", "n", "N"}, Notes: []string{"look at build.rs"}, Locks: []string{"build-output"},
			}, {
				ToolCallID: "c7", ToolName: "exec", Ruling: ruling, Gates: []permission.Gate{permission.GateLevel}, Reason: "level 2 asks before exec", Answers: []string{"y", "n", "N"},
			}},
		},
		run.ApprovalResolved{
			ApprovalID: "approval_2", Kind: run.ApprovalBundle, Decision: "approved", Status: "approved", By: "operator", Comment: "seen", Scope: run.ScopeProject, Digest: "cd34",
			Calls: []run.CallAnswer{
				{ToolCallID: "c6", Decision: "approved", Grant: &run.SessionGrant{ID: "grant_1", Scope: change.Text, Remember: true}},
				{ToolCallID: "c7", Decision: "denied", Note: "use make"},
			},
		},
		run.ApprovalResolved{ApprovalID: "approval_3", Kind: run.ApprovalBundle, Decision: "rejected", Status: "rejected", By: "operator", Scope: run.ScopeOnce, Digest: "ef56", Continue: true},
		run.PermissionChanged{Change: change, File: "/home/you/project/.hecate/config.toml", Saved: true, GrantID: "grant_1"},
		run.PermissionFileAccepted{File: "/home/you/project/.hecate/config.toml", Digest: "9f86d081"},
		run.PermissionRevoked{GrantID: "grant_1", Scope: change.Text, By: "operator"},
		run.ProgressCheckStarted{ModelCallIndex: 4, ToolCallID: "c8", ToolName: "read_file", Trigger: repetition.Unchanged, Count: 2, Provider: "openai", Model: "gpt-5-mini"},
		run.ProgressCheckCompleted{
			ModelCallIndex: 4, ToolCallID: "c8", Assessment: repetition.Loop, Observations: []string{"nothing has changed"}, Asked: true, CostPicoUSD: 1_500_000, CostKnown: true,
			Route: run.Route{Model: "gpt-5-mini", Provider: "openai", ProviderKind: "cloud"}, Usage: &run.Usage{Input: 30, Output: 5},
		},
		run.LockWaiting{ModelCallIndex: 4, ToolCallID: "c6", ToolName: "exec", Locks: []string{"build-output"}, Lock: "build-output", HeldByRun: "run_2", HeldByStep: "step_5"},
	}
}
