package projectiontest

import (
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
)

// States folds the runs of the story by id.
func (s *Story) States() map[string]*run.State {
	out := map[string]*run.State{}
	for _, f := range s.Facts {
		id, ok := strings.CutPrefix(f.Stream, "run-")
		if !ok {
			continue
		}
		if out[id] == nil {
			state := run.New(id)
			out[id] = &state
		}
		out[id].Apply(event.Event{Version: out[id].Version + 1, Payload: f.Payload})
	}
	return out
}

// State folds the run that the story is at.
func (s *Story) State() *run.State { return s.States()[s.RunID] }

// asking are rules by which a person is asked before the tools of the policies run.
func asking(policies ...permission.Policy) run.Rules {
	return run.Rules{
		Posture: permission.Posture{Policies: policies},
		Facts:   func(c run.ToolCall) permission.Call { return permission.Call{Tool: c.Name} },
	}
}

// Follow opens the task's next run, which goes on from the one that the story is at
// with what that leaves it. The story is at the new run then.
func (s *Story) Follow(kind run.SourceKind, index int64, reason string, inherited *run.ConversationInherited) {
	from := s.State()
	number := from.Number + 1
	s.RunID = fmt.Sprintf("%s_%d", strings.TrimSuffix(s.RunID, fmt.Sprint("_", from.Number)), number)
	s.steps, s.version = 0, 0
	s.Task(task.RunOpened{RunID: s.RunID, Number: number})
	created := run.Created{
		TaskID: s.TaskID, Number: number, Status: run.StatusQueued, Kind: run.Orchestrator, Spec: from.Spec, ModelCallsMax: 8, BudgetMicroUSD: 50_000,
		Source:    &run.Source{Kind: kind, RunID: from.ID, Sequence: from.Version, StepID: from.StepID(from.Steps), ModelCallIndex: index, Reason: reason},
		RequestID: fmt.Sprintf("req_%d", number), TraceID: fmt.Sprintf("trace_%d", number),
	}
	if kind == run.SourceRetry {
		s.Run(created, run.Queued{Kind: run.Orchestrator})
		return
	}
	created.PriorPicoUSD, created.WorkspacePath, created.Reach = from.PriorPicoUSD+from.SpentPicoUSD, from.WorkspacePath, "place_1"
	s.Run(created, run.ResumedFrom{
		FromRunID: from.ID, Reason: reason, FromSequence: from.Version, ModelCallIndex: index, PriorMicroUSD: run.MicroUSD(created.PriorPicoUSD),
	})
	if inherited != nil {
		s.Run(*inherited)
	}
	s.Run(run.Queued{Kind: run.Orchestrator})
}

// Begin lets a worker take the queued run, as the domain says that it goes on.
func (s *Story) Begin(r run.Rules) {
	begin := run.Next(s.State(), r).(run.Begin)
	s.Run(
		run.Claimed{NodeID: "node_a", Instance: "instance_1", Epoch: s.version, Reach: "place_1", LeaseMS: 30_000},
		run.Started{Kind: run.Orchestrator, WorkspaceID: "workspace_" + s.TaskID, WorkspacePath: "/ws/" + s.TaskID, WorkerID: "w2", Resume: begin.Resume},
	)
	if begin.Resume != nil && begin.Resume.ToolCalls > 0 {
		s.steps++ // the control step
	}
}

// Cancel ends the run as an operator does.
func (s *Story) Cancel(reason string) {
	s.Run(run.Cancel(s.State(), reason)...)
	s.Task(task.RunClosed{RunID: s.RunID, Status: "cancelled"})
}

// AskPerson adds the request for what the rules do not let go.
func (s *Story) AskPerson(r run.Rules) {
	ask := run.Next(s.State(), r).(run.Ask)
	s.Run(s.State().RequestApproval(ask, run.Question{Lines: []string{"details withheld"}, Incomplete: true})...)
	s.steps++
}

// Approve answers yes and lets a worker go on.
func (s *Story) Approve(r run.Rules) {
	yes, err := run.Resolve(s.State(), run.Resolution{ApprovalID: s.State().Approval.ApprovalID, Decision: "approve", Note: "go"})
	if err != nil {
		panic(err)
	}
	s.Run(yes...)
	s.Begin(r)
}

// Unknown settles a call whose result nobody has.
func (s *Story) Unknown(r run.Rules) (step string) {
	i := run.Next(s.State(), r).(run.SettleUnknown).Intent
	step = i.StepID
	if step == "" {
		step = s.Step()
	}
	s.Run(run.DispatchSettled{
		ModelCallIndex: i.ModelCallIndex, ToolCallID: i.ToolCallID, ToolName: i.ToolName, StepID: step, Outcome: run.OutcomeUnknown,
		Result: event.NewText(run.UnknownText(i.ToolName)), ToolError: true, Title: i.ToolName + " (outcome unknown)",
		Error: "outcome unknown", ErrorKind: "tool_dispatch_outcome_unknown", Output: map[string]any{"recovery_result_missing": true},
	})
	return step
}

// Inherited dispatches a call of an inherited answer.
func (s *Story) Inherited(c run.ToolCall, o run.Outcome) {
	origin := s.State().Batch.Origin
	step := s.Step()
	s.Run(
		run.DispatchIntended{
			SourceRunID: origin.RunID, SourceIndex: origin.Index, ToolCallID: c.ID, ToolName: c.Name, CallDigest: run.CallDigest(c), StepID: step, StepKind: "tool",
			Title: c.Name + " (dispatching)", Input: map[string]any{"path": "b.txt"}, Ruling: run.Ruling{Decision: "allow", Layer: "default", Rule: "level-0", Posture: "runtime"},
		},
	)
	s.Settle(0, c, step, o, c.Name+" "+string(o), map[string]any{"sub_status": string(o)})
}

// Outcome adds what an operator found out.
func (s *Story) Outcome(step string, done bool, note string) {
	said, err := run.StateOutcome(s.State(), step, done, note)
	if err != nil {
		panic(err)
	}
	s.Run(said...)
}

// Tell adds what the model is told before its next call.
func (s *Story) Tell(r run.Rules) {
	s.Run(run.ConversationSeeded{Messages: run.Next(s.State(), r).(run.Tell).Messages})
}
