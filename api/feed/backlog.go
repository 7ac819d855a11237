package feed

import (
	"slices"
	"sort"
	"sync"
)

// Limits of what a hub keeps for streams that keep up. A slower one reads from the
// log until it has caught up.
const (
	itemsMax = 8192
	bytesMax = 16 << 20
)

// Limits of a piece: what a stream gets at once. A client that stops reading holds
// no more than that, and one event.
const (
	pieceItems = 256
	pieceBytes = 256 << 10
)

// backlog holds the newest public events for all streams.
type backlog struct {
	mu      sync.Mutex
	items   []*Item // all public events after base, up to head; nobody else holds the array
	base    int64
	head    int64
	bytes   int
	changed chan struct{} // closed and replaced when there is news
	closed  bool
}

// News is what a hub has for a stream.
type News struct {
	Items   []*Item         // the next events after the asked position, in order
	Head    int64           // up to here
	Changed <-chan struct{} // closed when there is more
	Behind  bool            // the hub no longer, or not yet, has what was asked for: read the log
	Closed  bool            // the server stops
}

var ready = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// After returns the next events after a position, one piece of them, in the array of
// into. Clear that before waiting, so that a stream at rest holds no events.
func (b *backlog) After(position int64, into []*Item) News {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := News{Items: into, Head: b.head, Changed: b.changed, Closed: b.closed, Behind: position < b.base}
	if n.Behind {
		return n
	}
	n.Head = max(n.Head, position)
	from := sort.Search(len(b.items), func(i int) bool { return b.items[i].Sequence > position })
	bytes := 0
	for i, item := range b.items[from:] {
		if i == pieceItems || bytes >= pieceBytes {
			n.Head, n.Changed = n.Items[len(n.Items)-1].Sequence, ready
			break
		}
		bytes += len(item.frame)
		n.Items = append(n.Items, item)
	}
	return n
}

// restart forgets everything and begins after a position.
func (b *backlog) restart(head int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items, b.bytes, b.base, b.head = nil, 0, head, head
	b.wake()
}

// push adds events and wakes the streams.
func (b *backlog) push(items []*Item, head int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, items...)
	for _, i := range items {
		b.bytes += i.size()
	}
	drop := 0
	for len(b.items)-drop > itemsMax || b.bytes > bytesMax {
		b.bytes -= b.items[drop].size()
		b.base = b.items[drop].Sequence
		drop++
	}
	b.items = slices.Delete(b.items, 0, drop) // clears the rest of the array, too
	b.head = head
	if len(items) > 0 {
		b.wake()
	}
}

// hide takes the events of a deleted task away from streams that have not sent them.
func (b *backlog) hide(taskID string, pending []*Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, list := range [][]*Item{b.items, pending} {
		for _, i := range list {
			if i.TaskID == taskID {
				i.hidden.Store(true)
			}
		}
	}
}

func (b *backlog) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
}
