// Package worker executes runs: it folds a run's events, asks the domain what is
// next, does that and records what came of it. Live execution, resumption after an
// approval and recovery after a crash are this one loop.
//
// Several processes may work on one log. Each holds a lease (see tenure) and claims a
// run before it does anything for it; what it records carries the claim's epoch, so
// that a process that lost a run without knowing it can neither record nor, once it
// looks at its lease, do anything more.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/runtime/assess"
	"hecate/runtime/model"
	"hecate/runtime/permissions"
	"hecate/runtime/workspace"
	"hecate/tools"
)

// Router finds the providers and models for a call.
type Router interface {
	// Candidates returns the routes that may be tried, in order, at least one.
	Candidates(ctx context.Context, provider, model string) ([]model.Route, error)
	// AwaitModels waits for what makes an error of Candidates pending, for a bounded time.
	AwaitModels(ctx context.Context)
	// Report tells how a call went; err is nil if it was answered.
	Report(route model.Route, took time.Duration, err error)
	// Failover tells that a call that failed at one route goes on at another.
	Failover(from, to model.Route, err error)
}

// Prices knows what model calls cost where the provider does not say.
type Prices interface {
	// Cost is what the usage costs, in pico-USD; not known without a price.
	Cost(route model.Route, u model.Usage) (pico int64, known bool)
	// Estimate is what so many tokens cost at most, in pico-USD.
	Estimate(route model.Route, input, output int64) (pico int64, known bool)
}

// Permissions knows the deny entries and grants that are in force on this machine.
type Permissions interface {
	// For returns them as they are at this moment.
	For(p permissions.Project) permission.Config
	// ProjectFile is the file that belongs to the project, there or not; "" without a project.
	ProjectFile(p permissions.Project) string
	UserFile() string
	// Apply adds or removes one entry of a file and returns its path.
	Apply(p permissions.Project, c permission.Change) (file string, err error)
}

// Assessor has a fast model look whether a call that repeats itself makes progress.
type Assessor interface {
	// Route says who will be asked about a run that talks to the given model.
	Route(ctx context.Context, of run.Route) (model.Route, error)
	// Assess asks. It always comes to some assessment: that there is none is one, too.
	Assess(ctx context.Context, route model.Route, f repetition.Finding) assess.Result
}

// Config is what a pool works with. Members without a comment on their zero value are required.
type Config struct {
	Executor     *commands.Executor
	Store        eventstore.Store
	Router       Router
	Tools        []tools.Tool // catalogue and direct tools
	Settings     tools.Settings
	Workspaces   *workspace.Manager
	Clock        clock.Clock
	SystemPrompt string // the broadest layer of the composed prompt; may be empty
	Workers      int    // runs executed at a time; 0: none, only what is done to workspaces from outside; without those that wait for an execution lock
	ClaimsMax    int    // runs executed at a time by all processes of the log, without the same; 0: no bound
	NodeID       string // names this installation in run.claimed and run.started
	Log          *slog.Logger

	// Permissions may be nil: then there are no deny entries and no grants.
	Permissions Permissions
	// Assessor may be nil: then a repeated call that looks suspicious asks a person at once.
	Assessor Assessor

	// Retry says whether a failed attempt at a model call is followed by another one at
	// the same provider, and after what wait; nil: never.
	Retry func(attempt int, err *model.Error) (wait time.Duration, again bool)
	// Prices may be nil: then a cost is known only where the provider reports it.
	Prices Prices
	// Reserve makes a call only if the most that it can cost is left of the task's
	// ceiling. It needs OutputMax.
	Reserve   bool
	OutputMax int64 // tokens of one answer; 0: as the provider likes

	// LeaseTTL is how long this process's lease holds without a renewal. 0: for ever,
	// for a log that no other process can open.
	LeaseTTL time.Duration
	// Reconcile is how often the open work is looked through for runs that nobody
	// holds; 30 s if zero. Where there are leases, the oldest are looked at each second.
	Reconcile time.Duration
	// DrainMax is how long a command under way may take to end when the pool stops.
	DrainMax  time.Duration
	Retention Retention
	Host      string   // names this machine: in_place runs go on where they began
	Shared    []string // directories that other machines reach by the same path
}

const (
	retryAfter       = time.Second // rest after something outside broke: a run's attempt, the database
	deletedMax       = 1024        // deleted tasks whose workspaces wait to be removed
	reconcileDefault = 30 * time.Second
)

// Pool executes the open runs of one log, beside those of other processes.
type Pool struct {
	Config
	Progress *Progress
	places   places

	mu        sync.Mutex
	queue     []string             // run ids, oldest first
	state     map[string]*holder   // queued and active runs
	broken    map[string]string    // why a run's last attempt in this process broke
	instances map[string]bool      // names that this process has had
	elsewhere map[string]bool      // runs out of reach
	deferred  map[string]time.Time // since when runs whose source is missing here are left to others
	turn      sync.Mutex           // held by who looks for a run, where claims are bounded
	wake      chan struct{}        // a run was queued
	deleted   chan string          // tasks whose workspaces are to go

	operations *operations // on workspaces
}

// New makes a pool that does nothing until Run.
func New(c Config) *Pool {
	if c.Reconcile <= 0 {
		c.Reconcile = reconcileDefault
	}
	return &Pool{
		Config: c, Progress: newProgress(c.Executor.Secrets), places: places{host: "host_" + c.Host, shared: c.Shared},
		state: map[string]*holder{}, broken: map[string]string{}, instances: map[string]bool{}, elsewhere: map[string]bool{}, deferred: map[string]time.Time{},
		wake: make(chan struct{}, 1), deleted: make(chan string, deletedMax),
		operations: newOperations(),
	}
}

// Run executes runs until ctx ends. It first takes back what an earlier process of
// this node left open. Then it drains: model calls are given up, commands may end
// within DrainMax, and the runs are handed back for any process to go on with.
func (p *Pool) Run(ctx context.Context) error {
	place, err := p.Workspaces.Place()
	if err != nil {
		return err
	}
	p.places.isolated = place
	for ctx.Err() == nil {
		err := p.serve(ctx)
		if !errors.Is(err, tools.ErrLeaseLost) {
			return ignore(ctx, err)
		}
		p.Log.Warn("the worker's lease was lost; what it was executing is up to whoever claims it next")
	}
	return nil
}

// serve executes runs for one tenure.
func (p *Pool) serve(ctx context.Context) error {
	var t *tenure
	err := p.insist(ctx, "take a lease", func() (err error) {
		t, err = p.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer p.end(t)
	defer t.shut()
	var head int64
	err = p.insist(ctx, "take runs back", func() (err error) {
		if head, err = p.Store.Head(ctx); err != nil {
			return err
		}
		return p.offerAll(ctx)
	})
	if err != nil {
		return err
	}
	taking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	acting, halt := context.WithCancelCause(context.WithoutCancel(ctx))
	defer halt(nil)
	go p.overlook(taking, t, stop, halt)

	g, gctx := errgroup.WithContext(taking)
	t.substitute = func() func(context.Context) {
		g.Go(func() error { return p.work(gctx, acting, t) })
		return func(ctx context.Context) { dismiss(ctx, gctx, g, t.surplus) }
	}
	g.Go(func() error { return p.follow(gctx, t, head) })
	g.Go(func() error { return p.sweep(gctx, t) })
	g.Go(func() error { return p.reconcile(gctx) })
	g.Go(func() error { return p.retain(gctx, t) })
	for range p.Workers {
		g.Go(func() error { return p.work(gctx, acting, t) })
	}
	for range operators {
		g.Go(func() error { return p.operate(gctx, acting, t) })
	}
	err = g.Wait()
	if !t.lease.Valid() {
		return tools.ErrLeaseLost
	}
	return err
}

// dismiss has one worker leave between two runs, and waits for that until ctx ends.
func dismiss(ctx, taking context.Context, g *errgroup.Group, surplus chan<- struct{}) {
	left := make(chan struct{})
	g.Go(func() error {
		defer close(left)
		select {
		case surplus <- struct{}{}:
		case <-taking.Done():
		}
		return nil
	})
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// errStopped is why an attempt is cut short when the pool has waited long enough.
var errStopped = errors.New("the server stops")

// overlook ends what goes on: at once when the lease is over, and after a while when
// the pool is told to stop.
func (p *Pool) overlook(taking context.Context, t *tenure, stop, halt context.CancelCauseFunc) {
	select {
	case <-t.lease.Done():
	case <-taking.Done():
		p.fence(t)
		select {
		case <-t.lease.Done():
		case <-t.ended:
			return
		case <-time.After(p.DrainMax):
			halt(errStopped)
			return
		}
	}
	halt(tools.ErrLeaseLost)
	stop(tools.ErrLeaseLost)
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

// Active returns how many runs are being executed and how many wait for a worker.
func (p *Pool) Active() (running, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.state) - len(p.queue), len(p.queue)
}
