// Package repetition watches one turn of a run for work that repeats itself without
// getting anywhere. It looks at what completed attempts brought, not at how many there
// are: a test that runs after every edit is fine, reading an unchanged file again and
// again is not.
//
// State is folded from completed attempts. Finding says what must happen before a
// pending call: nothing; a look by a fast model (soft), where only observed progress
// lets the call pass; or a person (hard). Neither grants nor flags count here.
// Source: permission text, "The repeated-call anomaly".
package repetition

import "slices"

// Attempt is one completed call, refused ones included. Hashes are of any kind; equal
// ones mean the same content, and "" that it is not known.
type Attempt struct {
	Round   int    // the model's response that it came from; never less than before
	Kind    Kind   // of the call
	Call    string // hash of the tool and its arguments
	Outcome string // such as completed or failed
	Result  string // hash of what came of it; for an edit, of the content it left
	Content string // hash of what has changed in the workspace, after it
	Refused bool   // nothing ran
	Shown   Shown  // for a checker
}

// State is what is remembered of a turn. The zero State is its beginning.
type State struct {
	window []Attempt // the last ones, oldest first
	fresh  int       // how many of them, from the end, came after progress was last seen
	polls  int       // since the last new evidence, with that itself: polls,
	others int       // and other attempts
}

// Completed folds an attempt. What it brought is evidence if it has not been seen:
// another result, or a workspace in another state. A refusal is none.
func (s State) Completed(a Attempt, l Limits) State {
	a.Shown = a.Shown.bounded()
	if !a.Refused && !slices.ContainsFunc(s.window, func(b Attempt) bool { return b.same(a) }) {
		s.polls, s.others = 0, 0
	}
	if a.Kind == Poll {
		s.polls++
	} else {
		s.others++
	}
	s.window = append(slices.Clone(s.window), a)
	if over := len(s.window) - l.Window; over > 0 {
		s.window = s.window[over:]
	}
	s.fresh = min(s.fresh+1, len(s.window))
	return s
}

// Progressed folds that a checker saw progress: what came before is no longer
// suspicious. It does not put off the hard checkpoint.
func (s State) Progressed() State {
	s.fresh = 0
	return s
}

// Approved folds a person's yes at a checkpoint: the turn begins anew.
func (State) Approved() State { return State{} }

// same reports whether two attempts were the same call with the same outcome, in the
// same state of the workspace if that could make a difference to it.
func (a Attempt) same(b Attempt) bool {
	return a.Call == b.Call && a.Outcome == b.Outcome && a.Result == b.Result && a.Refused == b.Refused &&
		(a.Kind != Command || a.Content == b.Content)
}

// Level is what must happen before a call.
type Level string

// The levels of a finding.
const (
	None Level = "none"
	Soft Level = "soft" // a fast model looks, see Finding.Checkpoint
	Hard Level = "hard" // a person looks
)

// Trigger is what made the guard look.
type Trigger string

// The triggers.
const (
	Unchanged Trigger = "unchanged" // the call brought the same each time
	Cycle     Trigger = "cycle"     // a short sequence of calls repeats with the same results
	Dominant  Trigger = "dominant"  // the call makes up most of the recent activity
	Sustained Trigger = "sustained" // nothing new for a long time
)

// Pending is the call that is about to be made.
type Pending struct {
	Round int
	Kind  Kind
	Call  string
	Shown Shown
}

// Find looks at a pending call.
func (s State) Find(p Pending, l Limits) Finding {
	s = s.within(l.Window)
	f := Finding{Level: Soft}
	recent := s.window[len(s.window)-s.fresh:]
	switch stuck, n := s.sustained(p, l); {
	case stuck:
		f.Level, f.Trigger, f.Count = Hard, Sustained, n
	case unchanged(recent, p, l) >= l.unchanged(p.Kind):
		f.Trigger, f.Count = Unchanged, unchanged(recent, p, l)
	case cycle(recent, p, l) > 0:
		f.Trigger, f.Count = Cycle, cycle(recent, p, l)
	case count(recent, p.Call) >= l.Dominant:
		f.Trigger, f.Count = Dominant, count(recent, p.Call)
	default:
		return Finding{Level: None}
	}
	f.Evidence = s.evidence(p, l)
	return f
}

// within is what is left of s for a guard that remembers so many attempts.
func (s State) within(window int) State {
	if over := len(s.window) - window; over > 0 {
		s.window = s.window[over:]
	}
	s.fresh = min(s.fresh, len(s.window))
	return s
}

// sustained reports whether a call that was already made since the last new evidence
// has used up what is allowed without any.
func (s State) sustained(p Pending, l Limits) (bool, int) {
	n, most := s.others, l.Hard
	if p.Kind == Poll {
		n, most = s.polls, l.HardPolls
	}
	since := s.window[len(s.window)-min(len(s.window), s.polls+s.others):]
	return n >= most && count(since, p.Call) > 0, n
}

func count(window []Attempt, call string) (n int) {
	for _, a := range window {
		if a.Call == call {
			n++
		}
	}
	return n
}

// unchanged counts the latest attempts of the call that brought the same. Whatever
// was done between them does not count as help: an edit may have nothing to do with
// it. A refusal brought nothing, so it does not end the row; a gap does.
func unchanged(window []Attempt, p Pending, l Limits) (n int) {
	var last *Attempt
	others := 0
	for i := len(window) - 1; i >= 0; i-- {
		a := &window[i]
		switch {
		case a.Call != p.Call:
			if others++; others > l.Gap {
				return n
			}
			continue
		case a.Refused:
		case last == nil:
			last = a
		case a.Outcome != last.Outcome || a.Result != last.Result:
			return n
		}
		n, others = n+1, 0
	}
	return n
}

// cycle returns the length of the shortest cycle that the call would go on with, 0 if
// there is none. It must have gone round as often as the most patient of its calls may
// come back unchanged.
func cycle(window []Attempt, p Pending, l Limits) int {
	for period := 2; period <= l.Period; period++ {
		if period > len(window) || window[len(window)-period].Call != p.Call {
			continue
		}
		times := 2
		for _, a := range window[len(window)-period:] {
			times = max(times, l.unchanged(a.Kind))
		}
		if rounds(window, period) >= times {
			return period
		}
	}
	return 0
}

// rounds is how often the window's end repeats itself with a period.
func rounds(window []Attempt, period int) int {
	n := period
	for i := len(window) - period - 1; i >= 0 && window[i].same(window[i+period]); i-- {
		n++
	}
	return n / period
}
