package audit

import (
	"context"
	"fmt"
	"math"

	"hecate/projections/readdb"
)

// Nth returns the position of the nth newest record, counted from 1, that is of one of
// the types; 0 if there are fewer. It reads the ends of their lists, as far as n goes.
func (v *Views) Nth(ctx context.Context, n int64, types ...string) (position int64, err error) {
	err = v.runner.View(ctx, Name, func(tx *readdb.Tx) error {
		position = 0
		codes, err := choice{kind: kindType, values: types}.codes(ctx, tx)
		if err != nil || n < 1 {
			return err
		}
		way := direction(NewestFirst)
		w := newChoiceWalk(&search{tx: tx, way: way}, codes)
		at := way.turn(math.MaxInt64)
		for range n {
			place, some, err := w.seek(ctx, at)
			if err != nil || !some {
				return err
			}
			at = place + 1
		}
		position = way.turn(at - 1)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("find the newest records of the log: %w", err)
	}
	return position, err
}
