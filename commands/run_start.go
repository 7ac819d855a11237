package commands

import (
	"context"
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/domain/trace"
	"hecate/eventstore"
)

// RunResult is where a run stands after a command.
type RunResult struct {
	RunID    string
	State    *run.State
	Position int64
}

// StartRun opens the task's next run. Of concurrent calls exactly one succeeds; the
// others get a conflict. The run waits for a worker, or for a person if a gate
// stands before it. Who may give answers ahead is for the caller to see to.
func (x *Executor) StartRun(ctx context.Context, m Meta, taskID string, ahead run.Ahead) (RunResult, error) {
	return x.open(ctx, m, taskID, ahead, func(task.State) (opening, error) { return opening{}, nil })
}

// opening is what a run has from an earlier one. The zero value is a plain run.
type opening struct {
	source    *run.Source
	from      *run.State                 // the source
	inherited *run.ConversationInherited // nil: nothing
	ahead     run.Ahead
	budget    int64 // micro-USD that the task's ceiling is raised to, 0 to leave it
}

// open opens a run in the one way in which runs are opened: the task's version
// guards the number, the ceiling and that there is one open run.
func (x *Executor) open(ctx context.Context, m Meta, taskID string, ahead run.Ahead, how func(task.State) (opening, error)) (RunResult, error) {
	if err := ahead.Check(); err != nil {
		return RunResult{}, err
	}
	return once(ctx, x, m, x.recallRun(ctx), func() (RunResult, error) {
		return retry(ctx, func() (RunResult, error) {
			t, version, err := x.loadTask(ctx, taskID)
			if err != nil {
				return RunResult{}, err
			}
			if err := t.Visible(); err != nil {
				return RunResult{}, err
			}
			if t.Definition.Erased() {
				return RunResult{}, fault.Conflict("conflict", "what the task wants was erased; make a new task")
			}
			o, err := how(t)
			if err != nil {
				return RunResult{}, err
			}
			if o.source != nil && o.source.Kind != run.SourceRetry {
				if err := t.HasWorkspace(o.from.WorkspacePath); err != nil {
					return RunResult{}, err
				}
			}
			o.ahead = ahead
			opened, err := task.Open(t, ident.New("run"))
			if err != nil {
				return RunResult{}, err
			}
			changes := []event.Payload{opened}
			if o.budget > t.BudgetMicroUSD {
				t.BudgetMicroUSD = o.budget
				changes = []event.Payload{task.BudgetRaised{MicroUSD: o.budget}, opened}
			}
			first, err := x.firstEvents(m, taskID, t, opened, o)
			if err != nil {
				return RunResult{}, err
			}
			events := x.now(0, first...)
			parts := []part{
				{stream: RunStream(opened.RunID), expected: eventstore.NoStream, work: workOf(events), events: events},
				{stream: TaskStream(taskID), expected: version, events: x.now(version, changes...)},
			}
			if o.from != nil { // what is taken over, such as grants, must not have been taken back meanwhile
				parts = append(parts, part{stream: RunStream(o.from.ID), expected: o.from.Version})
				m = m.dueTo(o.from.Position)
			}
			done, err := x.append(ctx, m, parts...)
			if err != nil {
				return RunResult{}, err
			}
			s := run.Fold(opened.RunID, events)
			return RunResult{RunID: opened.RunID, State: &s, Position: done.Last}, nil
		})
	})
}

// firstEvents are what a run begins with.
func (x *Executor) firstEvents(m Meta, taskID string, t task.State, opened task.RunOpened, o opening) ([]event.Payload, error) {
	d := t.Definition
	created := run.Created{
		TaskID: taskID, Number: opened.Number, Status: run.StatusQueued, Kind: run.Orchestrator, Source: o.source,
		Route: run.Route{Model: d.Model, Provider: d.Provider}, BudgetMicroUSD: t.BudgetMicroUSD, Spec: d.Spec(), Ahead: o.ahead, RequestID: m.RequestID,
	}
	if d.ExecutionKind == run.KindAgentLoop {
		created.ModelCallsMax = x.ModelCallsMax
		if created.Spec.Posture == permission.PostureLevels {
			created.ModelCallsMax = x.roundsMax()
		}
	}
	if p, ok := trace.Parse(m.Trace); ok {
		created.TraceID, created.RootSpanID, created.Carried = p.TraceID, p.SpanID, m.Carried
		if !p.Sampled() {
			created.TraceFlags = p.Flags
		}
	}
	var inherits []event.Payload
	if o.source != nil && o.source.Kind != run.SourceRetry {
		inherits = takeOver(&created, o)
	} else if reuse, err := t.Begin(); err != nil {
		return nil, err
	} else if reuse != nil {
		created.Spec.Reuse, created.WorkspacePath, created.Reach = reuse, reuse.Path, reuse.Reach
	}
	first := append([]event.Payload{created}, inherits...)
	s := run.Fold(opened.RunID, x.now(0, first...))
	g := run.GateBefore(created.Spec, s.Posture(permission.Posture{Policies: x.Policies}))
	switch {
	case g == nil:
		return append(first, run.Queued{Kind: run.Orchestrator, Route: created.Route}), nil
	case s.Ahead.OnAsk == permission.OnAskRefuse:
		return nil, fault.Conflict("invalid_request", "the run cannot start: %s No one is present to answer; pass yes, or leave on_ask at park", g.Reason)
	}
	created.Status = run.StatusAwaitingApproval
	first[0] = created
	s = run.Fold(opened.RunID, x.now(0, first...))
	return append(first, g.Request(&s, created.Spec)...), nil
}

// RoundsMax is the ceiling of model calls of a run in the levels posture, unless the
// server sets one. Source: permission text, "The repeated-call anomaly".
const RoundsMax = 200

func (x *Executor) roundsMax() int64 {
	if x.RoundsMax > 0 {
		return x.RoundsMax
	}
	return RoundsMax
}

// takeOver makes the run follow its source: its workspace, its bill and what was said.
func takeOver(created *run.Created, o opening) []event.Payload {
	from := o.from
	created.WorkspacePath, created.Reach = from.WorkspacePath, from.Reach
	created.PriorPicoUSD, created.PriorHeldPicoUSD = from.PriorPicoUSD+from.SpentPicoUSD, from.HeldPicoUSD
	created.Session = from.Session
	created.PriorHeldPicoUSD += from.Open() // it may have ended in the midst of a call
	out := []event.Payload{run.ResumedFrom{
		FromRunID: from.ID, Reason: o.source.Reason, FromSequence: o.source.Sequence, ModelCallIndex: o.source.ModelCallIndex,
		PriorMicroUSD: run.MicroUSD(created.PriorPicoUSD),
	}}
	if o.inherited != nil {
		out = append(out, *o.inherited)
	}
	return out
}

// sourceOf loads the run that another one is to follow.
func (x *Executor) sourceOf(ctx context.Context, t task.State, kind run.SourceKind, runID, reason string) (opening, error) {
	if err := t.HasRun(runID); err != nil {
		return opening{}, err
	}
	head, err := x.Store.Head(ctx)
	if err != nil {
		return opening{}, err
	}
	s, err := x.foldRun(ctx, runID)
	if err != nil {
		return opening{}, err
	}
	if kind != run.SourceRetry {
		if err := x.learn(ctx, s); err != nil {
			return opening{}, err
		}
	}
	o := opening{from: s, source: &run.Source{Kind: kind, RunID: runID, Sequence: s.Position, Through: head, Reason: strings.TrimSpace(reason)}}
	if s.Steps > 0 {
		o.source.StepID = s.StepID(s.Steps)
	}
	return o, nil
}

// learn adds to s what operators have found out about calls of the runs that it
// inherits from since it was opened.
func (x *Executor) learn(ctx context.Context, s *run.State) error {
	seen := map[string]bool{}
	for _, seg := range s.Inherited {
		if seen[seg.RunID] {
			continue
		}
		seen[seg.RunID] = true
		earlier := run.New(seg.RunID)
		if err := x.outline(ctx, &earlier); err != nil {
			return err
		}
		s.Learned = append(s.Learned, earlier.Since(s.Source.Through)...)
	}
	return nil
}

func notEnded(s *run.State) error {
	if s.Status.Terminal() {
		return nil
	}
	return fault.Conflict("invalid_request", "task run is %s; wait for it to end or cancel it", s.Status)
}
