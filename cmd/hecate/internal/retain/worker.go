// Package retain carries out retention: now and then, and when somebody asks, it erases
// the content of records that are too old or too many by the policy of their subsystem.
//
// A policy looks at records of a few types only, in the order of the log, and remembers up
// to where nothing is left to do. Which records there are it asks the audit model, and reads
// each before it decides: that the model lags means that a record is pruned a pass later.
// What a person, a model or a tool said in a conversation is no policy's business, nor is
// what it cost: the erased form of a model call keeps its tokens and its cost.
package retain

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"hecate/commands"
	"hecate/domain/retention"
	"hecate/eventstore"
	"hecate/projections/audit"
)

// Policy says how much of a subsystem is kept. One without bounds keeps everything.
type Policy struct {
	Name     string        // of the subsystem, as in package retention
	MaxAge   time.Duration // older records are pruned; 0: any age
	MaxCount int64         // so many stay, the newest ones; 0: any number
}

func (p Policy) off() bool { return p.MaxAge <= 0 && p.MaxCount <= 0 }

// reason is what the log says to those who find a record pruned.
func (p Policy) reason() string {
	switch {
	case p.MaxCount <= 0:
		return "older than " + p.MaxAge.String()
	case p.MaxAge <= 0:
		return "not among the newest"
	}
	return "older than " + p.MaxAge.String() + ", or not among the newest"
}

// Places is what is asked of the audit model: where in the log records of a type are.
type Places interface {
	Page(ctx context.Context, f audit.Filter, order audit.Order, limit int) (audit.Page, error)
	Nth(ctx context.Context, n int64, types ...string) (int64, error)
}

// Worker carries out passes, one at a time. Passes of several processes over one log do no
// harm to each other: what one has erased, the other passes over.
type Worker struct {
	x        *commands.Executor
	places   Places
	policies []Policy
	every    time.Duration
	log      *slog.Logger
	turn     chan struct{}    // held by the pass under way
	through  map[string]int64 // of each policy, as far as this process has come
	looks    int              // see looksMax
}

// New returns a worker for the policies of all subsystems, which Run has passes of, one
// after every interval.
func New(x *commands.Executor, places Places, policies []Policy, every time.Duration, log *slog.Logger) *Worker {
	return &Worker{x: x, places: places, policies: policies, every: every, log: log, turn: make(chan struct{}, 1), through: map[string]int64{}, looks: looksMax}
}

// Run has a pass after every interval, until ctx ends.
func (w *Worker) Run(ctx context.Context) error {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if _, err := w.Scheduled(ctx); err != nil && ctx.Err() == nil {
				w.log.Warn("retention", "error", err)
			}
		}
	}
}

// Scheduled has one pass of all subsystems. One that did nothing leaves no record.
func (w *Worker) Scheduled(ctx context.Context) (commands.RetentionResult, error) {
	meta := commands.Meta{Actor: eventstore.Actor{Kind: "system", Name: "retention"}}
	return w.pass(ctx, meta, retention.TriggerScheduled, nil)
}

// Manual has one pass of the named subsystems, of all if none is named. Names that nobody
// knows are passed over. The pass is recorded, whatever it did.
func (w *Worker) Manual(ctx context.Context, m commands.Meta, subsystems []string) (commands.RetentionResult, error) {
	return w.pass(ctx, m, retention.TriggerManual, subsystems)
}

func (w *Worker) pass(ctx context.Context, m commands.Meta, trigger string, only []string) (commands.RetentionResult, error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return commands.RetentionResult{}, ctx.Err()
	}
	defer func() { <-w.turn }()
	if err := w.catchUp(ctx); err != nil {
		return commands.RetentionResult{}, err
	}
	return w.x.RecordRetention(ctx, m, func() (retention.Finished, bool) {
		f := retention.Finished{StartedAt: w.x.Clock.Now(), Trigger: trigger, RequestID: m.RequestID}
		worth := trigger == retention.TriggerManual
		for _, p := range w.policies {
			r := w.subsystem(ctx, m, p, len(only) == 0 || slices.Contains(only, p.Name))
			w.through[p.Name] = r.Through
			worth = worth || r.Deleted > 0 || r.Incomplete
			f.Results = append(f.Results, r)
		}
		return f, worth
	})
}

// catchUp learns from the last pass in the log how far it came, perhaps in another process.
func (w *Worker) catchUp(ctx context.Context) error {
	page, err := w.places.Page(ctx, audit.Filter{Types: []string{retention.Type}}, audit.NewestFirst, 1)
	if err != nil || len(page.Found) == 0 {
		return err
	}
	records, err := w.x.Store.ReadAt(ctx, []int64{page.Found[0].Position})
	if err != nil || len(records) == 0 || records[0].Type != retention.Type {
		return err
	}
	last, err := commands.RetentionOf(records[0])
	for _, result := range last.Results {
		w.through[result.Name] = max(w.through[result.Name], result.Through)
	}
	return err
}

// subsystem prunes by one policy.
func (w *Worker) subsystem(ctx context.Context, m commands.Meta, p Policy, wanted bool) retention.Result {
	r := retention.Result{Name: p.Name, MaxAgeMS: p.MaxAge.Milliseconds(), MaxCount: p.MaxCount, Through: w.through[p.Name]}
	prune, ok := pruners[p.Name]
	if !ok || !wanted || p.off() {
		r.Skipped = true
		return r
	}
	m.CommandID = "" // that of the pass as a whole
	j := job{w: w, meta: m, policy: p, pruner: prune, result: &r, reached: r.Through}
	if err := j.run(ctx); err != nil {
		r.Error = w.explain(ctx, p, err)
	}
	if r.Deleted > 0 {
		w.log.Info("retention", "subsystem", p.Name, "deleted", r.Deleted)
	}
	return r
}
