package forward

import (
	"context"
	"fmt"
	"time"

	"hecate/projections/readdb"
)

const (
	leaseTTL   = 15 * time.Second
	leaseParts = 3 // renewals within one TTL
)

// lease lets one process at a time send to a target. All times are the database's own. A
// process that holds the lease longer than it should, because it was stopped, does no
// harm: what it sends has the ids of what others have sent, and the checkpoint moves only
// from where it was left. A database that only one process can use needs no lease.
type lease struct {
	db    *readdb.DB
	name  string
	owner string
	ttl   time.Duration
}

const nowMS = `(extract(epoch from clock_timestamp()) * 1000)::bigint`

// take takes or renews the lease, and reports whether it is held.
func (l lease) take(ctx context.Context) (held bool, err error) {
	if l.db.Single() {
		return true, nil
	}
	err = l.db.Update(ctx, "", func(tx *readdb.Tx) error {
		n, err := tx.Changed(ctx, `INSERT INTO hecate_view_lease AS held (name, owner, until) VALUES ($1, $2, `+nowMS+` + $3)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
			WHERE held.owner = excluded.owner OR held.until < `+nowMS, l.name, l.owner, l.ttl.Milliseconds())
		held = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take the lease of %s: %w", l.name, err)
	}
	return held, nil
}

// keep renews the lease and returns when it is lost, may be by now, or ctx ends.
func (l lease) keep(ctx context.Context) {
	if l.db.Single() {
		<-ctx.Done()
		return
	}
	failures := 0
	for failures < leaseParts-1 {
		wait(ctx, l.ttl/leaseParts)
		asking, stop := context.WithTimeout(ctx, l.ttl/leaseParts)
		held, err := l.take(asking)
		stop()
		switch {
		case ctx.Err() != nil, err == nil && !held:
			return
		case err != nil:
			failures++
		default:
			failures = 0
		}
	}
}

// drop lets others have the lease at once.
func (l lease) drop(ctx context.Context) error {
	if l.db.Single() {
		return nil
	}
	err := l.db.Update(ctx, "", func(tx *readdb.Tx) error {
		return tx.Exec(ctx, `DELETE FROM hecate_view_lease WHERE name = $1 AND owner = $2`, l.name, l.owner)
	})
	if err != nil {
		return fmt.Errorf("give back the lease of %s: %w", l.name, err)
	}
	return nil
}
