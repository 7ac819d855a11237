package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hecate/domain/fault"
	"hecate/runtime/model"
)

// Reasons of a route.
const (
	ReasonPinnedProvider  = "pinned_provider"
	ReasonRequestedModel  = "requested_model"
	ReasonProviderDefault = "provider_default_model"
)

// candidate is a provider that could be asked for a model.
type candidate struct {
	*provider
	model, reason string
}

func (c candidate) route() model.Route {
	return model.Route{Provider: c.Name, Kind: c.Kind, Model: c.model, Reason: c.reason, Client: c.client}
}

// Route returns the first of the Candidates.
func (s *Set) Route(provider, name string) (model.Route, error) {
	routes, err := s.Candidates(context.Background(), provider, name)
	if err != nil {
		return model.Route{}, err
	}
	return routes[0], nil
}

// Candidates returns the routes to try, in order and at least one, for what a
// task requested:
//
//   - provider and model: that provider with that model, listed or not;
//   - a model alone: the providers that list it; failing that the only provider
//     there is, or the first whose models nobody knows;
//   - neither: the default model of every provider with a known model;
//   - a provider alone is refused with model_not_configured.
//
// The order is cloud first, then local, each by name, with those that failed
// lately behind the others. Providers without credentials are passed over, and
// so are those in their cool-down: after it, one caller gets the provider first
// in its list and is expected to try it and report. Without failover there is
// one candidate, the first before health is looked at.
//
// Providers without configured models are asked for them when the last answer
// is old, which can take up to 2 seconds for one that does not answer.
//
// Errors are *model.RouteError: route_impossible, unsupported_model,
// credential_missing, model_not_configured, or with the time at which asking
// again is worth it, provider_rate_limited and provider_unavailable, or for what
// AwaitModels waits, models_pending.
func (s *Set) Candidates(ctx context.Context, provider, name string) ([]model.Route, error) {
	all, err := s.candidates(ctx, strings.TrimSpace(provider), strings.TrimSpace(name))
	if err != nil {
		return nil, &model.RouteError{Fault: err, Pending: errors.Is(err, errPending)}
	}
	if s.options.NoFailover {
		all = all[:1]
	}
	return s.available(all)
}

// candidates applies the rules without a look at health.
func (s *Set) candidates(ctx context.Context, provider, name string) ([]candidate, error) {
	if provider != "" {
		return s.pinned(provider, name)
	}
	ready, err := s.ready()
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return s.defaults(ctx, ready)
	}
	return s.serving(ctx, ready, name)
}

func (s *Set) pinned(provider, name string) ([]candidate, error) {
	for _, p := range s.all() {
		if key(p.Name) != key(provider) {
			continue
		}
		if err := p.keyMissing(); err != nil {
			return nil, fault.Unprocessable("credential_missing", "%v", err)
		}
		if name == "" {
			return nil, fault.Unprocessable("model_not_configured", "provider %s was requested without a model", p.Name)
		}
		return []candidate{{p, name, ReasonPinnedProvider}}, nil
	}
	return nil, fault.Unavailable("route_impossible", "provider %q is not configured", provider)
}

// ready returns the providers that could be asked; none is an error that says what to do.
func (s *Set) ready() ([]*provider, error) {
	var ready []*provider
	var missing error
	for _, p := range s.all() {
		if err := p.keyMissing(); err == nil {
			ready = append(ready, p)
		} else if missing == nil {
			missing = err
		}
	}
	switch {
	case len(ready) > 0:
		return ready, nil
	case missing != nil:
		return nil, fault.Unprocessable("credential_missing", "%v", missing)
	}
	return nil, fault.Unprocessable("model_not_configured",
		"no model provider is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY or PROVIDER_<NAME>_* variables, or start a local model server")
}

func (s *Set) defaults(ctx context.Context, ready []*provider) ([]candidate, error) {
	discover(ctx, ready, false)
	var out []candidate
	for _, p := range ready {
		if models, _, _ := p.known(); len(models) > 0 {
			out = append(out, candidate{p, models[0], ReasonProviderDefault})
		}
	}
	switch {
	case len(out) > 0:
	case slices.ContainsFunc(ready, (*provider).pending):
		return nil, errPending
	default:
		return nil, fault.Unprocessable("model_not_configured",
			"no model was requested and no provider lists one: name a model, or set PROVIDER_<NAME>_MODELS")
	}
	return out, nil
}

var errPending = fault.Unavailable("models_pending", "no model was requested and no provider has said yet which models it has: ask again soon, or name a model")

// AwaitModels waits until one of the providers that were too slow to list their models has
// done so, until each has had 30 seconds, or until ctx is done.
func (s *Set) AwaitModels(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var asking sync.WaitGroup
	for _, p := range s.all() {
		if p.ready() && p.pending() {
			asking.Go(func() {
				if len(p.first(ctx)) > 0 {
					stop()
				}
			})
		}
	}
	asking.Wait()
}

func (s *Set) serving(ctx context.Context, ready []*provider, name string) ([]candidate, error) {
	out := listing(ready, name)
	switch {
	case len(out) > 0:
		return out, nil
	case len(ready) == 1:
		return []candidate{{ready[0], name, ReasonRequestedModel}}, nil
	}
	discover(ctx, ready, false)
	if out = listing(ready, name); len(out) > 0 {
		return out, nil
	}
	for _, p := range ready {
		if models, _, _ := p.known(); len(models) == 0 {
			return []candidate{{p, name, ReasonRequestedModel}}, nil
		}
	}
	return nil, fault.Invalid("unsupported_model", "no provider offers the model %q", name)
}

// listing returns the providers that are known to serve the model: first those
// that are configured with it, so that what others were found to offer changes nothing.
func listing(ready []*provider, name string) []candidate {
	var configured, discovered []candidate
	for _, p := range ready {
		c := candidate{p, name, ReasonRequestedModel}
		if models, source, _ := p.known(); !slices.Contains(models, name) {
			continue
		} else if source == sourceConfig {
			configured = append(configured, c)
		} else {
			discovered = append(discovered, c)
		}
	}
	return append(configured, discovered...)
}

// available leaves out who is in a cool-down and puts who failed lately last.
func (s *Set) available(all []candidate) ([]model.Route, error) {
	now := s.options.Clock.Now()
	var first, last []candidate
	for _, c := range all {
		switch standing, _ := c.circuit.stand(now); standing {
		case steady, probing:
			first = append(first, c)
		case upset:
			last = append(last, c)
		}
	}
	out := append(first, last...)
	for len(out) > 0 && !out[0].circuit.claim(now) {
		out = out[1:] // another caller got the probe first
	}
	if len(out) == 0 {
		return nil, unavailable(all, now)
	}
	routes := make([]model.Route, len(out))
	for i, c := range out {
		routes[i] = c.route()
	}
	return routes, nil
}

// unavailable says why no candidate may be asked, and when the first one may.
func unavailable(all []candidate, now time.Time) error {
	soonest, limited := time.Time{}, true
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
		_, at := c.circuit.stand(now)
		if at.IsZero() {
			at = now // it has just become available
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
		k, _ := c.circuit.look(now)
		limited = limited && k.Limited
	}
	code, what := "provider_unavailable", "left alone after failures"
	if limited {
		code, what = "provider_rate_limited", "rate limited"
	}
	text := fmt.Sprintf("no provider can be asked before %s: %s %s", soonest.UTC().Format(time.RFC3339), strings.Join(names, ", "), what)
	return &model.RouteError{Fault: fault.Unavailable(code, "%s", text), RetryAt: soonest}
}
