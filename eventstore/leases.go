package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Worker is one process that executes open work.
type Worker struct {
	Instance string        // new for every start of a process, never used again
	Node     string        // stable identity of the installation, whose instances follow each other
	Reach    []string      // names of the places whose workspaces the process can reach
	TTL      time.Duration // how long its lease holds without a renewal, by the log's own clock
}

// LiveWorker is a worker whose lease holds.
type LiveWorker struct {
	Instance string
	Node     string
	Reach    []string
	Claims   int // streams that it holds
}

// WorkStats counts the open work of the log, at one moment.
type WorkStats struct {
	Waiting       int           // open streams that no live worker holds
	Claimed       int           // open streams that a live worker holds
	OldestWaiting time.Duration // since the event that opened the oldest waiting stream; 0 if none waits
	OldestClaimed time.Duration // since the oldest claim that holds; 0 if there is none
}

// Leases are how the worker processes of one log share its open work. A claim is a
// worker's hold on one stream. It has an epoch, a number that grows with every claim
// in the log; an append that carries the epoch passes only while that claim is the
// stream's newest (see StreamAppend.Epoch). A claim ends when the stream's work is
// closed or opened anew, also by an append under the claim itself; when it is given
// back; when its node registers again; or when another worker takes the stream after
// the holder's lease ran out. All times are the log's own; a log that only one process can
// open knows that every other worker is dead.
type Leases interface {
	// Register begins the lease of w.Instance. Claims and locks of earlier instances of
	// w.Node end: whoever registers must know that those processes are gone, by a lock of
	// the operating system on the node's identity.
	Register(ctx context.Context, w Worker) error
	// Renew makes the instance's lease hold for its TTL from now. It returns
	// ErrLeaseLost if the lease had run out or was ended.
	Renew(ctx context.Context, instance string) error
	// Release ends the lease and all claims and locks of the instance.
	Release(ctx context.Context, instance string) error
	// Claim takes an open stream for the instance and returns the claim's epoch, higher
	// than any before in this log. claimsMax bounds the claims of all live workers; 0 is
	// no bound. A stream that the instance holds already is claimed anew. Errors:
	// ErrLeaseLost, ErrClaimed (held by another live worker, or not open), ErrBusy (the
	// bound is reached). After any other error the claim may have been made: claim the
	// stream again, or give it back.
	Claim(ctx context.Context, instance, stream string, claimsMax int) (epoch int64, err error)
	// Unclaim gives one stream back, unless somebody else has it by now.
	Unclaim(ctx context.Context, instance, stream string) error
	// Claimable returns up to limit open streams that no live worker holds, oldest mark
	// first, whose mark is newer than the given position.
	Claimable(ctx context.Context, after int64, limit int) ([]OpenStream, error)
	// Workers returns the workers whose leases hold, by node.
	Workers(ctx context.Context) ([]LiveWorker, error)
	// WorkStats counts the open work.
	WorkStats(ctx context.Context) (WorkStats, error)
}

// Errors of Leases, told apart with errors.Is.
var (
	ErrLeaseLost = errors.New("the worker's lease is lost")
	ErrClaimed   = errors.New("another worker has it, or there is nothing to do")
	ErrBusy      = errors.New("as many runs as allowed are being executed")
)

// FencedError says that an append carried the epoch of a claim that does not hold any
// more, see Leases. Nothing was written.
type FencedError struct {
	Stream string
	Epoch  int64
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("claim %d of stream %s does not hold any more", e.Epoch, e.Stream)
}
