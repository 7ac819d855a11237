package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// PutProgress shows a half-finished answer to other nodes, see eventstore.SharedProgress.
func (s *Store) PutProgress(ctx context.Context, runID, text string, version int64) error {
	if _, err := s.reader.Exec(ctx, s.sql.putProgress, runID, version, []byte(text)); err != nil {
		return fmt.Errorf("put progress of %s: %w", runID, s.closedOr(err))
	}
	return nil
}

// Progress returns the half-finished answer that some node shows.
func (s *Store) Progress(ctx context.Context, runID string) (text string, version int64, err error) {
	var b []byte
	err = s.reader.QueryRow(ctx, s.sql.progress, runID).Scan(&version, &b)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read progress of %s: %w", runID, s.closedOr(err))
	}
	return string(b), version, nil
}

// DropProgress forgets the run's half-finished answer.
func (s *Store) DropProgress(ctx context.Context, runID string) error {
	if _, err := s.reader.Exec(ctx, s.sql.dropProgress, runID); err != nil {
		return fmt.Errorf("drop progress of %s: %w", runID, s.closedOr(err))
	}
	return nil
}
