package projectiontest

import (
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
)

// batch begins a run whose model asks for three calls. The first one is read.
func batch(name string) (s *Story, calls [3]run.ToolCall) {
	s = NewStory(name, run.KindAgentLoop)
	s.Seed("please " + name)
	calls = [3]run.ToolCall{
		Call("c1", "read_file", `{"path":"a.txt"}`), Call("c2", "shell_exec", `{"command":"deploy"}`), Call("c3", "file_write", `{"path":"b.txt","content":"x"}`),
	}
	s.Ask(1, "I do three things.", "tool_calls", calls[:]...)
	s.Read(1, calls[0], "what is in a")
	return s, calls
}

// resumed: a run that was cancelled in the midst of its calls goes on in another one.
// One call had its outcome, one nobody knows, one waits for a person.
func resumed() *Story {
	rules := asking(permission.PolicyWrite)
	s, calls := batch("resumed")
	s.Shell(1, calls[1], "tool")
	s.Cancel("the worker hangs")
	s.Follow(run.SourceResume, 0, "go on", s.State().Resume())
	s.Begin(rules)
	s.Unknown(rules)
	s.AskPerson(rules)
	s.Approve(rules)
	s.Inherited(calls[2], run.OutcomeCompleted)
	s.Ask(1, "All done.", "stop")
	return s
}

// continued: the result of a call that was killed arrives after the end; a new prompt
// passes over the call that never ran.
func continued() *Story {
	s, calls := batch("continued")
	step, out, _ := s.Shell(1, calls[1], "tool")
	s.Cancel("")
	s.Output("c2", out, "stdout", "half\n")
	s.Exited("c2", -1, true)
	s.Settle(1, calls[1], step, run.OutcomeCancelled, "killed after half", map[string]any{"sub_status": "cancelled"})
	inherited, err := s.State().Continue("do it by hand instead")
	if err != nil {
		panic(err)
	}
	s.Follow(run.SourceContinue, 0, "session_prompt", inherited)
	s.Begin(asking())
	s.Ask(1, "I did it by hand.", "stop")
	return s
}

// branched: the second of three model calls is made again.
func branched() *Story {
	s := NewStory("branched", run.KindAgentLoop)
	s.Seed("please look")
	for i, text := range []string{"First I look here.", "Then I look there."} {
		c := Call("call_0", "read_file", `{"path":"a.txt"}`) // the model uses one id again and again
		s.Ask(int64(i+1), text, "tool_calls", c)
		s.Read(int64(i+1), c, text)
	}
	s.Ask(3, "Nothing there.", "stop")
	inherited, err := s.State().Branch(2)
	if err != nil {
		panic(err)
	}
	s.Follow(run.SourceBranch, 2, "look elsewhere", inherited)
	s.Begin(asking())
	s.Ask(1, "Found it.", "stop")
	return s
}

// chained: two resumes hand on the same answer; what was settled in between is shown.
// Then the conversation goes on with a prompt over all of it.
func chained() *Story {
	rules := asking()
	s, calls := batch("chained")
	s.Cancel("")
	s.Follow(run.SourceResume, 0, "", s.State().Resume())
	s.Begin(rules)
	s.Inherited(calls[1], run.OutcomeFailed)
	s.Cancel("")
	s.Follow(run.SourceResume, 0, "", s.State().Resume())
	s.Begin(rules)
	// Policy forbids the last one by then: a step without an intent.
	s.Run(run.DispatchSettled{
		ToolCallID: "c3", ToolName: "file_write", StepID: s.Step(), Outcome: run.OutcomeBlocked, Title: "file_write (blocked)", ToolError: true,
		Error: "the task is read-only", ErrorKind: "sandbox_policy_denied", Result: event.NewText("blocked"),
	})
	c4 := Call("c4", "read_file", `{"path":"c"}`)
	s.Ask(1, "One more.", "tool_calls", c4)
	s.Read(1, c4, "c")
	s.Ask(2, "Enough.", "stop")
	inherited, err := s.State().Continue("and now?")
	if err != nil {
		panic(err)
	}
	s.Follow(run.SourceContinue, 0, "session_prompt", inherited)
	return s
}

// retried: a failed command is run again from the beginning, and again it fails.
func retried() *Story {
	s := NewStory("retried", run.KindShell)
	c := run.ToolCall{Name: "shell", Arguments: event.NewText("{}")}
	shell := func() {
		c.ID = s.State().NextStepID()
		step, _, _ := s.Shell(0, c, "shell")
		s.Exited(c.ID, 7, false)
		s.Run(
			run.DispatchSettled{ToolCallID: c.ID, ToolName: "shell", StepID: step, Outcome: run.OutcomeFailed, Title: "Shell command", ExitCode: 7, Error: "exit status 7", ErrorKind: "shell_command_failed"},
			run.Failed{Code: "run_failed", Message: "exit status 7", Reason: "shell_command_failed"},
		)
		s.Task(task.RunClosed{RunID: s.RunID, Status: "failed"})
	}
	shell()
	s.Follow(run.SourceRetry, 0, "", nil)
	s.Begin(asking())
	shell()
	s.Follow(run.SourceRetry, 0, "", nil) // waits for a worker
	return s
}

// repaired: attempts at a model call fail, another provider answers, the next call
// waits for its second attempt when the run is cancelled. The cost is not known.
func repaired() *Story {
	s := NewStory("repaired", run.KindAgentLoop)
	s.Seed("please repair")
	failing := func(index, attempt int64, step, next string) {
		s.Run(run.ModelCallRetrying{
			ModelCallIndex: index, StepID: step, Attempt: attempt, Provider: "acme", Model: "m-large", Kind: "overloaded",
			Message: "upstream error (529/overloaded_error): busy", WaitMS: 200 * attempt, NextProvider: next, NextModel: "m-large",
		})
	}
	step := s.Step()
	s.Run(run.ModelCallStarted{ModelCallIndex: 1, StepID: step, Model: "m-large", Provider: "acme"})
	failing(1, 1, step, "acme")
	failing(1, 2, step, "other")
	c := Call("c1", "read_file", `{"path":"a.txt"}`)
	s.Run(s.State().Respond(run.Answered{
		Message: run.Message{Role: run.RoleAssistant, ToolCalls: []run.ToolCall{c}}, FinishReason: "tool_calls",
		Route: run.Route{Model: "m-large", Provider: "other", ProviderKind: "cloud"}, Usage: &run.Usage{Input: 900, Output: 12, CacheRead: 800},
	})...)
	s.Run(run.Warned{Code: run.WarnCeilingUnenforceable, Message: "the cost of a model call is not known"})
	s.Read(1, c, "a")
	step = s.Step()
	s.Run(run.ModelCallStarted{ModelCallIndex: 2, StepID: step, Model: "m-large", Provider: "other"})
	failing(2, 1, step, "other")
	s.Cancel("it takes too long")
	s.Follow(run.SourceResume, 0, "", s.State().Resume())
	s.Begin(asking())
	step = s.Step()
	s.Run(run.ModelCallStarted{ModelCallIndex: 1, StepID: step, Model: "m-large", Provider: "acme"})
	failing(1, 1, step, "other") // and that is how it stands
	return s
}

// stated: an operator finds out what became of two calls, one that the runtime gave
// up and one that the end of the run cut off. The model is told in the next run.
func stated() *Story {
	rules := asking()
	s, calls := batch("stated")
	s.Shell(1, calls[1], "tool")
	s.Run(run.Disconnected{Reason: "worker_lease_expired", Action: run.ActionRequeued, PriorStatus: run.StatusRunning, RecoveredStatus: run.StatusQueued, RecoveryStrategy: "periodic_requeue"})
	s.Begin(rules)
	unknown := s.Unknown(rules)
	cut := s.Intend(1, calls[2], "tool", nil)
	s.Cancel("")
	s.Outcome(unknown, true, "it is deployed")
	s.Outcome(cut, false, "")
	s.Follow(run.SourceResume, 0, "", s.State().Resume())
	s.Begin(rules)
	s.Unknown(rules)
	s.Tell(rules)
	s.Ask(1, "Then I am done.", "stop")
	return s
}

// stranded: the run waits because no worker reaches its workspace.
func stranded() *Story {
	s, calls := batch("stranded")
	s.Shell(1, calls[1], "tool")
	s.Run(run.Disconnected{
		Reason: "workspace_unreachable", Action: run.ActionWaiting, Message: "no live worker reaches place_1",
		PriorStatus: run.StatusRunning, RecoveredStatus: run.StatusQueued, RecoveryStrategy: "periodic_requeue",
	})
	return s
}
