package groupcommit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"hecate/eventstore"
)

// Limits of one group and of the queue. A single larger request goes alone.
const (
	groupEventsMax = 512 // events, or named streams where those are more
	groupBytesMax  = 4 << 20
	queuedMax      = 4096 // requests; further callers wait for a place
)

// ErrNoRetry marks an error of commit that has nothing to do with the requests,
// so that trying halves of the group would not help. The cause is told with it.
var ErrNoRetry = errors.New("the database does not take appends")

// Queue hands groups of requests to one committing goroutine. While one group is
// being made durable the next one gathers, so groups grow with the load and a
// lone writer never waits for company.
type Queue struct {
	commit func([]*Request) error

	mu      sync.Mutex
	pending []*Request
	closed  bool

	places chan struct{} // one for each queued request
	wake   chan struct{} // holds a token while there may be something to do
	done   chan struct{} // closed when the committing goroutine has ended
}

// New starts a queue. commit makes a group durable in one transaction and sets
// the outcome of each request; if it returns an error nothing was written, and
// the halves of the group are tried, so that only the bad request fails.
func New(commit func([]*Request) error) *Queue {
	q := &Queue{
		commit: commit,
		places: make(chan struct{}, queuedMax),
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	go q.run()
	return q
}

// Do returns when the request has its outcome. A request whose context ends
// while it is queued is taken back; once it is being committed its outcome is
// waited for. The error is only about the way; r.Err is the outcome.
func (q *Queue) Do(ctx context.Context, r *Request) error {
	select {
	case q.places <- struct{}{}:
		defer func() { <-q.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := q.push(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	if q.takeBack(r) {
		return ctx.Err()
	}
	<-r.done
	return nil
}

func (q *Queue) push(ctx context.Context, r *Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return eventstore.ErrClosed
	}
	q.pending = append(q.pending, r)
	q.signal()
	return nil
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) takeBack(r *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.taken {
		return false
	}
	for i, p := range q.pending {
		if p == r {
			q.pending = slices.Delete(q.pending, i, i+1)
			return true
		}
	}
	return false
}

// Close refuses new requests, waits until all queued ones have their outcome
// and ends the queue.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.signal()
	q.mu.Unlock()
	<-q.done
}

func (q *Queue) run() {
	defer close(q.done)
	for range q.wake {
		for {
			q.gather()
			group, closed := q.take()
			if len(group) == 0 {
				if closed {
					return
				}
				break
			}
			q.settle(group)
			for _, r := range group {
				close(r.done)
			}
		}
	}
}

// gather lets other goroutines run for as long as that brings requests: those who
// just got their answer are about to append again. It waits for nobody, so a lone
// writer does not notice.
func (q *Queue) gather() {
	const roundsMax = 16
	before := 0
	for range roundsMax {
		runtime.Gosched()
		q.mu.Lock()
		queued := len(q.pending)
		q.mu.Unlock()
		if queued == before {
			return
		}
		before = queued
	}
}

// take removes the next group from the queue, oldest first.
func (q *Queue) take() (group []*Request, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	commands, firsts := map[string]bool{}, map[[16]byte]bool{}
	events, bytes := 0, 0
	for _, r := range q.pending {
		command, first := r.keys()
		events, bytes = events+max(1, len(r.Records), len(r.Batch.Streams)), bytes+r.bytes
		if len(group) > 0 && (events > groupEventsMax || bytes > groupBytesMax) {
			break
		}
		if commands[command] || firsts[first] {
			break // the same append again: it must see the first one's outcome
		}
		if command != "" {
			commands[command] = true
		}
		if first != [16]byte{} {
			firsts[first] = true
		}
		r.taken = true
		group = append(group, r)
	}
	q.pending = slices.Delete(q.pending, 0, len(group))
	return group, q.closed
}

func (q *Queue) settle(group []*Request) {
	for _, r := range group {
		r.Appended, r.Err = eventstore.Appended{}, nil
	}
	err := q.commit(group)
	switch {
	case err == nil:
	case len(group) == 1 || errors.Is(err, ErrNoRetry):
		for _, r := range group {
			r.Appended, r.Err = eventstore.Appended{}, err
		}
	default:
		half := len(group) / 2
		q.settle(group[:half])
		q.settle(group[half:])
	}
}
