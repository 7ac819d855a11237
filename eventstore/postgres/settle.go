package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
)

const (
	settleMax   = 20 * time.Second // to reach the server again
	settlePause = 100 * time.Millisecond
)

// settle finds out what became of requests whose answer was lost. It gives those
// that were written their place and returns the others.
func (s *Store) settle(requests []*groupcommit.Request) (rest []*groupcommit.Request, err error) {
	ctx, stop := context.WithTimeout(context.Background(), settleMax)
	defer stop()
	for {
		err = pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
			rest = rest[:0]
			return s.lookUp(ctx, tx, requests, &rest)
		})
		if err == nil {
			signal(s.news) // what was written did not pass through our hands
			return rest, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(settlePause):
		}
	}
}

func (s *Store) lookUp(ctx context.Context, tx pgx.Tx, requests []*groupcommit.Request, rest *[]*groupcommit.Request) error {
	// Our call may still be running on the server. It holds this lock until it ends.
	if _, err := tx.Exec(ctx, s.sql.lockLog); err != nil {
		return fmt.Errorf("lock the log: %w", err)
	}
	for _, r := range requests {
		place, ok, err := s.find(ctx, tx, r)
		if err != nil {
			return err
		}
		if ok {
			r.Appended = place
		} else {
			*rest = append(*rest, r)
		}
	}
	return nil
}

// find looks for a request in the log: by its first event, or by its command.
func (s *Store) find(ctx context.Context, tx pgx.Tx, r *groupcommit.Request) (a eventstore.Appended, ok bool, err error) {
	switch {
	case len(r.Records) > 0:
		err = tx.QueryRow(ctx, s.sql.findEvent, r.Records[0].Stream, r.Records[0].ID).Scan(&a.First)
		a.Last = a.First + int64(len(r.Records)) - 1
	case r.Batch.CommandID != "":
		err = tx.QueryRow(ctx, s.sql.findAnswer, r.Batch.CommandID).Scan(&a.First, &a.Last)
	default:
		return a, false, nil // a check of versions: it can be made again
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return eventstore.Appended{}, false, nil
	}
	if err != nil {
		return eventstore.Appended{}, false, fmt.Errorf("look up append: %w", err)
	}
	return a, true, nil
}
