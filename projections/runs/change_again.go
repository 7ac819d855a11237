package runs

import (
	"fmt"
	"slices"

	"hecate/domain/run"
	"hecate/projections"
)

// origin is the model call that something follows from, in this run or, if it was
// inherited, in an earlier one.
type origin struct {
	index       int64 // in this run
	source      string
	sourceIndex int64
}

func (o origin) String() string {
	if o.source != "" {
		return fmt.Sprintf("model call %d of an earlier run", o.sourceIndex)
	}
	return fmt.Sprintf("model call %d", o.index)
}

// add names the origin in the input of a step.
func (o origin) add(input map[string]any) map[string]any {
	if o.source != "" {
		input["source_run_id"], input["source_model_call_index"] = o.source, o.sourceIndex
	} else {
		input["model_call_index"] = o.index
	}
	return input
}

// originOf is the model call that asked for a call which may never have been
// dispatched in this run.
func (c change) originOf(p run.DispatchSettled) origin {
	if in := c.r.doc.Inherited; p.ModelCallIndex == 0 && in != nil {
		return origin{source: in.RunID, sourceIndex: in.Index}
	}
	return origin{index: p.ModelCallIndex}
}

// loop reports whether a model says what the run does.
func (c change) loop() bool { return c.r.doc.Kind == run.KindAgentLoop }

// goes moves the run to a status. No worker has it unless it runs.
func (c change) goes(s run.Status) {
	it := &c.r.doc.Item
	if it.Status != string(s) {
		c.r.doc.Since = c.fact.At.UnixMicro()
	}
	it.Status = string(s)
	if s != run.StatusRunning {
		it.WorkerNode = ""
	}
}

func (c change) claimed(p run.Claimed) {
	c.r.doc.Item.WorkerNode, c.r.doc.Item.WaitingReason = p.NodeID, ""
}

const waitingForWorkspace = "workspace_unreachable"

func (c change) disconnected(p run.Disconnected) {
	c.goes(run.StatusQueued)
	c.r.doc.Item.WaitingReason = ""
	if p.Action == run.ActionWaiting {
		c.r.doc.Item.WaitingReason = waitingForWorkspace
	}
}

// warned keeps one warning of each code.
func (c change) warned(p run.Warned) {
	it := &c.r.doc.Item
	for _, w := range it.Warnings {
		if w.Code == p.Code {
			return
		}
	}
	it.Warnings = append(it.Warnings, projections.Warning{Code: p.Code, Message: p.Message})
}

// inherited begins the conversation with references to those of earlier runs.
func (c change) inherited(p run.ConversationInherited) {
	for i, s := range p.Segments {
		c.f.inherited.Add(c.r.pos, int64(i+1), s.RunID, encodeVersions(s.Versions))
	}
	c.say(p.Messages)
	if p.Pending == nil {
		return
	}
	in := &inherited{From: p.FromRunID, RunID: p.Pending.RunID, Index: p.Pending.ModelCallIndex}
	for _, call := range p.Pending.Calls {
		in.Calls = append(in.Calls, inheritedCall{
			ID: call.ID, Name: call.Name,
			Settled: slices.Contains(p.Pending.Settled, call.ID), Begun: slices.Contains(p.Pending.Begun, call.ID),
		})
	}
	c.r.doc.Inherited = in
}

// stated adds what an operator found out about a call whose outcome is unknown. A
// result that was on its way may still arrive at one that the run's end left open.
func (c change) stated(p run.OutcomeStated) {
	s := c.r.steps[p.StepID]
	if s == nil {
		return
	}
	outcome := "not_done"
	if p.Done {
		outcome = "done"
	}
	addTo(&s.doc.Output, map[string]any{operatorOutcome: outcome})
	if note := p.Note.String(); note != "" {
		s.doc.Output["operator_note"] = note
	}
	s.pending = s.doc.Outcome == ""
	c.touchStep(s)
}

const operatorOutcome = "operator_outcome"
