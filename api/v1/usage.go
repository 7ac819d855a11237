package v1

import (
	"context"
	"net/http"

	"hecate/projections"
)

// Limits of a list of usage.
const (
	usagePage    = 20
	usagePageMax = 1000
)

type usageSummaryInput struct {
	Scope    string `query:"scope" doc:"Whose account: global, or provider with the name of one. Anything else is global." enum:"global,provider"`
	Provider string `query:"provider" doc:"The provider, for that scope." example:"openai"`
	Key      string `query:"key" doc:"The account by its key, in place of the scope; one that nothing was charged to has used nothing." example:"global:provider:openai"`
}

type usageEventsInput struct {
	Limit count `query:"limit" doc:"At most this many, 20 if absent, never more than 1000; 0 for none."`
}

func (a *API) registerUsage() {
	register(a, spec{
		id: "getUsageSummary", method: http.MethodGet, path: Base + "/usage/summary", tag: "Usage",
		summary: "Sum up what model calls cost",
		description: "All model calls of all runs, also of deleted tasks. A call whose cost nobody knows is counted, not taken for free: " +
			"with `cost_known` false the true sum is higher.",
		example: map[string]any{"object": "usage_summary", "data": map[string]any{
			"key": "global", "scope": "global", "backend": "sqlite", "used_micros_usd": 1234567, "used_usd": "1.234567",
			"cost_known": false, "unknown_cost_calls": 2,
		}},
	}, a.usageSummary)
	register(a, spec{
		id: "listUsageEvents", method: http.MethodGet, path: Base + "/usage/events", tag: "Usage",
		summary:     "List what single model calls used",
		description: "Newest first. Calls that broke off are among them: they may have cost something.",
		fails:       []int{http.StatusBadRequest},
		example: map[string]any{"object": "usage_events", "data": []any{map[string]any{
			"type": "usage", "scope": "global", "provider": "openai", "model": "gpt-5", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f",
			"run_id": "run_0a1b2c3d4e5f60718293a4b5", "request_id": "req_5f0c2c6f2a7b4d1e9a3c8b70", "amount_micros_usd": 4200, "amount_usd": "0.004200",
			"cost_known": true, "prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280, "timestamp": "2026-02-03T09:30:02.400000000Z",
		}}},
	}, a.usageEvents)
}

func (a *API) usageSummary(ctx context.Context, in *usageSummaryInput) (*answer[projections.UsageSummary], error) {
	s, err := a.Usage.Summary(ctx, in.Scope, in.Provider, in.Key)
	return of("usage_summary", s), err
}

func (a *API) usageEvents(ctx context.Context, in *usageEventsInput) (*answer[[]projections.UsageEvent], error) {
	limit, err := in.Limit.between(0, usagePage, usagePageMax)
	if err != nil {
		return nil, err
	}
	found, err := a.Usage.Events(ctx, limit)
	return list("usage_events", found), err
}
