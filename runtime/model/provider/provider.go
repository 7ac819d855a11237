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
	asking  sync.Mutex // held while the provider is asked, so that it is asked once

	mu         sync.Mutex // guards what follows, never for long
	discovered []string
	err        error
	checked    time.Time // zero: never
	failed     int       // attempts without an answer since the last one
}

func newProvider(c Config, o Options) *provider {
	e := model.Endpoint{BaseURL: c.BaseURL, APIKey: c.APIKey, HTTP: o.HTTP, Clock: o.Clock}
	if preset, ok := PresetOf(c.Name); ok && preset.BaseURL == c.BaseURL {
		e.ChatPath, e.ModelsPath, e.OutputLimit = preset.chatPath, preset.modelsPath, preset.outputLimit
	}
	p := &provider{Config: c, clock: o.Clock, circuit: circuit{rules: o.Health}}
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
	p.asking.Lock()
	defer p.asking.Unlock()
	if known, fresh := p.fresh(); fresh && !force {
		return known
	}
	ctx, stop := context.WithTimeout(ctx, discoveryWait)
	defer stop()
	models, err := p.client.Models(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.discovered, p.failed = models, 0
	} else {
		p.failed++
	}
	p.err, p.checked = err, p.clock.Now()
	return p.discovered
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
