package permission

import (
	"slices"

	"hecate/domain/permission/pattern"
)

// Given is an answer that was given before the call and opens its gates.
type Given struct {
	By    string `json:"by"`              // the list of the entry, session, allow-tools, yes or yes-really
	ID    string `json:"id,omitempty"`    // of the grant
	Scope string `json:"scope,omitempty"` // the pattern or the host
	Layer Layer  `json:"layer,omitempty"` // of an entry in a file
}

// The answers that are no grant.
const (
	givenSession    = "session"
	givenAllowTools = "allow-tools"
	givenYes        = "yes"
	givenYesReally  = "yes-really"
)

// open opens what answers open, and returns the gates that stay closed.
func (p Posture) open(c Call, v *Verdict) (closed []ClosedGate) {
	for _, g := range v.Gates {
		if given := p.given(g.Gate, c); given != nil {
			v.Grant = given
		} else {
			closed = append(closed, g)
		}
	}
	return closed
}

// given finds the answer that opens a gate, in the order of the permission text: the
// files, the session, the flags.
func (p Posture) given(g Gate, c Call) *Given {
	o := openers[g]
	if o.grant {
		if given := p.patternGrant(c); given != nil {
			return given
		}
	}
	if o.host {
		if given := p.hostGrant(c); given != nil {
			return given
		}
	}
	switch {
	case o.allowTools && p.allowed(c):
		return &Given{By: givenAllowTools}
	case o.yes && p.Flags.Yes:
		return &Given{By: givenYes}
	case o.yesReally && p.Flags.YesReally:
		return &Given{By: givenYesReally}
	}
	return nil
}

func (p Posture) patternGrant(c Call) *Given {
	for _, list := range []string{ListApprove, ListPromoted} {
		for _, e := range p.Config.Entries {
			if e.List == list && e.Pattern.Covers(c.Tool, c.Facts) {
				return &Given{list, e.ID, e.Text(), e.Layer}
			}
		}
	}
	for _, s := range p.Session {
		if s.Pattern.Covers(c.Tool, c.Facts) {
			return &Given{By: givenSession, ID: s.ID, Scope: s.Pattern.String()}
		}
	}
	return nil
}

// hostGrant is about https alone: what is fetched in the open is asked about each time.
func (p Posture) hostGrant(c Call) *Given {
	if pattern.Canonical(c.Tool) != toolFetch {
		return nil
	}
	u, ok := secureURL(c)
	if !ok {
		return nil
	}
	if e := p.Config.hostGrant(u.Host); e != nil {
		return &Given{e.List, e.ID, e.Text(), e.Layer}
	}
	for _, s := range p.Session {
		if s.Host.Same(u.Host) {
			return &Given{By: givenSession, ID: s.ID, Scope: s.Host.String()}
		}
	}
	return nil
}

// Unanswered are the gates that refuse a call because nobody can be asked; none if
// something else refuses it, or nothing does.
func (v Verdict) Unanswered() []Gate {
	if v.Layer != LayerUnattended {
		return nil
	}
	out := make([]Gate, len(v.Gates))
	for i, g := range v.Gates {
		out[i] = g.Gate
	}
	return out
}

// The flags that answer ahead, as a person writes them.
const (
	FlagYes        = "--yes"
	FlagYesReally  = "--yes-really"
	FlagAllowTools = "--allow-tools"
)

// FlagsFor are the flags of which each opens all of the gates, the one that opens least
// first. There is none if a person has to look at the call.
func FlagsFor(gates []Gate) []string {
	yes, really, tools := true, true, true
	for _, g := range gates {
		o := openers[g]
		yes, really, tools = yes && o.yes, really && o.yesReally, tools && o.allowTools
	}
	var out []string
	if tools {
		out = append(out, FlagAllowTools)
	}
	switch { // the one says all that the other does
	case yes:
		out = append(out, FlagYes)
	case really:
		out = append(out, FlagYesReally)
	}
	return out
}

func (p Posture) allowed(c Call) bool {
	return slices.ContainsFunc(p.Flags.AllowTools, func(x pattern.Pattern) bool { return x.Covers(c.Tool, c.Facts) })
}
