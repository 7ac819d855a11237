package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"hecate/eventstore"
	"hecate/projections/readdb"
)

// Config says what a runner moves from where to where.
type Config struct {
	Log    eventstore.Store
	DB     *readdb.DB
	Models []Model
	Logger *slog.Logger
}

// Runner keeps read models up to date. Its methods may be called concurrently.
type Runner struct {
	log    eventstore.Store
	db     *readdb.DB
	logger *slog.Logger
	models []*projection
	byName map[string]*projection
}

// projection is a model with its live build.
type projection struct {
	model      Model
	generation atomic.Int64 // of the tables that readers use
	gate       gate         // how far those are
	mu         sync.Mutex   // held while live moves or is replaced
	live       *build
	rebuild    sync.Mutex // held by the one rebuild
	building   atomic.Pointer[Progress]
	parked     atomic.Pointer[[]Parked]
}

// New opens the models' tables. A model whose tables are missing, of another version
// or not made from this log begins again from nothing; the log of the process says
// why. Nothing moves before Run.
func New(ctx context.Context, c Config) (*Runner, error) {
	r := &Runner{log: c.Log, db: c.DB, logger: c.Logger, byName: map[string]*projection{}}
	for _, m := range c.Models {
		b, reason, err := openBuild(ctx, c.DB, m, c.Log)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			r.logger.Info("building read model from the log", "model", m.Name(), "version", m.Version(), "reason", reason)
		}
		if err := clean(ctx, c.DB, m, b.generation); err != nil {
			return nil, err
		}
		p := &projection{model: m, live: b}
		p.show()
		r.models = append(r.models, p)
		r.byName[m.Name()] = p
	}
	return r, nil
}

// show lets readers and waiters see where the live build is. The caller holds p.mu
// or is the only one who knows p.
func (p *projection) show() {
	if p.generation.Swap(p.live.generation) != p.live.generation {
		p.gate.lower(min(p.gate.get(), p.live.position))
	}
	if streams := p.live.waiting(); len(streams) > 0 || p.parked.Load() == nil || len(*p.parked.Load()) > 0 {
		p.parked.Store(&streams)
	}
	p.gate.raise(p.live.position)
}

// deliver brings the live build to the end of the records.
func (p *projection) deliver(ctx context.Context, records []eventstore.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.live.apply(ctx, records)
	if err == nil {
		p.show()
	}
	return err
}

// position is what the live build has, whether the database says so yet or not.
func (p *projection) position() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live.position
}

// refresh goes to where the database says that the live build is.
func (r *Runner) refresh(ctx context.Context, p *projection) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := r.db.View(ctx, "", func(tx *readdb.Tx) error {
		c, found, err := liveCheckpoint(ctx, tx, p.model)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("no live build of %s version %d", p.model.Name(), p.model.Version())
		}
		p.live.at(c)
		return readParked(ctx, tx, p.live)
	})
	if err == nil {
		p.show()
	}
	return err
}

// View runs f in a transaction that sees one state of the named model. f may run
// more than once: a rebuild may take the tables away while it reads.
func (r *Runner) View(ctx context.Context, model string, f func(*readdb.Tx) error) error {
	p, err := r.find(model)
	if err != nil {
		return err
	}
	const tries = 3
	for try := 1; ; try++ {
		generation := p.generation.Load()
		err := r.db.View(ctx, suffix(p.model, generation), f)
		if err == nil || try == tries || ctx.Err() != nil {
			return err
		}
		if !r.db.Single() { // another node may have rebuilt
			err = errors.Join(err, r.refreshGeneration(ctx, p))
		}
		if p.generation.Load() == generation {
			return err
		}
	}
}

func (r *Runner) refreshGeneration(ctx context.Context, p *projection) error {
	return r.db.View(ctx, "", func(tx *readdb.Tx) error {
		c, found, err := liveCheckpoint(ctx, tx, p.model)
		if err == nil && found {
			p.generation.Store(c.generation)
		}
		return err
	})
}

func (r *Runner) find(model string) (*projection, error) {
	p, ok := r.byName[model]
	if !ok {
		return nil, fmt.Errorf("there is no read model %q", model)
	}
	return p, nil
}

// save writes checkpoints that only unwanted records have moved.
func (r *Runner) save(ctx context.Context) error {
	var all error
	for _, p := range r.models {
		p.mu.Lock()
		if b := p.live; b.position > b.saved {
			err := r.db.Update(ctx, "", func(tx *readdb.Tx) error { return moveCheckpoint(ctx, tx, b, b.position, b.lastID) })
			if err == nil {
				b.saved = b.position
			} else if !errors.Is(err, errLost) {
				all = errors.Join(all, err)
			}
		}
		p.mu.Unlock()
	}
	return all
}
