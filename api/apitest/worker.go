package apitest

import (
	"testing"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

// Advance records what a worker would about a run.
func (s *Server) Advance(t testing.TB, runID string, payloads ...event.Payload) *run.State {
	t.Helper()
	state, err := s.X.LoadRun(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.X.Advance(t.Context(), commands.Meta{Actor: eventstore.Actor{Kind: "worker"}}, state, payloads...); err != nil {
		t.Fatal(err)
	}
	return state
}

// Talk takes a queued run of an agent loop to its first answer, which cost 4200
// micro-USD and asks for one call.
func (s *Server) Talk(t testing.TB, runID string) *run.State {
	t.Helper()
	route := run.Route{Model: "gpt-5", Provider: "openai", ProviderKind: "cloud"}
	return s.Advance(t, runID,
		run.Started{Kind: run.Orchestrator, Route: route, WorkspacePath: "/tmp/ws", WorkerID: "worker-1"},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("do it")}}},
		run.ModelCallStarted{ModelCallIndex: 1, StepID: stepID(runID, 1), Model: "gpt-5", InputTokensEstimate: 2},
		run.ModelResponseRecorded{ModelCallIndex: 1, FinishReason: "tool_calls", Message: run.Message{
			Role: run.RoleAssistant, ToolCalls: []run.ToolCall{{ID: "c1", Name: "shell_exec", Arguments: event.NewText(`{"command":"make"}`)}},
		}},
		run.ModelCallCompleted{
			ModelCallIndex: 1, StepID: stepID(runID, 1), Route: route, CostMicroUSD: 4200, RunCumulativeMicroUSD: 4200, TaskCumulativeMicro: 4200,
			CostPicoUSD: 4200 * 1_000_000, CostKnown: true, ToolCalls: 1, Usage: &run.Usage{Input: 10, Output: 4},
		},
	)
}

// Doubt takes a run that talked to a call whose outcome nobody knows, and returns
// the call's step.
func (s *Server) Doubt(t testing.TB, runID string) (step string) {
	t.Helper()
	step = stepID(runID, 2)
	s.Advance(t, runID,
		run.DispatchIntended{
			ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", CallDigest: "cd34", StepID: step, StepKind: "tool",
			Title: "shell_exec (dispatching)", Ruling: run.Ruling{Decision: "allow", Layer: "default", Rule: "level-0", Posture: "runtime"},
		},
		run.DispatchSettled{
			ModelCallIndex: 1, ToolCallID: "c1", ToolName: "shell_exec", StepID: step, Outcome: run.OutcomeUnknown, ToolError: true,
			Result: event.NewText(run.UnknownText("shell_exec")), Title: "shell_exec (outcome unknown)", ErrorKind: "tool_dispatch_outcome_unknown",
		},
	)
	return step
}

func stepID(runID string, n int64) string {
	s := run.New(runID)
	return s.StepID(n)
}
