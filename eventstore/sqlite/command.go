package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hecate/eventstore"
	"hecate/migrations"
)

// Command returns where a command's batch stands, see eventstore.Store.
func (s *Store) Command(ctx context.Context, id string) (eventstore.Appended, error) {
	done := eventstore.Appended{Repeated: true}
	query := migrations.Rename(`SELECT first, last FROM hecate_commands WHERE command_id = ?`, s.prefix)
	err := s.reader.QueryRowContext(ctx, query, id).Scan(&done.First, &done.Last)
	if errors.Is(err, sql.ErrNoRows) {
		return eventstore.Appended{}, fmt.Errorf("command %s: %w", id, eventstore.ErrNotFound)
	}
	if err != nil {
		return eventstore.Appended{}, fmt.Errorf("look up command %s: %w", id, err)
	}
	return done, nil
}
