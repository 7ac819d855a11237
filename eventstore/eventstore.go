// Package eventstore is the log: the one place where facts are kept.
//
// Facts stand in streams ("run-…", "task-…"), each with its own versions, and in
// one order over all streams, the position: 1, 2, 3 … without gaps. A reader that
// has seen position n has seen everything before it, for good.
//
// The drivers are in eventstore/sqlite (also in memory) and eventstore/postgres;
// eventstore/storetest is the suite that both must pass.
package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hecate/domain/event"
)

// Expected versions with a meaning of their own. Any other value is the exact
// version that the stream must have.
const (
	NoStream   int64 = 0  // the stream must not exist
	AnyVersion int64 = -1 // append whatever the version is
)

// Limits of one append. Larger requests are refused before anything is written.
const (
	StreamsMax = 16      // streams in one batch
	EventsMax  = 512     // events in one batch
	DataMax    = 1 << 20 // bytes of one event's data (texts over event.InlineMax are blobs)
	BlobMax    = 64 << 20
)

// Actor is who caused an event. Name is an opaque id; people's names are data.
type Actor struct {
	Kind string `json:"kind"` // operator, client, worker, schedule, system
	Name string `json:"name,omitempty"`
	Org  string `json:"org,omitempty"`
}

// Event is one fact that is to be appended.
type Event struct {
	ID     [16]byte // UUIDv7, made by the writer; the same id at the same version again is the same append
	Type   string
	Schema int
	At     time.Time // UTC, cut to microseconds
	Data   []byte    // JSON, stored and hashed as it is
	Salt   [16]byte  // random; hashed with the data so that erased data cannot be guessed
	Blobs  []event.Blob
}

// Work says what an append does to the stream's place among the open work:
// streams that some worker must look at, now or after a restart.
type Work int8

// What an append may do to the open work.
const (
	WorkKeep  Work = iota // leave it as it is
	WorkOpen              // a worker must look at this stream, whichever; ends a claim
	WorkClose             // nothing to do until further notice; ends a claim
)

// StreamAppend is the part of a batch that goes to one stream.
type StreamAppend struct {
	Stream   string
	Expected int64 // exact version, NoStream or AnyVersion
	Events   []Event
	Work     Work
	// Epoch, if not 0, is the claim under which a worker writes, see Leases. If that
	// has ended the whole batch is refused with a *FencedError. A version that does not
	// match is reported first, so that a repeated append is still recognised.
	Epoch int64
}

// Batch is appended as a whole or not at all.
type Batch struct {
	CommandID string // if not empty: a second batch with this id changes nothing and gets the first one's answer
	Actor     Actor
	CausedBy  int64  // position of the event that led to this one, 0 if none
	Trace     string // W3C traceparent, may be empty
	Streams   []StreamAppend
	Erase     *Erasure // taken away in the same transaction; nil for nothing
}

// Appended tells where a batch stands in the log. A batch without events has First > Last.
type Appended struct {
	First, Last int64 // positions
	Repeated    bool  // the batch had been appended before, by command id or by event ids
}

// Record is a fact as the log holds it.
type Record struct {
	Position     int64
	Stream       string
	Version      int64
	ID           [16]byte
	Type         string
	Schema       int
	At           time.Time
	Actor        Actor
	CausedBy     int64
	CommandID    string
	Trace        string
	Data         []byte // what is left of it, if it was erased
	Salt         [16]byte
	Hash         [32]byte
	Erased       int64    // position of the record that says by what rule and whom the data was erased; 0 if it was not
	ErasedDigest [32]byte // of salt and data as they were; see DataDigest
}

// Store is the log as its users see it. All methods may be called concurrently.
// Records that are handed out may be shared between readers: nobody may change
// them or their data.
type Store interface {
	Leases
	Locks
	// Append makes the batch durable and returns its place. It returns a
	// *ConflictError if an expected version does not match, a *FencedError if an epoch
	// does not, and an error that wraps ErrInvalid if the batch breaks a limit.
	Append(ctx context.Context, b Batch) (Appended, error)
	// ReadStream returns up to limit records of one stream after the given version.
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]Record, error)
	// ReadAll returns up to limit records after the given position, in order, dense.
	ReadAll(ctx context.Context, after int64, limit int) ([]Record, error)
	// ReadAt returns the records at positions, which ascend, in their order. Positions that
	// the log does not hold are passed over.
	ReadAt(ctx context.Context, positions []int64) ([]Record, error)
	// Command returns where the batch of a command id stands, as its append did;
	// ErrNotFound if no such batch was appended.
	Command(ctx context.Context, id string) (Appended, error)
	// Head returns the position of the newest record, 0 for an empty log.
	Head(ctx context.Context) (int64, error)
	// Wait returns once the head is beyond after, or with ctx's error.
	Wait(ctx context.Context, after int64) error
	// Blob returns the content behind a reference; ErrErased if it was erased, ErrNotFound if it is gone.
	Blob(ctx context.Context, digest string) ([]byte, error)
	// OpenWork returns up to limit streams marked WorkOpen, oldest mark first,
	// whose mark is newer than the given position, with the positions of the marks.
	OpenWork(ctx context.Context, after int64, limit int) ([]OpenStream, error)
	// LogID identifies this log; a restored copy that goes its own way gets another one.
	LogID(ctx context.Context) (string, error)
	// Close ends waiting readers, finishes appends under way and releases the log.
	Close() error
}

// OpenStream is one stream with open work.
type OpenStream struct {
	Stream string
	Since  int64 // position of the append that opened it
}

// Errors that callers tell apart with errors.Is.
var (
	ErrInvalid  = errors.New("invalid request")
	ErrNotFound = errors.New("not found")
	ErrClosed   = errors.New("the log is closed")
	ErrInUse    = errors.New("the log is in use by another process")
)

// ConflictError says that a stream was not at the version that the writer expected.
type ConflictError struct {
	Stream   string
	Expected int64
	Actual   int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("stream %s is at version %d, not at %d", e.Stream, e.Actual, e.Expected)
}
