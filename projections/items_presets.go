package projections

import (
	"hecate/domain/permission"
	"hecate/domain/task"
)

// Preset is an item of agent_presets: a work policy.
type Preset struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Description       string `json:"description,omitempty"`
	Instructions      string `json:"instructions,omitempty" doc:"For the model, ahead of the task's own system_prompt."`
	Surface           string `json:"surface" doc:"Where it can be chosen." enum:"hecate_chat,hecate_task,external_agent,any"`
	ProviderHint      string `json:"provider_hint,omitempty" doc:"The provider, unless the task names one."`
	ModelHint         string `json:"model_hint,omitempty" doc:"The model, unless the task names one or another provider."`
	ExecutionProfile  string `json:"execution_profile,omitempty" doc:"The profile, unless the task names one."`
	ExternalAgentKind string `json:"external_agent_kind,omitempty" doc:"The external agent that it is for."`

	ToolsEnabled        bool     `json:"tools_enabled" doc:"false: no tool is offered, and none may run."`
	WritesAllowed       bool     `json:"writes_allowed" doc:"false: changes can only be proposed."`
	NetworkAllowed      bool     `json:"network_allowed" doc:"false: nothing that uses the network may run."`
	BrowserAllowed      bool     `json:"browser_allowed" doc:"Pages of the origins may be looked at."`
	BrowserInteractions bool     `json:"browser_interactions_allowed" doc:"Pages of the origins may be acted on."`
	BrowserOrigins      []string `json:"browser_allowed_origins,omitempty" doc:"Exact origins, such as https://docs.example."`

	Approval       string `json:"approval_policy" doc:"require asks before every tool call, block denies what would ask; inherit and allow change nothing." enum:"inherit,require,block,allow"`
	ProjectMemory  string `json:"project_memory_policy" doc:"How much of a project's memory goes into the prompt." enum:"inherit,include,visible_only,exclude"`
	ContextSources string `json:"context_source_policy" doc:"How much of a project's context sources goes into the prompt." enum:"inherit,include_enabled,visible_only,exclude"`

	SkillIDs             []string          `json:"skill_ids,omitempty" doc:"Skills that go with it."`
	ExternalAgentOptions map[string]string `json:"external_agent_options,omitempty" doc:"Options of the external agent."`

	BuiltIn   bool   `json:"built_in" doc:"true: part of the program; it cannot be changed or deleted."`
	CreatedAt string `json:"created_at,omitempty" format:"date-time"`
	UpdatedAt string `json:"updated_at,omitempty" format:"date-time"`
}

// Freeze fills in what a task keeps of its work policy, its posture and the layers of its prompt.
func (t *Task) Freeze(d task.Definition) {
	t.SystemPromptPolicy = d.WorkspacePrompt
	if d.Posture == permission.PostureLevels {
		t.Posture = d.Posture
	}
	p := d.Preset
	if p == nil {
		return
	}
	t.PresetID, t.PresetApproval, t.PresetBrowserOrigins = p.ID, p.Approval, p.BrowserOrigins
	t.PresetToolsEnabled, t.PresetBrowserAllowed, t.PresetBrowserInteractions = &p.ToolsEnabled, &p.BrowserAllowed, &p.BrowserInteractions
}
