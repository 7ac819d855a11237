// Package assess has a fast model look at a call that repeats itself, and say whether
// the calls before it make progress. What it says clears a suspicion or brings a
// person in; it never approves anything.
//
// Source: permission text, "The repeated-call anomaly".
package assess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hecate/domain/event"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/runtime/model"
)

// TimeoutDefault is how long a check may take unless told otherwise.
const TimeoutDefault = 20 * time.Second

// OutputTokensMax bounds an answer. It is enough for all observations that are kept.
const OutputTokensMax = 1024

// problemMax bounds what is told of a failure, in bytes.
const problemMax = 400

// Result is what came of asking.
type Result struct {
	Assessment   repetition.Assessment
	Observations []string // what the model points to, bounded
	Problem      string   // why there is no usable assessment; "" if there is one
	Asked        bool     // a request has left that may have cost something
	Usage        *model.Usage
}

// Router finds who is asked.
type Router interface {
	// Candidates returns the routes that may be tried, in order, at least one.
	Candidates(ctx context.Context, provider, model string) ([]model.Route, error)
	// Report tells how a call went; err is nil if it was answered.
	Report(route model.Route, took time.Duration, err error)
}

// Config is how checks are made.
type Config struct {
	Router Router
	// Provider and Model are the route for checks; both empty: the run's own.
	Provider, Model string
	Timeout         time.Duration // of one check; 0: TimeoutDefault
}

// Assessor asks a model, once for each check: without another try, and nobody else if
// that one fails, since a person is there for that. It may be used by many at a time.
type Assessor struct {
	Config
}

// New makes an assessor.
func New(c Config) *Assessor {
	if c.Timeout <= 0 {
		c.Timeout = TimeoutDefault
	}
	return &Assessor{c}
}

// Route says who will be asked about a run that talks to the given model. Errors are
// those of the router.
func (x *Assessor) Route(ctx context.Context, of run.Route) (model.Route, error) {
	provider, name := x.Provider, x.Model
	if provider == "" && name == "" {
		provider, name = of.Provider, of.Model
	}
	routes, err := x.Router.Candidates(ctx, provider, name)
	if err != nil {
		return model.Route{}, fmt.Errorf("find a model for the check: %w", err)
	}
	return routes[0], nil
}

// Assess asks the route's model about a finding. It always comes to some assessment:
// that the model's answer is no use, or that there is none, is one, too.
func (x *Assessor) Assess(ctx context.Context, route model.Route, f repetition.Finding) Result {
	conversation, err := encode(route.Client, f)
	if err != nil {
		return failed(repetition.Unavailable, err)
	}
	own, stop := context.WithTimeout(ctx, x.Timeout)
	defer stop()
	asked := time.Now()
	// Streamed, because that is how the run itself asks: some models answer no other way.
	resp, err := route.Client.Call(own, model.Call{Model: route.Model, Conversation: conversation, Stream: true, MaxOutputTokens: OutputTokensMax})
	slow := err != nil && ctx.Err() == nil && errors.Is(own.Err(), context.DeadlineExceeded)
	if slow {
		// A check is less patient than a run, so that it gave up says nothing about the provider.
		x.Router.Report(route, time.Since(asked), context.Canceled)
	} else {
		x.Router.Report(route, time.Since(asked), err)
	}
	var r Result
	switch {
	case slow:
		r = failed(repetition.TimedOut, fmt.Errorf("no answer within %s", x.Timeout))
	case err != nil:
		r = failed(repetition.Unavailable, err)
	default:
		r = read(resp, f.Evidence)
		r.Usage = resp.Usage
	}
	r.Asked = slow || ctx.Err() != nil || mayCost(err)
	return r
}

// mayCost reports whether the provider may charge for a request that came to this: not
// for one that it refused before any of an answer, as with the calls of a run.
func mayCost(err error) bool {
	var e *model.Error
	return !errors.As(err, &e) || e.Begun || e.Partial != ""
}

// failed is that there is no usable assessment.
func failed(a repetition.Assessment, why error) Result {
	return Result{Assessment: a, Problem: printable(why.Error(), problemMax)}
}

// encode writes the request in the dialect of the client.
func encode(c model.Client, f repetition.Finding) ([]model.Encoded, error) {
	if c == nil {
		return nil, errors.New("the route leads to no model")
	}
	question, err := ask(f)
	if err != nil {
		return nil, err
	}
	var out []model.Encoded
	for _, m := range []run.Message{
		{Role: run.RoleSystem, Content: event.NewText(task)},
		{Role: run.RoleUser, Content: event.NewText(question)},
	} {
		e, err := c.Encode(m)
		if err != nil {
			return nil, fmt.Errorf("encode the check: %w", err)
		}
		out = append(out, e)
	}
	return out, nil
}
