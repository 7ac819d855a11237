// Package worker executes runs: it folds a run's events, asks the domain what is
// next, does that and records what came of it. Live execution, resumption after an
// approval and recovery after a crash are this one loop.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hecate/commands"
	"hecate/domain/clock"
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

// retryAfter is how long a run rests after its attempt broke for a reason outside it.
const retryAfter = time.Second

// Pool executes the open runs of one log. One pool per log may run at a time.
type Pool struct {
	Config
	Progress *Progress

	mu    sync.Mutex
	queue []string           // run ids, oldest first
	state map[string]*holder // queued and active runs
	wake  chan struct{}      // a run was queued
}

// holder is what the pool knows of a run that is queued or being executed.
type holder struct {
	cancel context.CancelCauseFunc // nil while queued
	again  bool                    // queued once more while active
}

// errRunEnded is the cause of a cancelled attempt whose run was ended by somebody.
var errRunEnded = errors.New("the run was ended")

// New makes a pool that does nothing until Run.
func New(c Config) *Pool {
	return &Pool{Config: c, Progress: newProgress(), state: map[string]*holder{}, wake: make(chan struct{}, 1)}
}

// Run executes runs until ctx ends. It first takes back what an earlier process
// left open. When it returns, all it started has stopped; runs under way stay open
// in the log and the next process goes on with them.
func (p *Pool) Run(ctx context.Context) error {
	head, err := p.Store.Head(ctx)
	if err != nil {
		return fmt.Errorf("start workers: %w", err)
	}
	if err := p.takeBack(ctx); err != nil {
		return fmt.Errorf("start workers: %w", err)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.follow(gctx, head) })
	for range max(1, p.Workers) {
		g.Go(func() error { return p.work(gctx) })
	}
	err = g.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
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
		recs, err := p.Store.ReadAll(ctx, after, followPage)
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		for _, r := range recs {
			p.see(r)
			after = r.Position
		}
		if len(recs) > 0 {
			continue
		}
		if err := p.Store.Wait(ctx, after); err != nil {
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
		if err := p.Workspaces.RemoveTask(strings.TrimPrefix(r.Stream, "task-")); err != nil {
			p.Log.Warn("remove workspaces of a deleted task", "stream", r.Stream, "error", err)
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
		h.cancel(errRunEnded)
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
		err := p.attempt(runCtx, id)
		rest := time.Duration(0)
		if err != nil && ctx.Err() == nil {
			p.Log.Error("execute run", "run_id", id, "error", err)
			rest = retryAfter
		}
		p.release(ctx, id, rest)
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

// release ends an attempt. With a rest, or if it was asked for meanwhile, the run
// is queued again.
func (p *Pool) release(ctx context.Context, id string, rest time.Duration) {
	p.mu.Lock()
	h := p.state[id]
	h.cancel(nil)
	delete(p.state, id)
	again := h.again
	p.mu.Unlock()
	switch {
	case rest > 0:
		// The timer outlives nothing: a pool that has stopped takes no runs.
		time.AfterFunc(rest, func() {
			if ctx.Err() == nil {
				p.offer("run-" + id)
			}
		})
	case again:
		p.offer("run-" + id)
	}
}

// Active returns how many runs are being executed and how many wait for a worker.
func (p *Pool) Active() (running, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.state) - len(p.queue), len(p.queue)
}
