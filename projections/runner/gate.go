package runner

import (
	"context"
	"sync"
)

// gate is a position that only rises and that many can wait for.
type gate struct {
	mu       sync.Mutex
	position int64
	changed  chan struct{} // closed at the next rise; nil if nobody waits
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
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
