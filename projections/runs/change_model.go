package runs

import (
	"fmt"
	"strconv"
	"time"

	"hecate/domain/run"
	"hecate/projections"
)

// say adds messages that are no answer. The first ones begin the conversation.
func (c change) say(messages []run.Message) {
	if c.r.doc.Talk == nil {
		c.r.doc.Talk = &conversation{Pos: c.fact.Position, CreatedAt: c.fact.At, Status: "ready"}
		c.r.doc.Item.ArtifactCount++
	}
	for _, m := range messages {
		c.addMessage(m, 0)
	}
}

// addMessage adds a message; call is the index of the model call whose tool calls it holds.
func (c change) addMessage(m run.Message, call int64) {
	c.r.doc.Messages++
	c.f.messages.Add(c.r.pos, c.r.doc.Messages, c.fact.Version, call, encodeMessage(&m))
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

// retrying shows that a call waits for another attempt, and what became of the others.
func (c change) retrying(p run.ModelCallRetrying) {
	s := c.r.steps[p.StepID]
	if s == nil {
		return
	}
	next := p.Attempt + 1
	before, _ := s.doc.Output["attempts"].([]any) // none before the first
	addTo(&s.doc.Output, map[string]any{
		"attempts": append(before, map[string]any{
			"attempt": p.Attempt, "provider": p.Provider, "model": p.Model, "kind": p.Kind, "wait_ms": p.WaitMS,
		}),
		nextAttempt: map[string]any{
			"attempt": next, "provider": p.NextProvider, "model": p.NextModel,
			"at": projections.FormatTime(c.fact.At.Add(time.Duration(p.WaitMS) * time.Millisecond)),
		},
	})
	s.doc.Title = fmt.Sprintf("Model call %d (attempt %d)", p.ModelCallIndex, next)
	c.touchStep(s)
}

// nextAttempt is what the output of a model call says until the call is over.
const nextAttempt = "next_attempt"

// responded adds the message; the step is found by its kind, as one call is under way at most.
func (c change) responded(p run.ModelResponseRecorded) {
	calls, index := p.Message.ToolCalls, p.ModelCallIndex
	invalid := run.InvalidBundle(calls) != ""
	if invalid || len(calls) == 0 {
		index = 0
	}
	c.addMessage(p.Message, index)
	c.talk("ready")
	c.r.doc.Call = p.ModelCallIndex
	for _, s := range c.r.steps {
		if s.doc.Kind != "model" {
			continue
		}
		addTo(&s.doc.Output, map[string]any{"content_chars": p.Message.Content.Len(), "finish_reason": p.FinishReason})
		if invalid {
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
	c.finishCall(s, statusCompleted, resultSuccess)
}

func (c change) finishCall(s *stepRow, status, result string) {
	delete(s.doc.Output, nextAttempt)
	c.finishStep(s, status, result)
}

func (c change) account(p run.ModelCallCompleted) {
	c.r.doc.PicoUSD += p.CostPicoUSD
	c.r.doc.Item.CostKnown = c.r.doc.Item.CostKnown && p.CostKnown
}

func (c change) callFailed(p run.ModelCallFailed) {
	c.talk("ready")
	if p.Partial.Len() > 0 {
		c.addMessage(run.Message{Role: run.RoleAssistant, Content: p.Partial}, 0) // for show: no run goes on from it
	}
	if p.MayCost() {
		c.r.doc.Item.CostKnown = false
	}
	if s := c.r.steps[p.StepID]; s != nil {
		s.doc.Error, s.doc.ErrorKind = p.Message, p.Kind
		c.finishCall(s, statusFailed, resultError)
	}
}

func (c change) callAbandoned(p run.ModelCallAbandoned) {
	c.talk("ready")
	c.r.doc.Item.CostKnown = false
	if s := c.r.steps[p.StepID]; s != nil {
		s.doc.Error, s.doc.ErrorKind, s.doc.Phase = p.Reason, "model_call_abandoned", phaseRecovery
		c.finishCall(s, statusFailed, resultError)
	}
}

// answered makes the summary artifact, whose text is that of the message.
func (c change) answered(p run.FinalAnswer) {
	a := c.addArtifact(artifactDoc{Artifact: projections.Artifact{
		ID: p.ArtifactID, Kind: "summary", Name: "agent-final-answer.txt", MIMEType: "text/plain", Status: "ready",
	}}, false)
	c.addBody(a, partMessage, strconv.AppendInt(nil, p.Response, 10))
}
