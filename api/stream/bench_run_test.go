package stream_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// BenchmarkFollowLongRun counts the bytes that one client gets who follows a run of
// many rounds while it happens. A round takes 50 ms and adds about 1.7 KB.
func BenchmarkFollowLongRun(b *testing.B) {
	for _, rounds := range []int{100, 300} {
		b.Run(fmt.Sprintf("rounds=%d", rounds), func(b *testing.B) {
			for b.Loop() {
				followLongRun(b, rounds)
			}
		})
	}
}

func followLongRun(b *testing.B, rounds int) {
	s := apitest.Start(b, apitest.Options{})
	beginRun(b, s.Store, "t", "r")
	resp, _ := s.Subscribe(b.Context(), b, base+"/tasks/t/runs/r/stream")
	defer resp.Body.Close()
	go func() {
		version := int64(4)
		for n := range int64(rounds) {
			version = appendRound(b, s.Store, "r", n+1, version)
			time.Sleep(50 * time.Millisecond)
		}
		apitest.Append(b, s.Store, "run-r", run.Finished{FinalStatus: run.StatusCompleted})
	}()
	count := &counter{r: resp.Body}
	frames := apitest.NewStream(count)
	pictures, largest := 0, 0
	for {
		f, err := nextRun(b, frames)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if f.EventType == "snapshot" {
			pictures++
		}
		largest = max(largest, len(f.Data))
	}
	b.ReportMetric(float64(count.n)/1000, "KB")
	b.ReportMetric(float64(count.n)/1000/float64(rounds), "KB/round")
	b.ReportMetric(float64(pictures), "pictures")
	b.ReportMetric(float64(largest)/1000, "KB/largest")
	b.ReportMetric(0, "ns/op")
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// beginRun opens a run of an agent loop up to its first model call: four events.
func beginRun(t testing.TB, store eventstore.Store, taskID, runID string) {
	t.Helper()
	apitest.Append(t, store, "task-"+taskID,
		task.Created{Definition: task.Definition{Title: "long", Prompt: event.NewText("go on"), ExecutionKind: run.KindAgentLoop}},
		task.RunOpened{RunID: runID, Number: 1})
	apitest.Append(t, store, "run-"+runID,
		run.Created{TaskID: taskID, Number: 1, Status: run.StatusQueued, Kind: run.Orchestrator, Spec: run.Spec{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("go on")}},
		run.Queued{Kind: run.Orchestrator},
		run.Started{Kind: run.Orchestrator, WorkspacePath: "/tmp/ws"},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("go on")}}})
}

// appendRound adds one round of an agent loop whose stream has this version. It
// returns the version after it.
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
