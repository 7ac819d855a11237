package usage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hecate/domain/run"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// runsMax bounds the runs that are kept in memory between batches.
const runsMax = 1024

// Why a call has no full answer, or is none of the run's own.
const (
	detailAbandoned = "abandoned"
	detailFailed    = "failed"
	detailCheck     = "repetition_check" // no call of the run's model, but a look at what it repeats
)

// account is what is known of a run: who is charged for its calls.
type account struct {
	taskID, requestID string
	provider, model   string // of the last call that was begun

	checker, checkerModel string // of the last check that was begun
	dirty                 bool
}

type sum struct {
	picoUSD, unknown int64
	dirty            bool
}

// fold holds the runs that it has met and all sums, of which there are few.
type fold struct {
	runs   map[string]*account
	sums   map[string]*sum // by provider, nil until they are read
	events readdb.Rows
}

func newFold() *fold {
	f := &fold{}
	f.Forget()
	return f
}

// Forget drops everything in memory.
func (f *fold) Forget() {
	*f = fold{runs: map[string]*account{}, events: readdb.Rows{Table: eventsTable}}
}

// Apply takes one fact.
func (f *fold) Apply(ctx context.Context, tx *readdb.Tx, fact runner.Fact) error {
	id, ok := strings.CutPrefix(fact.Stream, "run-")
	if !ok {
		return fmt.Errorf("stream %s is no run's", fact.Stream)
	}
	if p, ok := fact.Payload.(run.Created); ok {
		f.runs[id] = &account{taskID: p.TaskID, requestID: p.RequestID, provider: p.Route.Provider, model: p.Route.Model, dirty: true}
		return nil
	}
	a, err := f.account(ctx, tx, id)
	if err != nil {
		return err
	}
	switch p := fact.Payload.(type) {
	case run.ModelCallStarted:
		a.asks(p.Provider, p.Model)
	case run.ModelCallRetrying:
		a.asks(p.NextProvider, p.NextModel)
	case run.ModelCallCompleted:
		return f.completed(ctx, tx, call{fact: fact, runID: id, account: a}, p)
	case run.ModelCallFailed:
		if !p.MayCost() {
			return nil // nothing came, so nothing is charged
		}
		return f.add(ctx, tx, call{fact: fact, runID: id, account: a, detail: detailFailed})
	case run.ProgressCheckStarted:
		a.checker, a.checkerModel, a.dirty = p.Provider, p.Model, true
	case run.ProgressCheckCompleted:
		return f.checked(ctx, tx, call{fact: fact, runID: id, account: a, detail: detailCheck}, p)
	case run.ModelCallAbandoned:
		return f.add(ctx, tx, call{fact: fact, runID: id, account: a, detail: detailAbandoned})
	}
	return nil
}

// asks notes whom the next answer is expected from.
func (a *account) asks(provider, model string) {
	if provider == "" {
		provider = a.provider
	}
	if model == "" {
		model = a.model
	}
	a.dirty = a.dirty || provider != a.provider || model != a.model
	a.provider, a.model = provider, model
}

// call is one row: a call and what it cost.
type call struct {
	fact    runner.Fact
	runID   string
	account *account

	provider, model string // "" for those that were asked
	detail          string
	usage           run.Usage
	picoUSD         int64
	known           bool
}

func (f *fold) completed(ctx context.Context, tx *readdb.Tx, c call, p run.ModelCallCompleted) error {
	c.provider, c.model, c.picoUSD, c.known = p.Route.Provider, p.Route.Model, p.CostPicoUSD, p.CostKnown
	if p.Usage != nil {
		c.usage = *p.Usage
	}
	return f.add(ctx, tx, c)
}

// checked charges a check, unless nothing was sent for it.
func (f *fold) checked(ctx context.Context, tx *readdb.Tx, c call, p run.ProgressCheckCompleted) error {
	if !p.Asked {
		return nil
	}
	c.provider, c.model = cmp.Or(p.Route.Provider, c.account.checker), cmp.Or(p.Route.Model, c.account.checkerModel)
	c.picoUSD, c.known = p.CostPicoUSD, p.CostKnown
	if p.Usage != nil {
		c.usage = *p.Usage
	}
	return f.add(ctx, tx, c)
}

func (f *fold) add(ctx context.Context, tx *readdb.Tx, c call) error {
	if c.provider == "" {
		c.provider = c.account.provider
	}
	if c.model == "" {
		c.model = c.account.model
	}
	s, err := f.sum(ctx, tx, c.provider)
	if err != nil {
		return err
	}
	known := int64(1)
	if !c.known {
		known = 0
		s.unknown++
	}
	s.picoUSD += c.picoUSD
	s.dirty = true
	f.events.Add(c.fact.Position, c.fact.At.UnixMicro(), c.runID, c.provider, c.model, c.detail, c.usage.Input, c.usage.Output, c.picoUSD, known)
	return nil
}

// account returns the run's account from memory or from its row.
func (f *fold) account(ctx context.Context, tx *readdb.Tx, id string) (*account, error) {
	if a, ok := f.runs[id]; ok {
		return a, nil
	}
	a := &account{}
	found, err := tx.One(ctx, `SELECT task_id, request_id, provider, model, checker, checker_model FROM hecate_view_usage_runs_@ WHERE run_id = $1`, []any{id},
		&a.taskID, &a.requestID, &a.provider, &a.model, &a.checker, &a.checkerModel)
	if err == nil && !found {
		err = fmt.Errorf("run %s was never created", id)
	}
	if err != nil {
		return nil, err
	}
	f.runs[id] = a
	return a, nil
}

func (f *fold) sum(ctx context.Context, tx *readdb.Tx, provider string) (*sum, error) {
	if f.sums == nil {
		sums, err := readSums(ctx, tx)
		if err != nil {
			return nil, err
		}
		f.sums = sums
	}
	s := f.sums[provider]
	if s == nil {
		s = &sum{}
		f.sums[provider] = s
	}
	return s, nil
}

// Flush writes what has changed, each row once.
func (f *fold) Flush(ctx context.Context, tx *readdb.Tx) error {
	runs, sums := readdb.Rows{Table: runsTable}, readdb.Rows{Table: sumsTable}
	for id, a := range f.runs {
		if a.dirty {
			runs.Add(id, a.taskID, a.requestID, a.provider, a.model, a.checker, a.checkerModel)
			a.dirty = false
		}
	}
	for _, provider := range slices.Sorted(maps.Keys(f.sums)) {
		if s := f.sums[provider]; s.dirty {
			sums.Add(provider, s.picoUSD, s.unknown)
			s.dirty = false
		}
	}
	for _, rows := range []*readdb.Rows{&runs, &sums, &f.events} {
		if err := tx.Put(ctx, rows); err != nil {
			return err
		}
	}
	for id := range f.runs {
		if len(f.runs) <= runsMax {
			break
		}
		delete(f.runs, id)
	}
	return nil
}
