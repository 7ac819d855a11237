package model

import (
	"encoding/json"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
)

// openAICallDelta is a piece of a tool call. Servers differ in what they leave
// out and what they repeat.
type openAICallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; a few servers send an object
	} `json:"function"`
}

// callSlots collects tool calls in the order in which they began.
type callSlots []*callSlot

type callSlot struct {
	index     *int
	id, name  string
	arguments strings.Builder
}

// add puts a piece where it belongs. Only arguments are appended; the first id
// and the first name of a slot stand.
func (s *callSlots) add(d openAICallDelta, noted *quirks) {
	slot := s.find(d)
	if slot != nil {
		noted.note(QuirkCallRepeated, d.Function.Name != "" || (d.ID != "" && d.ID == slot.id))
	} else {
		noted.note(QuirkSameCallIndex, s.taken(d.Index))
		slot = &callSlot{index: d.Index}
		*s = append(*s, slot)
	}
	if slot.id == "" {
		slot.id = d.ID
	}
	if slot.name == "" {
		slot.name = d.Function.Name
	}
	text := textOf(d.Function.Arguments)
	noted.note(QuirkArgumentsObject, text != "" && d.Function.Arguments[0] != '"')
	slot.arguments.WriteString(text)
}

func (s callSlots) taken(index *int) bool {
	return index != nil && slices.ContainsFunc(s, func(slot *callSlot) bool { return slot.index != nil && *slot.index == *index })
}

// find returns the slot that a piece continues, or nil if it begins a call.
func (s callSlots) find(d openAICallDelta) *callSlot {
	if d.Index != nil {
		return s.findIndex(d)
	}
	if d.ID != "" {
		return s.findID(d.ID) // an absent index is not the index 0: a new id is a new call
	}
	if len(s) == 0 {
		return nil
	}
	last := s[len(s)-1]
	if d.Function.Name != "" && (d.Function.Name != last.name || json.Valid([]byte(last.arguments.String()))) {
		return nil // neither index nor id: the next name begins the next call
	}
	return last
}

// findIndex looks for the newest slot with the index. Some servers give every
// call the index 0: then another id with a name of its own is another call. An
// id alone is not, because some servers make up a new one for every piece.
func (s callSlots) findIndex(d openAICallDelta) *callSlot {
	for i := len(s) - 1; i >= 0; i-- {
		slot := s[i]
		if slot.index == nil || *slot.index != *d.Index {
			continue
		}
		if d.ID != "" && slot.id != "" && d.ID != slot.id && d.Function.Name != "" {
			return s.findID(d.ID)
		}
		return slot
	}
	return nil
}

func (s callSlots) findID(id string) *callSlot {
	for _, slot := range s {
		if slot.id == id {
			return slot
		}
	}
	return nil
}

// calls returns the complete calls. Empty or blank arguments are the empty
// object; anything else stays exactly as the model wrote it.
func (s callSlots) calls(noted *quirks) []run.ToolCall {
	var out []run.ToolCall
	for _, slot := range s {
		arguments := slot.arguments.String()
		if slot.id == "" && slot.name == "" && arguments == "" {
			continue
		}
		noted.note(QuirkNoCallID, slot.id == "")
		if strings.TrimSpace(arguments) == "" {
			noted.note(QuirkArgumentsEmpty, true)
			arguments = "{}"
		}
		out = append(out, run.ToolCall{ID: slot.id, Name: slot.name, Arguments: event.NewText(arguments)})
	}
	return out
}
