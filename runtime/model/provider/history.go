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
	OpenUntil           time.Time `json:"open_until,omitzero"`
	Timestamp           time.Time `json:"timestamp,omitzero"`
}

// Report takes in the outcome of a call that has just ended, for the health of its
// provider: the route as it was handed out, how long the call took, and its
// error, nil for an answer. A provider that was replaced or removed meanwhile is
// of no interest.
func (s *Set) Report(r model.Route, took time.Duration, err error) {
	p := s.of(r)
	if p == nil {
		return
	}
	now := s.options.Clock.Now()
	for _, event := range p.circuit.report(took, err, now) {
		row := p.row(r, event, now)
		row.LatencyMS = took.Milliseconds()
		if event == EventFailure {
			o := outcomeOf(err)
			row.Error, row.ErrorClass = o.message, o.class
		}
		s.history.add(row)
	}
}

// Failover notes that a call failed for good at one provider and goes to another.
// It is for the history alone: what failed has been reported.
func (s *Set) Failover(from, to model.Route, err error) {
	now := s.options.Clock.Now()
	given, taken := s.of(from), s.of(to)
	if given == nil || taken == nil {
		return
	}
	left := given.row(from, EventFailoverTriggered, now)
	next := taken.row(to, EventFailoverSelected, now)
	o := outcomeOf(err)
	left.Error, left.ErrorClass = o.message, o.class
	left.Reason, next.Reason = o.class, o.class
	left.PeerProvider, left.PeerModel, left.PeerRouteReason, left.PeerHealthStatus = to.Provider, to.Model, to.Reason, next.HealthStatus
	next.PeerProvider, next.PeerModel, next.PeerRouteReason, next.PeerHealthStatus =
		from.Provider, from.Model, from.Reason, left.HealthStatus
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

func (p *provider) row(r model.Route, event string, now time.Time) HistoryRow {
	k, state := p.circuit.look(now)
	return HistoryRow{
		Provider: p.Name, ProviderKind: p.Kind, Model: r.Model, Event: event,
		Status: state, HealthStatus: state, Available: state != HealthOpen,
		RouteReason: r.Reason, ConsecutiveFailures: k.Consecutive, TotalSuccesses: k.Successes, TotalFailures: k.Failures,
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
