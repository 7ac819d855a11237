package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore"
)

// Outcomes of hecate_take_locks.
const (
	locksTaken  = 0
	locksNoLive = 1
	locksHeld   = 2
)

// TakeLocks takes all of names for the holder or none, see eventstore.Locks. It waits
// neither for appends nor for claims.
func (s *Store) TakeLocks(ctx context.Context, instance string, h eventstore.Holder, names []string) error {
	names, err := eventstore.CheckLocks(h, names)
	if err != nil {
		return fmt.Errorf("take locks: %w", err)
	}
	var outcome int
	var locked, run, call *string
	err = s.lease(ctx, []any{&outcome, &locked, &run, &call}, s.sql.takeLocks, instance, h.Run, h.Call, orEmpty(names))
	if err != nil {
		return fmt.Errorf("take locks: %w", s.closedOr(err))
	}
	switch outcome {
	case locksTaken:
		return nil
	case locksNoLive:
		return eventstore.ErrLeaseLost
	case locksHeld:
		return &eventstore.LockedError{Name: *locked, By: eventstore.Holder{Run: *run, Call: *call}}
	}
	return fmt.Errorf("take locks: outcome %d", outcome)
}

// DropLocks gives back all that the holder has.
func (s *Store) DropLocks(ctx context.Context, h eventstore.Holder) error {
	if err := s.lease(ctx, nil, s.sql.dropLocks, h.Run, h.Call); err != nil {
		return fmt.Errorf("give back locks: %w", s.closedOr(err))
	}
	return nil
}

// DropRunLocks gives back all that the run's calls have.
func (s *Store) DropRunLocks(ctx context.Context, run string) error {
	if err := s.lease(ctx, nil, s.sql.dropLocks, run, nil); err != nil {
		return fmt.Errorf("give back locks of %s: %w", run, s.closedOr(err))
	}
	return nil
}

// HeldLocks returns the locks that are held under live leases.
func (s *Store) HeldLocks(ctx context.Context) ([]eventstore.HeldLock, error) {
	rows, _ := s.leaser.Query(ctx, s.sql.heldLocks) // a failed query fails when its rows are read
	out, err := pgx.AppendRows([]eventstore.HeldLock(nil), rows, scanHeldLock)
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", s.closedOr(err))
	}
	return out, nil
}

func scanHeldLock(row pgx.CollectableRow) (l eventstore.HeldLock, err error) {
	err = row.Scan(&l.Name, &l.Holder.Run, &l.Holder.Call, &l.Instance, &l.Node, &l.Since)
	l.Since = l.Since.UTC()
	return l, err
}
