package stream_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// runStream is the stream of the run that beginRun opens as t and r.
const runStream = base + "/tasks/t/runs/r/stream"

// beginRun opens a run of an agent loop up to its first model call, and waits until
// the read models show it. The log has six records afterwards, four of them the run's.
func beginRun(t testing.TB, s *apitest.Server, taskID, runID string) {
	t.Helper()
	apitest.Append(t, s.Store, "task-"+taskID,
		task.Created{Definition: task.Definition{Title: "long", Prompt: event.NewText("go on"), ExecutionKind: run.KindAgentLoop}},
		task.RunOpened{RunID: runID, Number: 1})
	done := apitest.Append(t, s.Store, "run-"+runID,
		run.Created{TaskID: taskID, Number: 1, Status: run.StatusQueued, Kind: run.Orchestrator, Spec: run.Spec{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("go on")}},
		run.Queued{Kind: run.Orchestrator},
		run.Started{Kind: run.Orchestrator, WorkspacePath: "/tmp/ws"},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("go on")}}})
	path := fmt.Sprintf("%s/tasks/%s/runs/%s?min_position=%d", base, taskID, runID, done.Last)
	if a := s.Do(t, http.MethodGet, path, nil); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// appendRound adds a round of an agent loop to a run whose stream has a version: seven
// events in three transactions, and about 1.7 KB of text. It returns the version after it.
func appendRound(t testing.TB, store eventstore.Store, runID string, n, version int64) int64 {
	t.Helper()
	model, tool, call := fmt.Sprintf("step_%d", 2*n-1), fmt.Sprintf("step_%d", 2*n), fmt.Sprintf("c%d", n)
	apitest.Append(t, store, "run-"+runID, run.ModelCallStarted{ModelCallIndex: n, StepID: model, Model: "m"})
	said := run.Message{Role: run.RoleAssistant, Content: event.NewText(strings.Repeat("I look at it. ", 20)), ToolCalls: []run.ToolCall{{ID: call, Name: "read_file", Arguments: event.NewText(`{"path":"README.md"}`)}}}
	apitest.Append(t, store, "run-"+runID,
		run.ModelResponseRecorded{ModelCallIndex: n, FinishReason: "tool_calls", Message: said},
		run.ModelCallCompleted{ModelCallIndex: n, StepID: model, CostKnown: true, CostMicroUSD: 1, CostPicoUSD: 1_000_000, ToolCalls: 1},
		run.AssistantText{ModelCallIndex: n, Response: version + 2},
		run.ToolCallProposed{ModelCallIndex: n, ToolCallID: call, ToolName: "read_file", Response: version + 2},
		run.DispatchIntended{ModelCallIndex: n, ToolCallID: call, ToolName: "read_file", StepID: tool, StepKind: "tool", Title: "read_file README.md"})
	apitest.Append(t, store, "run-"+runID, run.DispatchSettled{
		ModelCallIndex: n, ToolCallID: call, ToolName: "read_file", StepID: tool, Outcome: run.OutcomeCompleted,
		Result: event.NewText(strings.Repeat("a line of a file\n", 60)), Title: "read_file README.md",
	})
	return version + 7
}
