package runs

import (
	"context"
	"errors"
	"slices"

	"hecate/domain/erasure"
	"hecate/domain/run"
	"hecate/projections/readdb"
)

var errNoLog = errors.New("an erasure needs the log: give the model one")

// unseen are the types whose erased form shows what the event showed: nothing has to be folded anew.
var unseen = []string{run.ModelCallCompleted{}.EventType()}

// erased folds the tasks of which something was erased anew, from what the log says of them
// now. An erasure and what it takes away are one transaction of the log, so whoever reads
// the one reads the other without what is gone.
func (f *fold) erased(ctx context.Context, tx *readdb.Tx, p erasure.Erased, position int64) error {
	if f.log == nil {
		return errNoLog
	}
	if len(p.Types) > 0 && !slices.ContainsFunc(p.Types, func(t string) bool { return !slices.Contains(unseen, t) }) {
		return nil
	}
	for _, id := range p.TaskIDs {
		if err := f.Flush(ctx, tx); err != nil {
			return err
		}
		if t, err := f.task(ctx, tx, id); err != nil || t == nil {
			if err != nil {
				return err
			}
			continue // a deleted task has no rows
		}
		facts, err := factsOf(ctx, f.log, id, Moment{Position: position})
		if err != nil {
			return err
		}
		if err := f.delete(ctx, tx, id); err != nil {
			return err
		}
		stopped := map[string]bool{} // streams that cannot be taken any further, as when they were parked
		for _, fact := range facts {
			if stopped[fact.Stream] {
				continue
			}
			if err := f.Apply(ctx, tx, fact); err != nil {
				if tx.Failed() {
					return err
				}
				stopped[fact.Stream] = true
			}
		}
	}
	return nil
}
