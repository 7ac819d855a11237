package runs

import (
	"fmt"
	"strconv"

	"hecate/domain/run"
	"hecate/projections"
)

func (c change) seeded(p run.ConversationSeeded) {
	if c.r.doc.Talk == nil {
		c.r.doc.Talk = &conversation{Pos: c.fact.Position, CreatedAt: c.fact.At, Status: "ready"}
		c.r.doc.Item.ArtifactCount++
	}
	for _, m := range p.Messages {
		c.addMessage(m)
	}
}

func (c change) addMessage(m run.Message) {
	c.r.doc.Messages++
	c.f.messages.Add(c.r.pos, c.r.doc.Messages, c.fact.Version, encodeMessage(&m))
}

func (c change) talk(status string) {
	if c.r.doc.Talk != nil {
		c.r.doc.Talk.Status = status
	}
}

func (c change) callStarted(p run.ModelCallStarted) {
	c.route(run.Route{Model: p.Model, Provider: p.Provider})
	c.talk("streaming")
	c.addStep(projections.Step{
		ID: p.StepID, Kind: "model", ToolName: "builtin.agent_loop_llm", Phase: phaseThinking, Status: statusRunning,
		Title: fmt.Sprintf("Model call %d", p.ModelCallIndex),
		Input: map[string]any{"model_call_index": p.ModelCallIndex, "model": p.Model},
	}, true)
}

// responded adds the message; the step is found by its kind, as one call is under way at most.
func (c change) responded(p run.ModelResponseRecorded) {
	c.addMessage(p.Message)
	c.talk("ready")
	c.r.doc.Call = p.ModelCallIndex
	for _, s := range c.r.steps {
		if s.doc.Kind != "model" {
			continue
		}
		addTo(&s.doc.Output, map[string]any{"content_chars": p.Message.Content.Len(), "finish_reason": p.FinishReason})
		if calls := p.Message.ToolCalls; run.InvalidBundle(calls) != "" {
			addTo(&s.doc.Output, map[string]any{"tool_call_count": int64(len(calls)), "invalid_tool_call_bundle": true})
		} else {
			names := make([]string, len(calls))
			for i, call := range calls {
				names[i] = call.Name
			}
			s.doc.Output["tool_calls"] = names
		}
		c.touchStep(s)
	}
}

func (c change) callCompleted(p run.ModelCallCompleted) {
	c.account(p)
	c.r.doc.Item.ModelCallCount++
	c.route(p.Route)
	s := c.r.steps[p.StepID]
	if s == nil {
		return
	}
	addTo(&s.doc.Output, map[string]any{"cost_micros_usd": p.CostMicroUSD, "run_cumulative_cost_micros_usd": p.RunCumulativeMicroUSD})
	if !p.CostKnown {
		s.doc.Output["cost_known"] = false
	}
	c.finishStep(s, statusCompleted, resultSuccess)
}

func (c change) account(p run.ModelCallCompleted) {
	c.r.doc.PicoUSD += p.CostPicoUSD
	c.r.doc.Item.CostKnown = c.r.doc.Item.CostKnown && p.CostKnown
}

func (c change) callFailed(p run.ModelCallFailed) {
	c.talk("ready")
	if p.Partial.Len() > 0 {
		c.addMessage(run.Message{Role: run.RoleAssistant, Content: p.Partial}) // for show: no run goes on from it
		c.r.doc.Item.CostKnown = false                                         // a provider may charge for what it sent
	}
	if s := c.r.steps[p.StepID]; s != nil {
		s.doc.Error, s.doc.ErrorKind = p.Message, p.Kind
		c.finishStep(s, statusFailed, resultError)
	}
}

func (c change) callAbandoned(p run.ModelCallAbandoned) {
	c.talk("ready")
	c.r.doc.Item.CostKnown = false
	if s := c.r.steps[p.StepID]; s != nil {
		s.doc.Error, s.doc.ErrorKind, s.doc.Phase = p.Reason, "model_call_abandoned", phaseRecovery
		c.finishStep(s, statusFailed, resultError)
	}
}

// answered makes the summary artifact, whose text is that of the message.
func (c change) answered(p run.FinalAnswer) {
	a := c.addArtifact(artifactDoc{Artifact: projections.Artifact{
		ID: p.ArtifactID, Kind: "summary", Name: "agent-final-answer.txt", MIMEType: "text/plain", Status: "ready",
	}}, false)
	c.addBody(a, partMessage, strconv.AppendInt(nil, p.Response, 10))
}
