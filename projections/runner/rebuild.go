package runner

import (
	"context"
	"errors"
	"fmt"

	"hecate/domain/fault"
	"hecate/eventstore"
	"hecate/projections/readdb"
)

// Rebuild makes the named model, or all if name is empty, anew from the log beside
// the one that is read, and puts it in its place when it is complete. Until then,
// and if anything fails or the process dies, readers keep the old one. A fact that
// the model cannot take ends the rebuild. progress, if not nil, is told now and then.
func (r *Runner) Rebuild(ctx context.Context, name string, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	if name != "" {
		p, ok := r.byName[name]
		if !ok {
			return fault.NotFound("not_found", "there is no read model %q", name)
		}
		return r.rebuildOne(ctx, p, progress)
	}
	for _, p := range r.models {
		if err := r.rebuildOne(ctx, p, progress); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) rebuildOne(ctx context.Context, p *projection, progress func(Progress)) error {
	if !p.rebuild.TryLock() {
		return fault.Conflict("rebuild_running", "read model %q is being rebuilt already", p.model.Name())
	}
	defer p.rebuild.Unlock()
	defer p.building.Store(nil)
	next, err := r.startBuild(ctx, p)
	if err == nil {
		err = r.fill(ctx, p, next, progress)
	}
	if err == nil {
		err = r.replace(ctx, p, next)
	}
	if err != nil {
		err = fmt.Errorf("rebuild %s: %w", p.model.Name(), err)
		if next == nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
		err = errors.Join(err, r.db.Update(ctx, "", func(tx *readdb.Tx) error { return setStage(ctx, tx, next, next.generation, stageRetired) }))
	}
	// What is left over now, or from a rebuild that was killed, is of no use to anybody.
	return errors.Join(err, clean(context.WithoutCancel(ctx), r.db, p.model, p.generation.Load()))
}

func (r *Runner) startBuild(ctx context.Context, p *projection) (next *build, err error) {
	logID, err := r.log.LogID(ctx)
	if err != nil {
		return nil, err
	}
	err = r.db.Update(ctx, "", func(tx *readdb.Tx) error {
		if err := tx.Lock(ctx, p.model.Name()); err != nil {
			return err
		}
		next, err = newBuild(ctx, tx, r.db, p.model, logID, stageBuilding)
		return err
	})
	if err != nil {
		return nil, err
	}
	next.strict = true
	return next, nil
}

func (r *Runner) fill(ctx context.Context, p *projection, next *build, progress func(Progress)) error {
	return feed(ctx, r.log, p.model, 0, func(b feedBatch) error {
		if err := next.take(ctx, b.records, b.batch); err != nil {
			return err
		}
		head, err := r.log.Head(ctx)
		if err != nil {
			return err
		}
		now := Progress{Model: p.model.Name(), Position: next.position, Head: head}
		p.building.Store(&now)
		progress(now)
		return nil
	})
}

// replace puts next in the place of the live build. What the live one is ahead by then
// comes into the same transaction, so that no reader ever goes back in time.
func (r *Runner) replace(ctx context.Context, p *projection, next *build) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := batch{last: next.position, lastID: next.lastID}
	err := r.db.Update(ctx, next.suffix(), func(tx *readdb.Tx) error {
		ahead, err := retireLive(ctx, tx, p.model)
		if err != nil {
			return err
		}
		ahead = max(ahead, p.live.position)
		if b, err = r.tail(ctx, p.model, next.position, ahead, b); err != nil {
			return err
		}
		if err := next.write(ctx, tx, b); err != nil {
			return err
		}
		return setStage(ctx, tx, next, next.generation, stageLive)
	})
	if err != nil {
		next.fold.Forget()
		return err
	}
	next.position, next.saved, next.lastID, next.strict = b.last, b.last, b.lastID, false
	p.live = next
	p.show()
	return nil
}

// retireLive takes the live build out of use and returns how far it had come. Nobody
// moves it from here on.
func retireLive(ctx context.Context, tx *readdb.Tx, m Model) (position int64, err error) {
	if err := tx.Lock(ctx, m.Name()); err != nil { // no other node replaces it meanwhile
		return 0, err
	}
	c, found, err := liveCheckpoint(ctx, tx, m)
	if err != nil || !found {
		return 0, err
	}
	key := []any{m.Name(), m.Version(), c.generation}
	const where = ` WHERE model = $1 AND version = $2 AND generation = $3`
	if err := tx.Exec(ctx, `UPDATE hecate_view_state SET stage = 'retired'`+where, key...); err != nil {
		return 0, err
	}
	_, err = tx.One(ctx, `SELECT position FROM hecate_view_state`+where, key, &position) // it may have moved before the row was ours
	return position, err
}

// tail reads what stands after one position, up to another.
func (r *Runner) tail(ctx context.Context, m Model, after, to int64, none batch) (batch, error) {
	var records []eventstore.Record
	for after < to {
		more, err := r.log.ReadAll(ctx, after, int(min(to-after, feedRecords)))
		if err != nil {
			return none, err
		}
		if len(more) == 0 {
			return none, fmt.Errorf("the log ends at position %d, the read model is at %d", after, to)
		}
		records = append(records, more...)
		after = more[len(more)-1].Position
	}
	if len(records) == 0 {
		return none, nil
	}
	return decode(m, records, never), nil
}
