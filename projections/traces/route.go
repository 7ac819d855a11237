package traces

import (
	"time"

	"hecate/domain/event"
)

// Route is where a run's model calls went: the last provider that answered, and the
// attempts before.
type Route struct {
	Provider, ProviderKind, Model string
	Candidates                    []*Candidate // attempts in order, the last routeMax of them
	Failovers                     []Failover   // in order, the last routeMax of them
}

// routeMax bounds what is kept of attempts and failovers.
const routeMax = 64

// Candidate is one attempt at a provider.
type Candidate struct {
	Provider, Model string
	Outcome         string // selected or failed; "" while nobody knows
	Detail          string // the kind of failure
	Attempt         int64  // 1, 2, 3 … within the model call
	Retryable       bool
	LatencyMS       int64
	FailoverFrom    string // the provider that failed before
	At              time.Time
}

// Failover is a model call that went on at another provider.
type Failover struct {
	FromProvider, FromModel, ToProvider, ToModel string
	Reason                                       string
	At                                           time.Time
}

func (r *Route) attempt(provider, model string, number int64, e event.Event) *Candidate {
	c := &Candidate{Provider: provider, Model: model, Attempt: number, At: e.At}
	r.Candidates = latest(append(r.Candidates, c))
	return c
}

func (r *Route) failover(f Failover) { r.Failovers = latest(append(r.Failovers, f)) }

func latest[T any](list []T) []T { return list[max(0, len(list)-routeMax):] }

func (c *Candidate) failed(kind string, retryable bool, latencyMS int64) {
	c.Outcome, c.Detail, c.Retryable, c.LatencyMS = "failed", kind, retryable, latencyMS
}

func (c *Candidate) selected(latencyMS int64) { c.Outcome, c.LatencyMS = "selected", latencyMS }
