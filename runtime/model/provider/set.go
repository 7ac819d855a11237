package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"hecate/domain/clock"
	"hecate/runtime/model"
)

// Options are common to all providers of a set.
type Options struct {
	HTTP                  *http.Client // nil: model.NewHTTPClient
	Clock                 clock.Clock  // nil: the machine's
	DisableAnthropicCache bool
	NoFailover            bool // a request goes to one provider only
	Health                Health
	HistoryLimit          int // rows of history that are shown unless more are asked for; 0: 100
}

// Set is the providers in use. It may change while runs are going: a run keeps
// the client that it was given.
type Set struct {
	options Options
	history ring

	mu        sync.RWMutex
	providers []*provider // in the order of before
}

// New returns a set of the providers. All problems come back in one error. A
// cloud provider without a key is listed and refuses to be routed to.
func New(configs []Config, o Options) (*Set, error) {
	if o.HTTP == nil {
		o.HTTP = model.NewHTTPClient()
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.HistoryLimit == 0 {
		o.HistoryLimit = historyLimitDefault
	}
	o.Health = o.Health.withDefaults()
	s := &Set{options: o}
	var problems []error
	for _, c := range configs {
		problems = append(problems, s.Put(c))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("set up providers: %w", err)
	}
	return s, nil
}

// Put adds a provider or replaces the one of that name. It is routable at once.
func (s *Set) Put(c Config) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	p := newProvider(c, s.options)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.providers = append(without(s.providers, c.Name), p)
	slices.SortFunc(s.providers, before)
	return nil
}

// Remove takes a provider out and reports whether there was one of that name.
func (s *Set) Remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := without(s.providers, name)
	removed := len(rest) < len(s.providers)
	s.providers = rest
	return removed
}

// without returns a new slice, because readers hold on to the old one.
func without(providers []*provider, name string) []*provider {
	out := make([]*provider, 0, len(providers)+1)
	for _, p := range providers {
		if key(p.Name) != key(name) {
			out = append(out, p)
		}
	}
	return out
}

func (s *Set) all() []*provider {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.providers
}

// Credential states of a provider.
const (
	CredentialConfigured  = "configured"
	CredentialMissing     = "missing"
	CredentialNotRequired = "not_required"
)

// Item is what may be shown of a provider; it holds no secret.
type Item struct {
	Name, Kind, Protocol, BaseURL string
	CredentialState               string
	Models                        []string  // configured, or as last discovered
	DefaultModel                  string    // the first of them, "" if none is known
	DiscoverySource               string    // config, upstream_v1_models, or "" if no model is known
	CheckedAt                     time.Time // when the provider was last asked for its models; zero: never
	LastError                     string    // of that attempt, "" if it went well
}

// List returns the providers in routing order, as they are known now. It asks nobody.
func (s *Set) List() []Item {
	items := []Item{}
	for _, p := range s.all() {
		item := Item{Name: p.Name, Kind: p.Kind, Protocol: p.Protocol, BaseURL: p.BaseURL, CredentialState: p.credentialState()}
		models, source, err := p.known()
		item.Models, item.DiscoverySource = slices.Clone(models), source
		if len(models) > 0 {
			item.DefaultModel = models[0]
		}
		if err != nil {
			item.LastError = err.Error()
		}
		item.CheckedAt = p.checkedAt()
		items = append(items, item)
	}
	return items
}

func (p *provider) checkedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checked
}

func (p *provider) credentialState() string {
	switch {
	case p.APIKey != "":
		return CredentialConfigured
	case p.Kind == KindLocal:
		return CredentialNotRequired
	}
	return CredentialMissing
}

// Discover asks the providers without configured models what they offer, all at
// once, and returns when each has answered or had its 2 seconds. Unless force is
// set, an answer of the last 5 minutes (after errors less, from 15 seconds on)
// stands, and who is in a cool-down is not asked.
func (s *Set) Discover(ctx context.Context, force bool) {
	discover(ctx, s.all(), force)
}

func discover(ctx context.Context, providers []*provider, force bool) {
	var asking sync.WaitGroup
	for _, p := range providers {
		if _, state := p.circuit.look(p.clock.Now()); p.ready() && (force || state != HealthOpen) {
			asking.Go(func() { p.models(ctx, force) })
		}
	}
	asking.Wait()
}
