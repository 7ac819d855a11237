//go:build crashpoints

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hecate/domain/clock"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/runtime/worker"
	"hecate/tools"
)

// A binary that is built with the tag crashpoints can end itself, as a power cut
// would, at each place where a crash could tell apart what happened and what is
// recorded: before and after every append, claim, tool and model call. The test in
// cmd/hecate/sweep does so at all of them.
//
//	HECATE_CRASH_TRACE  a file that gets a line for every point that is reached:
//	                    name, number and, after a tab, what it is about
//	HECATE_CRASH_AT     the point to end at, such as "claim.after #2"
//	HECATE_CRASH_SKEW   how far the recorded clock is off, such as -1h
const (
	crashTrace = "HECATE_CRASH_TRACE"
	crashAt    = "HECATE_CRASH_AT"
	crashSkew  = "HECATE_CRASH_SKEW"
)

// instrument puts the points around everything that the workers, and the commands of
// the API, do to the world. Settings that make no sense panic: only tests make any.
func instrument(c *worker.Config) {
	p := &points{seen: map[string]int{}, at: os.Getenv(crashAt)}
	if path := os.Getenv(crashTrace); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		p.trace = f
	}
	if text := os.Getenv(crashSkew); text != "" {
		by, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		c.Clock = skewed{c.Clock, by}
		c.Executor.Clock = c.Clock
	}
	c.Store = pointedStore{c.Store, p}
	c.Executor.Store = c.Store // the API's commands use the same executor
	c.Router = pointedRouter{c.Router, p}
	c.Tools = slices.Clone(c.Tools)
	for i := range c.Tools {
		c.Tools[i].Prepare = pointedTool(c.Tools[i], p)
	}
}

// points counts the points by name. A point is a name and its number: what several
// goroutines do at a time may change places, which leaves these as they are.
type points struct {
	at    string
	trace *os.File // nil: not wanted

	mu   sync.Mutex
	seen map[string]int
}

// reach is called at a point. It does not return from the one to end at.
func (p *points) reach(name, about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[name]++
	point := fmt.Sprintf("%s #%d", name, p.seen[name])
	if p.trace != nil {
		// One write, which outlives the process.
		if _, err := fmt.Fprintf(p.trace, "%s\t%s\n", point, about); err != nil {
			panic(err)
		}
	}
	if point == p.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nobody can refuse
		select {}
	}
}

// skewed is a clock that is wrong.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

// pointedStore has points around what changes the log and its leases.
type pointedStore struct {
	eventstore.Store
	*points
}

// Append names its points after the types of the events. They are about the streams
// and the calls that are to be dispatched.
func (s pointedStore) Append(ctx context.Context, b eventstore.Batch) (eventstore.Appended, error) {
	var types, subjects []string
	for _, a := range b.Streams {
		subjects = append(subjects, a.Stream)
		for _, e := range a.Events {
			types = append(types, e.Type)
			var intent run.DispatchIntended
			if e.Type == intent.EventType() && json.Unmarshal(e.Data, &intent) == nil {
				subjects = append(subjects, intent.ToolCallID)
			}
		}
	}
	name, about := strings.Join(slices.Compact(types), "+"), strings.Join(subjects, " ")
	s.reach("append.before "+name, about)
	done, err := s.Store.Append(ctx, b)
	s.reach("append.after "+name, about)
	return done, err
}

// Register has points around a worker's place among the others.
func (s pointedStore) Register(ctx context.Context, w eventstore.Worker) error {
	s.reach("register.before", w.Node)
	err := s.Store.Register(ctx, w)
	s.reach("register.after", w.Node)
	return err
}

// Claim has points around a worker's hold on a run.
func (s pointedStore) Claim(ctx context.Context, instance, stream string, claimsMax int) (int64, error) {
	s.reach("claim.before", stream)
	epoch, err := s.Store.Claim(ctx, instance, stream, claimsMax)
	s.reach("claim.after", stream)
	return epoch, err
}

// pointedTool has points around a tool's effect.
func pointedTool(t tools.Tool, p *points) func(json.RawMessage) (tools.Prepared, error) {
	return func(args json.RawMessage) (tools.Prepared, error) {
		call, err := t.Prepare(args)
		if err != nil {
			return call, err
		}
		effect := call.Run
		call.Run = func(ctx context.Context, env *tools.Env) tools.Result {
			about := env.RunID + " " + env.ToolCallID
			p.reach("tool.before "+t.Name, about)
			r := effect(ctx, env)
			p.reach("tool.after "+t.Name, about)
			return r
		}
		return call, nil
	}
}

// pointedRouter routes to clients with points.
type pointedRouter struct {
	worker.Router
	*points
}

// Candidates returns the router's own routes with other clients.
func (r pointedRouter) Candidates(ctx context.Context, provider, name string) ([]model.Route, error) {
	routes, err := r.Router.Candidates(ctx, provider, name)
	for i := range routes {
		routes[i].Client = pointedClient{routes[i].Client, r.points}
	}
	return routes, err
}

// Report passes on what became of a call.
func (r pointedRouter) Report(route model.Route, took time.Duration, err error) {
	r.Router.Report(plain(route), took, err)
}

// Failover passes on that a call goes elsewhere.
func (r pointedRouter) Failover(from, to model.Route, err error) {
	r.Router.Failover(plain(from), plain(to), err)
}

func plain(r model.Route) model.Route {
	if c, ok := r.Client.(pointedClient); ok {
		r.Client = c.Client
	}
	return r
}

// pointedClient has points around a model call and at the first text of its answer.
// Two that wrap the same client are equal, as a worker expects of clients.
type pointedClient struct {
	model.Client
	*points
}

// Call asks the model.
func (c pointedClient) Call(ctx context.Context, call model.Call) (*model.Response, error) {
	onText, begun := call.OnText, false
	call.OnText = func(delta string) {
		if !begun {
			begun = true
			c.reach("model.text", "")
		}
		if onText != nil {
			onText(delta)
		}
	}
	c.reach("model.before", "")
	r, err := c.Client.Call(ctx, call)
	c.reach("model.after", "")
	return r, err
}
