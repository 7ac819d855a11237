package v1

import (
	"context"
	"net/http"
	"reflect"

	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/preset"
	"hecate/projections"
	"hecate/projections/presets"
)

// PresetPath names a work policy.
type PresetPath struct {
	PresetID string `path:"preset_id" doc:"Id of the work policy." example:"review_qa"`
}

// presetChange is what somebody wants a work policy to say. It has the fields of
// preset.Change.
type presetChange struct {
	Name                 *string           `json:"name,omitempty" doc:"Its name; needed." maxLength:"200"`
	Description          *string           `json:"description,omitempty" doc:"What it is for, for people."`
	Instructions         *string           `json:"instructions,omitempty" doc:"For the model, ahead of the task's own system_prompt." maxLength:"16384"`
	Surface              *string           `json:"surface,omitempty" doc:"Where it can be chosen; any if empty." enum:"hecate_chat,hecate_task,external_agent,any"`
	ProviderHint         *string           `json:"provider_hint,omitempty" doc:"The provider, unless the task names one."`
	ModelHint            *string           `json:"model_hint,omitempty" doc:"The model, unless the task names one or another provider."`
	ExecutionProfile     *string           `json:"execution_profile,omitempty" doc:"The profile, unless the task names one." example:"repo_local"`
	ExternalAgentKind    *string           `json:"external_agent_kind,omitempty" doc:"The external agent that it is for."`
	ToolsEnabled         *bool             `json:"tools_enabled,omitempty" doc:"false: no tool is offered, and none may run."`
	WritesAllowed        *bool             `json:"writes_allowed,omitempty" doc:"false: changes can only be proposed."`
	NetworkAllowed       *bool             `json:"network_allowed,omitempty" doc:"false: nothing that uses the network may run."`
	BrowserAllowed       *bool             `json:"browser_allowed,omitempty" doc:"Pages of the origins may be looked at. Needs tools_enabled, surface any or hecate_task, and an origin."`
	BrowserInteractions  *bool             `json:"browser_interactions_allowed,omitempty" doc:"Pages of the origins may be acted on. Needs the same; neither grant implies the other."`
	BrowserOrigins       []string          `json:"browser_allowed_origins,omitempty" doc:"Exact origins, such as https://docs.example; dropped without a grant."`
	Approval             *string           `json:"approval_policy,omitempty" doc:"require asks before every tool call, block denies what would ask; inherit, which is meant if it is empty, and allow change nothing." enum:"inherit,require,block,allow"`
	ProjectMemory        *string           `json:"project_memory_policy,omitempty" doc:"How much of a project's memory goes into the prompt; inherit if empty." enum:"inherit,include,visible_only,exclude"`
	ContextSources       *string           `json:"context_source_policy,omitempty" doc:"How much of a project's context sources goes into the prompt; inherit if empty." enum:"inherit,include_enabled,visible_only,exclude"`
	SkillIDs             []string          `json:"skill_ids,omitempty" doc:"Skills that go with it."`
	ExternalAgentOptions map[string]string `json:"external_agent_options,omitempty" doc:"Options of the external agent."`
}

// presetRequest is a new work policy.
type presetRequest struct {
	ID string `json:"id,omitempty" doc:"Letters, digits, -, _ and .; made if empty." maxLength:"128"`
	presetChange
}

type createPresetInput struct {
	Payload required[presetRequest]
}

type updatePresetInput struct {
	PresetPath
	Payload required[presetChange]
}

func (a *API) registerPresets() {
	body := map[string]any{
		"name": "Docs only", "instructions": "Change nothing but Markdown files.", "surface": "hecate_task", "execution_profile": "repo_local",
		"tools_enabled": true, "writes_allowed": true, "approval_policy": "require",
	}
	register(a, spec{
		id: "listAgentPresets", method: http.MethodGet, path: Base + "/agent-presets", tag: "Work policies",
		summary: "List work policies", description: "In order of id, the built-in ones among them.",
		example: map[string]any{"object": "agent_presets", "data": []any{examplePreset}},
	}, a.listPresets)
	register(a, spec{
		id: "getAgentPreset", method: http.MethodGet, path: Base + "/agent-presets/{preset_id}", tag: "Work policies",
		summary: "Get a work policy", description: "A built-in one or one that somebody wrote.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "agent_preset", "data": examplePreset},
	}, a.getPreset)
	register(a, spec{
		id: "createAgentPreset", method: http.MethodPost, path: Base + "/agent-presets", tag: "Work policies", keyed: true, status: http.StatusCreated,
		summary:     "Write a work policy",
		description: "An id that is taken, also by a built-in one, is a conflict. What is left out forbids.",
		fails:       []int{http.StatusBadRequest, http.StatusConflict},
		body:        reflect.TypeFor[presetRequest](), bodyExample: body,
		example: map[string]any{"object": "agent_preset", "data": examplePreset},
	}, a.createPreset)
	register(a, spec{
		id: "updateAgentPreset", method: http.MethodPatch, path: Base + "/agent-presets/{preset_id}", tag: "Work policies",
		summary: "Change a work policy",
		description: "Only what is sent changes. Turning off what a browser grant needs takes the grant and its origins away. " +
			"Tasks that were made from the policy keep what it said then. A built-in one cannot be changed. " +
			"It may need a verified operator (403), as answers to approvals do.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
		body:  reflect.TypeFor[presetChange](), bodyExample: map[string]any{"writes_allowed": false},
		example: map[string]any{"object": "agent_preset", "data": examplePreset},
	}, a.updatePreset)
	register(a, spec{
		id: "deleteAgentPreset", method: http.MethodDelete, path: Base + "/agent-presets/{preset_id}", tag: "Work policies", status: http.StatusNoContent,
		summary:     "Delete a work policy",
		description: "Tasks that were made from it stay as they are. A built-in one cannot be deleted. It may need a verified operator (403), as answers to approvals do.",
		fails:       []int{http.StatusNotFound, http.StatusConflict},
	}, a.deletePreset)
}

func (a *API) listPresets(ctx context.Context, _ *struct{}) (*answer[[]projections.Preset], error) {
	found, err := a.Presets.Presets(ctx)
	return list("agent_presets", found), err
}

func (a *API) getPreset(ctx context.Context, in *PresetPath) (*answer[projections.Preset], error) {
	p, err := a.Presets.Preset(ctx, in.PresetID)
	return of("agent_preset", p), err
}

func (a *API) createPreset(ctx context.Context, in *createPresetInput) (*answer[projections.Preset], error) {
	body := in.Payload.Value
	d := preset.Change(body.presetChange).Of(preset.Definition{})
	r, err := a.Commands.CreatePreset(ctx, request.From(ctx).Meta(), body.ID, d)
	return a.changedPreset(ctx, r, err)
}

func (a *API) updatePreset(ctx context.Context, in *updatePresetInput) (*answer[projections.Preset], error) {
	if err := a.mustDecide(ctx, false); err != nil { // tasks that are made from it may be allowed more than before
		return nil, err
	}
	r, err := a.Commands.UpdatePreset(ctx, request.From(ctx).Meta(), in.PresetID, preset.Change(in.Payload.Value))
	return a.changedPreset(ctx, r, err)
}

func (a *API) deletePreset(ctx context.Context, in *PresetPath) (*Placed, error) {
	if err := a.mustDecide(ctx, false); err != nil { // another one may take its id
		return nil, err
	}
	r, err := a.Commands.DeletePreset(ctx, request.From(ctx).Meta(), in.PresetID)
	if err != nil {
		return nil, err
	}
	return a.placedPreset(ctx, r.Position), nil
}

// changedPreset answers with what the command left: its fold is all of a policy.
func (a *API) changedPreset(ctx context.Context, r commands.PresetResult, err error) (*answer[projections.Preset], error) {
	if err != nil {
		return nil, err
	}
	out := of("agent_preset", presets.Item(r.State))
	out.Placed = *a.placedPreset(ctx, r.Position)
	return out, nil
}

// placedPreset waits until lists show what a command did.
func (a *API) placedPreset(ctx context.Context, position int64) *Placed {
	out := &Placed{}
	out.at(position)
	if position > 0 && !a.ready(ctx, position, presets.Name) {
		out.Stale = "true"
	}
	return out
}
