package run

import (
	"slices"

	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// applyResolved folds an answer. It covers the calls that were asked about, and of each
// the gates that it was asked for: what asks for another reason later asks again.
func (s *State) applyResolved(p ApprovalResolved) {
	s.Disconnects = 0
	if s.Resolved == nil {
		s.Resolved = map[string]string{}
	}
	s.Resolved[p.ApprovalID] = p.Decision
	asked := s.Approval
	if asked == nil || asked.ApprovalID != p.ApprovalID {
		return
	}
	s.Approval = nil
	if p.Digest != asked.Digest || p.Decision != DecisionApproved && !p.Continue {
		return
	}
	g := &Grant{ApprovalID: p.ApprovalID, Digest: p.Digest, Opened: map[string][]permission.Gate{}, Refused: map[string]string{}, All: asked.Kind != ApprovalBundle}
	if s.Granted != nil && s.Granted.Digest == p.Digest { // refusals of the same bundle stay
		g.Refused = s.Granted.Refused
	}
	for _, c := range asked.Calls {
		if c.asks() && p.Decision == DecisionApproved {
			g.Opened[c.ToolCallID] = c.Gates
		}
	}
	for _, c := range p.Calls {
		s.applyCallAnswer(g, asked, c)
	}
	for id, gates := range g.Opened {
		if slices.Contains(gates, permission.GateRepetition) && g.Refused[id] == "" {
			s.Repeats = s.Repeats.Approved()
		}
	}
	s.Granted = g
}

func (s *State) applyCallAnswer(g *Grant, asked *ApprovalRequested, c CallAnswer) {
	if c.Decision != DecisionApproved {
		delete(g.Opened, c.ToolCallID)
		g.Refused[c.ToolCallID] = permission.DeniedByUser(c.Note)
		return
	}
	if c.CoveredBy != "" {
		delete(g.Opened, c.ToolCallID) // the session's grant opens what it opens
		return
	}
	for _, a := range asked.Calls {
		if a.ToolCallID == c.ToolCallID && a.asks() {
			g.Opened[c.ToolCallID] = a.Gates
		}
	}
	if c.Grant != nil {
		s.Session = append(s.Session, *c.Grant)
		if c.Grant.Remember {
			s.Unsaved = append(s.Unsaved, *c.Grant)
		}
	}
}

// remembered folds what became of a grant that was to be written into the project's
// file. Once it stands there the file alone says whether it holds, so that whoever takes
// it out takes it from this run as well; otherwise it holds for the session.
func (s *State) remembered(p PermissionChanged) {
	is := func(g SessionGrant) bool { return g.ID == p.GrantID }
	s.Unsaved = slices.DeleteFunc(s.Unsaved, is)
	if p.Saved && p.GrantID != "" {
		s.Session = slices.DeleteFunc(s.Session, is)
	}
}

func (s *State) revoke(id string) {
	is := func(g SessionGrant) bool { return g.ID == id }
	s.Session, s.Unsaved = slices.DeleteFunc(s.Session, is), slices.DeleteFunc(s.Unsaved, is)
}

// opens reports whether the answer opens all gates that the verdict names.
func (g *Grant) opens(callID string, v permission.Verdict) bool {
	for _, gate := range v.Gates {
		if !g.All && !slices.Contains(g.Opened[callID], gate.Gate) {
			return false
		}
	}
	return true
}

// Posture adds to what the server and the files say what is frozen on the run, and
// what was answered in it.
func (s *State) Posture(p permission.Posture) permission.Posture {
	p.Name = s.Spec.Posture
	p.ReadOnly, p.InPlace = s.Spec.ReadOnly, s.Spec.WorkspaceMode == "in_place"
	if x := s.Spec.Preset; x != nil {
		p.ToolsOff, p.NetworkOff, p.Preset = !x.ToolsEnabled, !x.NetworkAllowed, permission.Preset(x.Approval)
		if x.Approval == "" {
			p.Preset = permission.PresetInherit
		}
	}
	p.OnAsk, p.Attended, p.Flags = s.Ahead.OnAsk, s.Ahead.Attended, s.Ahead.flags()
	for _, g := range s.Session {
		if x, ok := g.parsed(); ok {
			p.Session = append(p.Session, x)
		}
	}
	return p
}

// parsed is the grant as decisions use it. What cannot be read opens nothing.
func (g SessionGrant) parsed() (permission.Grant, bool) {
	out := permission.Grant{ID: g.ID}
	var err error
	if g.Host {
		out.Host, err = host.Parse(g.Scope)
	} else {
		out.Pattern, err = pattern.Parse(g.Scope)
	}
	return out, err == nil
}

// Change is what has to be written into the project's file for the grant.
func (g SessionGrant) Change() permission.Change {
	c := permission.Change{Layer: permission.LayerProject, List: permission.ListPromoted, Text: g.Scope}
	if g.Host {
		c.List = permission.ListHostPromoted
	}
	return c
}
