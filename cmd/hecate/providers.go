package main

import (
	"context"
	"encoding/json"
	"errors"

	v1 "hecate/api/v1"
	"hecate/domain/secret"
	"hecate/runtime/model/provider"
)

// providerSettings is what the environment says about model providers.
type providerSettings struct {
	set    *provider.Set
	retry  provider.Retry
	prices provider.Prices
}

// readProviders reads NAME=VALUE pairs. The error names every problem.
func readProviders(environ []string) (p providerSettings, err error) {
	configs, configsErr := provider.Parse(environ)
	options, optionsErr := provider.ParseOptions(environ)
	retry, retryErr := provider.ParseRetry(environ)
	prices, pricesErr := provider.ParsePrices(environ)
	if err := errors.Join(configsErr, optionsErr, retryErr, pricesErr); err != nil {
		return p, err
	}
	set, err := provider.New(configs, options)
	return providerSettings{set: set, retry: retry, prices: prices}, err
}

// shownProviders are the providers as the API shows them. What a provider has answered may
// repeat what it was sent.
type shownProviders struct {
	set     *provider.Set
	secrets *secret.Set
}

func (s shownProviders) Status(ctx context.Context, refresh bool) []v1.ProviderStatus {
	s.set.Discover(ctx, refresh)
	return recast[v1.ProviderStatus](s.secrets, s.set.Status())
}

func (s shownProviders) History(name string, limit int) []v1.ProviderEvent {
	return recast[v1.ProviderEvent](s.secrets, s.set.History(name, limit))
}

func (shownProviders) Presets() []v1.ProviderPreset {
	return recast[v1.ProviderPreset](nil, provider.Presets())
}

// recast turns items into those of another type with the same names in JSON, without secrets.
func recast[To, From any](secrets *secret.Set, items []From) []To {
	out := make([]To, len(items))
	raw, err := json.Marshal(items)
	if err == nil {
		text, _ := secrets.Withhold(string(raw))
		err = json.Unmarshal([]byte(text), &out)
	}
	if err != nil { // both types are fixed, and a test compares them
		panic("recast: " + err.Error())
	}
	return out
}
