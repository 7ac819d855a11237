package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hecate/domain/erasure"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/verify"
)

// erasures writes the records that say what of the export was erased.
func (w *writer) erasures(ctx context.Context) error {
	table, err := w.log.ErasedContents(ctx)
	if err != nil {
		return err
	}
	for digest := range w.refs {
		if by := table[digest]; by != 0 {
			w.erasedBy[by] = true
		}
	}
	if len(w.erasedBy) == 0 {
		return nil
	}
	f, err := w.create(nameErasures)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	lines.SetEscapeHTML(false)
	for _, by := range slices.Sorted(maps.Keys(w.erasedBy)) {
		rows, err := w.log.Rows(ctx, by-1, by)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := lines.Encode(lineOf(r.Record)); err != nil {
				return err
			}
			if r.Position <= w.manifest.Size {
				w.need(r.Position)
			}
		}
	}
	return nil
}

// erasures reads what is said to be erased.
func (c *checker) erasures() error {
	c.named = verify.NewNamed()
	if c.file.members[nameErasures] == nil {
		return nil
	}
	seen := map[int64]bool{}
	err := c.file.recordsOf(nameErasures, func(r eventstore.Record) error {
		if r.Stream != erasure.Stream || r.Position < 1 || seen[r.Position] {
			return fmt.Errorf("%w: %s holds record %d of %.200s", ErrForm, nameErasures, r.Position, r.Stream)
		}
		seen[r.Position] = true
		name := fmt.Sprintf("record %d (%s version %d)", r.Position, r.Stream, r.Version)
		if eventstore.Hash(r) != r.Hash {
			c.add(verify.Altered, r.Position, "%s: what it says does not match its hash", name)
		}
		c.named.Add(&r)
		if r.Position <= c.head.Size {
			c.leaves = append(c.leaves, leaf{r.Position, name, proof.Leaf(eventstore.Hash(r))})
		} else {
			c.report.Unsealed++
		}
		return nil
	})
	c.report.Erasures = c.named.Erasures
	return err
}
