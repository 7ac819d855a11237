package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hecate/commands"
	domainevent "hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/runtime/model/scripted"
	"hecate/tools"
)

// tool makes a tool that does what a test says.
func tool(name string, do func(context.Context, *tools.Env) tools.Result) tools.Tool {
	return tools.Tool{
		Name: name, Schema: json.RawMessage(`{"type":"object"}`),
		Prepare: func(json.RawMessage) (tools.Prepared, error) { return tools.Prepared{Run: do}, nil },
	}
}

func ok(text string) tools.Result {
	return tools.Result{Text: text, Outcome: run.OutcomeCompleted, Title: "done"}
}

// Some servers number their calls anew in every answer. What is known of a call must
// not be taken for another one with the same id.
func TestCallIDsMayComeAgainInALaterAnswer(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		{Calls: []scripted.Call{scripted.ToolCall("call_0", "read_file", `{"path": `)}},
		{Calls: []scripted.Call{scripted.ToolCall("call_0", "file_write", map[string]string{"path": "a", "content": "1"})}},
		{Calls: []scripted.Call{scripted.ToolCall("call_0", "list_dir", map[string]string{})}},
		{Text: "done"},
	}})
	r := n.start(task.Definition{Prompt: event("go"), ReadOnly: true})
	defer n.run(n.executor)()
	<-n.ended(r.RunID)
	s := n.state(r.RunID)
	var results []string
	for _, m := range s.Conversation {
		if m.Role == run.RoleTool {
			results = append(results, m.Content.String())
		}
	}
	if len(results) != 3 || !strings.Contains(results[0], "invalid arguments") || !strings.Contains(results[1], "read-only") || !strings.HasPrefix(results[2], "path=. entries=0") {
		t.Errorf("results are %q", results)
	}
}

// More facts than one append takes are recorded all the same, in order.
func TestACallWithManyFacts(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{{Calls: []scripted.Call{scripted.ToolCall("c1", "many", map[string]string{})}}, {Text: "done"}}})
	const facts = 3 * eventstore.EventsMax
	n.tools = []tools.Tool{tool("many", func(context.Context, *tools.Env) tools.Result {
		res := ok("many")
		for i := range facts {
			res.Facts = append(res.Facts, run.ShellOutput{ToolCallID: "c1", Stream: "stdout", ByteOffset: int64(i), Data: event("x")})
		}
		return res
	})}
	r := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	<-n.ended(r.RunID)
	next := int64(0)
	_ = n.executor.Load(t.Context(), commands.RunStream(r.RunID), 0, func(e domainevent.Event) {
		if p, is := e.Payload.(run.ShellOutput); is {
			if p.ByteOffset != next {
				t.Fatalf("piece %d is where %d should be", p.ByteOffset, next)
			}
			next++
		}
	})
	if s := n.state(r.RunID); s.Status != run.StatusCompleted || next != facts {
		t.Errorf("the run is %s with %d pieces", s.Status, next)
	}
}

// What the log can never take ends the run with a word, instead of trying for ever.
func TestWhatCannotBeRecordedEndsTheRun(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{
		{Calls: []scripted.Call{scripted.ToolCall("c1", strings.Repeat("x", 2*eventstore.DataMax), map[string]string{})}},
	}})
	r := n.start(task.Definition{Prompt: event("go")})
	defer n.run(n.executor)()
	<-n.ended(r.RunID)
	if s := n.state(r.RunID); s.Status != run.StatusFailed {
		t.Errorf("the run is %s", s.Status)
	}
}

// A run that was queued without a gate asks after all if the policies have changed
// before it starts.
func TestADirectRunIsDecidedAgainBeforeItStarts(t *testing.T) {
	n := newNode(t)
	r := n.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("echo x >> marker")})
	n.executor.Policies = []permission.Policy{permission.PolicyShell}
	defer n.run(n.executor)()
	n.until(r.RunID, func(s *run.State) bool { return s.Status == run.StatusAwaitingApproval })
	if _, err := os.Stat(filepath.Join(n.source, "marker")); err == nil {
		t.Fatal("the command ran before the yes")
	}
	s := n.state(r.RunID)
	_, err := n.executor.ResolveApproval(t.Context(), commands.Meta{}, s.TaskID, run.Resolution{ApprovalID: s.Approval.ApprovalID, Decision: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	<-n.ended(r.RunID)
	if got := n.state(r.RunID); got.Status != run.StatusCompleted {
		t.Errorf("the run is %s", got.Status)
	}
}

// flaky is a log that cannot be read for a moment.
type flaky struct {
	eventstore.Store
	fail atomic.Int64
}

func (f *flaky) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	if f.fail.Add(-1) >= 0 {
		return nil, errors.New("the database is away")
	}
	return f.Store.ReadAll(ctx, after, limit)
}

func TestWorkersOutliveAReadThatFails(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{{Text: "done"}}})
	f := &flaky{Store: n.store}
	f.fail.Store(1)
	x := n.executor
	x.Store = f
	defer n.run(x)()
	r := n.start(task.Definition{Prompt: event("go")})
	<-n.ended(r.RunID)
}

// late is a model whose answer arrives although its run was cancelled meanwhile.
type late struct{ asked chan struct{} }

func (*late) Encode(m run.Message) (model.Encoded, error) { return model.Encoded{Role: m.Role}, nil }

func (*late) EncodeTools([]model.ToolDefinition) ([]byte, error) { return nil, nil }

func (l *late) Call(ctx context.Context, _ model.Call) (*model.Response, error) {
	close(l.asked)
	<-ctx.Done()
	cost := int64(5_000_000)
	return &model.Response{Message: run.Message{Role: run.RoleAssistant, Content: event("late")}, FinishReason: "stop", Usage: &model.Usage{CostPicoUSD: &cost}}, nil
}

func TestALateAnswerIsPaidForAndChangesNothing(t *testing.T) {
	n := newNode(t)
	l := &late{asked: make(chan struct{})}
	n.route = model.Route{Provider: "late", Kind: "local", Model: "late", Client: l}
	r := n.start(task.Definition{Prompt: event("go")})
	stop := n.run(n.executor)
	<-l.asked
	if _, err := n.executor.CancelRun(t.Context(), commands.Meta{}, r.State.TaskID, r.RunID, ""); err != nil {
		t.Fatal(err)
	}
	n.follow(func(rec eventstore.Record) bool { return rec.Type == "model.call.completed" })
	stop()
	if s := n.state(r.RunID); s.Status != run.StatusCancelled || s.SpentPicoUSD != 5_000_000 {
		t.Errorf("the run is %s and has spent %d", s.Status, s.SpentPicoUSD)
	}
}
