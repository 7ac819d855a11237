package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore"
)

// workerCheck is how often the connection that holds the worker lock is tried.
const workerCheck = 2 * time.Second

// LockWorker takes the one place of the node that may run workers on this log, and
// does not wait for it: if another node has it the error wraps eventstore.ErrInUse.
// The lock lives on a connection of its own. lost is closed when that breaks, and
// then the node must stop its workers; release gives the place back and must be
// called in any case.
func (s *Store) LockWorker(ctx context.Context) (release func(), lost <-chan struct{}, err error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return nil, nil, fmt.Errorf("lock worker: %w", err)
	}
	var mine bool
	if err := conn.QueryRow(ctx, s.sql.workerLock).Scan(&mine); err != nil || !mine {
		_ = conn.Close(context.WithoutCancel(ctx))
		if err == nil {
			err = fmt.Errorf("%w: another node runs the workers of this log", eventstore.ErrInUse)
		}
		return nil, nil, fmt.Errorf("lock worker: %w", err)
	}
	l := &workerLock{conn: conn, lost: make(chan struct{}), ended: make(chan struct{})}
	held, stop := context.WithCancel(context.Background())
	go l.hold(held)
	return func() {
		stop()
		<-l.ended
	}, l.lost, nil
}

type workerLock struct {
	conn        *pgx.Conn
	lost, ended chan struct{}
}

// hold watches the connection until it breaks or ctx ends, and closes it: the
// server drops the lock with the session.
func (l *workerLock) hold(ctx context.Context) {
	defer close(l.ended)
	defer func() {
		closing, stop := context.WithTimeout(context.Background(), connectMax)
		defer stop()
		_ = l.conn.Close(closing)
	}()
	tick := time.NewTicker(workerCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := ping(ctx, l.conn); err != nil && ctx.Err() == nil {
			close(l.lost)
			return
		}
	}
}
