// Package tail keeps the newest records of a log in memory and wakes those who
// wait for newer ones. Readers that keep up never touch the database.
package tail

import (
	"context"
	"slices"
	"sync"

	"hecate/domain/erasure"
	"hecate/eventstore"
)

// Limits of what is kept. What is older is read from the database.
const (
	recordsMax = 4096
	bytesMax   = 16 << 20 // of data; the rest of a record is a few hundred bytes
)

// Tail holds the records (base, head] of a log, dense and in order. All methods
// may be called concurrently.
type Tail struct {
	mu      sync.Mutex
	records []eventstore.Record // records[i] has position base+1+i; written once, never changed
	base    int64
	bytes   int
	changed chan struct{} // closed and replaced whenever there is something for those who wait
	failed  error         // why there is nothing beyond the head, if that is known
	closed  bool
}

// New returns an empty tail behind the given head.
func New(head int64) *Tail { return &Tail{base: head, changed: make(chan struct{})} }

// Push adds records and wakes the waiting. It reports false, and does nothing,
// if they don't follow directly on the head.
func (t *Tail) Push(records []eventstore.Record) bool {
	if len(records) == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if records[0].Position != t.base+int64(len(t.records))+1 {
		return false
	}
	// Growing copies into a new array, so slices that readers hold stay as they are.
	t.records = append(t.records, records...)
	for _, r := range records {
		t.bytes += len(r.Data)
	}
	t.trim()
	for i := len(t.records) - 1; i >= len(t.records)-len(records) && i > 0; i-- {
		if t.records[i].Type == erasure.Type {
			t.forget(i) // what stands before may have been erased
			t.records = slices.Clone(t.records)
			break
		}
	}
	t.failed = nil
	t.wake()
	return true
}

func (t *Tail) trim() {
	drop, left := 0, t.bytes
	for drop < len(t.records) && (len(t.records)-drop > recordsMax || left > bytesMax) {
		left -= len(t.records[drop].Data)
		drop++
	}
	t.forget(drop)
}

// forget drops the oldest records.
func (t *Tail) forget(drop int) {
	for i := range drop {
		t.bytes -= len(t.records[i].Data)
	}
	t.records = t.records[drop:]
	t.base += int64(drop)
}

// Jump forgets everything and goes on behind head, if that is beyond the
// present one: for a gap that is too wide to be filled.
func (t *Tail) Jump(head int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if head <= t.base+int64(len(t.records)) {
		return
	}
	t.records, t.base, t.bytes, t.failed = nil, head, 0, nil
	t.wake()
}

// Fail tells those who wait, now or later, that the log cannot be followed beyond
// its head. That is over when records are added.
func (t *Tail) Fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = err
	t.wake()
}

func (t *Tail) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Read returns up to limit records after the given position. ok is false if some
// of them are not kept, or nothing is since Close. The slice is shared: nobody may change it.
func (t *Tail) Read(after int64, limit int) (records []eventstore.Record, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || after < t.base {
		return nil, false
	}
	from := min(after-t.base, int64(len(t.records)))
	to := min(from+int64(max(limit, 0)), int64(len(t.records)))
	return t.records[from:to:to], true
}

// Pick returns the records at the given ascending positions. ok is false if some
// of them are not kept.
func (t *Tail) Pick(positions []int64) (records []eventstore.Record, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(positions) == 0 || positions[0] <= t.base || positions[len(positions)-1] > t.base+int64(len(t.records)) {
		return nil, false
	}
	records = make([]eventstore.Record, len(positions))
	for i, p := range positions {
		records[i] = t.records[p-t.base-1]
	}
	return records, true
}

// Head returns the position of the newest record.
func (t *Tail) Head() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.base + int64(len(t.records))
}

// Wait returns once the head is beyond after, with ctx's error, with
// eventstore.ErrClosed, or with what Fail was told.
func (t *Tail) Wait(ctx context.Context, after int64) error {
	for {
		t.mu.Lock()
		head, changed, closed, failed := t.base+int64(len(t.records)), t.changed, t.closed, t.failed
		t.mu.Unlock()
		switch {
		case closed:
			return eventstore.ErrClosed
		case head > after:
			return nil
		case failed != nil:
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends all waiting.
func (t *Tail) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.wake()
	}
}

// Closed reports whether Close was called.
func (t *Tail) Closed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}
