package run

import (
	"hecate/domain/event"
)

// applyLoop folds what the model and the tools did.
func (s *State) applyLoop(e event.Event) {
	switch p := e.Payload.(type) {
	case ConversationInherited:
		s.applyInherited(p)
	case ConversationSeeded:
		s.Seeded, s.Notes = true, nil
		s.say(p.Messages...)
	case ModelCallStarted:
		s.Steps++
		s.CallsStarted++
		s.InFlight = &InFlight{Index: p.ModelCallIndex, StepID: p.StepID, Model: p.Model, Reserved: p.ReservedPicoUSD, EventID: e.ID}
		s.reserved = p.ReservedPicoUSD
	case ModelResponseRecorded:
		s.InFlight, s.Disconnects, s.Assessed = nil, 0, nil
		s.CallsDone++
		s.Batch = &Batch{Index: p.ModelCallIndex, Response: e.Version, Message: p.Message, FinishReason: p.FinishReason}
		s.Answers = append(s.Answers, e.Version)
		s.say(p.Message)
	case ModelCallCompleted:
		s.account(p)
	case ModelCallFailed:
		if p.MayCost() {
			s.loseCost()
		}
		s.InFlight, s.Failure = nil, &p
	case ModelCallAbandoned:
		s.loseCost()
		s.InFlight = nil
	case DispatchIntended:
		s.Steps++
		b := s.batch()
		if b.Intents == nil {
			b.Intents = map[string]DispatchIntended{}
		}
		b.Intents[p.ToolCallID] = p
	case DispatchSettled:
		s.applySettled(p)
	case OutcomeStated:
		s.applyStated(p)
	case PermissionChanged:
		s.remembered(p)
	case ProgressCheckStarted:
		s.Checking = &p
	case ProgressCheckCompleted:
		s.applyChecked(p)
	case Warned:
		if s.Warned == nil {
			s.Warned = map[string]bool{}
		}
		s.Warned[p.Code] = true
	}
}

// applyLate folds what is recorded after the run's end: what a call that was under
// way cost, what a tool that was stopped had done, what an operator found out.
func (s *State) applyLate(e event.Event) {
	switch p := e.Payload.(type) {
	case ModelCallCompleted:
		s.InFlight = nil
		s.account(p)
	case ModelCallAbandoned:
		s.loseCost()
		s.InFlight = nil
	case DispatchSettled:
		if b := s.batch(); b != nil && b.Settled[p.ToolCallID].ToolCallID == "" {
			s.applySettled(p)
		}
	case OutcomeStated:
		s.applyStated(p)
	case ProgressCheckCompleted:
		s.applyChecked(p)
	case PermissionRevoked:
		s.revoke(p.GrantID)
	}
}

// say adds messages of the event being folded to the conversation.
func (s *State) say(messages ...Message) {
	if len(messages) == 0 {
		return
	}
	s.Conversation = append(s.Conversation, messages...)
	s.Turns = append(s.Turns, s.Version)
}

func (s *State) applyInherited(p ConversationInherited) {
	s.Seeded, s.Inherited, s.Notes = true, p.Segments, p.Notes
	s.say(p.Messages...)
	if p.Pending == nil {
		return
	}
	b := &Batch{
		Origin: &Origin{RunID: p.Pending.RunID, Index: p.Pending.ModelCallIndex}, FinishReason: p.Pending.FinishReason,
		Message: Message{Role: RoleAssistant, ToolCalls: p.Pending.Calls},
		Intents: map[string]DispatchIntended{}, Settled: map[string]DispatchSettled{},
	}
	for _, id := range p.Pending.Settled {
		b.Settled[id] = DispatchSettled{ToolCallID: id}
	}
	for _, c := range p.Pending.Calls {
		for _, id := range p.Pending.Begun {
			if id == c.ID {
				b.Intents[id] = DispatchIntended{ToolCallID: id, ToolName: c.Name, SourceRunID: b.Origin.RunID, SourceIndex: b.Origin.Index}
			}
		}
	}
	s.Batch = b
}

func (s *State) account(p ModelCallCompleted) {
	s.SpentPicoUSD += p.CostPicoUSD
	s.Route = p.Route
	if !p.CostKnown {
		s.loseCost()
	}
}

// loseCost notes that the last call may have cost something that nobody will know.
// What was reserved for it counts as spent.
func (s *State) loseCost() {
	s.CostKnown = false
	s.HeldPicoUSD += s.reserved
	s.reserved = 0
}

// batch returns the batch that a dispatch belongs to: the last answer's, or the
// one call of a direct run.
func (s *State) batch() *Batch {
	if s.Spec.ExecutionKind == KindAgentLoop {
		return s.Batch
	}
	if s.Direct == nil {
		s.Direct = &Batch{}
	}
	return s.Direct
}

func (s *State) applySettled(p DispatchSettled) {
	s.Disconnects = 0
	b := s.batch()
	if i, ok := b.Intents[p.ToolCallID]; !ok || i.StepID == "" {
		s.Steps++ // settled without ever being dispatched in this run
	}
	if b.Settled == nil {
		b.Settled = map[string]DispatchSettled{}
	}
	b.Settled[p.ToolCallID] = p
	if p.Repeat != nil && b == s.Batch {
		s.repeated(p)
	}
	if p.Outcome == OutcomeUnknown {
		s.Doubtful = append(s.Doubtful, Doubt{Call: p, Version: s.Version})
	}
	if b == s.Batch {
		s.say(p.message())
	}
}

// message is what the model is told of the call.
func (e DispatchSettled) message() Message {
	return Message{Role: RoleTool, Content: e.Result, ToolCallID: e.ToolCallID, ToolError: e.ToolError}
}

func (s *State) applyStated(p OutcomeStated) {
	for i := range s.Doubtful {
		if d := &s.Doubtful[i]; d.Call.StepID == p.StepID && d.Call.ToolCallID == p.ToolCallID {
			d.Stated, d.At = &p, s.Position
			return
		}
	}
	// A call that the run's end left open.
	s.Doubtful = append(s.Doubtful, Doubt{
		Call:    DispatchSettled{ModelCallIndex: p.ModelCallIndex, ToolCallID: p.ToolCallID, ToolName: p.ToolName, StepID: p.StepID},
		Version: s.Version, Stated: &p, At: s.Position,
	})
}

// Unsettled returns the batch's calls that have no outcome yet, in order.
func (b *Batch) Unsettled() []ToolCall {
	if b == nil {
		return nil
	}
	var out []ToolCall
	for _, c := range b.Message.ToolCalls {
		if _, ok := b.Settled[c.ID]; !ok {
			out = append(out, c)
		}
	}
	return out
}

// MessagesOf returns what an event of a run adds to its conversation, in order.
func MessagesOf(p event.Payload) []Message {
	switch p := p.(type) {
	case ConversationInherited:
		return p.Messages
	case ConversationSeeded:
		return p.Messages
	case ModelResponseRecorded:
		return []Message{p.Message}
	case DispatchSettled:
		return []Message{p.message()}
	}
	return nil
}
