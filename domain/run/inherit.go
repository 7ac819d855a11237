package run

import (
	"fmt"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
)

// goOn is said to a model whose answer ended its run without finishing the task: most
// providers want a conversation to end with the user.
const goOn = "Continue from where you left off."

// Resume says what a run inherits that goes on where s stopped; nil if s never got
// as far as a conversation. An answer with open calls is inherited as it stands: its
// calls are decided about anew.
func (s *State) Resume() *ConversationInherited {
	if !s.Seeded {
		return nil
	}
	c := s.inherit(s.usable())
	c.Notes = slices.Concat(s.Notes, s.Learned, s.findings(s.Version, 0))
	if b := s.Batch; b != nil && s.usableBatch() {
		switch pending := b.Unsettled(); {
		case len(pending) > 0:
			c.Pending = b.handOver(s.ID)
		case len(b.Message.ToolCalls) == 0 && s.Answers[len(s.Answers)-1] == s.Turns[len(s.Turns)-1]:
			c.Messages = []Message{{Role: RoleUser, Content: event.NewText(goOn)}}
		}
	}
	return c
}

// Continue says what a run inherits that takes s's conversation further with a new
// prompt. Calls without an outcome are passed over, and the model is told so.
func (s *State) Continue(prompt string) (*ConversationInherited, error) {
	if strings.TrimSpace(prompt) == "" {
		return nil, fault.Invalid("invalid_request", "prompt is required")
	}
	if !s.Seeded {
		return nil, fault.Invalid("invalid_request", "the run has no conversation to continue; retry it instead")
	}
	c := s.inherit(s.usable())
	if s.usableBatch() {
		for _, call := range s.Batch.Unsettled() {
			text := call.Name + ": not run: the conversation went on with another request before this call was made"
			if _, begun := s.Batch.Intents[call.ID]; begun {
				text = UnknownText(call.Name)
			}
			c.Messages = append(c.Messages, Message{Role: RoleTool, Content: event.NewText(text), ToolCallID: call.ID, ToolError: true})
		}
	}
	c.Messages = slices.Concat(c.Messages, s.Notes, s.Learned, s.findings(s.Version, 0))
	c.Messages = append(c.Messages, Message{Role: RoleUser, Content: event.NewText(prompt)})
	return c, nil
}

// Branch says what a run inherits that makes model call number index of s again:
// everything before its answer.
func (s *State) Branch(index int64) (*ConversationInherited, error) {
	switch {
	case s.CallsDone == 0:
		return nil, fault.Invalid("invalid_request", "the run has no completed model call to go back to")
	case index < 1 || index > s.CallsDone:
		return nil, fault.Invalid("invalid_request", "model_call_index must be between 1 and %d, the number of the run's completed model calls", s.CallsDone)
	}
	before := s.Answers[index-1]
	n, _ := slices.BinarySearch(s.Turns, before)
	c := s.inherit(s.Turns[:n])
	c.Notes = slices.Concat(s.Learned, s.findings(before, 0))
	return c, nil
}

func (s *State) inherit(turns []int64) *ConversationInherited {
	c := &ConversationInherited{FromRunID: s.ID, Segments: slices.Clone(s.Inherited)}
	if len(turns) > 0 {
		c.Segments = append(c.Segments, Segment{RunID: s.ID, Versions: slices.Clone(turns)})
	}
	return c
}

// usable are the turns without an answer that no provider would take back: one that
// says nothing, or one whose calls cannot be told apart.
func (s *State) usable() []int64 {
	if s.Batch == nil || s.Batch.Origin != nil || s.usableBatch() {
		return s.Turns
	}
	n, _ := slices.BinarySearch(s.Turns, s.Batch.Response)
	return s.Turns[:n]
}

func (s *State) usableBatch() bool {
	return s.Batch != nil && !s.Batch.Message.Blank() && InvalidBundle(s.Batch.Message.ToolCalls) == ""
}

// handOver describes the batch to the run that inherits it.
func (b *Batch) handOver(runID string) *Pending {
	p := &Pending{RunID: runID, ModelCallIndex: b.Index, FinishReason: b.FinishReason, Calls: b.Message.ToolCalls}
	if b.Origin != nil {
		p.RunID, p.ModelCallIndex = b.Origin.RunID, b.Origin.Index
	}
	for _, c := range b.Message.ToolCalls {
		_, settled := b.Settled[c.ID]
		_, begun := b.Intents[c.ID]
		switch {
		case settled:
			p.Settled = append(p.Settled, c.ID)
		case begun:
			p.Begun = append(p.Begun, c.ID)
		}
	}
	return p
}

// Since tells what operators found out about calls of this run after a position.
func (s *State) Since(position int64) []Message { return s.findings(s.Version, position) }

// findings tells the model what an operator found out about calls whose outcome was
// unknown, as far as the calls stand before the given version and the operator spoke
// after the given position.
func (s *State) findings(before, since int64) []Message {
	var out []Message
	for _, d := range s.Doubtful {
		if d.Stated == nil || d.Version > before || d.At > 0 && d.At <= since {
			continue
		}
		verb := "did not take effect"
		if d.Stated.Done {
			verb = "took effect"
		}
		text := fmt.Sprintf("The operator has looked into the call %s (id %s), whose outcome was unknown: it %s.", d.Call.ToolName, d.Call.ToolCallID, verb)
		if note := strings.TrimSpace(d.Stated.Note.String()); note != "" {
			text += " The operator's note: " + note
		}
		out = append(out, Message{Role: RoleUser, Content: event.NewText(text)})
	}
	return out
}

// UnknownText is what a model is told of a call of the tool whose result nobody has.
func UnknownText(tool string) string {
	return tool + ": outcome unknown. The runtime stopped after this call was dispatched and before its result was recorded, " +
		"so its effect may have happened, in part or in full. It was not run again; check before you repeat it."
}

// noteMax bounds an operator's note, in bytes.
const noteMax = 4 << 10

// StateOutcome records what an operator found out about the call of a step: whether its
// effect happened. Only a call without a known outcome can be stated, once, and only
// in a run that has ended: nobody but its worker adds to a run that goes on.
func StateOutcome(s *State, stepID string, done bool, note string) ([]event.Payload, error) {
	if !s.Status.Terminal() {
		return nil, fault.Conflict("invalid_request", "task run is %s; an unknown call can be settled when it has ended", s.Status)
	}
	note = strings.TrimSpace(note)
	if len(note) > noteMax {
		return nil, fault.Invalid("invalid_request", "the note has %d bytes, at most %d are allowed", len(note), noteMax)
	}
	for _, d := range s.Doubtful {
		if d.Call.StepID != stepID {
			continue
		}
		if d.Stated != nil {
			return nil, fault.Conflict("invalid_request", "the outcome of this call has been settled already")
		}
		return []event.Payload{stated(d.Call.ModelCallIndex, d.Call.ToolCallID, d.Call.ToolName, stepID, done, note)}, nil
	}
	for _, b := range []*Batch{s.Batch, s.Direct} {
		if b == nil {
			continue
		}
		for id, i := range b.Intents {
			if _, settled := b.Settled[id]; i.StepID != stepID || settled {
				continue
			}
			return []event.Payload{stated(i.ModelCallIndex, id, i.ToolName, stepID, done, note)}, nil
		}
	}
	for n := range s.Steps {
		if s.StepID(n+1) == stepID {
			return nil, fault.Conflict("invalid_request", "only a call whose outcome is unknown can be settled by hand")
		}
	}
	return nil, fault.NotFound("not_found", "task step not found")
}

func stated(index int64, callID, tool, stepID string, done bool, note string) OutcomeStated {
	return OutcomeStated{ModelCallIndex: index, ToolCallID: callID, ToolName: tool, StepID: stepID, Done: done, Note: event.NewText(note), By: "operator"}
}
