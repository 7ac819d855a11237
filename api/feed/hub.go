package feed

import (
	"context"
	"errors"
	"log/slog"
	"sort"
	"sync"
	"time"

	"hecate/eventstore"
)

// Limits of what a hub keeps for streams that keep up. A slower one reads from the
// log until it has caught up.
const (
	itemsMax = 8192
	bytesMax = 16 << 20
	retryGap = 200 * time.Millisecond // after a failed read of the log

	// Waking all streams costs time for each. News that follows shortly on other news
	// waits this long per stream, so that many streams get larger pieces, not later ones.
	gapPerStream = 50 * time.Microsecond
	gapMax       = 100 * time.Millisecond
)

// Hub follows the log once for all open streams, and encodes every event once. It
// rests while there are no streams.
type Hub struct {
	reader *Reader
	logger *slog.Logger

	mu      sync.Mutex
	streams int
	wanted  chan struct{} // holds a token when a stream was opened
	items   []*Item       // all public events after base, up to head
	base    int64
	head    int64
	bytes   int
	changed chan struct{} // closed and replaced when there is news
	closed  bool
}

// NewHub returns a hub that reads through r.
func NewHub(r *Reader, logger *slog.Logger) *Hub {
	return &Hub{reader: r, logger: logger, wanted: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Open announces a stream; the hub follows the log until done is called.
func (h *Hub) Open() (done func()) {
	h.mu.Lock()
	h.streams++
	h.mu.Unlock()
	select {
	case h.wanted <- struct{}{}:
	default:
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		h.streams--
		h.mu.Unlock()
	})
}

// News is what a hub has for a stream.
type News struct {
	Items   []*Item         // the events after the asked position, in order
	Head    int64           // up to here
	Changed <-chan struct{} // closed when there is more
	Behind  bool            // the hub no longer, or not yet, has what was asked for: read the log
	Closed  bool            // the server stops
}

// After returns the events after a position.
func (h *Hub) After(position int64) News {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := News{Head: h.head, Changed: h.changed, Closed: h.closed, Behind: position < h.base}
	if n.Behind {
		return n
	}
	from := sort.Search(len(h.items), func(i int) bool { return h.items[i].Sequence > position })
	n.Items = h.items[from:len(h.items):len(h.items)]
	n.Head = max(n.Head, position)
	return n
}

// Page reads events from the log for a stream that is behind: those that f chooses
// after a position, and the position up to which it looked.
func (h *Hub) Page(ctx context.Context, after int64, f Filter) ([]*Item, int64, error) {
	return h.reader.page(ctx, newPresenter(h.reader.log), after, f)
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
		if err := h.follow(ctx); err != nil {
			return err
		}
	}
}

// follow starts at the present head and goes on as long as somebody listens.
func (h *Hub) follow(ctx context.Context) error {
	p := newPresenter(h.reader.log)
	started := false
	for h.listening() {
		var err error
		if !started {
			err = h.restart(ctx)
			started = err == nil
		} else {
			err = h.step(ctx, p)
		}
		switch {
		case err == nil:
			if !sleep(ctx, h.gap()) {
				return nil
			}
		case ctx.Err() != nil, errors.Is(err, eventstore.ErrClosed):
			return nil
		default:
			h.logger.ErrorContext(ctx, "event feed: read the log", "error", err)
			if !sleep(ctx, retryGap) {
				return nil
			}
		}
	}
	return nil
}

// gap is how long news waits after other news.
func (h *Hub) gap() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(time.Duration(h.streams)*gapPerStream, gapMax)
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

func (h *Hub) listening() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams > 0
}

// restart forgets what was kept before a rest and begins at the newest record.
func (h *Hub) restart(ctx context.Context) error {
	head, err := h.reader.log.Head(ctx)
	if err != nil {
		return err
	}
	if err := h.reader.dir.deleted.catchUp(ctx); err != nil { // later deletions pass by here
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.items, h.bytes, h.base, h.head = nil, 0, head, head
	h.wake()
	return nil
}

// step waits for the next records and hands them out.
func (h *Hub) step(ctx context.Context, p *presenter) error {
	if err := h.reader.log.Wait(ctx, h.head); err != nil {
		return err
	}
	records, err := h.reader.log.ReadAll(ctx, h.head, pageMax)
	if err != nil || len(records) == 0 {
		return err
	}
	var items []*Item
	for i := range records {
		r := &records[i]
		if id, ok := deletedBy(r); ok {
			h.reader.dir.deleted.mark(id)
			h.hide(id, items)
			continue
		}
		item, err := h.reader.item(ctx, p, r, Filter{})
		if err != nil {
			return err
		}
		if item != nil {
			items = append(items, item)
		}
	}
	h.push(items, records[len(records)-1].Position)
	return nil
}

// push adds events and wakes the streams.
func (h *Hub) push(items []*Item, head int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Growing copies into a new array, so slices that streams hold stay as they are.
	h.items = append(h.items, items...)
	for _, i := range items {
		h.bytes += len(i.frame)
	}
	drop := 0
	for len(h.items)-drop > itemsMax || h.bytes > bytesMax && drop < len(h.items) {
		h.bytes -= len(h.items[drop].frame)
		h.base = h.items[drop].Sequence
		drop++
	}
	h.items = h.items[drop:]
	h.head = head
	if len(items) > 0 {
		h.wake()
	}
}

// hide takes the events of a deleted task away from streams that have not sent them.
func (h *Hub) hide(taskID string, pending []*Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range [][]*Item{h.items, pending} {
		for _, i := range list {
			if i.TaskID == taskID {
				i.hidden.Store(true)
			}
		}
	}
}

func (h *Hub) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *Hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.wake()
}
