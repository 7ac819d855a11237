package repetition

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of what a checker sees, in bytes.
const (
	argumentsMax = 512
	resultMax    = 1 << 10
	evidenceMax  = 16 << 10 // of all calls together
)

// Shown is one call as a checker sees it. It holds no reasoning of the model.
type Shown struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Outcome   string `json:"outcome"` // not_executed for the pending call
	Result    string `json:"result,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // some text was longer
}

// NotExecuted is the outcome of the call that is being judged.
const NotExecuted = "not_executed"

func (s Shown) bounded() Shown {
	for _, x := range []struct {
		text *string
		most int
	}{{&s.Tool, argumentsMax}, {&s.Arguments, argumentsMax}, {&s.Result, resultMax}, {&s.Outcome, argumentsMax}} {
		if len(*x.text) > x.most {
			*x.text, s.Truncated = strings.ToValidUTF8((*x.text)[:x.most], ""), true
		}
	}
	return s
}

func (s Shown) size() int { return len(s.Tool) + len(s.Arguments) + len(s.Outcome) + len(s.Result) }

// Exchange is the completed calls of one response of the model.
type Exchange struct {
	Round   int     `json:"round"`
	Current bool    `json:"current,omitempty"` // the response that the pending call belongs to
	Calls   []Shown `json:"calls"`
}

// Evidence is what a fast model is asked about: the latest exchanges, oldest first,
// and the call that waits.
type Evidence struct {
	Exchanges []Exchange `json:"exchanges"`
	Omitted   int        `json:"omitted,omitempty"` // older calls of these exchanges that did not fit
	Pending   Shown      `json:"pending"`
}

// evidence takes the completed calls of the current response, and those of the
// exchanges before it, from the newest back to where the bounds are reached.
func (s State) evidence(p Pending, l Limits) Evidence {
	e := Evidence{Pending: p.Shown.bounded()}
	e.Pending.Outcome, e.Pending.Result = NotExecuted, ""
	left := evidenceMax - e.Pending.size()
	round, earlier := p.Round, 0 // the exchange that is being read, and how many lie before the current one
	for _, a := range slices.Backward(s.window) {
		if a.Round != round {
			round, earlier = a.Round, earlier+1
		}
		if earlier > l.Exchanges {
			break
		}
		if left -= a.Shown.size(); left < 0 {
			e.Omitted++
			continue
		}
		if len(e.Exchanges) == 0 || e.Exchanges[0].Round != round {
			e.Exchanges = slices.Insert(e.Exchanges, 0, Exchange{Round: round, Current: round == p.Round})
		}
		e.Exchanges[0].Calls = slices.Insert(e.Exchanges[0].Calls, 0, a.Shown)
	}
	return e
}

// Finding is what the guard says about a pending call.
type Finding struct {
	Level    Level    `json:"level"`
	Trigger  Trigger  `json:"trigger,omitempty"`
	Count    int      `json:"count,omitempty"` // attempts; of a cycle, its length
	Evidence Evidence `json:"evidence"`
}

// Assessment is what came of the fast model's look.
type Assessment string

// The assessments. Only Progress clears a suspicion.
const (
	Progress    Assessment = "progress"
	Loop        Assessment = "loop"
	Uncertain   Assessment = "uncertain"
	TimedOut    Assessment = "timeout"
	Invalid     Assessment = "invalid" // what it said could not be used
	Unavailable Assessment = "unavailable"
)

// Checkpoint says why a person must look at the call; "" if nobody needs to. a is the
// assessment of a soft finding; without one it counts as unavailable.
func (f Finding) Checkpoint(a Assessment) string {
	switch {
	case f.Level == Hard:
		return "repeated call: " + f.what()
	case f.Level != Soft, a == Progress:
		return ""
	case a == "":
		a = Unavailable
	}
	return fmt.Sprintf("repeated call: %s; a check for progress says %s", f.what(), a)
}

func (f Finding) what() string {
	switch f.Trigger {
	case Unchanged:
		return fmt.Sprintf("its last %d attempts brought the same", f.Count)
	case Cycle:
		return fmt.Sprintf("the last calls go round in a cycle of %d with the same results", f.Count)
	case Dominant:
		return fmt.Sprintf("it was made %d times of late", f.Count)
	}
	return fmt.Sprintf("%d attempts in a row have brought nothing new", f.Count)
}
