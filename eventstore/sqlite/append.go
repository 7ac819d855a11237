package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/internal/leases"
	"hecate/eventstore/internal/tail"
	"hecate/eventstore/internal/versions"
)

// appender writes groups of requests. Only the queue's goroutine uses it, and it
// is the only writer of the database, so what it remembers stays true.
type appender struct {
	db       *sql.DB
	write    writeStatements
	head     int64
	versions versions.Cache
	recent   recentStreams
	leases   *leases.Table
	tail     *tail.Tail
}

// group is one transaction in the making.
type group struct {
	tx       *sql.Tx
	head     int64
	versions map[string]int64 // of the touched streams, as they are after the requests so far
	ended    map[string]bool  // streams whose claims end with the requests so far
	accepted []*groupcommit.Request
	records  []eventstore.Record
	indexed  bool // everything before the group goes into the index with it
}

// commit makes the group durable in one transaction. After an error nothing of
// it was written.
func (a *appender) commit(requests []*groupcommit.Request) error {
	return classify(a.commitOnce(requests))
}

// classify marks what no smaller group would cure: a lock of a foreign tool, a full
// or broken disk.
func classify(err error) error {
	var answer *sqlite.Error
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	switch answer.Code() & 0xff { // without the details
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", groupcommit.ErrNoRetry, err)
	}
	return err
}

func (a *appender) commitOnce(requests []*groupcommit.Request) error {
	// Nobody's cancel may end what others wait for too.
	ctx := context.Background()
	a.leases.Order.Lock()
	defer a.leases.Order.Unlock()
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin append: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	g := &group{tx: tx, head: a.head, versions: make(map[string]int64, len(requests)), ended: map[string]bool{}}
	for _, r := range requests {
		if err := a.decide(ctx, g, r); err != nil {
			return err
		}
	}
	if len(g.accepted) == 0 {
		return nil
	}
	if err := a.store(ctx, g); err != nil {
		return fmt.Errorf("write append: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit append: %w", err)
	}
	a.head = g.head
	if g.indexed {
		a.recent.forget()
	}
	a.recent.add(g.records)
	for stream, version := range g.versions {
		a.versions.Put(stream, version)
	}
	for stream := range g.ended {
		a.leases.End(stream)
	}
	a.tail.Push(g.records)
	return nil
}

// decide accepts the request, or sets its outcome.
func (a *appender) decide(ctx context.Context, g *group, r *groupcommit.Request) error {
	if r.Batch.CommandID != "" {
		found, err := a.findCommand(ctx, g, r)
		if err != nil || found {
			return err
		}
	}
	for _, s := range r.Batch.Streams {
		version, err := a.version(ctx, g, s.Stream)
		if err != nil {
			return err
		}
		if s.Expected != eventstore.AnyVersion && s.Expected != version {
			r.Err = &eventstore.ConflictError{Stream: s.Stream, Expected: s.Expected, Actual: version}
			return nil
		}
	}
	for _, s := range r.Batch.Streams {
		if s.Epoch != 0 && (g.ended[s.Stream] || a.leases.Epoch(s.Stream) != s.Epoch) {
			r.Err = &eventstore.FencedError{Stream: s.Stream, Epoch: s.Epoch}
			return nil
		}
	}
	g.accept(r)
	return nil
}

// accept gives the records of a request their places.
func (g *group) accept(r *groupcommit.Request) {
	r.Appended.First = g.head + 1
	i := 0
	for _, s := range r.Batch.Streams {
		for range s.Events {
			g.head++
			g.versions[s.Stream]++
			r.Place(i, g.head, g.versions[s.Stream])
			i++
		}
		if s.Work != eventstore.WorkKeep {
			g.ended[s.Stream] = true
		}
	}
	r.Appended.Last = g.head
	g.accepted = append(g.accepted, r)
	g.records = append(g.records, r.Records...)
}

func (a *appender) findCommand(ctx context.Context, g *group, r *groupcommit.Request) (bool, error) {
	done := eventstore.Appended{Repeated: true}
	err := g.tx.StmtContext(ctx, a.write.command).QueryRowContext(ctx, r.Batch.CommandID).Scan(&done.First, &done.Last)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up command %s: %w", r.Batch.CommandID, err)
	}
	r.Appended = done
	return true, nil
}

// version returns the stream's version as the group sees it.
func (a *appender) version(ctx context.Context, g *group, stream string) (int64, error) {
	if v, ok := g.versions[stream]; ok {
		return v, nil
	}
	v, ok := a.versions.Get(stream)
	if !ok {
		v, ok = a.recent.version(stream)
	}
	if !ok {
		err := g.tx.StmtContext(ctx, a.write.version).QueryRowContext(ctx, stream).Scan(&v)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, fmt.Errorf("read version of %s: %w", stream, err)
		}
	}
	g.versions[stream] = v
	return v, nil
}

// store writes what was accepted, contents before the events that name them.
func (a *appender) store(ctx context.Context, g *group) error {
	for _, r := range g.accepted {
		for _, b := range r.Blobs {
			_, err := g.tx.StmtContext(ctx, a.write.blob).ExecContext(ctx, b.Digest, b.Salt[:], len(b.Content), b.MediaType, b.Codec, b.Bytes)
			if err != nil {
				return err
			}
		}
	}
	if a.recent.full() {
		if err := a.index(ctx, g.tx, a.head); err != nil {
			return err
		}
		g.indexed = true
	}
	if err := a.write.insert(ctx, g.tx, g.records); err != nil {
		return err
	}
	for _, r := range g.accepted {
		if r.Batch.CommandID != "" {
			_, err := g.tx.StmtContext(ctx, a.write.addCommand).ExecContext(ctx, r.Batch.CommandID, r.Appended.First, r.Appended.Last)
			if err != nil {
				return err
			}
		}
		if err := a.storeWork(ctx, g, r); err != nil {
			return err
		}
		if r.Batch.Erase != nil {
			if err := a.erase(ctx, g, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeWork keeps the table of open work in step with the log.
func (a *appender) storeWork(ctx context.Context, g *group, r *groupcommit.Request) (err error) {
	last := r.Appended.First - 1
	for _, s := range r.Batch.Streams {
		last += int64(len(s.Events))
		switch s.Work {
		case eventstore.WorkOpen:
			_, err = g.tx.StmtContext(ctx, a.write.openWork).ExecContext(ctx, s.Stream, last)
		case eventstore.WorkClose:
			_, err = g.tx.StmtContext(ctx, a.write.endWork).ExecContext(ctx, s.Stream)
		case eventstore.WorkKeep:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// index brings the table of streams up to the given position.
func (a *appender) index(ctx context.Context, tx *sql.Tx, head int64) error {
	if _, err := tx.StmtContext(ctx, a.write.index).ExecContext(ctx, head); err != nil {
		return fmt.Errorf("index streams: %w", err)
	}
	if _, err := tx.StmtContext(ctx, a.write.indexed).ExecContext(ctx, head); err != nil {
		return fmt.Errorf("index streams: %w", err)
	}
	return nil
}

// begin does so at the start, when nothing is remembered yet, and counts the opening.
func (a *appender) begin(ctx context.Context, head int64) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := a.index(ctx, tx, head); err != nil {
		return err
	}
	var opened int64
	if err := tx.StmtContext(ctx, a.write.opened).QueryRowContext(ctx).Scan(&opened); err != nil {
		return fmt.Errorf("count opening: %w", err)
	}
	a.leases = leases.New(opened << epochBits)
	return tx.Commit()
}
