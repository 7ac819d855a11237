// Package worker executes runs: it folds a run's events, asks the domain what is
// next, does that and records what came of it. Live execution, resumption after an
// approval and recovery after a crash are this one loop.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/runtime/workspace"
	"hecate/tools"
)

// Router finds the provider and model for a call.
type Router interface {
	Route(provider, model string) (model.Route, error)
}

// Config is what a pool works with. All members but SystemPrompt are required.
type Config struct {
	Executor     *commands.Executor
	Store        eventstore.Store
	Router       Router
	Tools        []tools.Tool // catalogue and direct tools
	Settings     tools.Settings
	Workspaces   *workspace.Manager
	Clock        clock.Clock
	SystemPrompt string // the broadest layer of the composed prompt
	Workers      int    // runs executed at a time, at least 1
	NodeID       string // names this process in run.started
	Log          *slog.Logger
}

const (
	retryAfter = time.Second // rest after something outside broke: a run's attempt, the database
	deletedMax = 1024        // deleted tasks whose workspaces wait to be removed
)

// Pool executes the open runs of one log. One pool per log may run at a time.
type Pool struct {
	Config
	Progress *Progress

	mu      sync.Mutex
	queue   []string           // run ids, oldest first
	state   map[string]*holder // queued and active runs
	broken  map[string]string  // why a run's last attempt in this process broke
	wake    chan struct{}      // a run was queued
	deleted chan string        // tasks whose workspaces are to go
}

// holder is what the pool knows of a run that is queued or being executed.
type holder struct {
	cancel context.CancelCauseFunc // nil while queued
	again  bool                    // queued once more while active
}

// New makes a pool that does nothing until Run.
func New(c Config) *Pool {
	return &Pool{
		Config: c, Progress: newProgress(), state: map[string]*holder{}, broken: map[string]string{},
		wake: make(chan struct{}, 1), deleted: make(chan string, deletedMax),
	}
}

// Run executes runs until ctx ends. It first takes back what an earlier process
// left open. When it returns, all it started has stopped; runs under way stay open
// in the log and the next process goes on with them.
func (p *Pool) Run(ctx context.Context) error {
	var head int64
	err := p.insist(ctx, "take runs back", func() (err error) {
		if head, err = p.Store.Head(ctx); err != nil {
			return err
		}
		return p.takeBack(ctx)
	})
	if err != nil {
		return ignore(ctx, err)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.follow(gctx, head) })
	g.Go(func() error { return p.sweep(gctx) })
	for range max(1, p.Workers) {
		g.Go(func() error { return p.work(gctx) })
	}
	return ignore(ctx, g.Wait())
}

// ignore drops the error of a part that ended because ctx did.
func ignore(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// insist tries until it works, ctx ends or the log is closed: a database that is
// away for a moment must not end the workers.
func (p *Pool) insist(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if err == nil || ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed) {
			return err
		}
		p.Log.Warn("workers cannot use the log", "doing", what, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryAfter):
		}
	}
}

// takeBackPage is how many open runs one read asks for.
const takeBackPage = 500

func (p *Pool) takeBack(ctx context.Context) error {
	after := int64(0)
	for {
		open, err := p.Store.OpenWork(ctx, after, takeBackPage)
		if err != nil {
			return err
		}
		for _, o := range open {
			p.offer(o.Stream)
			after = o.Since
		}
		if len(open) < takeBackPage {
			return nil
		}
	}
}

// followPage is how many records one read of the log asks for.
const followPage = 512

// follow watches the log for runs that became ready and for runs that ended.
func (p *Pool) follow(ctx context.Context, after int64) error {
	for {
		err := p.insist(ctx, "follow the log", func() error {
			if err := p.Store.Wait(ctx, after); err != nil {
				return err
			}
			recs, err := p.Store.ReadAll(ctx, after, followPage)
			for _, r := range recs {
				p.see(r)
				after = r.Position
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

func (p *Pool) see(r eventstore.Record) {
	switch r.Type {
	case "run.queued":
		p.offer(r.Stream)
	case "run.cancelled":
		p.end(strings.TrimPrefix(r.Stream, "run-"))
	case "task.deleted":
		select {
		case p.deleted <- strings.TrimPrefix(r.Stream, "task-"):
		default: // more than can wait; the next start sweeps
		}
	}
}

// offer queues a run, or marks it for another look if a worker has it just now.
func (p *Pool) offer(stream string) {
	id, ok := strings.CutPrefix(stream, "run-")
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, known := p.state[id]; known {
		h.again = h.cancel != nil
		return
	}
	p.state[id] = &holder{}
	p.queue = append(p.queue, id)
	p.signal()
}

func (p *Pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// end stops the attempt of a run that was ended in the log.
func (p *Pool) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.state[id]; h != nil && h.cancel != nil {
		h.cancel(tools.ErrRunEnded)
	}
}

// work executes one run after the other.
func (p *Pool) work(ctx context.Context) error {
	for {
		id, runCtx, ok := p.take(ctx)
		if !ok {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-p.wake:
				continue
			}
		}
		err := ignore(ctx, p.attempt(runCtx, id))
		if err != nil {
			p.Log.Error("execute run", "run_id", id, "error", err)
		}
		p.release(ctx, id, err)
	}
}

// take removes the oldest queued run and makes it active.
func (p *Pool) take(ctx context.Context) (string, context.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || ctx.Err() != nil {
		return "", nil, false
	}
	id := p.queue[0]
	p.queue = p.queue[1:]
	if len(p.queue) > 0 {
		p.signal() // another worker may be asleep
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	p.state[id].cancel = cancel
	return id, runCtx, true
}

// release ends an attempt. If it broke, or the run was asked for meanwhile, the run is
// queued again.
func (p *Pool) release(ctx context.Context, id string, err error) {
	p.mu.Lock()
	h := p.state[id]
	h.cancel(nil)
	delete(p.state, id)
	delete(p.broken, id)
	if err != nil {
		p.broken[id] = err.Error()
	}
	again := h.again
	p.mu.Unlock()
	switch {
	case err != nil:
		// The timer outlives nothing: a pool that has stopped takes no runs.
		time.AfterFunc(retryAfter, func() {
			if ctx.Err() == nil {
				p.offer("run-" + id)
			}
		})
	case again:
		p.offer("run-" + id)
	}
}

// gap marks that a run goes on after its attempt vanished: with an earlier process,
// or in this one because something around it broke.
func (p *Pool) gap(id string) run.Disconnected {
	g := run.Disconnected{
		Reason: "boot_reconcile", Action: "requeued", PriorStatus: run.StatusRunning,
		RecoveredStatus: run.StatusQueued, RecoveryStrategy: "requeue",
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if why := p.broken[id]; why != "" {
		g.Reason, g.RecoveryStrategy, g.Message = "worker_lease_expired", "periodic_requeue", bound(why)
	}
	return g
}

// Active returns how many runs are being executed and how many wait for a worker.
func (p *Pool) Active() (running, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.state) - len(p.queue), len(p.queue)
}
