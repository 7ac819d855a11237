package runs

import (
	"path"

	"hecate/domain/run"
	"hecate/projections"
)

func (c change) intended(p run.DispatchIntended) {
	input := map[string]any{}
	addTo(&input, p.Input)
	if c.loop() {
		addTo(&input, map[string]any{
			"dispatch_intent_version": int64(1), "tool_call_id": p.ToolCallID, "tool_call_digest": p.CallDigest, "tool": p.ToolName,
		})
		origin{p.ModelCallIndex, p.SourceRunID, p.SourceIndex}.add(input)
	}
	c.addStep(projections.Step{
		ID: p.StepID, Kind: p.StepKind, ToolName: p.ToolName, Title: p.Title, Phase: phaseExecution, Status: statusRunning, Input: input,
	}, true)
}

// settled ends the call's step, or makes one that was over at once: a call that
// policy refused was never meant to run.
func (c change) settled(p run.DispatchSettled) {
	s := c.r.steps[p.StepID]
	if s == nil {
		kind := p.ToolName
		if c.loop() {
			kind = "tool"
		}
		s = c.addStep(projections.Step{ID: p.StepID, Kind: kind, ToolName: p.ToolName, Phase: phaseExecution}, true)
		if c.loop() {
			s.doc.Input = c.originOf(p).add(map[string]any{"tool": p.ToolName, "tool_call_id": p.ToolCallID})
		}
	} else if c.loop() {
		addTo(&s.doc.Output, map[string]any{"dispatch_intent_settled": true})
	}
	c.describe(s, p)
	s.doc.Error, s.doc.ErrorKind = p.Error, p.ErrorKind
	c.settle(s, p.Outcome)
	c.endOutput(p.ToolCallID, "ready")
	c.hear(p)
}

// settledLate adds the outcome of a call that the run's end had cut off. The step
// stays as the end left it.
func (c change) settledLate(p run.DispatchSettled) {
	s := c.r.steps[p.StepID]
	if s == nil || s.doc.Outcome != "" {
		return // settled before
	}
	if c.loop() {
		addTo(&s.doc.Output, map[string]any{"dispatch_intent_settled": true})
	}
	c.describe(s, p)
	s.pending = p.Outcome == run.OutcomeUnknown
	c.touchStep(s)
	c.hear(p)
}

// describe notes what the settlement of a call says about it.
func (c change) describe(s *stepRow, p run.DispatchSettled) {
	addTo(&s.doc.Input, p.Input)
	addTo(&s.doc.Output, p.Output)
	s.doc.Title, s.doc.ExitCode, s.doc.Outcome = p.Title, p.ExitCode, string(p.Outcome)
}

// hear adds what the model is told of a call.
func (c change) hear(p run.DispatchSettled) {
	if c.loop() {
		c.addMessage(run.Message{Role: run.RoleTool, Content: p.Result, ToolCallID: p.ToolCallID, ToolError: p.ToolError}, 0)
	}
}

func (c change) settle(s *stepRow, o run.Outcome) {
	switch o {
	case run.OutcomeCompleted:
		c.finishStep(s, statusCompleted, resultSuccess)
	case run.OutcomeBlocked:
		s.doc.Phase = phasePolicy
		status := statusCompleted
		if c.r.doc.Kind != run.KindAgentLoop {
			status = statusFailed // of a direct run, which fails with it
		}
		c.finishStep(s, status, resultDenied)
	case run.OutcomeCancelled:
		if s.doc.ErrorKind == "" {
			s.doc.ErrorKind = errorKindCancelled
		}
		c.finishStep(s, statusCancelled, resultError)
	case run.OutcomeUnknown:
		s.doc.Phase = phaseRecovery
		c.finishStep(s, statusFailed, resultError)
	default:
		c.finishStep(s, statusFailed, resultError)
	}
}

func (c change) shellStarted(p run.ShellCommand) {
	for _, a := range [...]struct{ id, kind string }{{p.StdoutArtifactID, "stdout"}, {p.StderrArtifactID, "stderr"}} {
		if a.id == "" {
			continue
		}
		c.addArtifact(artifactDoc{CallID: p.ToolCallID, Artifact: projections.Artifact{
			ID: a.id, StepID: p.StepID, Kind: a.kind, Name: a.kind + ".txt", MIMEType: "text/plain", Status: "streaming",
		}}, true)
	}
}

func (c change) shellOutput(p run.ShellOutput) {
	if a := c.r.artifacts[p.ArtifactID]; a != nil {
		c.addPart(a, p.Data)
		c.touchArtifact(a)
	}
}

func (c change) shellEnded(callID string, cancelled bool) {
	if cancelled {
		c.endOutput(callID, statusCancelled)
	} else {
		c.endOutput(callID, "ready")
	}
}

// endOutput settles what a call was writing, if nothing has settled it yet.
func (c change) endOutput(callID, status string) {
	for _, a := range c.r.artifacts {
		if a.doc.CallID != callID {
			continue
		}
		if a.doc.Status == "streaming" {
			a.doc.Status = status
		}
		a.pending = false
		c.touchArtifact(a)
	}
}

func (c change) patched(p run.FilePatch) {
	name := path.Base(p.Path)
	if p.FileArtifactID != "" {
		c.addArtifact(artifactDoc{Artifact: projections.Artifact{
			ID: p.FileArtifactID, StepID: p.StepID, Kind: "file", Name: name, MIMEType: "text/plain", Path: p.Path, Status: "ready",
		}}, false, p.Content)
	}
	c.addArtifact(artifactDoc{Existed: p.BeforeExisted, Artifact: projections.Artifact{
		ID: p.ArtifactID, StepID: p.StepID, Kind: "patch", Name: name + ".patch", MIMEType: "text/x-diff", Path: p.Path, Status: p.ArtifactStatus,
	}}, false, p.Diff)
}

// recorded keeps a text, or a newer form of one that has been kept before.
func (c change) recorded(p run.ArtifactRecorded) {
	if c.again {
		c.r.doc.Item.ArtifactCount--
	}
	c.r.recorded[p.ArtifactID] = true
	c.addArtifact(artifactDoc{Artifact: projections.Artifact{
		ID: p.ArtifactID, StepID: p.StepID, Kind: p.Kind, Name: p.Name, Description: p.Description,
		MIMEType: p.MIMEType, Path: p.Path, Status: p.Status,
	}}, false, p.Content)
}
