package commands

import (
	"context"

	"hecate/domain/preset"
)

// DeletePreset takes a work policy away. Tasks that were made from it stay as they are.
func (x *Executor) DeletePreset(ctx context.Context, m Meta, id string) (PresetResult, error) {
	return once(ctx, x, m, x.recallPreset(ctx), func() (PresetResult, error) {
		return x.changePreset(ctx, m, id, preset.Delete)
	})
}
