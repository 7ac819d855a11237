package run

import (
	"slices"

	"hecate/domain/permission/repetition"
)

// repeated adds a completed attempt to what the repetition guard looks at. The window
// is as long as the longest that can be configured; limits apply when it is looked at.
func (s *State) repeated(p DispatchSettled) {
	a := repetition.Attempt{
		Round: int(s.Batch.Index), Kind: p.Repeat.Kind, Call: p.Repeat.Call, Outcome: string(p.Outcome), Result: p.Repeat.Result, Content: p.Repeat.Content,
		Refused: p.Outcome == OutcomeBlocked || p.Outcome == OutcomeRefused,
		Shown:   repetition.Shown{Tool: p.ToolName, Outcome: string(p.Outcome), Result: p.Result.String()},
	}
	for _, c := range s.Batch.Message.ToolCalls {
		if c.ID == p.ToolCallID {
			a.Shown.Arguments = c.Arguments.String()
		}
	}
	s.Repeats = s.Repeats.Completed(a, repetition.Default)
}

// applyChecked folds what a check for progress brought, and what it cost.
func (s *State) applyChecked(p ProgressCheckCompleted) {
	s.SpentPicoUSD += p.CostPicoUSD
	if p.Asked && !p.CostKnown {
		s.CostKnown = false
		s.HeldPicoUSD += s.checkReserved()
	}
	s.Checking = nil
	if s.Assessed == nil {
		s.Assessed = map[string]ProgressCheckCompleted{}
	}
	s.Assessed[p.ToolCallID] = p
	if p.Assessment == repetition.Progress {
		s.Repeats = s.Repeats.Progressed()
	}
}

// notes tell a person what a check has seen. They are for nobody else: checks are no part
// of the conversation. Source: permission text, "The repeated-call anomaly".
func (p ProgressCheckCompleted) notes() (out []string) {
	for _, text := range append(slices.Clone(p.Observations), p.Problem) {
		if text != "" {
			out = append(out, "the check for progress: "+text)
		}
	}
	return out
}

// checkReserved is what is reserved for a check without a result, in pico-USD.
func (s *State) checkReserved() int64 {
	if s.Checking == nil {
		return 0
	}
	return s.Checking.ReservedPicoUSD
}

// finding is what the repetition guard sees in a call that is about to be made.
func (s *State) finding(r Rules, c ToolCall) repetition.Finding {
	if r.Limits == nil || r.Repeat == nil {
		return repetition.Finding{Level: repetition.None}
	}
	x := r.Repeat(c)
	return s.Repeats.Find(repetition.Pending{
		Round: int(s.Batch.Index), Kind: x.Kind, Call: x.Call, Shown: repetition.Shown{Tool: c.Name, Arguments: c.Arguments.String()},
	}, *r.Limits)
}
