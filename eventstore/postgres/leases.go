package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hecate/eventstore"
)

// Outcomes of hecate_claim.
const (
	claimTaken  = 0
	claimNoLive = 1
	claimHeld   = 2
	claimBusy   = 3
)

// Register begins the lease of a worker, see eventstore.Leases.
func (s *Store) Register(ctx context.Context, w eventstore.Worker) error {
	if err := w.Validate(); err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	err := s.lease(ctx, nil, s.sql.register, w.Instance, w.Node, orEmpty(w.Reach), w.TTL)
	if err != nil {
		return fmt.Errorf("register worker: %w", s.closedOr(err))
	}
	return nil
}

// Renew makes the instance's lease hold for its TTL from now. It waits neither for
// appends nor for claims.
func (s *Store) Renew(ctx context.Context, instance string) error {
	done, err := s.renewer.Exec(ctx, s.sql.renew, instance)
	switch {
	case err != nil:
		return fmt.Errorf("renew lease: %w", s.closedOr(err))
	case done.RowsAffected() == 0:
		return eventstore.ErrLeaseLost
	}
	return nil
}

// Release ends the lease and all claims and locks of the instance.
func (s *Store) Release(ctx context.Context, instance string) error {
	if err := s.lease(ctx, nil, s.sql.release, instance); err != nil {
		return fmt.Errorf("release lease: %w", s.closedOr(err))
	}
	return nil
}

// Unclaim gives one stream back.
func (s *Store) Unclaim(ctx context.Context, instance, stream string) error {
	if err := s.lease(ctx, nil, s.sql.unclaim, instance, stream); err != nil {
		return fmt.Errorf("give back %s: %w", stream, s.closedOr(err))
	}
	return nil
}

// Claim takes an open stream for the instance, see eventstore.Leases.
func (s *Store) Claim(ctx context.Context, instance, stream string, claimsMax int) (epoch int64, err error) {
	var outcome int
	err = s.lease(ctx, []any{&outcome, &epoch}, s.sql.claim, instance, stream, max(claimsMax, 0))
	if err != nil {
		return 0, fmt.Errorf("claim %s: %w", stream, s.closedOr(err))
	}
	switch outcome {
	case claimTaken:
		return epoch, nil
	case claimNoLive:
		return 0, eventstore.ErrLeaseLost
	case claimHeld:
		return 0, eventstore.ErrClaimed
	case claimBusy:
		return 0, eventstore.ErrBusy
	}
	return 0, fmt.Errorf("claim %s: outcome %d", stream, outcome)
}

// lease begins or ends leases or claims by one statement in a transaction of its own.
// If the answer is lost the statement may still be waiting on the server; it is ended
// before the next one is sent, so that nothing happens behind the caller's back.
func (s *Store) lease(ctx context.Context, to []any, sql string, args ...any) error {
	conn, err := s.leaser.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := s.lost.end(func(by session) error { return s.endLost(ctx, conn.Conn(), by) }); err != nil {
		return err
	}
	row := conn.QueryRow(ctx, sql, args...)
	if to == nil {
		to = []any{nil}
	}
	if err = row.Scan(to...); lost(err) && !pgconn.SafeToRetry(err) {
		s.lost.add(sessionOf(conn.Conn()))
	}
	return err
}

// endLost returns when nothing will come from a lost session any more.
func (s *Store) endLost(ctx context.Context, conn *pgx.Conn, by session) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.awaitEnd(ctx, tx, by) })
}

// lostSessions are sessions that broke while they did something.
type lostSessions struct {
	mu   sync.Mutex
	list []session
}

func (l *lostSessions) add(by session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, by)
}

// end calls end for each session, and forgets those for which that succeeds.
func (l *lostSessions) end(end func(session) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.list) > 0 {
		if err := end(l.list[0]); err != nil {
			return err
		}
		l.list = l.list[1:]
	}
	return nil
}

// Claimable returns open streams that no live worker holds, oldest mark first.
func (s *Store) Claimable(ctx context.Context, after int64, limit int) ([]eventstore.OpenStream, error) {
	out, err := queryStreams(ctx, s.leaser, s.sql.claimable, after, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("read claimable work: %w", s.closedOr(err))
	}
	return out, nil
}

// Workers returns the workers whose leases hold, by node.
func (s *Store) Workers(ctx context.Context) ([]eventstore.LiveWorker, error) {
	var out []eventstore.LiveWorker
	rows, _ := s.leaser.Query(ctx, s.sql.workers) // a failed query fails when its rows are read
	out, err := pgx.AppendRows(out, rows, pgx.RowToStructByPos[eventstore.LiveWorker])
	if err != nil {
		return nil, fmt.Errorf("read workers: %w", s.closedOr(err))
	}
	return out, nil
}

// WorkStats counts the open work.
func (s *Store) WorkStats(ctx context.Context) (w eventstore.WorkStats, err error) {
	err = s.leaser.QueryRow(ctx, s.sql.workStats).Scan(&w.Waiting, &w.Claimed, &w.OldestWaiting, &w.OldestClaimed)
	if err != nil {
		return w, fmt.Errorf("count open work: %w", s.closedOr(err))
	}
	w.OldestWaiting = max(w.OldestWaiting, 0) // the writer's clock may be ahead
	return w, nil
}
