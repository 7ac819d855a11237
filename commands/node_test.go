package commands_test

import (
	"context"
	"os"
	"testing"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// onPostgres makes two executors of one log, as two servers are.
func onPostgres(t *testing.T) [2]*commands.Executor {
	t.Helper()
	url := pgtest.URL(t)
	var out [2]*commands.Executor
	for i := range out {
		store, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		out[i] = executorOn(store)
	}
	return out
}

// logs are the logs on which several servers race with each other.
var logs = map[string]func(*testing.T) [2]*commands.Executor{
	"sqlite":   func(t *testing.T) [2]*commands.Executor { x := newExecutor(t); return [2]*commands.Executor{x, x} },
	"postgres": onPostgres,
}

// advance records what a worker would.
func advance(t *testing.T, x *commands.Executor, runID string, payloads ...event.Payload) *run.State {
	t.Helper()
	s, err := x.LoadRun(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	if len(payloads) == 0 {
		return s
	}
	if _, err := x.Advance(t.Context(), commands.Meta{}, s, payloads...); err != nil {
		t.Fatal(err)
	}
	return s
}

// start opens a run of a new task.
func start(t *testing.T, x *commands.Executor, d task.Definition) (taskID, runID string) {
	t.Helper()
	taskID = newTask(t, x, d)
	r, err := x.StartRun(t.Context(), commands.Meta{}, taskID, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	return taskID, r.RunID
}

// begin is the start of a run's execution.
func begin(t *testing.T, x *commands.Executor, runID string) {
	t.Helper()
	s := advance(t, x, runID, run.Started{WorkspacePath: "/ws/" + runID})
	if s.Spec.ExecutionKind == run.KindAgentLoop && !s.Seeded {
		advance(t, x, runID, run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: s.Spec.Prompt}}})
	}
}

// ask makes one model call; the answer asks for the tools, which are named after their
// ids, or is text.
func ask(t *testing.T, x *commands.Executor, runID string, costMicro int64, calls ...string) {
	t.Helper()
	s := advance(t, x, runID)
	s = advance(t, x, runID, run.ModelCallStarted{ModelCallIndex: s.CallsDone + 1, StepID: s.NextStepID()})
	m := run.Message{Role: run.RoleAssistant}
	for _, id := range calls {
		m.ToolCalls = append(m.ToolCalls, run.ToolCall{ID: id, Name: "tool_" + id, Arguments: event.NewText("{}")})
	}
	if len(calls) == 0 {
		m.Content = event.NewText("an answer")
	}
	advance(t, x, runID, s.Respond(run.Answered{Message: m, CostPicoUSD: costMicro * 1_000_000, CostKnown: true})...)
}

// settle records the outcome of a call that was dispatched.
func settle(t *testing.T, x *commands.Executor, runID, call string, o run.Outcome) {
	t.Helper()
	s := advance(t, x, runID)
	step := s.NextStepID()
	advance(t, x, runID, run.DispatchIntended{ToolCallID: call, ToolName: "tool_" + call, StepID: step},
		run.DispatchSettled{ToolCallID: call, ToolName: "tool_" + call, StepID: step, Outcome: o, Result: event.NewText("result of " + call)})
}

func fail(t *testing.T, x *commands.Executor, runID string) {
	t.Helper()
	advance(t, x, runID, advance(t, x, runID).Failing(run.Fail{Reason: "test", Message: "it failed"})...)
}

// failed is a task whose only run talked once, for so much money, and failed.
func failed(t *testing.T, x *commands.Executor, d task.Definition, costMicro int64) (taskID, runID string) {
	t.Helper()
	taskID, runID = start(t, x, d)
	begin(t, x, runID)
	ask(t, x, runID, costMicro)
	fail(t, x, runID)
	return taskID, runID
}

// action is one of the ways to follow a run.
type action func(x *commands.Executor, t *testing.T, m commands.Meta, taskID, runID string) (commands.RunResult, error)

var actions = map[string]action{
	"retry": func(x *commands.Executor, t *testing.T, m commands.Meta, taskID, runID string) (commands.RunResult, error) {
		return x.RetryRun(t.Context(), m, taskID, runID, "again", run.Ahead{})
	},
	"resume": func(x *commands.Executor, t *testing.T, m commands.Meta, taskID, runID string) (commands.RunResult, error) {
		return x.ResumeRun(t.Context(), m, commands.ResumeRun{TaskID: taskID, RunID: runID, Reason: " the network is back "})
	},
	"continue": func(x *commands.Executor, t *testing.T, m commands.Meta, taskID, runID string) (commands.RunResult, error) {
		return x.ContinueRun(t.Context(), m, taskID, runID, "and now?", run.Ahead{})
	},
	"branch": func(x *commands.Executor, t *testing.T, m commands.Meta, taskID, runID string) (commands.RunResult, error) {
		return x.RetryFromModelCall(t.Context(), m, commands.RetryFromModelCall{TaskID: taskID, RunID: runID, ModelCallIndex: 1})
	},
}

// hooked does something once, right before its store appends.
type hooked struct {
	eventstore.Store
	before func()
}

func (h *hooked) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	if do := h.before; do != nil {
		h.before = nil
		do()
	}
	return h.Store.Append(ctx, b)
}
