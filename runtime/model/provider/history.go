package provider

import (
	"sync"
	"time"

	"hecate/runtime/model"
)

const (
	historyLimitDefault = 100
	historyKept         = 1000 // rows in memory, of all providers together
)

// Events of a provider's history. A success leaves a row only if it ends a
// series of failures or was slow.
const (
	EventSuccess           = "success"
	EventSlowSuccess       = "slow_success"
	EventFailure           = "failure"
	EventOpened            = "cooldown_opened"
	EventRecovered         = "cooldown_recovered"
	EventFailoverTriggered = "failover_triggered" // the row of the provider that was given up
	EventFailoverSelected  = "failover_selected"  // the row of the one that took over
)

// HistoryRow is one thing that happened to a provider, with the totals after it.
type HistoryRow struct {
	Provider            string    `json:"provider"`
	ProviderKind        string    `json:"provider_kind,omitempty"`
	Model               string    `json:"model,omitempty"`
	Event               string    `json:"event"`
	Status              string    `json:"status"`
	Available           bool      `json:"available"` // it may be asked
	Error               string    `json:"error,omitempty"`
	ErrorClass          string    `json:"error_class,omitempty"`
	Reason              string    `json:"reason,omitempty"`
	RouteReason         string    `json:"route_reason,omitempty"`
	RequestID           string    `json:"request_id,omitempty"`
	TraceID             string    `json:"trace_id,omitempty"`
	PeerProvider        string    `json:"peer_provider,omitempty"` // the other side of a failover
	PeerModel           string    `json:"peer_model,omitempty"`
	PeerRouteReason     string    `json:"peer_route_reason,omitempty"`
	HealthStatus        string    `json:"health_status,omitempty"`
	PeerHealthStatus    string    `json:"peer_health_status,omitempty"`
	LatencyMS           int64     `json:"latency_ms,omitempty"`
	ConsecutiveFailures int       `json:"consecutive_failures,omitempty"`
	TotalSuccesses      int64     `json:"total_successes,omitempty"`
	TotalFailures       int64     `json:"total_failures,omitempty"`
	Timeouts            int64     `json:"timeouts,omitempty"`
	ServerErrors        int64     `json:"server_errors,omitempty"`
	RateLimits          int64     `json:"rate_limits,omitempty"`
	AttemptCount        int       `json:"attempt_count,omitempty"` // which try at this provider it was
	OpenUntil           time.Time `json:"open_until,omitzero"`
	Timestamp           time.Time `json:"timestamp,omitzero"`
}

// Report takes in the outcome of a call, for the health of its provider. Routes
// of a provider that was replaced or removed meanwhile are of no interest.
func (s *Set) Report(a model.Attempt) {
	p := s.of(a.Route)
	if p == nil {
		return
	}
	now := s.options.Clock.Now()
	for _, event := range p.circuit.report(a, now) {
		row := p.row(a, event, now)
		if event != EventFailure {
			row.Error, row.ErrorClass = "", ""
		}
		s.history.add(row)
	}
}

// Failover notes that a call failed for good at one provider and goes to another.
func (s *Set) Failover(from model.Attempt, to model.Route) {
	now := s.options.Clock.Now()
	given, taken := s.of(from.Route), s.of(to)
	if given == nil || taken == nil {
		return
	}
	left := given.row(from, EventFailoverTriggered, now)
	next := taken.row(model.Attempt{Route: to, RequestID: from.RequestID, TraceID: from.TraceID}, EventFailoverSelected, now)
	left.Reason, next.Reason = left.ErrorClass, left.ErrorClass
	left.PeerProvider, left.PeerModel, left.PeerRouteReason, left.PeerHealthStatus = to.Provider, to.Model, to.Reason, next.HealthStatus
	next.PeerProvider, next.PeerModel, next.PeerRouteReason, next.PeerHealthStatus =
		from.Route.Provider, from.Route.Model, from.Route.Reason, left.HealthStatus
	s.history.add(left)
	s.history.add(next)
}

// of returns the provider that a route was made for, nil if it is no more.
func (s *Set) of(r model.Route) *provider {
	for _, p := range s.all() {
		if p.Name == r.Provider && model.Client(p.client) == r.Client {
			return p
		}
	}
	return nil
}

func (p *provider) row(a model.Attempt, event string, now time.Time) HistoryRow {
	k, state := p.circuit.look(now)
	o := outcomeOf(a.Err)
	return HistoryRow{
		Provider: p.Name, ProviderKind: p.Kind, Model: a.Route.Model, Event: event,
		Status: state, HealthStatus: state, Available: state != HealthOpen,
		Error: o.message, ErrorClass: o.class, RouteReason: a.Route.Reason, RequestID: a.RequestID, TraceID: a.TraceID,
		LatencyMS: a.Latency.Milliseconds(), AttemptCount: a.Number,
		ConsecutiveFailures: k.Consecutive, TotalSuccesses: k.Successes, TotalFailures: k.Failures,
		Timeouts: k.Timeouts, ServerErrors: k.ServerErrors, RateLimits: k.RateLimits,
		OpenUntil: k.OpenUntil, Timestamp: now,
	}
}

// History returns what happened to the provider, or to all with "", newest
// first. With a limit of 0 or less, Options.HistoryLimit counts. Only the newest
// 1000 rows of this process are kept.
func (s *Set) History(provider string, limit int) []HistoryRow {
	if limit <= 0 {
		limit = s.options.HistoryLimit
	}
	return s.history.newest(provider, limit)
}

// ring keeps the newest rows.
type ring struct {
	mu   sync.Mutex
	rows []HistoryRow
	next int // where the next row goes once the ring is full
}

func (r *ring) add(row HistoryRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows) < historyKept {
		r.rows = append(r.rows, row)
		return
	}
	r.rows[r.next] = row
	r.next = (r.next + 1) % historyKept
}

func (r *ring) newest(provider string, limit int) []HistoryRow {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []HistoryRow{}
	for n := len(r.rows) - 1; n >= 0 && len(out) < limit; n-- {
		row := r.rows[(r.next+n)%len(r.rows)]
		if provider == "" || key(row.Provider) == key(provider) {
			out = append(out, row)
		}
	}
	return out
}
