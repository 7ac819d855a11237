package audit

import (
	"context"
	"fmt"

	"hecate/projections/readdb"
)

// causesAhead is how many rows are read at once: what led to a record is most often near.
const causesAhead = 8

// Causes returns the record at a position, what led to it, what led to that, and so on: up to
// limit records besides the first one. Cut says that the chain goes on. There is nothing
// for a position that the model does not have.
func (v *Views) Causes(ctx context.Context, position int64, limit int) (chain []Found, cut bool, err error) {
	err = v.runner.View(ctx, Name, func(tx *readdb.Tx) (err error) {
		s := search{tx: tx}
		if cut, err = s.causes(ctx, position, limit); err != nil {
			return err
		}
		page, err := s.page(ctx, 0)
		chain = page.Found
		return err
	})
	if err != nil {
		err = fmt.Errorf("search the log: %w", err)
	}
	return chain, cut, err
}

// causes finds the record and the chain.
func (s *search) causes(ctx context.Context, position int64, limit int) (cut bool, err error) {
	var rows map[int64][]byte
	for at := position; at > 0; {
		slot := slotOfPlace(at)
		if _, read := rows[slot]; !read {
			slots := []int64{slot}
			for s := slot - 1; s >= 0 && len(slots) < causesAhead; s-- {
				slots = append(slots, s)
			}
			if rows, err = s.rows(ctx, slots); err != nil {
				return false, err
			}
		}
		entries, err := entriesAt(slot, rows[slot], direction(OldestFirst), []int64{at})
		if err != nil || len(entries) == 0 {
			return false, err
		}
		if len(s.found) > limit {
			return true, nil
		}
		s.found = append(s.found, entries[0])
		if entries[0].cause >= at { // no log of ours says so, but then this would not end
			return false, nil
		}
		at = entries[0].cause
	}
	return false, nil
}
