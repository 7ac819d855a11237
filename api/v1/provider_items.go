package v1

import (
	"context"
	"time"
)

// Providers is what the server knows about the model providers that it may ask.
type Providers interface {
	// Status returns how each provider stands, in routing order; with refresh, after
	// they have been asked for their models anew.
	Status(ctx context.Context, refresh bool) []ProviderStatus
	// History returns what happened to one provider, or to all with "", newest first.
	// A limit of 0 is the server's default.
	History(provider string, limit int) []ProviderEvent
	// Presets returns what is known of providers beforehand.
	Presets() []ProviderPreset
}

// ProviderPreset is what is known of a provider beforehand.
type ProviderPreset struct {
	ID           string `json:"id" doc:"The name under which it is configured."`
	Name         string `json:"name" doc:"What it calls itself."`
	Kind         string `json:"kind" doc:"local ones run on one's own machine and need no key." enum:"cloud,local"`
	Protocol     string `json:"protocol" doc:"How it is spoken to." enum:"openai,anthropic"`
	BaseURL      string `json:"base_url" doc:"Where it is."`
	APIKeyEnv    string `json:"api_key_env,omitempty" doc:"The environment variable for its key."`
	APIVersion   string `json:"api_version,omitempty" doc:"Version of the protocol."`
	DefaultModel string `json:"default_model,omitempty" doc:"The model that is used if none is named."`
	DocsURL      string `json:"docs_url,omitempty" doc:"Its documentation."`
	Description  string `json:"description,omitempty" doc:"What it is."`
	EnvSnippet   string `json:"env_snippet,omitempty" doc:"The environment variables that set it up."`
}

// ProviderStatus is how a provider stands. It holds no secret.
type ProviderStatus struct {
	Name                 string            `json:"name" doc:"The provider."`
	Kind                 string            `json:"kind" doc:"local ones run on one's own machine." enum:"cloud,local"`
	BaseURL              string            `json:"base_url,omitempty" doc:"Where it is."`
	CredentialState      string            `json:"credential_state,omitempty" doc:"Whether there is a key." enum:"configured,missing,not_required"`
	CredentialReady      bool              `json:"credential_ready" doc:"Whether it can be asked as far as the key goes."`
	Healthy              bool              `json:"healthy" doc:"Whether its last calls went well."`
	Status               string            `json:"status" doc:"Its health. An open one is left alone until open_until; a half_open one is tried with one call." enum:"healthy,degraded,open,half_open,unknown"`
	RoutingReady         bool              `json:"routing_ready" doc:"Whether a task that names it and a model can be routed to it."`
	AutoRouteReady       bool              `json:"auto_route_ready" doc:"Whether a task that names nothing can be routed to it."`
	RoutingBlockedReason string            `json:"routing_blocked_reason,omitempty" doc:"Why not, as a word for machines: credential_missing, circuit_open, provider_rate_limited, no_models …"`
	DefaultModel         string            `json:"default_model,omitempty" doc:"The model that is used if none is named."`
	Models               []string          `json:"models,omitempty" doc:"The models that it is known to have."`
	ModelCount           int               `json:"model_count" doc:"How many those are."`
	DiscoverySource      string            `json:"discovery_source,omitempty" doc:"Where they are known from: config or upstream_v1_models."`
	RefreshedAt          time.Time         `json:"refreshed_at,omitzero" doc:"When it was last asked for its models."`
	LastCheckedAt        time.Time         `json:"last_checked_at,omitzero" doc:"When it was last asked for anything."`
	LastError            string            `json:"last_error,omitempty" doc:"What went wrong last."`
	LastErrorClass       string            `json:"last_error_class,omitempty" doc:"The same as a word for machines: timeout, rate_limited, server_error, network, auth_failed …"`
	OpenUntil            time.Time         `json:"open_until,omitzero" doc:"Until when it is left alone."`
	LastLatencyMS        int64             `json:"last_latency_ms,omitempty" doc:"How long its last answer took, in milliseconds."`
	ConsecutiveFailures  int               `json:"consecutive_failures,omitempty" doc:"Failures since its last answer."`
	TotalSuccesses       int64             `json:"total_successes,omitempty" doc:"Answers since the server started."`
	TotalFailures        int64             `json:"total_failures,omitempty" doc:"Failures since the server started."`
	Timeouts             int64             `json:"timeouts,omitempty" doc:"Those that were timeouts."`
	ServerErrors         int64             `json:"server_errors,omitempty" doc:"Those that were errors of the provider."`
	RateLimits           int64             `json:"rate_limits,omitempty" doc:"Those that were rate limits."`
	Readiness            ProviderReadiness `json:"readiness" doc:"Whether it can be used, all in all."`
	ReadinessChecks      []ProviderCheck   `json:"readiness_checks" doc:"The parts of that."`
}

// ProviderReadiness says whether a provider can be used, why not, and what to do.
type ProviderReadiness struct {
	Status         string `json:"status" doc:"blocked: not as it is." enum:"ok,warning,blocked,unknown"`
	Reason         string `json:"reason" doc:"Why, as a word for machines."`
	Message        string `json:"message" doc:"Why, in words."`
	OperatorAction string `json:"operator_action,omitempty" doc:"What an operator can do about it."`
}

// ProviderCheck is one part of a provider's readiness.
type ProviderCheck struct {
	Name string `json:"name" doc:"The part." enum:"credentials,models,health,routing"`
	ProviderReadiness
}

// ProviderEvent is one thing that happened to a provider, with its totals after it.
type ProviderEvent struct {
	Provider            string    `json:"provider" doc:"The provider."`
	ProviderKind        string    `json:"provider_kind,omitempty" doc:"cloud or local."`
	Model               string    `json:"model,omitempty" doc:"The model that was asked for."`
	Event               string    `json:"event" doc:"What happened. A plain success of a healthy provider is no event." enum:"success,slow_success,failure,cooldown_opened,cooldown_recovered,failover_triggered,failover_selected"`
	Status              string    `json:"status" doc:"Its health after that." enum:"healthy,degraded,open,half_open,unknown"`
	Available           bool      `json:"available" doc:"Whether it may be asked after that."`
	Error               string    `json:"error,omitempty" doc:"What went wrong."`
	ErrorClass          string    `json:"error_class,omitempty" doc:"The same as a word for machines."`
	Reason              string    `json:"reason,omitempty" doc:"Why a call went to another provider."`
	RouteReason         string    `json:"route_reason,omitempty" doc:"Why this provider was asked."`
	RequestID           string    `json:"request_id,omitempty" doc:"The request that led to the call."`
	TraceID             string    `json:"trace_id,omitempty" doc:"The trace of the call."`
	PeerProvider        string    `json:"peer_provider,omitempty" doc:"The other provider, where a call went from one to another."`
	PeerModel           string    `json:"peer_model,omitempty" doc:"The model there."`
	PeerRouteReason     string    `json:"peer_route_reason,omitempty" doc:"Why that one was asked."`
	HealthStatus        string    `json:"health_status,omitempty" doc:"The same as status."`
	PeerHealthStatus    string    `json:"peer_health_status,omitempty" doc:"The other one's health."`
	LatencyMS           int64     `json:"latency_ms,omitempty" doc:"How long the call took, in milliseconds."`
	ConsecutiveFailures int       `json:"consecutive_failures,omitempty" doc:"Failures since its last answer."`
	TotalSuccesses      int64     `json:"total_successes,omitempty" doc:"Answers since the server started."`
	TotalFailures       int64     `json:"total_failures,omitempty" doc:"Failures since the server started."`
	Timeouts            int64     `json:"timeouts,omitempty" doc:"Those that were timeouts."`
	ServerErrors        int64     `json:"server_errors,omitempty" doc:"Those that were errors of the provider."`
	RateLimits          int64     `json:"rate_limits,omitempty" doc:"Those that were rate limits."`
	AttemptCount        int       `json:"attempt_count,omitempty" doc:"Which attempt at this provider it was."`
	OpenUntil           time.Time `json:"open_until,omitzero" doc:"Until when it is left alone."`
	Timestamp           time.Time `json:"timestamp,omitzero" doc:"When it happened."`
}
