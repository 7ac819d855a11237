package permission

import (
	"slices"

	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// The levels: how much a tool can do.
const (
	Silent  = 0
	Visible = 1
	Asks    = 2 // in the levels posture, unless something that a person gave covers the call
)

// levels are those of tools, by canonical name; what is not named here asks. The
// direct run of kind file stands beside the tool that it is an alias of.
var levels = map[string]int{
	"view": Silent, "ls": Silent, "glob": Silent, "grep": Silent, "stat": Silent, "blame": Silent, "artifact_read": Silent,
	"code_intelligence": Silent, "git_status": Silent, "git_diff": Silent, "read_attachment": Silent, "search_attachment": Silent,
	"terminal_read": Silent, "terminal_wait": Silent,
	"edit": Visible, "create": Visible, "search_replace": Visible, "apply_patch": Visible, "draft_project_proposal": Visible,
	"file": Asks,
}

// Level is how much a call can do under p. It depends on the tool; configuration
// lowers it for two: a fetch from a listed host, and tools of an MCP server that is
// set to auto. Edits reach the operator's own files with workspace_mode=in_place.
func (p Posture) Level(c Call) int {
	name := pattern.Canonical(c.Tool)
	switch {
	case name == toolFetch:
		if p.listed(c) {
			return Visible
		}
		return Asks
	case pattern.IsMCP(name):
		if c.MCP == MCPAuto {
			return Visible
		}
		return Asks
	case pattern.Edits(name) && p.InPlace && !c.Propose:
		return Asks
	}
	for _, n := range []string{c.Tool, name} {
		if l, ok := levels[n]; ok {
			return l
		}
	}
	return Asks
}

const toolFetch = "web_fetch"

// listed reports whether a fetch is of an https host that the defaults or the
// configuration name.
func (p Posture) listed(c Call) bool {
	u, ok := secureURL(c)
	return ok && (slices.ContainsFunc(host.Curated(), u.Host.Same) || p.Config.hostGrant(u.Host) != nil)
}

// secureURL is the URL of a fetch over https.
func secureURL(c Call) (host.URL, bool) {
	u, err := host.ParseURL(c.Facts.Principal, c.Facts.ASCIIHost)
	return u, err == nil && u.Scheme == "https"
}
