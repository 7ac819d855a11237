package projectiontest

import (
	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/domain/task"
)

// asks adds an approval about two commands and a read, and returns its id and digest.
func (s *Story) asks(index int64, calls ...run.ToolCall) (id, digest string) {
	id, digest = ident.Derive("approval", s.RunID, s.RunID+calls[0].ID), run.BundleDigest(s.RunID, index, calls)
	asked := run.ApprovalRequested{
		ApprovalID: id, Kind: run.ApprovalBundle, Status: "pending", PolicyReason: "Agent requested tools that require approval: exec", StepID: s.Step(),
		ModelCallIndex: index, Digest: digest, Summary: []string{"exec arguments withheld (argument_bytes=20)"}, SummaryIncomplete: true,
		RememberIn: "/home/you/project/.hecate/config.toml",
	}
	for _, c := range calls {
		call := run.ApprovalCall{ToolCallID: c.ID, ToolName: c.Name, Ruling: run.Ruling{Decision: "allow", Layer: "default", Rule: "level-0", Posture: "levels"}}
		if c.Name == "exec" {
			call.Ruling = run.Ruling{Decision: "ask", Level: 2, Layer: "gate", Rule: "level-2", Posture: "levels", Config: "c0ff"}
			call.Gates, call.Reason, call.Answers = []permission.Gate{permission.GateLevel}, "level 2 asks before exec", []string{"y", "a", "A", "e", "n", "N"}
			call.Offer = &permission.Offer{Scope: "exec(cargo) args(*)", Covers: "cargo with any arguments", List: permission.ListPromoted}
			call.Notes, call.Locks = []string{"the file \"build.rs\" is run as it is when the call starts"}, []string{"build-output"}
		}
		asked.Calls = append(asked.Calls, call)
	}
	s.Run(asked, run.AwaitingApproval{})
	return id, digest
}

// goesOn adds the start after an answer.
func (s *Story) goesOn(index int64, calls ...string) {
	s.steps++ // the control step
	s.Run(run.Queued{Kind: run.Orchestrator, Resume: true}, run.Started{
		Kind: run.Orchestrator, WorkspaceID: "workspace_" + s.TaskID, WorkspacePath: "/ws/" + s.RunID,
		Resume: &run.ResumeFrom{RunID: s.RunID, ModelCallIndex: index, Approved: true, ToolCalls: int64(len(calls)), Tools: calls},
	})
}

// declined adds the outcome of a call that a person refused.
func (s *Story) declined(index int64, c run.ToolCall, approvalID, reason string) {
	s.Run(run.DispatchSettled{
		ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, StepID: s.Step(), Outcome: run.OutcomeBlocked, ToolError: true, Title: c.Name + " (denied)",
		Error: c.Name + ": " + reason, ErrorKind: "approval_denied", ApprovalID: approvalID, Result: event.NewText(c.Name + ": " + reason),
		Input:  map[string]any{"tool": c.Name, "tool_call_id": c.ID, "model_call_index": index},
		Output: map[string]any{"blocked": true, "policy": "approval", "reason": reason, "approval_id": approvalID},
	})
}

// refused: a person says no, and the run goes on.
func refused() *Story {
	s := NewStory("refused", run.KindAgentLoop)
	s.Seed("please clean up")
	c, read := Call("c1", "exec", `{"argv":["cargo","clean"]}`), Call("c2", "read_file", `{"path":"a.txt"}`)
	s.Ask(1, "", "tool_calls", c, read)
	id, digest := s.asks(1, c, read)
	s.Run(run.ApprovalResolved{
		ApprovalID: id, Kind: run.ApprovalBundle, Decision: "rejected", Status: "rejected", By: "operator", Comment: "leave it", Scope: run.ScopeOnce, Digest: digest, Continue: true,
		Calls: []run.CallAnswer{{ToolCallID: "c1", Decision: run.DecisionDenied, Note: "leave it"}},
	})
	s.goesOn(1, "exec", "read_file")
	s.declined(1, c, id, permission.DeniedByUser("leave it"))
	s.Read(1, read, "x")
	s.Ask(2, "I left it.", "stop")
	return s
}

// picked: of three commands one is allowed for the session, one for the project and one
// refused; then the grants end.
func picked() *Story {
	s := NewStory("picked", run.KindAgentLoop)
	s.Seed("please build")
	calls := []run.ToolCall{
		Call("c1", "exec", `{"argv":["cargo","build"]}`), Call("c2", "exec", `{"argv":["make"]}`), Call("c3", "exec", `{"argv":["rm","x"]}`), Call("c4", "exec", `{"argv":["ls"]}`),
	}
	s.Ask(1, "", "tool_calls", calls...)
	id, digest := s.asks(1, calls...)
	s.Run(run.ApprovalResolved{
		ApprovalID: id, Kind: run.ApprovalBundle, Decision: "approved", Status: "approved", By: "operator", Scope: run.ScopeProject, Digest: digest,
		Calls: []run.CallAnswer{
			{ToolCallID: "c1", Decision: run.DecisionApproved, Grant: &run.SessionGrant{ID: "grant_1", Scope: "exec(cargo) args(*)"}},
			{ToolCallID: "c2", Decision: run.DecisionApproved, Grant: &run.SessionGrant{ID: "grant_2", Scope: "exec(make) args(*)", Remember: true}},
			{ToolCallID: "c3", Decision: run.DecisionDenied},
		},
	})
	s.goesOn(1, "exec", "exec", "exec", "exec")
	change := permission.Change{Layer: permission.LayerProject, List: permission.ListPromoted, Text: "exec(make) args(*)"}
	s.Run(run.PermissionChanged{Change: change, File: "/home/you/project/.hecate/config.toml", Saved: true, GrantID: "grant_2"})
	s.Run(run.LockWaiting{ModelCallIndex: 1, ToolCallID: "c1", ToolName: "exec", Locks: []string{"build-output"}, Lock: "build-output", HeldByRun: "run_other", HeldByStep: "step_9"})
	for _, c := range calls[:2] {
		s.Settle(1, c, s.Intend(1, c, "tool", map[string]any{"argv": []any{"cargo"}}), run.OutcomeCompleted, "done", map[string]any{"exit_code": 0})
	}
	s.declined(1, calls[2], id, permission.DeniedByUser(""))
	s.Run(run.PermissionRevoked{GrantID: "grant_1", Scope: "exec(cargo) args(*)", By: "operator"})
	s.Run(run.LockWaiting{ModelCallIndex: 1, ToolCallID: "c4", ToolName: "exec", Locks: []string{"a", "b"}, Lock: "a", HeldByRun: "run_other"})
	s.Run(run.PermissionRevoked{GrantID: "grant_2", Scope: "exec(make) args(*)", By: "operator"})
	change.Remove = true
	s.Facts = append(s.Facts, Fact{"grants-0123456789abcdef01234567", run.PermissionChanged{Change: change, Saved: true}})
	return s
}

// checked: the run repeats itself and is checked, the last time while it is cancelled.
func checked() *Story {
	s := NewStory("checked", run.KindAgentLoop)
	s.Seed("please look")
	fast := run.Route{Model: "m-small", Provider: "quick", ProviderKind: "cloud"}
	for i := range int64(5) {
		c := Call("c1", "read_file", `{"path":"a.txt"}`)
		s.Ask(i+1, "", "tool_calls", c)
		started := run.ProgressCheckStarted{ModelCallIndex: i + 1, ToolCallID: "c1", ToolName: "read_file", Trigger: repetition.Unchanged, Count: 2, Provider: "quick", Model: "m-small"}
		done := run.ProgressCheckCompleted{ModelCallIndex: i + 1, ToolCallID: "c1", Asked: true}
		switch i {
		case 0:
			done.Assessment, done.CostPicoUSD, done.CostKnown, done.Route = repetition.Progress, 700_000, true, fast
			done.Usage, done.Observations = &run.Usage{Input: 30, Output: 5}, []string{"the file was read once more"}
			s.Run(started, done)
		case 1: // nobody could be asked
			done.Assessment, done.Asked, done.Problem = repetition.Unavailable, false, "no model is configured for the check"
			s.Run(done)
		case 2: // the worker vanished
			done.Assessment, done.Problem = repetition.Unavailable, "the worker vanished while the check was under way"
			s.Run(started, done)
		case 3: // what it cost is known after the end
			done.Assessment, done.CostPicoUSD, done.CostKnown, done.Route = repetition.TimedOut, 500_000, true, fast
			s.Run(started, run.Cancelled{By: "operator", Reason: "run cancelled"}, run.TaskUpdated{})
			s.Task(task.RunClosed{RunID: s.RunID, Status: "cancelled"})
			s.Run(done)
			return s
		}
		s.Read(i+1, c, "x")
	}
	return s
}
