package v1

import (
	"context"
	"net/http"
	"strconv"
)

// historyMax bounds a list of what happened to providers.
const historyMax = 1000

type providerStatusInput struct {
	Refresh string `query:"refresh" doc:"1 or true: ask the providers for their models first; takes up to two seconds." enum:"1,true"`
}

type providerHistoryInput struct {
	Provider string `query:"provider" doc:"Only this provider." example:"openai"`
	Limit    count  `query:"limit" doc:"At most this many, never more than 1000; the server's default, usually 100, if absent."`
}

func (a *API) registerProviders() {
	register(a, spec{
		id: "listProviderPresets", method: http.MethodGet, path: Base + "/providers/presets", tag: "Providers",
		summary:     "List the providers that are known beforehand",
		description: "Configured under its id, such a provider needs only what differs, mostly a key. `env_snippet` is what to set.",
		example: map[string]any{"object": "provider_presets", "data": []any{map[string]any{
			"id": "groq", "name": "Groq", "kind": "cloud", "protocol": "openai", "base_url": "https://api.groq.com/openai/v1",
			"api_key_env": "PROVIDER_GROQ_API_KEY", "env_snippet": "PROVIDER_GROQ_PRECONFIGURED=true\nPROVIDER_GROQ_API_KEY=",
		}}},
	}, a.providerPresets)
	register(a, spec{
		id: "listProviderStatus", method: http.MethodGet, path: Base + "/providers/status", tag: "Providers",
		summary: "List the configured providers",
		description: "How each stands, in the order in which they are tried, as this server knows: every server finds out for itself. " +
			"After several failures in a row a provider is left alone for a while (`open`).",
		example: map[string]any{"object": "provider_status", "data": []any{map[string]any{
			"name": "openai", "kind": "cloud", "base_url": "https://api.openai.com", "credential_state": "configured", "credential_ready": true,
			"healthy": true, "status": "healthy", "routing_ready": true, "auto_route_ready": true, "default_model": "gpt-5", "models": []any{"gpt-5"},
			"model_count": 1, "discovery_source": "config", "last_latency_ms": 2300, "total_successes": 12,
			"readiness":        map[string]any{"status": "ok", "reason": "ready", "message": "It can be used."},
			"readiness_checks": []any{map[string]any{"name": "credentials", "status": "ok", "reason": "ready", "message": "There is a key."}},
		}}},
	}, a.providerStatus)
	register(a, spec{
		id: "listProviderHistory", method: http.MethodGet, path: Base + "/providers/history", tag: "Providers",
		summary:     "List what happened to the providers",
		description: "Failures, cool-downs and failovers since this server started, newest first.",
		fails:       []int{http.StatusBadRequest},
		example: map[string]any{"object": "provider_health_history", "data": []any{map[string]any{
			"provider": "openai", "provider_kind": "cloud", "model": "gpt-5", "event": "failure", "status": "degraded", "available": true,
			"error": "upstream error (529/overloaded_error): busy", "error_class": "server_error", "latency_ms": 310, "consecutive_failures": 1,
			"total_successes": 12, "total_failures": 1, "server_errors": 1, "timestamp": "2026-02-03T09:30:00Z",
		}}},
	}, a.providerHistory)
}

func (a *API) providerPresets(context.Context, *struct{}) (*answer[[]ProviderPreset], error) {
	return list("provider_presets", a.Providers.Presets()), nil
}

func (a *API) providerStatus(ctx context.Context, in *providerStatusInput) (*answer[[]ProviderStatus], error) {
	refresh, _ := strconv.ParseBool(in.Refresh) // anything else is a no
	found := a.Providers.Status(ctx, refresh)
	for i := range found {
		if found[i].ReadinessChecks == nil {
			found[i].ReadinessChecks = []ProviderCheck{}
		}
	}
	return list("provider_status", found), nil
}

func (a *API) providerHistory(_ context.Context, in *providerHistoryInput) (*answer[[]ProviderEvent], error) {
	limit, err := in.Limit.between(1, 0, historyMax)
	if err != nil {
		return nil, err
	}
	return list("provider_health_history", a.Providers.History(in.Provider, limit)), nil
}

// noProviders is a server that asks nobody.
type noProviders struct{}

func (noProviders) Status(context.Context, bool) []ProviderStatus { return nil }
func (noProviders) History(string, int) []ProviderEvent           { return nil }
func (noProviders) Presets() []ProviderPreset                     { return nil }
