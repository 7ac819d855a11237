package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hecate/eventstore"
	"hecate/eventstore/internal/blobs"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/internal/versions"
)

// commitMax is how long one group may take before the server counts as lost. The
// server's own limits end earlier.
const commitMax = 45 * time.Second

// sendsMax is how often a group is sent if the connection is lost each time and it
// is certain that nothing was written.
const sendsMax = 2

// Outcomes of hecate_append.
const (
	outcomeAppended = 0
	outcomeKnown    = 1
	outcomeConflict = 2
	outcomeFenced   = 3
)

// uniqueViolation is the SQL state of an insert of what exists.
const uniqueViolation = "23505"

// Append makes the batch durable and returns its place, see eventstore.Store.
func (s *Store) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	r, err := groupcommit.NewRequest(b)
	if err != nil {
		return eventstore.Appended{}, err
	}
	if err := s.addBlobs(ctx, r.Blobs); err != nil {
		return eventstore.Appended{}, err
	}
	if err := s.queue.Do(ctx, r); err != nil {
		return eventstore.Appended{}, err
	}
	return groupcommit.Settle(ctx, s.ReadStream, r)
}

// addBlobs makes contents durable before the events that name them, so that a
// large one holds up nobody else's append. One whose event is then refused stays
// behind unnamed.
func (s *Store) addBlobs(ctx context.Context, list []blobs.Packed) error {
	for _, b := range list {
		err := s.tryTwice(ctx, func() error {
			_, err := s.reader.Exec(ctx, s.sql.addBlob, b.Digest, b.Salt[:], len(b.Content), b.MediaType, b.Codec, b.Bytes)
			return err
		})
		if err != nil {
			return fmt.Errorf("add blob %s: %w", b.Digest, s.closedOr(err))
		}
	}
	return nil
}

// commit makes the group durable in one transaction on the server. If the
// connection is lost on the way it finds out what became of each request, and
// tries those once more that were not written.
func (s *Store) commit(requests []*groupcommit.Request) error {
	rest := requests
	var err error
	for range sendsMax {
		var by session
		if by, err = s.send(rest); !lost(err) {
			err = classify(err)
			break
		}
		missing, lookErr := s.settle(rest, by)
		if lookErr != nil {
			err = fmt.Errorf("%w: the outcome of the append is unknown: %w", groupcommit.ErrNoRetry, errors.Join(err, lookErr))
			break
		}
		if rest = missing; len(rest) == 0 {
			return nil
		}
		err = fmt.Errorf("%w: %w", groupcommit.ErrNoRetry, err)
	}
	if err == nil || len(rest) == len(requests) {
		return err
	}
	for _, r := range rest { // the others are in the log
		r.Err = err
	}
	return nil
}

// lost reports whether err leaves open what the server did.
func lost(err error) bool {
	if err == nil {
		return false
	}
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return true
	}
	// 57P: the server shuts down or ended our session, perhaps behind the commit.
	return answer.Code[:3] == "57P" || answer.Code[:2] == "08"
}

// classify marks what no smaller group would cure: a lock not granted in time, a
// full disk, a server in trouble.
func classify(err error) error {
	var answer *pgconn.PgError
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	switch answer.Code[:2] {
	case "40", "53", "55", "57", "58":
		return fmt.Errorf("%w: %w", groupcommit.ErrNoRetry, err)
	}
	return err
}

// seenVersions are the versions that this node saw last of the streams it appends
// to. Only the goroutine that commits uses it.
type seenVersions struct {
	versions.Cache
	connections int64 // made when the cache was begun
}

// fresh forgets everything once there is a new connection: it may lead to a server
// that was restored or promoted, and lacks what the old one had.
func (v *seenVersions) fresh(connections int64) *versions.Cache {
	if v.connections != connections {
		v.Cache, v.connections = versions.Cache{}, connections
	}
	return &v.Cache
}

// send calls the server and hands out the answers. It relies on the versions seen
// last; if another node has appended since, it asks once more relying on nothing.
// It returns the session that was used, none if there was no connection.
func (s *Store) send(requests []*groupcommit.Request) (session, error) {
	// Nobody's cancel may end what others wait for too.
	ctx, stop := context.WithTimeout(context.Background(), commitMax)
	defer stop()
	conn, err := s.writer.Acquire(ctx)
	if err != nil {
		return "", fmt.Errorf("append: %w: %w", groupcommit.ErrNoRetry, err)
	}
	defer conn.Release()
	// The pool may have made a new connection just now: count only after that.
	err = s.call(ctx, conn, requests, s.seen.fresh(s.connections.Load()))
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == uniqueViolation {
		err = s.call(ctx, conn, requests, nil)
	}
	return sessionOf(conn.Conn()), err
}

func (s *Store) call(ctx context.Context, conn *pgxpool.Conn, requests []*groupcommit.Request, seen *versions.Cache) error {
	var outcome, first, last, before []int64
	args := newArguments(requests, seen)
	do := func(q queryRower) error {
		return q.QueryRow(ctx, s.sql.append, args.values()...).Scan(&outcome, &first, &last, &before)
	}
	var err error
	if erasing(requests) {
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := do(tx); err != nil {
				return err
			}
			return s.erase(ctx, tx, requests, outcome, first)
		})
	} else {
		err = do(conn)
	}
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	var records []eventstore.Record
	part := 0
	for i, r := range requests {
		mine := before[part : part+len(r.Batch.Streams)]
		switch outcome[i] {
		case outcomeAppended:
			r.Appended = eventstore.Appended{First: first[i], Last: last[i]}
			s.place(r, mine)
			records = append(records, r.Records...)
		case outcomeKnown:
			r.Appended = eventstore.Appended{First: first[i], Last: last[i], Repeated: true}
		case outcomeConflict:
			at := int(first[i]) - 1 - part
			r.Err = &eventstore.ConflictError{Stream: r.Batch.Streams[at].Stream, Expected: r.Batch.Streams[at].Expected, Actual: mine[at]}
		case outcomeFenced:
			s := r.Batch.Streams[int(first[i])-1-part]
			r.Err = &eventstore.FencedError{Stream: s.Stream, Epoch: s.Epoch}
		}
		part += len(r.Batch.Streams)
	}
	s.publish(records)
	return nil
}

// place gives the records of an accepted request their places.
func (s *Store) place(r *groupcommit.Request, before []int64) {
	record := 0
	for i, part := range r.Batch.Streams {
		for n := range part.Events {
			r.Place(record, r.Appended.First+int64(record), before[i]+int64(n)+1)
			record++
		}
		s.seen.Put(part.Stream, before[i]+int64(len(part.Events)))
	}
}

// publish shows new records to the readers of this node and tells the others.
func (s *Store) publish(records []eventstore.Record) {
	if len(records) == 0 {
		return
	}
	if !s.tail.Push(records) {
		signal(s.news) // another node was faster: its records come first and must be read
	}
	signal(s.notify)
}
