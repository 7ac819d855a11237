package projectiontest

import (
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/run"
	"hecate/domain/task"
)

// Story is what happened to one task, in order.
type Story struct {
	TaskID, RunID string
	Facts         []Fact
	steps         int64
	version       int64 // of the run's stream
}

// NewStory begins with a task of the given kind and its first run, queued and started.
func NewStory(name, kind string) *Story {
	s := &Story{TaskID: "task_" + name, RunID: "run_" + name}
	text := event.NewText
	d := task.Definition{Title: "do " + name, ExecutionKind: kind, WorkspaceMode: "ephemeral", Priority: "normal", ProjectID: "p1", Posture: "runtime"}
	spec := run.Spec{ExecutionKind: kind}
	switch kind {
	case run.KindAgentLoop:
		d.Prompt, spec.Prompt = text("please "+name), text("please "+name)
	case run.KindShell:
		d.ShellCommand, spec.ShellCommand = text("make "+name), text("make "+name)
	}
	s.Task(task.Created{Definition: d, RequestID: "req_" + name})
	s.Task(task.RunOpened{RunID: s.RunID, Number: 1})
	s.Run(
		run.Created{TaskID: s.TaskID, Number: 1, Status: run.StatusQueued, Kind: run.Orchestrator, Spec: spec, ModelCallsMax: 8, RequestID: "req_" + name, TraceID: "trace_" + name, RootSpanID: "span_" + name},
		run.Queued{Kind: run.Orchestrator},
		run.Started{Kind: run.Orchestrator, WorkspaceID: "workspace_" + s.TaskID, WorkspacePath: "/ws/" + s.RunID, WorkerID: "w1"},
	)
	return s
}

// Task adds facts of the task.
func (s *Story) Task(payloads ...event.Payload) {
	for _, p := range payloads {
		s.Facts = append(s.Facts, Fact{"task-" + s.TaskID, p})
	}
}

// Run adds facts of the run.
func (s *Story) Run(payloads ...event.Payload) {
	for _, p := range payloads {
		s.version++
		s.Facts = append(s.Facts, Fact{"run-" + s.RunID, p})
	}
}

// Step returns the id of the run's next step.
func (s *Story) Step() string {
	s.steps++
	return ident.Derive("step", s.RunID, fmt.Sprint(s.steps))
}

// Seed adds the conversation before the first model call.
func (s *Story) Seed(prompt string) {
	s.Run(run.ConversationSeeded{Messages: []run.Message{
		{Role: run.RoleSystem, Content: event.NewText("you work in /ws")}, {Role: run.RoleUser, Content: event.NewText(prompt)},
	}})
}

// Ask adds a model call with its answer and account.
func (s *Story) Ask(index int64, text, finish string, calls ...run.ToolCall) {
	step := s.Step()
	s.Run(run.ModelCallStarted{ModelCallIndex: index, StepID: step, Model: "m-large", Provider: "acme", InputTokensEstimate: 10})
	response := s.version + 1
	s.Run(
		run.ModelResponseRecorded{ModelCallIndex: index, FinishReason: finish, Message: run.Message{Role: run.RoleAssistant, Content: event.NewText(text), ToolCalls: calls}},
		run.ModelCallCompleted{
			ModelCallIndex: index, StepID: step, Route: run.Route{Model: "m-large", Provider: "acme", ProviderKind: "cloud"},
			CostMicroUSD: 2, RunCumulativeMicroUSD: run.MicroUSD(index * 1_500_000), CostPicoUSD: 1_500_000, CostKnown: true, ToolCalls: int64(len(calls)),
		},
	)
	if text != "" {
		s.Run(run.AssistantText{ModelCallIndex: index, Response: response})
	}
	for i, c := range calls {
		s.Run(run.ToolCallProposed{ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, Call: int64(i), Response: response})
	}
	if finish == "stop" && len(calls) == 0 && strings.TrimSpace(text) != "" {
		s.Run(
			run.FinalAnswer{ModelCallIndex: index, ArtifactID: run.FinalAnswerID(s.RunID), Response: response},
			run.Finished{FinalStatus: run.StatusCompleted, ModelCallCount: index},
		)
		s.Task(task.RunClosed{RunID: s.RunID, Status: "completed"})
	}
}

// Call is one call of a tool by the model.
func Call(id, tool, arguments string) run.ToolCall {
	return run.ToolCall{ID: id, Name: tool, Arguments: event.NewText(arguments)}
}

// Intend adds the intent of a call and returns its step.
func (s *Story) Intend(index int64, c run.ToolCall, kind string, input map[string]any) string {
	step := s.Step()
	s.Run(run.DispatchIntended{
		ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, CallDigest: run.CallDigest(c), StepID: step, StepKind: kind,
		Title: c.Name + " (dispatching)", Input: input, Ruling: run.Ruling{Decision: "allow", Layer: "default", Rule: "level-0", Posture: "runtime"},
	})
	return step
}

// Read adds a read_file call that succeeds.
func (s *Story) Read(index int64, c run.ToolCall, content string) {
	step := s.Intend(index, c, "tool", map[string]any{"path": "a.txt"})
	s.Run(run.DispatchSettled{
		ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, StepID: step, Outcome: run.OutcomeCompleted, Result: event.NewText(content),
		Title: "read_file a.txt", Input: map[string]any{"size": len(content), "truncated": false}, Output: map[string]any{"bytes_read": len(content)},
	})
}

// Shell adds the start of a shell command and returns its step and the ids of its outputs.
func (s *Story) Shell(index int64, c run.ToolCall, kind string) (step, stdout, stderr string) {
	step = s.Intend(index, c, kind, map[string]any{"command": "make", "working_directory": "/ws"})
	stdout, stderr = ident.Derive("artifact", step, "stdout"), ident.Derive("artifact", step, "stderr")
	posture := run.ShellPosture{ToolCallID: c.ID, ToolName: c.Name, Kind: "shell", Wrapper: "none", OutputLimitBytes: 4 << 20}
	s.Run(
		run.ToolInvoked{ShellPosture: posture}, run.ToolStarted{ShellPosture: posture},
		run.ShellCommand{
			ShellPosture: posture, Argv: []string{"sh", "-lc", "make"}, Command: event.NewText("make"), Dir: "/ws", EnvKeys: []string{"PATH", "HOME"},
			SandboxLayer: "none", TimeoutMS: 5000, ToolTimeoutMS: 5000, StepID: step, StdoutArtifactID: stdout, StderrArtifactID: stderr,
		},
	)
	return step, stdout, stderr
}

// Output adds a piece of a command's output.
func (s *Story) Output(callID, artifact, stream, data string) {
	s.Run(run.ShellOutput{ToolCallID: callID, Stream: stream, Data: event.NewText(data), ArtifactID: artifact})
}

// Exited adds the end of a command's process.
func (s *Story) Exited(callID string, code int64, cancelled bool) {
	s.Run(run.ShellExited{ToolCallID: callID, ExitCode: code, ShellResult: run.ShellResult{ExitCode: code, Cancelled: cancelled}})
	end := run.ToolEnd{ToolCallID: callID, ToolName: "shell_exec", Kind: "shell", DurationMS: 3, Summary: fmt.Sprintf("exited with status %d", code)}
	switch {
	case cancelled:
		s.Run(run.ToolCancelled{ToolEnd: end})
	case code != 0:
		s.Run(run.ToolFailed{ToolEnd: end})
	default:
		s.Run(run.ToolCompleted{ToolEnd: end})
	}
}

// Settle adds the outcome of a call.
func (s *Story) Settle(index int64, c run.ToolCall, step string, o run.Outcome, result string, output map[string]any) {
	s.Run(run.DispatchSettled{
		ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, StepID: step, Outcome: o, Result: event.NewText(result),
		ToolError: o != run.OutcomeCompleted, Title: fmt.Sprintf("%s (%s)", c.Name, o), Output: output,
	})
}
