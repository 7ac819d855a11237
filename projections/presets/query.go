package presets

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"hecate/domain/preset"
	"hecate/projections"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Views answers queries about work policies.
type Views struct{ runner *runner.Runner }

// NewViews returns the queries over what the runner keeps.
func NewViews(r *runner.Runner) *Views { return &Views{runner: r} }

const selectPresets = `SELECT preset_id, created, updated, doc FROM hecate_view_presets_@ `

// Presets returns all policies, the built-in ones among them, in order of id.
func (v *Views) Presets(ctx context.Context) ([]projections.Preset, error) {
	found, err := v.find(ctx, selectPresets)
	if err != nil {
		return nil, err
	}
	all := append(preset.BuiltIns(), found...)
	slices.SortFunc(all, func(a, b preset.State) int { return strings.Compare(a.ID, b.ID) })
	out := make([]projections.Preset, len(all))
	for i, s := range all {
		out[i] = Item(s)
	}
	return out, nil
}

// Preset returns one policy. One that does not exist, or no longer, is a not-found fault.
func (v *Views) Preset(ctx context.Context, id string) (projections.Preset, error) {
	s := preset.New(id)
	if !s.BuiltIn {
		found, err := v.find(ctx, selectPresets+`WHERE preset_id = $1`, id)
		if err != nil {
			return projections.Preset{}, err
		}
		if len(found) > 0 {
			s = found[0]
		}
	}
	return Item(s), s.Visible()
}

func (v *Views) find(ctx context.Context, query string, args ...any) ([]preset.State, error) {
	var out []preset.State
	err := v.runner.View(ctx, Name, func(tx *readdb.Tx) error {
		out = nil
		return tx.Query(ctx, query, func(rows *sql.Rows) error {
			s, err := scan(rows)
			out = append(out, s)
			return err
		}, args...)
	})
	return out, err
}

func scan(rows *sql.Rows) (preset.State, error) {
	s := preset.State{Exists: true}
	var created, updated int64
	var doc sql.RawBytes
	if err := rows.Scan(&s.ID, &created, &updated, &doc); err != nil {
		return s, err
	}
	s.CreatedAt, s.UpdatedAt = time.UnixMicro(created), time.UnixMicro(updated)
	return s, json.Unmarshal(doc, &s.Definition)
}

// Item is how clients see a policy.
func Item(s preset.State) projections.Preset {
	d := s.Definition
	return projections.Preset{
		ID: s.ID, Name: d.Name, Description: d.Description, Instructions: d.Instructions, Surface: d.Surface,
		ProviderHint: d.ProviderHint, ModelHint: d.ModelHint, ExecutionProfile: d.ExecutionProfile, ExternalAgentKind: d.ExternalAgentKind,
		ToolsEnabled: d.ToolsEnabled, WritesAllowed: d.WritesAllowed, NetworkAllowed: d.NetworkAllowed,
		BrowserAllowed: d.BrowserAllowed, BrowserInteractions: d.BrowserInteractions, BrowserOrigins: d.BrowserOrigins,
		Approval: d.Approval, ProjectMemory: d.ProjectMemory, ContextSources: d.ContextSources,
		SkillIDs: d.SkillIDs, ExternalAgentOptions: d.ExternalAgentOptions,
		BuiltIn: s.BuiltIn, CreatedAt: projections.FormatTime(s.CreatedAt), UpdatedAt: projections.FormatTime(s.UpdatedAt),
	}
}
