package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/domain/ident"
	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
)

const (
	settleMax   = 20 * time.Second // to reach the server again
	settlePause = 100 * time.Millisecond
)

// session names a connection for writing. The server's end of it holds a lock of
// this name until it has ended, so whoever gets the lock knows that nothing more
// will come from there.
type session string

// sessionKey is where a connection keeps its name.
const sessionKey = "session"

func (s *Store) beginSession(ctx context.Context, conn *pgx.Conn) error {
	name := session(ident.New("session"))
	if _, err := conn.Exec(ctx, s.sql.beginSession, string(name)); err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	conn.PgConn().CustomData()[sessionKey] = name
	return nil
}

func sessionOf(conn *pgx.Conn) session {
	name, _ := conn.PgConn().CustomData()[sessionKey].(session)
	return name
}

// settle finds out what became of requests whose answer was lost with the session
// that they were sent by. It gives those that were written their place and returns
// the others, which will not be written any more.
func (s *Store) settle(requests []*groupcommit.Request, by session) (rest []*groupcommit.Request, err error) {
	ctx, stop := context.WithTimeout(context.Background(), s.settleMax)
	defer stop()
	for {
		err = pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
			rest = rest[:0]
			return s.lookUp(ctx, tx, requests, by, &rest)
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

func (s *Store) lookUp(ctx context.Context, tx pgx.Tx, requests []*groupcommit.Request, by session, rest *[]*groupcommit.Request) error {
	if by != "" {
		// Our call may still be running on the server, or wait there to be read. The log's
		// lock would not tell: the call may not have got to it yet.
		if err := s.awaitEnd(ctx, tx, by); err != nil {
			return err
		}
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

// awaitEnd ends a lost session and returns when that is done.
func (s *Store) awaitEnd(ctx context.Context, tx pgx.Tx, by session) error {
	if _, err := tx.Exec(ctx, s.sql.endSession, string(by)); err != nil {
		return fmt.Errorf("end the lost session: %w", err)
	}
	if _, err := tx.Exec(ctx, s.sql.awaitSession, string(by)); err != nil {
		return fmt.Errorf("wait for the end of the lost session: %w", err)
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
