package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hecate/eventstore"
	"hecate/runtime/worker"
)

// partialsEvery is how often the nodes of a log show each other what is half finished.
const partialsEvery = 500 * time.Millisecond

// partials are the half-finished answers of all nodes of a log: those of this node at
// once, those of others with a delay. One goroutine does the asking, however many
// clients watch.
type partials struct {
	local  *worker.Progress
	shared eventstore.SharedProgress
	log    *slog.Logger

	mu      sync.Mutex
	remote  map[string]remotePartial
	watched map[string]chan struct{} // by run: closed when there is news of it
	shown   map[string]int64         // what this node shows to others: run and version
}

type remotePartial struct {
	text    string
	version int64
}

func newPartials(local *worker.Progress, shared eventstore.SharedProgress, log *slog.Logger) *partials {
	p := &partials{
		local: local, shared: shared, log: log,
		remote: map[string]remotePartial{}, watched: map[string]chan struct{}{}, shown: map[string]int64{},
	}
	local.OnBegin(p.wake)
	return p
}

// Partial returns what has arrived of the run's answer, and a number that differs
// whenever it does; 0 if no answer is arriving.
func (p *partials) Partial(runID string) (text string, version int64) {
	if text, version = p.local.Partial(runID); version != 0 {
		return text, version
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.remote[runID]
	return r.text, -r.version // never the number of one of ours
}

// Changed returns a channel that is closed when it is time to ask Partial again.
func (p *partials) Changed(runID string) <-chan struct{} {
	p.mu.Lock()
	c := p.watched[runID]
	if c == nil {
		c = make(chan struct{})
		p.watched[runID] = c
	}
	p.mu.Unlock()
	// After that, so that an answer that begins meanwhile is noticed either way. wake is
	// called with the local lock held, so it may not be taken under ours.
	if _, version := p.local.Partial(runID); version != 0 {
		return p.local.Changed(runID)
	}
	return c
}

func (p *partials) wake(runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.watched[runID]; c != nil {
		close(c)
		delete(p.watched, runID)
	}
}

// Run exchanges news with the other nodes until ctx ends. A database that is away
// only delays them.
func (p *partials) Run(ctx context.Context) error {
	tick := time.NewTicker(partialsEvery)
	defer tick.Stop()
	quiet := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		err := p.show(ctx)
		if err == nil {
			err = p.look(ctx)
		}
		if err != nil && ctx.Err() == nil && !quiet {
			p.log.Warn("exchange half-finished answers with other nodes", "error", err)
		}
		quiet = err != nil
	}
}

// show tells the others what has changed here.
func (p *partials) show(ctx context.Context) error {
	now := p.local.Versions()
	for id, version := range now {
		text, _ := p.local.Partial(id)
		if p.shown[id] == version || text == "" {
			continue
		}
		if err := p.shared.PutProgress(ctx, id, text, version); err != nil {
			return err
		}
		p.shown[id] = version
	}
	for id := range p.shown {
		if _, arriving := now[id]; arriving {
			continue
		}
		if err := p.shared.DropProgress(ctx, id); err != nil {
			return err
		}
		delete(p.shown, id)
	}
	return nil
}

// look takes in what others show, of the runs that somebody watches.
func (p *partials) look(ctx context.Context) error {
	versions, err := p.shared.ProgressVersions(ctx)
	if err != nil {
		return err
	}
	for _, id := range p.changed(versions) {
		text, version, err := p.shared.Progress(ctx, id)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.remote[id] = remotePartial{text, version}
		if version == 0 {
			delete(p.remote, id)
		}
		p.mu.Unlock()
		p.wake(id)
	}
	return nil
}

// changed lists the runs of other nodes whose text is not the one that we have.
func (p *partials) changed(versions map[string]int64) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for id, version := range versions {
		if _, ours := p.shown[id]; !ours && p.remote[id].version != version {
			out = append(out, id)
		}
	}
	for id := range p.remote {
		if versions[id] == 0 {
			out = append(out, id)
		}
	}
	return out
}
