package runs

import (
	"hecate/domain/run"
	"hecate/projections"
)

func (c change) started(p run.Started) {
	c.goes(run.StatusRunning)
	c.route(p.Route)
	it := &c.r.doc.Item
	it.WorkspaceID, it.WorkspacePath = p.WorkspaceID, p.WorkspacePath
	if p.Resume != nil && p.Resume.ToolCalls > 0 {
		c.resumed(p.Resume)
	}
}

// resumed adds the step that says with which calls a start goes on.
func (c change) resumed(p *run.ResumeFrom) {
	title, key, phase := "Recover pending tools", "recovered_tools", phaseRecovery
	if p.Approved {
		title, key, phase = "Dispatch approved tools", "approved_tools", phaseExecution
	}
	tools := p.Tools
	if tools == nil {
		tools = []string{} // shown as an empty list
	}
	o := origin{p.ModelCallIndex, p.SourceRunID, p.SourceIndex}
	s := c.addStep(projections.Step{
		Kind: "control", ToolName: "builtin.agent_loop_resume", Phase: phase, Title: title + " from " + o.String(),
		Input: o.add(map[string]any{"resumed": true, "tool_calls": p.ToolCalls, key: tools}),
	}, false)
	c.finishStep(s, statusCompleted, resultSuccess)
}

func (c change) failed(p run.Failed) {
	c.end(run.StatusFailed, p.Message, p.Reason)
	if !c.loop() {
		return
	}
	s := c.addStep(projections.Step{
		Kind: "model", ToolName: "builtin.agent_loop", Title: "Agent loop failed", Phase: phaseExecution, Error: p.Message,
	}, false)
	c.finishStep(s, statusFailed, resultError)
}

// telling reasons are shown as the status message of the trace; other failures show their text.
var telling = map[string]bool{"max_model_calls_exceeded": true, "cost_ceiling_exceeded": true}

// end closes the run and all that is open in it.
func (c change) end(status run.Status, lastError, reason string) {
	c.goes(status)
	it := &c.r.doc.Item
	it.LastError, it.FinishedAt, it.WaitingReason = lastError, stamp(c.fact), ""
	it.OTelStatus = "ok"
	if status != run.StatusCompleted {
		it.OTelStatus, it.OTelMessage = "error", lastError
	}
	if telling[reason] {
		it.OTelMessage = reason
	}
	for _, a := range c.r.approvals {
		a.doc.Close(statusCancelled, "system", lastError, c.fact.At)
		c.approvalClosed(a, false, "")
	}
	for _, s := range c.r.steps {
		if s.doc.Outcome == "" {
			c.cutStep(s, status, lastError)
		}
	}
	for _, a := range c.r.artifacts {
		a.doc.Status = "ready"
		if status == run.StatusCancelled {
			a.doc.Status = statusCancelled
		}
		c.touchArtifact(a) // still pending: output of a killed command may yet arrive
	}
	c.cutNote()
	if t := c.r.doc.Talk; t != nil && t.Status == "streaming" {
		t.Status = "ready"
		if status == run.StatusCancelled {
			t.Status = statusCancelled
		}
	}
}

// cutStep closes a step that the end of its run interrupts. A settlement that was
// under way may still add what it knows.
func (c change) cutStep(s *stepRow, status run.Status, lastError string) {
	s.doc.Status, s.doc.Result, s.doc.FinishedAt = statusCancelled, resultError, stamp(c.fact)
	if status == run.StatusFailed {
		s.doc.Status = statusFailed
	}
	if s.doc.Error == "" {
		s.doc.Error = lastError
	}
	if status == run.StatusCancelled {
		s.doc.ErrorKind = errorKindCancelled
	}
	delete(s.doc.Output, nextAttempt)
	s.pending = s.doc.Kind != "model" && s.doc.Kind != "approval"
	c.touchStep(s)
}

func (c change) requested(p run.ApprovalRequested) {
	it := &c.r.doc.Item
	it.ApprovalCount++
	c.r.doc.Pending++
	a := &approvalRow{run: c.r.pos, pos: c.fact.Position, pending: true, doc: projections.ApprovalOf(p, c.fact.At)}
	c.r.approvals[p.ApprovalID] = a
	c.touchApproval(a)
	if p.StepID == "" {
		return
	}
	o := origin{p.ModelCallIndex, p.SourceRunID, p.SourceIndex}
	c.addStep(projections.Step{
		ID: p.StepID, Kind: "approval", ToolName: "builtin.agent_loop_approval", Phase: phaseApproval, Status: statusWaiting,
		Title: "Awaiting approval — " + o.String(), ApprovalID: p.ApprovalID,
		Input: o.add(map[string]any{"reason": p.PolicyReason, "tool_call_bundle_digest": p.Digest}),
	}, true)
}

func (c change) resolved(p run.ApprovalResolved) {
	a := c.r.approvals[p.ApprovalID]
	if a == nil {
		return
	}
	a.doc.Resolve(p, c.fact.Actor, c.fact.At)
	result := resultSuccess
	if p.Decision != run.DecisionApproved {
		result = resultDenied
	}
	c.approvalClosed(a, p.Decision == run.DecisionApproved || p.Continue, result)
}

// approvalClosed notes that an approval is answered, or not needed any more. Unless the
// run goes on, its end cuts the step of the approval off.
func (c change) approvalClosed(a *approvalRow, goesOn bool, result string) {
	a.pending = false
	c.r.doc.Pending--
	c.touchApproval(a)
	s := c.r.steps[a.doc.StepID]
	switch {
	case s == nil:
	case goesOn:
		c.finishStep(s, statusCompleted, result)
	default:
		s.doc.ErrorKind = errorKindCancelled
		c.finishStep(s, statusCancelled, resultError)
	}
}

func (c change) touchApproval(a *approvalRow) {
	if !a.dirty {
		a.dirty = true
		c.f.dirtyApprovals = append(c.f.dirtyApprovals, a)
	}
	if !a.pending {
		delete(c.r.approvals, a.doc.ID)
	}
}
