package run

import (
	"strings"

	"hecate/domain/event"
	"hecate/domain/permission/repetition"
)

// Answered is what the runtime knows of a finished model call.
type Answered struct {
	Message      Message
	FinishReason string
	Route        Route
	Usage        *Usage
	CostPicoUSD  int64
	CostKnown    bool
}

// Respond records the answer to the call in flight, once, with its account and
// what it proposes. A bundle that cannot be used proposes nothing.
func (s *State) Respond(a Answered) []event.Payload {
	index, stepID, response := s.InFlight.Index, s.InFlight.StepID, s.Version+1
	run := s.SpentPicoUSD + a.CostPicoUSD
	out := []event.Payload{
		ModelResponseRecorded{ModelCallIndex: index, Message: a.Message, FinishReason: a.FinishReason},
		ModelCallCompleted{
			ModelCallIndex: index, StepID: stepID, Route: a.Route, CostMicroUSD: MicroUSD(a.CostPicoUSD),
			RunCumulativeMicroUSD: MicroUSD(run), TaskCumulativeMicro: MicroUSD(s.PriorPicoUSD + run),
			CostPicoUSD: a.CostPicoUSD, CostKnown: a.CostKnown, ToolCalls: int64(len(a.Message.ToolCalls)), Usage: a.Usage,
		},
	}
	if InvalidBundle(a.Message.ToolCalls) != "" {
		return out
	}
	if a.Message.ThinkingText() != "" {
		out = append(out, AssistantThinking{ModelCallIndex: index, Response: response})
	}
	if strings.TrimSpace(a.Message.Content.String()) != "" {
		out = append(out, AssistantText{ModelCallIndex: index, Response: response})
	}
	for i, c := range a.Message.ToolCalls {
		out = append(out, ToolCallProposed{ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, Call: int64(i), Response: response})
	}
	return out
}

// Conclude ends the run with the answer of the batch.
func (s *State) Conclude(b *Batch) []event.Payload {
	return []event.Payload{
		FinalAnswer{ModelCallIndex: b.Index, ArtifactID: FinalAnswerID(s.ID), Response: b.Response},
		Finished{FinalStatus: StatusCompleted, ModelCallCount: s.CallsDone},
	}
}

// FinalAnswerID and ConversationID are the fixed ids of a run's two texts.
func FinalAnswerID(runID string) string  { return "final-answer-" + runID }
func ConversationID(runID string) string { return "convo-" + runID }

// Failing ends the run badly.
func (s *State) Failing(f Fail) []event.Payload {
	return []event.Payload{Failed{Code: "run_failed", Message: f.Message, ModelCallCount: s.CallsDone, Reason: f.Reason}}
}

// Cancel ends the run because an operator says so. A run that has ended stays as it is.
func Cancel(s *State, reason string) []event.Payload {
	if s.Status.Terminal() {
		return nil
	}
	text := "run cancelled"
	if reason = strings.TrimSpace(reason); reason != "" {
		text += ": " + reason
	}
	var out []event.Payload
	if a := s.Approval; a != nil {
		out = append(out, ApprovalResolved{
			ApprovalID: a.ApprovalID, Kind: a.Kind, Decision: DecisionCancelled, Status: DecisionCancelled, By: "system", Comment: text, Scope: "once",
		})
	}
	out = append(out, Cancelled{By: "operator", Reason: text}, TaskUpdated{})
	if c := s.Checking; c != nil {
		out = append(out, s.AbandonedCheck(*c, "the run was cancelled while the check was under way"))
	}
	if c := s.InFlight; c != nil { // the request may have left, and may be charged
		out = append(out, ModelCallAbandoned{ModelCallIndex: c.Index, StepID: c.StepID, Reason: "the run was cancelled while the model call was under way"})
	}
	return out
}

// AbandonedCheck is the end of a check whose result nobody will see.
func (s *State) AbandonedCheck(c ProgressCheckStarted, why string) ProgressCheckCompleted {
	return ProgressCheckCompleted{ModelCallIndex: c.ModelCallIndex, ToolCallID: c.ToolCallID, Assessment: repetition.Unavailable, Problem: why, Asked: true}
}
