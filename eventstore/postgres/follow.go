package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore"
)

const (
	pollEvery      = time.Second           // how stale a node gets that no notification reaches
	announceAfter  = 10 * time.Millisecond // so that a burst of appends is one notification
	announceMax    = 5 * time.Second
	listenCheck    = 30 * time.Second // silence after which the listening connection is tried
	reconnectAfter = time.Second
	followPage     = 512
	followGapMax   = 4096 // records behind which the tail rather starts anew than fills the gap
)

// follow keeps the tail in step with the database: when told to, and each second
// whether told or not.
func (s *Store) follow(ctx context.Context) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-s.news:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		// An unreachable database is tried again at the next tick, and shows in every other
		// use. Of a gap those are told who wait.
		_ = s.catchUp(ctx)
	}
}

// catchUp reads what the tail has not seen. Records of this node and of others
// reach it in one order, that of the database.
func (s *Store) catchUp(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, commitMax)
	defer stop()
	var head int64
	if err := s.writer.QueryRow(ctx, s.sql.head).Scan(&head); err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	if head-s.tail.Head() > followGapMax {
		s.tail.Jump(head)
	}
	for after := s.tail.Head(); after < head; after = s.tail.Head() {
		page, err := queryRecords(ctx, s.writer, s.sql.readAll, after, followPage)
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", after, err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := s.pushNew(page); err != nil {
			s.tail.Fail(err)
			return err
		}
	}
	return nil
}

// pushNew adds the part of a page that no append of this node has added meanwhile.
func (s *Store) pushNew(page []eventstore.Record) error {
	for !s.tail.Push(page) {
		head := s.tail.Head()
		if page[0].Position > head+1 {
			return fmt.Errorf("the log goes on at %d after %d", page[0].Position, head)
		}
		page = page[min(head-page[0].Position+1, int64(len(page))):] // an empty rest is added at once
	}
	return nil
}

// announce tells other nodes of appends, after the fact: a notification inside
// the append would make all commits of the server wait for each other.
func (s *Store) announce(ctx context.Context) {
	for {
		select {
		case <-s.notify:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(announceAfter):
		case <-ctx.Done():
			return
		}
		limited, stop := context.WithTimeout(ctx, announceMax)
		// A lost notification delays others by pollEvery and loses nothing.
		_, _ = s.writer.Exec(limited, s.sql.notify, strconv.FormatInt(s.tail.Head(), 10))
		stop()
	}
}

// listen hears of the appends of other nodes on a connection of its own, and
// makes a new one when that breaks.
func (s *Store) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.listenOnce(ctx) // polling goes on meanwhile
		select {
		case <-time.After(reconnectAfter):
		case <-ctx.Done():
		}
	}
}

func (s *Store) listenOnce(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, s.sql.listen); err != nil {
		return err
	}
	signal(s.news) // what was appended before we listened
	for {
		limited, stop := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(limited)
		stop()
		switch {
		case err == nil:
			if head, bad := strconv.ParseInt(n.Payload, 10, 64); bad != nil || head > s.tail.Head() {
				signal(s.news)
			}
		case ctx.Err() != nil || conn.IsClosed():
			return err
		default:
			if err := ping(ctx, conn); err != nil {
				return err
			}
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, stop := context.WithTimeout(ctx, connectMax)
	defer stop()
	return conn.Ping(ctx)
}
