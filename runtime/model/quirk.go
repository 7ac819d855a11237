package model

import "slices"

// Quirk is a liberty that a provider takes with its dialect. The answer is understood all the same.
type Quirk string

// The quirks that are noticed.
const (
	QuirkNotStreamed     Quirk = "not_streamed"            // a stream was asked for, one piece came
	QuirkStreamed        Quirk = "streamed_unasked"        // one piece was asked for, a stream came
	QuirkNoEndMarker     Quirk = "no_end_marker"           // the finish reason came, the end marker did not
	QuirkNoFinishReason  Quirk = "no_finish_reason"        // the end came without a reason
	QuirkReason          Quirk = "finish_reason_mismatch"  // the reason says stop beside tool calls, or the reverse
	QuirkNoCallIndex     Quirk = "tool_call_index_missing" // pieces of calls have no index
	QuirkSameCallIndex   Quirk = "tool_call_index_shared"  // several calls have the same index
	QuirkNoCallID        Quirk = "tool_call_id_missing"    // a call has no id
	QuirkCallRepeated    Quirk = "tool_call_head_repeated" // later pieces repeat the id or the name
	QuirkArgumentsObject Quirk = "arguments_not_string"    // arguments come as JSON and not as text
	QuirkArgumentsEmpty  Quirk = "arguments_empty"         // no arguments instead of the empty object
)

// quirks is a set of them.
type quirks []Quirk

func (q *quirks) note(one Quirk, when bool) {
	if !when {
		return
	}
	if i, found := slices.BinarySearch(*q, one); !found {
		*q = slices.Insert(*q, i, one)
	}
}

// ending looks at how an answer closed.
func (q *quirks) ending(marked bool, reason string, calls int) {
	q.note(QuirkNoEndMarker, !marked)
	switch reason {
	case "":
		q.note(QuirkNoFinishReason, true)
	case "tool_calls", "tool_use", "function_call":
		q.note(QuirkReason, calls == 0)
	case "stop", "end_turn":
		q.note(QuirkReason, calls > 0)
	}
}
