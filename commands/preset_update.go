package commands

import (
	"context"

	"hecate/domain/event"
	"hecate/domain/preset"
)

// UpdatePreset changes what a work policy says from here on. Tasks that were made from
// it keep what it said.
func (x *Executor) UpdatePreset(ctx context.Context, m Meta, id string, c preset.Change) (PresetResult, error) {
	return once(ctx, x, m, x.recallPreset(ctx), func() (PresetResult, error) {
		return x.changePreset(ctx, m, id, func(s preset.State) ([]event.Payload, error) { return preset.Update(s, c) })
	})
}
