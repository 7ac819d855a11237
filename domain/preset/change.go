package preset

import "strings"

// Change is what somebody wants a policy to say. What is nil stays as it is; a list or a
// map that is empty but not nil takes the old one away.
type Change struct {
	Name                 *string
	Description          *string
	Instructions         *string
	Surface              *string
	ProviderHint         *string
	ModelHint            *string
	ExecutionProfile     *string
	ExternalAgentKind    *string
	ToolsEnabled         *bool
	WritesAllowed        *bool
	NetworkAllowed       *bool
	BrowserAllowed       *bool
	BrowserInteractions  *bool
	BrowserOrigins       []string
	Approval             *string
	ProjectMemory        *string
	ContextSources       *string
	SkillIDs             []string
	ExternalAgentOptions map[string]string
}

// Of is d with the change made; it is not checked. A change that takes away what a
// browser grant needs takes the grant away with it, unless it asks for one as well.
func (c Change) Of(d Definition) Definition {
	set(&d.Name, c.Name)
	set(&d.Description, c.Description)
	set(&d.Instructions, c.Instructions)
	set(&d.Surface, c.Surface)
	set(&d.ProviderHint, c.ProviderHint)
	set(&d.ModelHint, c.ModelHint)
	set(&d.ExecutionProfile, c.ExecutionProfile)
	set(&d.ExternalAgentKind, c.ExternalAgentKind)
	set(&d.ToolsEnabled, c.ToolsEnabled)
	set(&d.WritesAllowed, c.WritesAllowed)
	set(&d.NetworkAllowed, c.NetworkAllowed)
	set(&d.Approval, c.Approval)
	set(&d.ProjectMemory, c.ProjectMemory)
	set(&d.ContextSources, c.ContextSources)
	if c.BrowserOrigins != nil {
		d.BrowserOrigins = c.BrowserOrigins
	}
	if c.SkillIDs != nil {
		d.SkillIDs = c.SkillIDs
	}
	if c.ExternalAgentOptions != nil {
		d.ExternalAgentOptions = c.ExternalAgentOptions
	}
	d.Surface = strings.TrimSpace(d.Surface)
	if d.Surface != "" && !d.browserPossible() {
		d.BrowserAllowed, d.BrowserInteractions = false, false
	}
	set(&d.BrowserAllowed, c.BrowserAllowed)
	set(&d.BrowserInteractions, c.BrowserInteractions)
	return d
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
