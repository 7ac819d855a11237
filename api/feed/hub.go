package feed

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"hecate/domain/erasure"
	"hecate/eventstore"
)

const (
	retryGap = 200 * time.Millisecond // after a failed read of the log

	// Waking all streams costs time for each. News that follows shortly on other news
	// waits this long per stream, so that many streams get larger pieces, not later ones.
	gapPerStream = 50 * time.Microsecond
	gapMax       = 100 * time.Millisecond

	// Streams that catch up read the log at the same time up to this many. When all
	// clients come back at once, those that are up to date must not wait for them.
	pagesMax = 8
)

// Hub follows the log once for all open streams, and encodes every event once. It
// rests while there are no streams.
type Hub struct {
	backlog

	reader  *Reader
	logger  *slog.Logger
	streams atomic.Int64
	wanted  chan struct{} // holds a token when a stream was opened
	pages   chan struct{} // holds a token for every page that is read
}

// NewHub returns a hub that reads through r.
func NewHub(r *Reader, logger *slog.Logger) *Hub {
	return &Hub{
		backlog: backlog{changed: make(chan struct{})},
		reader:  r, logger: logger, wanted: make(chan struct{}, 1), pages: make(chan struct{}, pagesMax),
	}
}

// Open announces a stream; the hub follows the log until done is called, once.
func (h *Hub) Open() (done func()) {
	h.streams.Add(1)
	select {
	case h.wanted <- struct{}{}:
	default:
	}
	return func() { h.streams.Add(-1) }
}

// Page reads events from the log for a stream that is behind: those that f chooses
// after a position, one piece of them, and the position up to which it looked.
func (h *Hub) Page(ctx context.Context, after int64, f Filter) ([]*Item, int64, error) {
	select {
	case h.pages <- struct{}{}:
	case <-ctx.Done():
		return nil, after, ctx.Err()
	}
	defer func() { <-h.pages }()
	return h.reader.page(ctx, after, f)
}

// Run follows the log while there are streams, until ctx ends. Then it ends all
// streams.
func (h *Hub) Run(ctx context.Context) error {
	defer h.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wanted:
		}
		h.follow(ctx)
	}
}

// follow starts at the present head and goes on as long as somebody listens.
func (h *Hub) follow(ctx context.Context) {
	p := newPresenter(h.reader.log)
	started := false
	for h.streams.Load() > 0 {
		var err error
		if !started {
			err = h.begin(ctx)
			started = err == nil
		} else {
			err = h.step(ctx, p)
		}
		gap := min(time.Duration(h.streams.Load())*gapPerStream, gapMax)
		switch {
		case ctx.Err() != nil, errors.Is(err, eventstore.ErrClosed):
			return
		case err != nil:
			h.logger.ErrorContext(ctx, "event feed: read the log", "error", err)
			gap = retryGap
		}
		if !sleep(ctx, gap) {
			return
		}
	}
	// Nobody hides what is kept from now on when its task is deleted.
	h.restart(h.head)
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// begin places the hub at the newest record. What is older is not its business.
func (h *Hub) begin(ctx context.Context) error {
	head, err := h.reader.log.Head(ctx)
	if err != nil {
		return err
	}
	if err := h.reader.dir.deleted.catchUp(ctx); err != nil { // later deletions pass by here
		return err
	}
	h.restart(head)
	return nil
}

// step waits for the next records and hands them out.
func (h *Hub) step(ctx context.Context, p *presenter) error {
	if err := h.reader.log.Wait(ctx, h.head); err != nil {
		return err
	}
	records, err := h.reader.log.ReadAll(ctx, h.head, pageMax)
	if err != nil {
		return err
	}
	var items []*Item
	bytes := 0
	for i := range records {
		r := &records[i]
		if id, ok := deletedBy(r); ok {
			h.reader.dir.deleted.mark(id)
			h.hide(id, items)
			continue
		}
		if r.Type == erasure.Type { // what was read before may hold what is gone
			items, bytes = nil, 0
			h.restart(r.Position)
			continue
		}
		item, err := h.reader.item(ctx, p, r, Filter{})
		if err != nil {
			return err
		}
		if item == nil {
			continue
		}
		items = append(items, item)
		if bytes += item.size(); bytes >= pieceBytes { // a page of large texts is handed out as it comes
			h.push(items, r.Position)
			items, bytes = nil, 0
		}
	}
	if n := len(records); n > 0 {
		h.push(items, records[n-1].Position)
	}
	return nil
}
