package commands

import (
	"context"
	"strings"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
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
// stands before it.
func (x *Executor) StartRun(ctx context.Context, m Meta, taskID string) (RunResult, error) {
	return retry(ctx, func() (RunResult, error) {
		t, version, err := x.loadTask(ctx, taskID)
		if err != nil {
			return RunResult{}, err
		}
		opened, err := task.Open(t, ident.New("run"))
		if err != nil {
			return RunResult{}, err
		}
		events := x.now(0, x.firstEvents(m, taskID, t, opened)...)
		done, err := x.append(ctx, m,
			part{stream: RunStream(opened.RunID), expected: eventstore.NoStream, work: workOf(events), events: events},
			part{stream: TaskStream(taskID), expected: version, events: x.now(version, opened)},
		)
		if err != nil {
			return RunResult{}, err
		}
		s := run.Fold(opened.RunID, events)
		return RunResult{RunID: opened.RunID, State: &s, Position: done.Last}, nil
	})
}

// firstEvents are what a plain run begins with.
func (x *Executor) firstEvents(m Meta, taskID string, t task.State, o task.RunOpened) []event.Payload {
	d := t.Definition
	created := run.Created{
		TaskID: taskID, Number: o.Number, Status: run.StatusQueued, Kind: run.Orchestrator,
		Route: run.Route{Model: d.Model, Provider: d.Provider}, BudgetMicroUSD: t.BudgetMicroUSD, Spec: d.Spec(), RequestID: m.RequestID,
	}
	if d.ExecutionKind == run.KindAgentLoop {
		created.ModelCallsMax = x.ModelCallsMax
	}
	created.TraceID, created.RootSpanID = traceIDs(m.Trace)
	if g := run.GateBefore(created.Spec, permission.Posture{Policies: x.Policies, ReadOnly: d.ReadOnly}); g != nil {
		created.Status = run.StatusAwaitingApproval
		s := run.New(o.RunID)
		return append([]event.Payload{created}, g.Request(&s, created.Spec)...)
	}
	return []event.Payload{created, run.Queued{Kind: run.Orchestrator, Route: created.Route}}
}

// traceIDs takes the trace and span out of a W3C traceparent.
func traceIDs(traceparent string) (trace, span string) {
	f := strings.Split(traceparent, "-")
	if len(f) < 4 {
		return "", ""
	}
	return f[1], f[2]
}
