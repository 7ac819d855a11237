package permission

import "hecate/domain/permission/pattern"

// Facts are what a call would touch, as its tool reads the arguments.
type Facts = pattern.Facts

// Path is one file or directory that a call is about.
type Path = pattern.Path

// Call is what the decision may look at.
type Call struct {
	Tool    string
	Propose bool // the call only proposes a change
	Void    bool // the call can only be answered with an error and touches nothing: its arguments mean nothing, or what it acts on is not there
	Facts   Facts
	MCP     MCPPolicy // of the tool's server, for tools of MCP servers
	// Limit is a hard limit that only the tool can judge; nil if it knows of none.
	Limit *Limit
	// Checkpoint says why the repetition guard wants a person to look; "" if it does not.
	Checkpoint string
}

// Limit is something that nobody can approve.
type Limit struct {
	Rule   string // such as sandbox_code_intelligence; the policy that events name
	Reason string // for the model: what is forbidden; what to do instead
}

// MCPPolicy is what a task says about one MCP server.
type MCPPolicy string

// The policies of MCP servers. Any other text counts as require_approval.
const (
	MCPAuto    MCPPolicy = "auto"
	MCPRequire MCPPolicy = "require_approval"
	MCPBlock   MCPPolicy = "block"
)
