package permission

import "hecate/domain/permission/pattern"

// Explanation is a verdict with all that could have had a say in it.
type Explanation struct {
	Tool    string       `json:"tool"` // shown: canonical name, this system's beside it
	Verdict Verdict      `json:"verdict"`
	Entries []EntryState `json:"entries"` // of the configuration, then of the session
}

// EntryState is one entry and what it says about the call.
type EntryState struct {
	ID      string `json:"id"`
	List    string `json:"list"`
	Layer   Layer  `json:"layer,omitempty"`
	At      string `json:"at,omitempty"`
	Text    string `json:"text"`
	Matches bool   `json:"matches"`
	Unclear bool   `json:"unclear,omitempty"` // it is not known whether it matches
	Covers  string `json:"covers,omitempty"`  // of a grant: what it covers
	// Unreached is what a deny does not reach, for somebody who relies on it.
	Unreached []string `json:"unreached,omitempty"`
}

// Explain decides and shows how every entry stands to the call.
func Explain(c Call, p Posture) Explanation {
	x := Explanation{Tool: pattern.Shown(c.Tool), Verdict: Decide(c, p), Entries: []EntryState{}}
	for _, e := range p.Config.Entries {
		x.Entries = append(x.Entries, state(e, c))
	}
	for _, g := range p.Session {
		e := Entry{ID: g.ID, List: ListApprove, Pattern: g.Pattern, Host: g.Host}
		if g.Pattern.IsZero() {
			e.List = ListHostAllow
		}
		s := state(e, c)
		s.List = givenSession
		x.Entries = append(x.Entries, s)
	}
	return x
}

func state(e Entry, c Call) EntryState {
	s := EntryState{ID: e.ID, List: e.List, Layer: e.Layer, At: e.At, Text: e.Text()}
	u, isURL := urlOf(c.Tool, c.Facts)
	switch e.List {
	case ListDeny:
		s.Matches = e.Pattern.Reaches(c.Tool, c.Facts)
		s.Unreached = e.Pattern.Unreached()
	case ListHostDeny:
		s.Matches = isURL && u.DeniedBy(e.Host)
		s.Unreached = []string{"subdomains, and the host under another name or address", "commands that use the network"}
	case ListHostAllow, ListHostPromoted:
		s.Covers = hostOffer(e.Host).Covers
		_, secure := secureURL(c)
		s.Matches = pattern.Canonical(c.Tool) == toolFetch && secure && e.Host.Same(u.Host)
	default:
		s.Covers = e.Pattern.Meaning()
		s.Matches = e.Pattern.Covers(c.Tool, c.Facts)
	}
	s.Unclear = !s.Matches && e.unclear(c.Tool, c.Facts)
	return s
}
