package sqlite

import (
	"context"
	"fmt"

	"hecate/eventstore"
)

// TakeLocks takes all of names for the holder or none, see eventstore.Locks.
func (s *Store) TakeLocks(ctx context.Context, instance string, h eventstore.Holder, names []string) error {
	names, err := eventstore.CheckLocks(h, names)
	if err != nil {
		return fmt.Errorf("take locks: %w", err)
	}
	if err := s.alive(ctx); err != nil {
		return err
	}
	return s.leases.TakeLocks(instance, h, names)
}

// DropLocks gives back all that the holder has.
func (s *Store) DropLocks(ctx context.Context, h eventstore.Holder) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	s.leases.DropLocks(h)
	return nil
}

// DropRunLocks gives back all that the run's calls have.
func (s *Store) DropRunLocks(ctx context.Context, run string) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	s.leases.DropRunLocks(run)
	return nil
}

// HeldLocks returns the locks that are held under live leases.
func (s *Store) HeldLocks(ctx context.Context) ([]eventstore.HeldLock, error) {
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	return s.leases.HeldLocks(), nil
}
