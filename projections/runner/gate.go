package runner

import (
	"context"
	"sync"
	"time"
)

// gate is a position that only rises and that many can wait for.
type gate struct {
	mu       sync.Mutex
	position int64
	changed  chan struct{} // closed at the next rise; nil if nobody waits
	asked    chan struct{} // closed when somebody begins to wait; nil if nobody rests
}

func (g *gate) get() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.position
}

func (g *gate) raise(position int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if position <= g.position {
		return
	}
	g.position = position
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// lower is for a model that begins again: what was reached does not count any more.
func (g *gate) lower(position int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.position = position
}

func (g *gate) wait(ctx context.Context, position int64) error {
	for {
		g.mu.Lock()
		if g.position >= position {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		if g.asked != nil {
			close(g.asked)
			g.asked = nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rest returns after d, or as soon as somebody waits for more than there is. Resting
// lets records gather, so that a busy log costs few transactions; nobody who asks
// pays for it.
func (g *gate) rest(ctx context.Context, d time.Duration) {
	g.mu.Lock()
	if g.changed != nil {
		g.mu.Unlock()
		return
	}
	if g.asked == nil {
		g.asked = make(chan struct{})
	}
	asked := g.asked
	g.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-asked:
	case <-timer.C:
	case <-ctx.Done():
	}
}
