package client

import (
	"context"
	"net/http"
	"net/url"
)

// PresetsPath is where the work policies stand.
const PresetsPath = "/agent-presets"

// PresetPath is where one work policy stands.
func PresetPath(id string) string { return PresetsPath + "/" + url.PathEscape(id) }

// Preset is a work policy.
type Preset struct {
	ID                  string   `json:"id"`
	Name                string   `json:"name"`
	Description         string   `json:"description"`
	Instructions        string   `json:"instructions"`
	Surface             string   `json:"surface"`
	ProviderHint        string   `json:"provider_hint"`
	ModelHint           string   `json:"model_hint"`
	ExecutionProfile    string   `json:"execution_profile"`
	ToolsEnabled        bool     `json:"tools_enabled"`
	WritesAllowed       bool     `json:"writes_allowed"`
	NetworkAllowed      bool     `json:"network_allowed"`
	BrowserAllowed      bool     `json:"browser_allowed"`
	BrowserInteractions bool     `json:"browser_interactions_allowed"`
	BrowserOrigins      []string `json:"browser_allowed_origins"`
	ApprovalPolicy      string   `json:"approval_policy"`
	ProjectMemoryPolicy string   `json:"project_memory_policy"`
	ContextSourcePolicy string   `json:"context_source_policy"`
	SkillIDs            []string `json:"skill_ids"`
	BuiltIn             bool     `json:"built_in"`
}

// Presets lists all work policies.
func (c *Client) Presets(ctx context.Context) ([]Preset, error) {
	var out []Preset
	_, err := c.call(ctx, http.MethodGet, PresetsPath, nil, &out)
	return out, err
}

// Preset reads one work policy.
func (c *Client) Preset(ctx context.Context, id string) (Preset, error) {
	var out Preset
	_, err := c.call(ctx, http.MethodGet, PresetPath(id), nil, &out)
	return out, err
}
