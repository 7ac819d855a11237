package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore"
)

// Command returns where a command's batch stands, see eventstore.Store.
func (s *Store) Command(ctx context.Context, id string) (eventstore.Appended, error) {
	done := eventstore.Appended{Repeated: true}
	err := s.reader.QueryRow(ctx, s.sql.findAnswer, id).Scan(&done.First, &done.Last)
	if errors.Is(err, pgx.ErrNoRows) {
		return eventstore.Appended{}, fmt.Errorf("command %s: %w", id, eventstore.ErrNotFound)
	}
	if err != nil {
		return eventstore.Appended{}, fmt.Errorf("look up command %s: %w", id, s.closedOr(err))
	}
	return done, nil
}
