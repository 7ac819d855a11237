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
	err = s.tryTwice(ctx, func() error { return s.reader.QueryRow(ctx, s.sql.progress, runID).Scan(&version, &b) })
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read progress of %s: %w", runID, s.closedOr(err))
	}
	return string(b), version, nil
}

// ProgressVersions returns the runs for which something is shown, with the versions.
func (s *Store) ProgressVersions(ctx context.Context) (map[string]int64, error) {
	rows, err := s.reader.Query(ctx, s.sql.progresses)
	if err != nil {
		return nil, fmt.Errorf("list progress: %w", s.closedOr(err))
	}
	out := map[string]int64{}
	var id string
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&id, &version}, func() error {
		out[id] = version
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list progress: %w", s.closedOr(err))
	}
	return out, nil
}

// DropProgress forgets the run's half-finished answer.
func (s *Store) DropProgress(ctx context.Context, runID string) error {
	if _, err := s.reader.Exec(ctx, s.sql.dropProgress, runID); err != nil {
		return fmt.Errorf("drop progress of %s: %w", runID, s.closedOr(err))
	}
	return nil
}
