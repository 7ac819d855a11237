package worker_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"hecate/commands"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// cluster is one log and two processes that work on it.
type cluster struct {
	*node
	stores [2]eventstore.Store
}

// onEachLog runs a test with both logs that several pools can share.
func onEachLog(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlite.OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		test(t, &cluster{newNodeOn(t, store), [2]eventstore.Store{store, store}})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		var stores [2]eventstore.Store
		for i := range stores {
			store, err := postgres.Open(t.Context(), postgres.Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			stores[i] = store
		}
		test(t, &cluster{newNodeOn(t, stores[0]), stores})
	})
}

// script sets what the model answers.
func (c *cluster) script(s scripted.Script) {
	server := scripted.New(s)
	server.Rule = c.strict
	base, stop, err := server.Start("127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(stop)
	c.model = server
	c.route.Client = clientOf(base)
}

// as makes a pool that of a process with a name and a lease.
func as(name string, ttl time.Duration) func(*worker.Config) {
	return func(c *worker.Config) {
		c.NodeID, c.LeaseTTL, c.DrainMax, c.Reconcile = name, ttl, time.Hour, time.Hour
	}
}

// long is a lease that does not run out during a test.
const long = time.Hour

// expel ends the lease of a node in the log. Its process does not hear of it before it
// next asks, as if it had been stopped for longer than the lease holds.
func (c *cluster) expel(name string) {
	c.t.Helper()
	live, err := c.store.Workers(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, w := range live {
		if w.Node == name {
			if err := c.store.Release(c.t.Context(), w.Instance); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// lives reports whether a node has a lease.
func (c *cluster) lives(name string) bool {
	live, err := c.store.Workers(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.ContainsFunc(live, func(w eventstore.LiveWorker) bool { return w.Node == name })
}

// writers names who wrote the run's events from the last claim on.
func (c *cluster) writers(id string) (out []string) {
	c.t.Helper()
	recs, err := c.store.ReadStream(context.WithoutCancel(c.t.Context()), commands.RunStream(id), 0, 10_000)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range recs {
		if r.Type == "run.claimed" {
			out = nil
		}
		if r.Actor.Kind == "worker" && !slices.Contains(out, r.Actor.Name) {
			out = append(out, r.Actor.Name)
		}
	}
	return out
}

// gaps returns the run's gaps.
func (c *cluster) gaps(id string) []run.Disconnected {
	return payloads[run.Disconnected](c.node, id)
}

// paused is the log of a process that stands still, as others see it: while it is on,
// nothing that the process asks for gets there.
type paused struct {
	eventstore.Store
	on atomic.Bool
}

// pass waits in vain for as long as the process stands still.
func (p *paused) pass(ctx context.Context) error {
	for p.on.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func (p *paused) Register(ctx context.Context, w eventstore.Worker) error {
	if err := p.pass(ctx); err != nil {
		return err
	}
	return p.Store.Register(ctx, w)
}

func (p *paused) Renew(ctx context.Context, instance string) error {
	if err := p.pass(ctx); err != nil {
		return err
	}
	return p.Store.Renew(ctx, instance)
}

func (p *paused) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	if err := p.pass(ctx); err != nil {
		return eventstore.Appended{}, err
	}
	return p.Store.Append(ctx, b)
}

// watched is a log that tells of what happens in it.
type watched struct {
	eventstore.Store
	appended func(eventstore.Batch)                   // after an append
	claiming func(ctx context.Context, stream string) // before a claim
}

func (w *watched) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	done, err := w.Store.Append(ctx, b)
	if err == nil && w.appended != nil {
		w.appended(b)
	}
	return done, err
}

func (w *watched) Claim(ctx context.Context, instance, stream string, claimsMax int) (int64, error) {
	if w.claiming != nil {
		w.claiming(ctx, stream)
	}
	return w.Store.Claim(ctx, instance, stream, claimsMax)
}
