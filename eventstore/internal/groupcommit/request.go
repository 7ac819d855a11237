// Package groupcommit gathers appends that arrive at the same time into one
// durable transaction, so that many writers share the price of one fsync.
package groupcommit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"hecate/eventstore"
	"hecate/eventstore/internal/blobs"
)

// Request is one batch on its way into the log.
type Request struct {
	Batch   eventstore.Batch
	Records []eventstore.Record // the batch's events in order; position, and version where any is welcome, come at commit
	Blobs   []blobs.Packed

	// The outcome, set by the driver's commit.
	Appended eventstore.Appended
	Err      error

	canonical [][]byte // of records whose version is open
	bytes     int
	taken     bool // being committed, guarded by the queue
	done      chan struct{}
}

// NewRequest checks the batch and does in advance, in the caller's goroutine,
// what does not need the log: packing and hashing.
func NewRequest(b eventstore.Batch) (*Request, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	r := &Request{Batch: b, done: make(chan struct{})}
	for _, s := range b.Streams {
		for i, e := range s.Events {
			r.add(b, s, i, e)
		}
	}
	return r, nil
}

func (r *Request) add(b eventstore.Batch, s eventstore.StreamAppend, i int, e eventstore.Event) {
	rec := eventstore.Record{
		Stream: s.Stream, ID: e.ID, Type: e.Type, Schema: e.Schema, At: e.At.UTC().Truncate(time.Microsecond),
		Actor: b.Actor, CausedBy: b.CausedBy, CommandID: b.CommandID, Trace: b.Trace,
		Data: bytes.Clone(e.Data), Salt: e.Salt,
	}
	if s.Expected == eventstore.AnyVersion {
		if r.canonical == nil {
			r.canonical = make([][]byte, 0, len(s.Events))
		}
		for len(r.canonical) < len(r.Records) {
			r.canonical = append(r.canonical, nil)
		}
		r.canonical = append(r.canonical, eventstore.Canonical(rec))
	} else {
		rec.Version = s.Expected + int64(i) + 1
		rec.Hash = eventstore.Hash(rec)
	}
	r.Records = append(r.Records, rec)
	r.bytes += len(e.Data)
	for _, blob := range e.Blobs {
		p := blobs.Pack(blob)
		r.Blobs = append(r.Blobs, p)
		r.bytes += len(p.Bytes)
	}
}

// Head returns the canonical form of record i up to its version, or nil if the
// version and so the hash are known already.
func (r *Request) Head(i int) []byte {
	if i >= len(r.canonical) || r.canonical[i] == nil {
		return nil
	}
	return r.canonical[i][:len(r.canonical[i])-8]
}

// Place gives record i its position and version, and its hash if it was open.
func (r *Request) Place(i int, position, version int64) {
	rec := &r.Records[i]
	rec.Position, rec.Version = position, version
	if i < len(r.canonical) && r.canonical[i] != nil {
		c := r.canonical[i]
		binary.BigEndian.PutUint64(c[len(c)-8:], uint64(version))
		rec.Hash = sha256.Sum256(c)
	}
}

// keys are what two requests of one group may not share: the later one must see
// the outcome of the first.
func (r *Request) keys() (command string, first [16]byte) {
	if len(r.Records) > 0 {
		first = r.Records[0].ID
	}
	return r.Batch.CommandID, first
}

// ReadStream reads records of one stream, see eventstore.Store.
type ReadStream func(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)

// Repeated finds out whether a batch that met a conflict is in the log already:
// the very same event ids at the very same versions. Batches are written as a
// whole and in one piece, so one event tells the place of all.
func Repeated(ctx context.Context, read ReadStream, b eventstore.Batch) (eventstore.Appended, bool, error) {
	var total, index, first int64
	found := false
	for _, s := range b.Streams {
		total += int64(len(s.Events))
	}
	for _, s := range b.Streams {
		if s.Expected != eventstore.AnyVersion && len(s.Events) > 0 {
			stored, err := read(ctx, s.Stream, s.Expected, len(s.Events))
			if err != nil {
				return eventstore.Appended{}, false, err
			}
			if !sameIDs(stored, s.Events) {
				return eventstore.Appended{}, false, nil
			}
			found, first = true, stored[0].Position-index
		}
		index += int64(len(s.Events))
	}
	return eventstore.Appended{First: first, Last: first + total - 1, Repeated: true}, found, nil
}

func sameIDs(stored []eventstore.Record, events []eventstore.Event) bool {
	if len(stored) != len(events) {
		return false
	}
	for i, r := range stored {
		if r.ID != events[i].ID {
			return false
		}
	}
	return true
}

// errNoOutcome is a driver's mistake. Nobody may take it for a success.
var errNoOutcome = errors.New("append: the driver gave neither a place nor an error")

// Settle returns the answer to a request that went through the queue: its place,
// or the error, which may turn out to be the conflict of a batch with itself.
func Settle(ctx context.Context, read ReadStream, r *Request) (eventstore.Appended, error) {
	var conflict *eventstore.ConflictError
	if r.Err == nil && len(r.Records) > 0 && r.Appended.Last == 0 && !r.Appended.Repeated {
		return eventstore.Appended{}, errNoOutcome
	}
	if !errors.As(r.Err, &conflict) {
		return r.Appended, r.Err
	}
	again, ok, err := Repeated(ctx, read, r.Batch)
	if err != nil {
		return eventstore.Appended{}, errors.Join(r.Err, err)
	}
	if ok {
		return again, nil
	}
	return eventstore.Appended{}, r.Err
}
