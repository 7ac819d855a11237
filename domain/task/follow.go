package task

import (
	"slices"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/preset"
	"hecate/domain/run"
)

// Follow freezes on d what a work policy says at this moment: its instructions, profile,
// route and what it allows. What d says itself about profile, provider and model wins;
// what the policy forbids stays forbidden. The answer is normalized. The error is a
// fault that names the field.
// Source: agent runtime text, "Three-layer system prompt" and "Per-task fields".
func (d Definition) Follow(p preset.State) (Definition, error) {
	says := p.Definition
	if !says.Supports(preset.SurfaceTask) {
		return d, fault.Invalid("invalid_request", "agent_preset_id: %q is for surface %s; use one for %s or %s",
			p.ID, says.Surface, preset.SurfaceTask, preset.SurfaceAny)
	}
	d.trim()
	if d.ExecutionProfile == "" {
		d.ExecutionProfile = says.ExecutionProfile
	}
	if err := d.route(p); err != nil {
		return d, err
	}
	d.ReadOnly = d.ReadOnly || !says.WritesAllowed
	d.Network = says.NetworkAllowed
	d.PresetInstructions = event.NewText(says.Instructions)
	d.Preset = &run.Preset{
		ID: p.ID, ToolsEnabled: says.ToolsEnabled, NetworkAllowed: says.NetworkAllowed, Approval: says.Approval,
		BrowserAllowed: says.BrowserAllowed, BrowserInteractions: says.BrowserInteractions, BrowserOrigins: slices.Clone(says.BrowserOrigins),
	}
	d, err := d.Normalize()
	if err == nil && d.ExecutionKind != run.KindAgentLoop {
		err = fault.Invalid("invalid_request", "agent_preset_id needs execution_kind \"agent_loop\", not %q", d.ExecutionKind)
	}
	return d, err
}

// route fills in whom the policy would have asked. Its model belongs to its provider, so
// it says nothing about another one.
func (d *Definition) route(p preset.State) error {
	hint := p.Definition
	if d.Model == "" && (d.Provider == "" || hint.ProviderHint == "" || d.Provider == hint.ProviderHint) {
		d.Model = hint.ModelHint
	}
	if d.Provider == "" {
		d.Provider = hint.ProviderHint
	}
	if d.Provider != "" && d.Model == "" {
		return fault.Invalid("invalid_request", "requested_model is required: agent preset %q gives no model for provider %q", p.ID, d.Provider)
	}
	return nil
}

// ownLayer is the narrowest layer of the system prompt: what the policy says, then what
// the task says.
func (d Definition) ownLayer() event.Text {
	switch {
	case d.PresetInstructions.IsZero():
		return d.SystemPrompt
	case d.SystemPrompt.IsZero():
		return d.PresetInstructions
	}
	return event.NewText(d.PresetInstructions.String() + "\n\n" + d.SystemPrompt.String())
}
