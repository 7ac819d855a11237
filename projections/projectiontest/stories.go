package projectiontest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/run"
	"hecate/domain/task"
)

// Stories returns one story for each way in which a run can go, by name.
func Stories() map[string]*Story {
	return map[string]*Story{
		"answers":   answers(),
		"approved":  approval("approved", true),
		"rejected":  approval("rejected", false),
		"cancelled": cancelled(),
		"shell":     directShell(),
		"recovered": recovered(),
		"invalid":   invalid(),
		"upstream":  upstream(),
		"broken":    broken(),
		"blocked":   blocked(),
		"large":     large(),
		"waiting":   waiting(),
		"deleted":   deleted(),
		"untouched": untouched(),
		"resumed":   resumed(),
		"continued": continued(),
		"branched":  branched(),
		"chained":   chained(),
		"retried":   retried(),
		"repaired":  repaired(),
		"stated":    stated(),
		"stranded":  stranded(),
		"refused":   refused(),
		"picked":    picked(),
		"checked":   checked(),
	}
}

func answers() *Story {
	s := NewStory("answers", run.KindAgentLoop)
	s.Seed("please answer")
	read, shell := Call("c1", "read_file", `{"path":"a.txt"}`), Call("c2", "shell_exec", `{"command":"make"}`)
	s.Ask(1, "I look at it.", "tool_calls", read, shell)
	s.Read(1, read, "hello <world>")
	step, out, _ := s.Shell(1, shell, "tool")
	s.Output("c2", out, "stdout", "one\n")
	s.Output("c2", out, "stdout", "two\n")
	s.Exited("c2", 0, false)
	s.Settle(1, shell, step, run.OutcomeCompleted, "stdout: one two", map[string]any{"sub_status": "completed", "last_error": "", "sub_step_count": 1, "artifact_count": 2})
	s.Ask(2, "It says hello.", "stop")
	return s
}

func approval(name string, yes bool) *Story {
	s := NewStory(name, run.KindAgentLoop)
	s.Seed("please " + name)
	c := Call("c1", "shell_exec", `{"command":"rm -rf build"}`)
	s.Ask(1, "", "tool_calls", c)
	digest := run.BundleDigest(s.RunID, 1, []run.ToolCall{c})
	id := ident.Derive("approval", s.RunID, "1")
	s.Run(
		run.ApprovalRequested{
			ApprovalID: id, Kind: run.ApprovalBundle, Status: "pending", PolicyReason: "Agent requested tools that require approval: shell_exec", StepID: s.Step(),
			ModelCallIndex: 1, Digest: digest, Summary: []string{"shell_exec command details withheld (command_bytes=12)"}, SummaryIncomplete: true,
		},
		run.AwaitingApproval{},
	)
	resolved := run.ApprovalResolved{ApprovalID: id, Kind: run.ApprovalBundle, Decision: name, Status: name, By: "operator", Comment: "seen", Scope: "once", Digest: digest}
	if !yes {
		s.Run(resolved, run.Cancelled{By: "operator", Reason: "approval rejected"}, run.TaskUpdated{})
		s.Task(task.RunClosed{RunID: s.RunID, Status: "cancelled"})
		return s
	}
	s.steps++ // the control step
	s.Run(resolved, run.Queued{Kind: run.Orchestrator, Resume: true}, run.Started{
		Kind: run.Orchestrator, WorkspaceID: "workspace_" + s.TaskID, WorkspacePath: "/ws/" + s.RunID,
		Resume: &run.ResumeFrom{RunID: s.RunID, ModelCallIndex: 1, Approved: true, ToolCalls: 1, Tools: []string{"shell_exec"}},
	})
	step, _, errs := s.Shell(1, c, "tool")
	s.Output("c1", errs, "stderr", "no such file\n")
	s.Exited("c1", 2, false)
	s.Settle(1, c, step, run.OutcomeFailed, "exit status 2", map[string]any{"sub_status": "failed", "last_error": "exit status 2"})
	s.Run(run.ArtifactRecorded{ArtifactID: "artifact_git_" + name, Kind: "git_summary", Name: "git-changes.json", MIMEType: "application/json", Status: "ready", Content: event.NewText(`{"files":[]}`)})
	s.Run(run.ArtifactRecorded{ArtifactID: "artifact_git_" + name, Kind: "git_summary", Name: "git-changes.json", MIMEType: "application/json", Status: "ready", Content: event.NewText(`{"files":[1]}`)})
	s.Ask(2, "Could not.", "stop")
	return s
}

func cancelled() *Story {
	s := NewStory("cancelled", run.KindAgentLoop)
	s.Seed("please wait")
	c := Call("c1", "shell_exec", `{"command":"sleep 60"}`)
	s.Ask(1, "", "tool_calls", c)
	step, out, _ := s.Shell(1, c, "tool")
	s.Output("c1", out, "stdout", "started\n")
	s.Run(run.Cancelled{By: "operator", Reason: "run cancelled: wrong branch"}, run.TaskUpdated{})
	s.Task(task.RunClosed{RunID: s.RunID, Status: "cancelled"})
	s.Output("c1", out, "stdout", "killed\n")
	s.Exited("c1", -1, true)
	s.Run(run.DispatchSettled{
		ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", StepID: step, Outcome: run.OutcomeCancelled, Title: "shell_exec (cancelled)",
		ExitCode: -1, Output: map[string]any{"sub_status": "cancelled"}, Result: event.NewText("cancelled"), ToolError: true,
	})
	// The next run waits for its first answer; the task still shows the last error.
	s.again(2)
	s.Run(run.ModelCallStarted{ModelCallIndex: 1, StepID: s.Step(), Model: "m-large", Provider: "", InputTokensEstimate: 3})
	s.Task(task.WorkspaceRemoved{RunIDs: []string{s.RunID}, Path: "/ws", Reason: "age"})
	return s
}

// again opens the task's next run; what follows is about that one.
func (s *Story) again(number int64) {
	s.RunID += "_again"
	s.steps, s.version = 0, 0
	s.Task(task.RunOpened{RunID: s.RunID, Number: number}, task.BudgetRaised{MicroUSD: 777})
	s.Run(
		run.Created{TaskID: s.TaskID, Number: number, Status: run.StatusQueued, Kind: run.Orchestrator, PriorPicoUSD: 1_500_000, Spec: run.Spec{ExecutionKind: run.KindAgentLoop}},
		run.Queued{Kind: run.Orchestrator}, run.Started{Kind: run.Orchestrator},
	)
	s.Seed("once more")
}

func directShell() *Story {
	s := NewStory("shell", run.KindShell)
	c := run.ToolCall{ID: ident.Derive("step", s.RunID, "1"), Name: "shell", Arguments: event.NewText("{}")}
	step, out, _ := s.Shell(0, c, "shell")
	s.Output(c.ID, out, "stdout", strings.Repeat("0123456789\n", 300))
	s.Exited(c.ID, 7, false)
	s.Run(
		run.DispatchSettled{
			ToolCallID: c.ID, ToolName: "shell", StepID: step, Outcome: run.OutcomeFailed, Title: "Shell command", ExitCode: 7, Error: "exit status 7",
			ErrorKind: "shell_command_failed", Output: map[string]any{"exit_code": 7, "stdout_bytes": 3300, "stderr_bytes": 0}, Result: event.NewText("exit status 7"),
		},
		run.Failed{Code: "run_failed", Message: "exit status 7", Reason: "shell_command_failed"},
	)
	s.Task(task.RunClosed{RunID: s.RunID, Status: "failed"})
	return s
}

func recovered() *Story {
	s := NewStory("recovered", run.KindAgentLoop)
	s.Seed("please survive")
	step := s.Step()
	s.Run(
		run.ModelCallStarted{ModelCallIndex: 1, StepID: step, Model: "m-large"},
		run.Disconnected{Reason: "boot_reconcile", Action: "requeued", PriorStatus: run.StatusRunning, RecoveredStatus: run.StatusQueued, RecoveryStrategy: "requeue"},
		run.Started{Kind: run.Orchestrator, Resume: &run.ResumeFrom{RunID: s.RunID}},
		run.ModelCallAbandoned{ModelCallIndex: 1, StepID: step, Reason: "worker vanished"},
	)
	c1, c2 := Call("c1", "shell_exec", `{"command":"deploy"}`), Call("c2", "read_file", `{"path":"a"}`)
	s.Ask(1, "", "tool_calls", c1, c2)
	step, _, _ = s.Shell(1, c1, "tool")
	s.steps++ // the control step
	s.Run(
		run.Disconnected{Reason: "worker_lease_expired", Action: "requeued", PriorStatus: run.StatusRunning, RecoveredStatus: run.StatusQueued, RecoveryStrategy: "periodic_requeue"},
		run.Started{Kind: run.Orchestrator, Resume: &run.ResumeFrom{RunID: s.RunID, ModelCallIndex: 1, ToolCalls: 2, Tools: []string{"read_file"}}},
		run.DispatchSettled{
			ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", StepID: step, Outcome: run.OutcomeUnknown, Title: "shell_exec (outcome unknown)",
			Error: "the worker vanished", ErrorKind: "tool_dispatch_outcome_unknown", ToolError: true, Result: event.NewText("outcome unknown"),
			Output: map[string]any{"automatic_replay_denied": true, "recovery_result_missing": true},
		},
	)
	s.Read(1, c2, "x")
	s.Ask(2, "Deployed, perhaps.", "stop")
	return s
}

func invalid() *Story {
	s := NewStory("invalid", run.KindAgentLoop)
	s.Seed("please break")
	s.Ask(1, "", "tool_calls", Call("c1", "read_file", "{}"), Call("c1", "read_file", "{}"))
	s.fail("invalid_tool_call_bundle", "model call 1 returned an invalid tool-call bundle: two calls have the id \"c1\"")
	return s
}

func upstream() *Story {
	s := NewStory("upstream", run.KindAgentLoop)
	s.Seed("please fail")
	step := s.Step()
	s.Run(
		run.ModelCallStarted{ModelCallIndex: 1, StepID: step, Model: "m-large", Provider: "acme"},
		run.ModelCallFailed{ModelCallIndex: 1, StepID: step, Kind: "overloaded", Message: "upstream error (529/overloaded_error): busy"},
	)
	s.fail("max_model_calls_exceeded", "agent loop reached the maximum of 8 model calls without producing a final answer")
	return s
}

// broken: an answer breaks off when half of it has arrived.
func broken() *Story {
	s := NewStory("broken", run.KindAgentLoop)
	s.Seed("please break off")
	step := s.Step()
	s.Run(
		run.ModelCallStarted{ModelCallIndex: 1, StepID: step, Model: "m-large", Provider: "acme"},
		run.ModelCallFailed{ModelCallIndex: 1, StepID: step, Kind: "timeout", Message: "the stream ended early", Partial: event.NewText("It is becau")},
	)
	s.fail("timeout", "model call 1 failed: the stream ended early")
	return s
}

func (s *Story) fail(reason, message string) {
	s.Step() // "Agent loop failed"
	s.Run(run.Failed{Code: "run_failed", Message: message, Reason: reason})
	s.Task(task.RunClosed{RunID: s.RunID, Status: "failed"})
}

func blocked() *Story {
	s := NewStory("blocked", run.KindAgentLoop)
	s.Seed("please write")
	c1, c2 := Call("c1", "shell_exec", "{}"), Call("c2", "file_write", `{"path":"b.txt"}`)
	s.Ask(1, "", "tool_calls", c1, c2)
	s.Run(
		run.ToolBlocked{ToolCallID: "c1", ToolName: "shell_exec", Kind: "builtin", Result: "blocked", Policy: "sandbox_read_only", Reason: "the task is read-only"},
		run.DispatchSettled{
			ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", StepID: s.Step(), Outcome: run.OutcomeBlocked, Title: "shell_exec (blocked)", ToolError: true,
			Error: "the task is read-only", ErrorKind: "sandbox_policy_denied", Result: event.NewText("blocked"),
			Output: map[string]any{"blocked": true, "policy": "sandbox_read_only", "reason": "the task is read-only"},
		},
	)
	step := s.Intend(1, c2, "tool", map[string]any{"path": "b.txt", "operation": "write", "content_chars": 2})
	s.Run(run.FilePatch{
		ToolCallID: "c2", ToolName: "file_write", Kind: "file", StepID: step, Operation: "write", Path: "/ws/b.txt", ArtifactID: "artifact_patch", ArtifactStatus: "applied",
		BytesWritten: 2, DiffBytes: 40, Diff: event.NewText("--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,1 @@\n+x\n"), FileArtifactID: "artifact_file", Content: event.NewText("x\n"),
	})
	s.Settle(1, c2, step, run.OutcomeCompleted, "written", map[string]any{"sub_status": "completed"})
	s.Ask(2, "Done.", "stop")
	return s
}

func large() *Story {
	s := NewStory("large", run.KindAgentLoop)
	s.Seed(strings.Repeat("long prompt ", 2000))
	c := Call("c1", "read_file", `{"path":"`+strings.Repeat("x", event.InlineMax)+`"}`)
	s.Ask(1, "", "tool_calls", c)
	s.Read(1, c, strings.Repeat("y", event.InlineMax+1))
	s.Run(run.ArtifactRecorded{ArtifactID: "artifact_out", Kind: "stdout", Name: "git-stdout.txt", MIMEType: "text/plain", Status: "ready", Content: event.NewText("a\x00\xffb")})
	s.Ask(2, strings.Repeat("an answer ", 2000), "stop")
	return s
}

func waiting() *Story {
	s := NewStory("waiting", run.KindShell)
	s.Facts = s.Facts[:len(s.Facts)-2]
	s.Run(
		run.ApprovalRequested{ApprovalID: "approval_gate", Kind: run.ApprovalShell, Status: "pending", PolicyReason: "Shell execution requires approval before it starts.", RequestedBy: "operator", Digest: "ab"},
		run.AwaitingApproval{Status: run.StatusAwaitingApproval, Kind: run.Orchestrator},
	)
	return s
}

func deleted() *Story {
	s, calls := batch("deleted")
	s.Shell(1, calls[1], "tool")
	s.Cancel("")
	s.Follow(run.SourceResume, 0, "", s.State().Resume())
	s.Cancel("")
	s.Task(task.Deleted{})
	return s
}

func untouched() *Story {
	s := NewStory("untouched", run.KindAgentLoop)
	s.Facts = s.Facts[:1]
	return s
}

// Mix returns the facts of all stories as if they had happened at the same time. Each
// stream keeps its order; how they mix depends on the seed.
func Mix(seed uint64) []Fact {
	random := rand.New(rand.NewPCG(seed, 1))
	stories := Stories()
	names := slices.Sorted(maps.Keys(stories))
	var out []Fact
	for len(names) > 0 {
		i := random.IntN(len(names))
		s := stories[names[i]]
		n := min(1+random.IntN(4), len(s.Facts))
		out = append(out, s.Facts[:n]...)
		if s.Facts = s.Facts[n:]; len(s.Facts) == 0 {
			names = slices.Delete(names, i, i+1)
		}
	}
	return out
}
