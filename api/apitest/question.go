package apitest

import (
	"testing"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// Ask takes a queued run of an agent loop to a question about three calls: c1 and c2
// are commands that ask and can be given for longer, c3 reads and asks nothing.
func (s *Server) Ask(t testing.TB, runID string) (approvalID string) {
	t.Helper()
	calls := []run.ToolCall{
		{ID: "c1", Name: "exec", Arguments: event.NewText(`{"argv":["cargo","build"]}`)},
		{ID: "c2", Name: "exec", Arguments: event.NewText(`{"argv":["make"]}`)},
		{ID: "c3", Name: "read_file", Arguments: event.NewText(`{"path":"a"}`)},
	}
	state := s.Advance(t, runID,
		run.Started{Kind: run.Orchestrator, WorkspacePath: "/tmp/ws", WorkerID: "worker-1"},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("do it")}}},
		run.ModelCallStarted{ModelCallIndex: 1, StepID: stepID(runID, 1), Model: "gpt-5", InputTokensEstimate: 2},
		run.ModelResponseRecorded{ModelCallIndex: 1, FinishReason: "tool_calls", Message: run.Message{Role: run.RoleAssistant, ToolCalls: calls}},
		run.ModelCallCompleted{ModelCallIndex: 1, StepID: stepID(runID, 1), Route: run.Route{Model: "gpt-5", Provider: "openai"}, CostKnown: true, ToolCalls: 3},
	)
	posture := permission.Posture{Name: permission.PostureLevels, Project: true}
	ask := run.Ask{Batch: state.Batch, Calls: calls, Digest: run.BundleDigest(runID, 1, calls), Locks: [][]string{{"build-output"}, nil, nil}}
	for i, facts := range []permission.Facts{{Argv: []string{"cargo", "build"}}, {Argv: []string{"make"}}, {Paths: []permission.Path{{Name: "a"}}}} {
		ask.Verdicts = append(ask.Verdicts, permission.Decide(permission.Call{Tool: calls[i].Name, Facts: facts}, posture))
	}
	state = s.Advance(t, runID, state.RequestApproval(ask, run.Question{Lines: []string{"exec arguments withheld (argument_bytes=26)"}, Incomplete: true, RememberIn: "/p/.hecate/config.toml"})...)
	return state.Approval.ApprovalID
}
