package repetition

import (
	"fmt"

	"hecate/domain/permission/pattern"
)

// Kind is how much repetition is ordinary for a call.
type Kind string

// The kinds of call.
const (
	Read    Kind = "read"    // only looks: the same again says nothing new
	Command Kind = "command" // acts; a second try can help
	Poll    Kind = "poll"    // looks at a job that runs
)

// reading are the tools that only look, by canonical name.
var reading = map[string]bool{
	"view": true, "ls": true, "glob": true, "grep": true, "stat": true, "blame": true, "git_status": true, "git_diff": true,
	"artifact_read": true, "read_attachment": true, "search_attachment": true, "code_intelligence": true,
	"web_fetch": true, "web_search": true,
}

// KindOf is the kind of a tool's call. running says that the job which it looks at
// still runs.
func KindOf(tool string, running bool) Kind {
	switch name := pattern.Canonical(tool); {
	case name == "terminal_read" || name == "terminal_wait":
		if running {
			return Poll
		}
		return Read
	case reading[name]:
		return Read
	}
	return Command
}

// Limits are the numbers of the guard, all in attempts. The first seven are in the
// permission text ("The repeated-call anomaly"); it leaves the others open.
type Limits struct {
	Window    int `json:"window"`     // completed attempts that are remembered
	Reads     int `json:"reads"`      // unchanged reads before a soft check
	Commands  int `json:"commands"`   // unchanged commands before a soft check
	Polls     int `json:"polls"`      // unchanged polls of a running job before a soft check
	Hard      int `json:"hard"`       // attempts in a row without new evidence before a person must look
	HardPolls int `json:"hard_polls"` // the same for polls, at least 32
	Exchanges int `json:"exchanges"`  // completed exchanges that a checker sees

	Dominant int `json:"dominant"` // attempts of one call in the window, whatever came of them, before a soft check
	Period   int `json:"period"`   // the longest cycle, in attempts
	Gap      int `json:"gap"`      // other attempts after which an earlier one of the call no longer counts
}

// Default are the limits that hold when none are configured.
var Default = Limits{
	Window: 32, Reads: 2, Commands: 3, Polls: 8, Hard: 12, HardPolls: 32, Exchanges: 6,
	Dominant: 16, Period: 6, Gap: 8,
}

// pollsHardMin is the least number of polls before a person must look.
const pollsHardMin = 32

// windowMax bounds what a run keeps of its past.
const windowMax = 256

// Check returns an error that names the limit which makes no sense.
func (l Limits) Check() error {
	for _, x := range []struct {
		name         string
		n, low, high int
	}{
		{"window", l.Window, 8, Default.Window},
		{"reads", l.Reads, 1, l.Window},
		{"commands", l.Commands, 1, l.Window},
		{"polls", l.Polls, 1, l.Window},
		{"hard", l.Hard, 2, windowMax},
		{"hard_polls", l.HardPolls, pollsHardMin, 100 * windowMax},
		{"exchanges", l.Exchanges, 1, windowMax},
		{"dominant", l.Dominant, 2, l.Window},
		{"period", l.Period, 2, l.Window / 2},
		{"gap", l.Gap, 1, l.Window},
	} {
		if x.n < x.low || x.n > x.high {
			return fmt.Errorf("repetition limit %s is %d; it must be from %d to %d", x.name, x.n, x.low, x.high)
		}
	}
	return nil
}

// unchanged is how often a call of the kind may bring the same before it is checked.
func (l Limits) unchanged(k Kind) int {
	switch k {
	case Read:
		return l.Reads
	case Poll:
		return l.Polls
	}
	return l.Commands
}
