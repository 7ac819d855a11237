package provider

import (
	"context"
	"strings"
	"sync"
	"time"

	"hecate/domain/clock"
	"hecate/runtime/model"
)

const (
	discoveryWait    = 2 * time.Second  // how long a provider may take to list its models
	discoveryFirst   = 30 * time.Second // the same for the first list, where a run can do nothing without
	discoveryFresh   = 5 * time.Minute  // how long a list is used
	discoveryRetryIn = 15 * time.Second // after an error; it doubles with each one, up to discoveryFresh
)

// Where the list of models comes from.
const (
	sourceConfig   = "config"
	sourceUpstream = "upstream_v1_models"
)

// Client is what a provider is asked through.
type Client interface {
	model.Client
	Models(ctx context.Context) ([]string, error)
}

// provider is a configuration with its client and what is known about its models.
type provider struct {
	Config
	client Client
	clock  clock.Clock

	circuit circuit
	asking  chan struct{} // holds a value while the provider is asked, so that it is asked once

	mu         sync.Mutex // guards what follows, never for long
	discovered []string
	err        error
	checked    time.Time // zero: never
	failed     int       // attempts without an answer since the last one
	late       bool      // the last attempt found nobody out in its time, and was no first one
}

func newProvider(c Config, o Options) *provider {
	e := model.Endpoint{BaseURL: c.BaseURL, APIKey: c.APIKey, HTTP: o.HTTP, Clock: o.Clock}
	if preset, ok := PresetOf(c.Name); ok && preset.BaseURL == c.BaseURL {
		e.ChatPath, e.ModelsPath, e.OutputLimit = preset.chatPath, preset.modelsPath, preset.outputLimit
	}
	p := &provider{Config: c, clock: o.Clock, asking: make(chan struct{}, 1), circuit: circuit{rules: o.Health}}
	if c.Protocol == ProtocolAnthropic {
		p.client = model.NewAnthropic(e, model.AnthropicOptions{DisableCache: o.DisableAnthropicCache})
	} else {
		p.client = model.NewOpenAI(e)
	}
	return p
}

func (p *provider) ready() bool { return p.keyMissing() == nil }

// models returns the configured models; without any, what the provider lists,
// asking it if the last answer is too old. An error leaves the old list in use.
func (p *provider) models(ctx context.Context, force bool) []string {
	if len(p.Models) > 0 {
		return p.Models
	}
	if !p.turn(ctx) {
		return nil
	}
	defer func() { <-p.asking }()
	if known, fresh := p.fresh(); fresh && !force {
		return known
	}
	return p.ask(ctx, discoveryWait)
}

// first returns what the provider lists, for which it has the time of a first list. It is
// asked once so patiently: whoever waits for its turn meanwhile gets what came of that.
func (p *provider) first(ctx context.Context) []string {
	if !p.turn(ctx) {
		return nil
	}
	defer func() { <-p.asking }()
	if !p.pending() {
		models, _, _ := p.known()
		return models
	}
	return p.ask(ctx, discoveryFirst)
}

// turn waits until nobody asks the provider, or ctx is done.
func (p *provider) turn(ctx context.Context) bool {
	select {
	case p.asking <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask gives the provider so much time to list its models. That a caller gave up says
// nothing about the provider.
func (p *provider) ask(ctx context.Context, wait time.Duration) []string {
	asking, stop := context.WithTimeout(ctx, wait)
	defer stop()
	models, err := p.client.Models(asking)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.discovered, p.failed = models, 0
	case ctx.Err() != nil:
		return p.discovered
	default:
		p.failed++
	}
	p.late = err != nil && asking.Err() != nil && wait < discoveryFirst
	p.err, p.checked = err, p.clock.Now()
	return p.discovered
}

// pending reports whether the provider may still be about to say for the first time which
// models it has: it took longer than others wait.
func (p *provider) pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.Models) == 0 && len(p.discovered) == 0 && p.late
}

func (p *provider) fresh() ([]string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := discoveryFresh
	if p.failed > 0 {
		limit = min(discoveryRetryIn<<min(p.failed-1, 8), discoveryFresh)
	}
	return p.discovered, !p.checked.IsZero() && p.clock.Now().Sub(p.checked) < limit
}

// known returns the models that are known without asking.
func (p *provider) known() (models []string, source string, err error) {
	if len(p.Models) > 0 {
		return p.Models, sourceConfig, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.discovered) > 0 {
		source = sourceUpstream
	}
	return p.discovered, source, p.err
}

// before is the order in which providers are tried: cloud ones first, since a
// local server that is configured often does not run, then by name.
func before(a, b *provider) int {
	if a.Kind != b.Kind {
		return strings.Compare(a.Kind, b.Kind) // "cloud" < "local"
	}
	return strings.Compare(a.Name, b.Name)
}
