package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// UsageSummary is what model calls have cost so far.
type UsageSummary struct {
	Key          string `json:"key"`
	Scope        string `json:"scope"`
	UsedMicroUSD int64  `json:"used_micros_usd"`
	CostKnown    bool   `json:"cost_known"` // false: the sum is a lower bound
	UnknownCalls int64  `json:"unknown_cost_calls"`
}

// UsageSummary sums up what one provider's calls cost, or all for an empty name.
func (c *Client) UsageSummary(ctx context.Context, provider string) (UsageSummary, error) {
	var out UsageSummary
	_, err := c.call(ctx, http.MethodGet, UsageSummaryPath(provider), nil, &out)
	return out, err
}

// UsageSummaryPath is where the sum of one provider stands, or of all.
func UsageSummaryPath(provider string) string {
	if provider == "" {
		return "/usage/summary"
	}
	return "/usage/summary?" + url.Values{"scope": {"provider"}, "provider": {provider}}.Encode()
}

// UsageEvent is one model call that was paid for, or may have been.
type UsageEvent struct {
	Provider         string     `json:"provider"`
	Model            string     `json:"model"`
	TaskID           string     `json:"task_id"`
	RunID            string     `json:"run_id"`
	Detail           string     `json:"detail"` // abandoned or failed, if there is no full answer
	AmountMicroUSD   int64      `json:"amount_micros_usd"`
	CostKnown        bool       `json:"cost_known"`
	PromptTokens     int64      `json:"prompt_tokens"`
	CompletionTokens int64      `json:"completion_tokens"`
	Timestamp        *time.Time `json:"timestamp"`
}

// UsageEventsMax is how many events of usage a server lists at most.
const UsageEventsMax = 1000

// UsageEvents lists the latest calls, newest first.
func (c *Client) UsageEvents(ctx context.Context, limit int) ([]UsageEvent, error) {
	var out []UsageEvent
	_, err := c.call(ctx, http.MethodGet, "/usage/events?limit="+strconv.Itoa(limit), nil, &out)
	return out, err
}

// Provider is how a model provider stands.
type Provider struct {
	Name            string    `json:"name"`
	Kind            string    `json:"kind"` // cloud or local
	BaseURL         string    `json:"base_url"`
	CredentialReady bool      `json:"credential_ready"`
	Status          string    `json:"status"`           // healthy, degraded, open, half_open or unknown
	RoutingReady    bool      `json:"routing_ready"`    // for a task that names it and a model
	AutoRouteReady  bool      `json:"auto_route_ready"` // and for one that names nothing
	DefaultModel    string    `json:"default_model"`
	Models          []string  `json:"models"`
	LastError       string    `json:"last_error"`
	OpenUntil       time.Time `json:"open_until"`
	LastLatencyMS   int64     `json:"last_latency_ms"`
	Readiness       Readiness `json:"readiness"`
	Checks          []Check   `json:"readiness_checks"`
}

// Readiness says whether a provider can be used, why not, and what to do.
type Readiness struct {
	Status         string `json:"status"` // ok, warning, blocked or unknown
	Reason         string `json:"reason"`
	Message        string `json:"message"`
	OperatorAction string `json:"operator_action"`
}

// Check is one part of a provider's readiness: credentials, models, health or routing.
type Check struct {
	Name string `json:"name"`
	Readiness
}

// ProvidersPath is where the providers' states stand; with refresh they are asked first.
func ProvidersPath(refresh bool) string {
	if refresh {
		return "/providers/status?refresh=1"
	}
	return "/providers/status"
}

// Providers lists the configured providers in the order in which they are tried.
func (c *Client) Providers(ctx context.Context, refresh bool) ([]Provider, error) {
	var out []Provider
	_, err := c.call(ctx, http.MethodGet, ProvidersPath(refresh), nil, &out)
	return out, err
}

// Stats is how busy the server and the others over the same log are. Ages are in seconds.
type Stats struct {
	QueueDepth       int           `json:"queue_depth"` // runs that no worker has, and that are to be executed
	WorkerCount      int           `json:"worker_count"`
	InFlight         int           `json:"in_flight_jobs"`
	RunsMax          int           `json:"max_concurrent_runs"` // 0: no bound
	Queued           int64         `json:"queued_runs"`
	Running          int64         `json:"running_runs"`
	AwaitingApproval int64         `json:"awaiting_approval_runs"`
	OldestQueued     int64         `json:"oldest_queued_age_seconds"`
	OldestRunning    int64         `json:"oldest_running_age_seconds"`
	WaitingWorkspace int64         `json:"waiting_workspace_runs"`
	StoreBackend     string        `json:"store_backend"`
	Workers          []WorkerStats `json:"workers"`
}

// WorkerStats is one server whose workers are alive.
type WorkerStats struct {
	Node   string `json:"node"`
	Claims int    `json:"claims"` // runs that it has
}

// Stats tells how busy the server is.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	_, err := c.call(ctx, http.MethodGet, "/system/stats", nil, &out)
	return out, err
}

// Shutdown asks the server to end. It ends after it has answered.
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodPost, "/system/shutdown", nil, nil)
	return err
}
