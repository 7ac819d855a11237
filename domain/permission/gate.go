package permission

import (
	"fmt"
	"strings"

	"hecate/domain/permission/command"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Gate is one reason to ask. A call may stand before several; all must be open.
type Gate string

// The gates.
const (
	GateRuntime    Gate = "runtime-policy"       // the server's list of policies
	GateLevel      Gate = "level-2"              // the levels posture
	GateHost       Gate = "unknown-host"         // a fetch from a host that is not listed
	GatePlainHTTP  Gate = "plain-http"           // a fetch that every network on the way can read
	GateEnv        Gate = "environment"          // exec with variables that choose what code runs
	GateUnclear    Gate = "unclear-deny"         // whether a deny is about the call cannot be told
	GatePreset     Gate = "preset-require"       // the task's preset
	GateMCP        Gate = "mcp-require-approval" // the tool's MCP server
	GateBrowser    Gate = "browser"              // browser tools
	GateConfig     Gate = "config-edit"          // changes of the configuration
	GateRepetition Gate = "repetition"           // the repetition guard
)

// ClosedGate is a gate that a call stands before.
type ClosedGate struct {
	Gate   Gate   `json:"gate"`
	Reason string `json:"reason"` // why it asks
}

// opens says which answers open a gate. A person's yes opens every one, for this call.
type opens struct {
	grant      bool // a pattern in approve or promoted, or given for the session
	host       bool // a host in allow or promoted, or given for the session
	allowTools bool
	yes        bool
	yesReally  bool
}

// openers is the table of which answer opens which gate; a gate that is not in it is
// opened by a person only, this once.
var openers = map[Gate]opens{
	GateRuntime: {grant: true, host: true, allowTools: true, yes: true, yesReally: true},
	GateLevel:   {grant: true, allowTools: true, yes: true, yesReally: true},
	GateHost:    {host: true, allowTools: true, yesReally: true},
}

// closed lists the gates before a call.
func (p Posture) closed(c Call, level int) []ClosedGate {
	g := p.levelGates(c, level)
	add := func(gate Gate, format string, args ...any) {
		g = append(g, ClosedGate{gate, fmt.Sprintf(format, args...)})
	}
	name := pattern.Canonical(c.Tool)
	if p.Config.unclear(c.Tool, c.Facts) {
		add(GateUnclear, "a deny entry could be about it, and not all that it touches can be read")
	}
	switch p.Preset {
	case "", PresetInherit, PresetAllow, PresetBlock:
	default:
		add(GatePreset, "the task's preset asks before every call")
	}
	switch c.MCP {
	case "", MCPAuto, MCPBlock:
	default:
		add(GateMCP, "the server of %s asks before every call", name)
	}
	if strings.HasPrefix(name, "browser_") {
		add(GateBrowser, "%s asks before every call", name)
	}
	if name == "config_edit" {
		add(GateConfig, "config_edit asks for every change")
	}
	if c.Checkpoint != "" {
		add(GateRepetition, "%s", c.Checkpoint)
	}
	return g
}

// levelGates are those that the posture puts up for the tool, and what makes the
// answers to them not enough.
func (p Posture) levelGates(c Call, level int) []ClosedGate {
	name := pattern.Canonical(c.Tool)
	var g []ClosedGate
	switch policy, gated := p.gates(c.Tool); {
	case p.name() == PostureRuntime && gated:
		g = append(g, ClosedGate{GateRuntime, fmt.Sprintf("policy %s asks before %s", policy, c.Tool)})
	case p.name() == PostureRuntime, level < Asks, name == "config_edit", strings.HasPrefix(name, "browser_"):
		return nil // the last two have a gate of their own
	case name == toolFetch:
		if u, err := host.ParseURL(c.Facts.Principal, c.Facts.ASCIIHost); err != nil || u.Scheme == "https" {
			g = append(g, ClosedGate{GateHost, fmt.Sprintf("%s is not a host that may be read without asking", hostShown(u))})
		}
	default:
		g = append(g, ClosedGate{GateLevel, "level 2 asks before " + pattern.Shown(c.Tool)})
	}
	if u, err := host.ParseURL(c.Facts.Principal, ""); name == toolFetch && err == nil && u.Scheme == "http" {
		g = append(g, ClosedGate{GatePlainHTTP, "plain http shows the whole URL to every network on the way, so it asks each time"})
	}
	if names := command.Choosing(c.Facts.Env); len(names) > 0 {
		g = append(g, ClosedGate{GateEnv, fmt.Sprintf("it sets %s, which can choose what code runs; no approval covers that", strings.Join(names, ", "))})
	}
	return g
}

// hostShown is the host in its normal form, or as written if it has none.
func hostShown(u host.URL) string {
	switch {
	case !u.Host.IsZero():
		return u.Host.String()
	case u.Shown != "":
		return fmt.Sprintf("%q", shorten(u.Shown))
	}
	return "this"
}

func reasons(gates []ClosedGate) string {
	all := make([]string, len(gates))
	for i, g := range gates {
		all[i] = g.Reason
	}
	return strings.Join(all, "; ")
}
