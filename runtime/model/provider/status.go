package provider

import (
	"fmt"
	"slices"
	"time"
)

// Status is what is known about a provider, without a secret. The wire shows it as it is.
type Status struct {
	Name                 string    `json:"name"`
	Kind                 string    `json:"kind"`
	BaseURL              string    `json:"base_url,omitempty"`
	CredentialState      string    `json:"credential_state,omitempty"`
	CredentialReady      bool      `json:"credential_ready"`
	Healthy              bool      `json:"healthy"`
	Status               string    `json:"status"`
	RoutingReady         bool      `json:"routing_ready"`    // a task that names it and a model can be routed to it
	AutoRouteReady       bool      `json:"auto_route_ready"` // and a task that names nothing
	RoutingBlockedReason string    `json:"routing_blocked_reason,omitempty"`
	DefaultModel         string    `json:"default_model,omitempty"`
	Models               []string  `json:"models,omitempty"`
	ModelCount           int       `json:"model_count"`
	DiscoverySource      string    `json:"discovery_source,omitempty"`
	RefreshedAt          time.Time `json:"refreshed_at,omitzero"`    // when its models were last asked for
	LastCheckedAt        time.Time `json:"last_checked_at,omitzero"` // when anything was last asked of it
	LastError            string    `json:"last_error,omitempty"`
	LastErrorClass       string    `json:"last_error_class,omitempty"`
	OpenUntil            time.Time `json:"open_until,omitzero"`
	LastLatencyMS        int64     `json:"last_latency_ms,omitempty"`
	ConsecutiveFailures  int       `json:"consecutive_failures,omitempty"`
	TotalSuccesses       int64     `json:"total_successes,omitempty"`
	TotalFailures        int64     `json:"total_failures,omitempty"`
	Timeouts             int64     `json:"timeouts,omitempty"`
	ServerErrors         int64     `json:"server_errors,omitempty"`
	RateLimits           int64     `json:"rate_limits,omitempty"`
	Readiness            Readiness `json:"readiness"`
	ReadinessChecks      []Check   `json:"readiness_checks"`
}

// Readiness says whether a provider can be used, why not, and what to do.
type Readiness struct {
	Status         string `json:"status"` // one of the Check statuses
	Reason         string `json:"reason"`
	Message        string `json:"message"`
	OperatorAction string `json:"operator_action,omitempty"`
}

// Check is one part of the readiness: credentials, models, health or routing.
type Check struct {
	Name string `json:"name"`
	Readiness
}

// Statuses of a Check.
const (
	CheckOK      = "ok"
	CheckWarning = "warning"
	CheckBlocked = "blocked"
	CheckUnknown = "unknown"
)

// Status returns what is known about the providers, in routing order. It asks
// nobody: Discover before it brings the models up to date.
func (s *Set) Status() []Status {
	now := s.options.Clock.Now()
	out := []Status{}
	for _, p := range s.all() {
		out = append(out, p.status(now))
	}
	return out
}

func (p *provider) status(now time.Time) Status {
	k, state := p.circuit.look(now)
	models, source, failure := p.known()
	st := Status{
		Name: p.Name, Kind: p.Kind, BaseURL: p.BaseURL,
		CredentialState: p.credentialState(), CredentialReady: p.ready(),
		Status: state, Healthy: state == HealthHealthy || state == HealthDegraded,
		Models: slices.Clone(models), ModelCount: len(models), DiscoverySource: source,
		RefreshedAt: p.checkedAt(), LastError: k.LastError, LastErrorClass: k.LastClass,
		OpenUntil: k.OpenUntil, LastLatencyMS: k.Latency.Milliseconds(), ConsecutiveFailures: k.Consecutive,
		TotalSuccesses: k.Successes, TotalFailures: k.Failures,
		Timeouts: k.Timeouts, ServerErrors: k.ServerErrors, RateLimits: k.RateLimits,
	}
	if len(models) > 0 {
		st.DefaultModel = models[0]
	}
	st.LastCheckedAt = k.Checked
	if st.RefreshedAt.After(k.Checked) {
		st.LastCheckedAt = st.RefreshedAt
		if failure != nil {
			o := outcomeOf(failure)
			st.LastError, st.LastErrorClass = failure.Error(), o.class
		} else if state == HealthUnknown {
			st.Status, st.Healthy = HealthHealthy, true // it answered the question for its models
		}
	}
	st.assess(k, failure)
	return st
}

// assess fills in the checks and what follows from them.
func (st *Status) assess(k figures, failure error) {
	checks := []Check{st.credentials(), st.models(failure), st.health(k)}
	credentials, health := checks[0], checks[2]
	st.RoutingReady = credentials.Status != CheckBlocked && health.Status != CheckBlocked
	st.AutoRouteReady = st.RoutingReady && st.DefaultModel != ""
	routing := Check{"routing", Readiness{CheckOK, "routable", "Tasks can be routed to it.", ""}}
	switch {
	case credentials.Status == CheckBlocked:
		routing.Readiness = credentials.Readiness
	case health.Status == CheckBlocked:
		routing.Readiness = health.Readiness
	case !st.AutoRouteReady:
		routing.Readiness = Readiness{
			CheckWarning, "no_models", "No model of it is known, so only tasks that name it and a model are routed to it.",
			"Set its _MODELS variable, or load a model there.",
		}
	}
	if routing.Status != CheckOK {
		st.RoutingBlockedReason = routing.Reason
	}
	st.ReadinessChecks = append(checks, routing)
	st.Readiness = Readiness{CheckOK, "ready", "It is ready.", ""}
	for _, severity := range []string{CheckBlocked, CheckWarning} {
		for _, c := range st.ReadinessChecks {
			if c.Status == severity {
				st.Readiness = c.Readiness
				return
			}
		}
	}
}

func (st *Status) credentials() Check {
	switch st.CredentialState {
	case CredentialMissing:
		return Check{"credentials", Readiness{
			CheckBlocked, "credential_missing", "An API key is required and none is configured.",
			"Set the API key of the provider.",
		}}
	case CredentialNotRequired:
		return Check{"credentials", Readiness{CheckOK, "not_required", "A local provider needs no key.", ""}}
	}
	return Check{"credentials", Readiness{CheckOK, "ready", "An API key is configured.", ""}}
}

func (st *Status) models(failure error) Check {
	r := Readiness{Status: CheckOK}
	switch {
	case st.DiscoverySource == sourceConfig:
		r.Reason, r.Message = "default_model_only", fmt.Sprintf("%d configured; the provider is not asked.", st.ModelCount)
	case failure != nil && st.ModelCount > 0:
		r = Readiness{
			CheckWarning, "discovery_failed", "The last try to list its models failed; an older list is in use.",
			"Look at last_error.",
		}
	case failure != nil:
		r = Readiness{
			CheckBlocked, "discovery_failed", "It could not be asked for its models.",
			"Look at last_error, or set its _MODELS variable.",
		}
	case st.ModelCount > 0:
		r.Reason, r.Message = "models_discovered", fmt.Sprintf("%d found.", st.ModelCount)
	case st.RefreshedAt.IsZero():
		r = Readiness{CheckUnknown, "unknown", "It was not yet asked for its models.", ""}
	default:
		r = Readiness{CheckBlocked, "no_models", "It lists no model.", "Load a model there, or set its _MODELS variable."}
	}
	return Check{"models", r}
}

func (st *Status) health(k figures) Check {
	r := Readiness{Status: CheckOK, Reason: "healthy", Message: "The last call went well."}
	switch {
	case st.Status == HealthOpen && k.Limited:
		r = Readiness{
			CheckBlocked, "provider_rate_limited", "It asked for fewer requests and is left alone until open_until.",
			"Wait, or raise the limit of the account.",
		}
	case st.Status == HealthOpen:
		r = Readiness{
			CheckBlocked, "circuit_open", "It failed repeatedly and is left alone until open_until.",
			"Look at last_error.",
		}
	case st.Status == HealthHalfOpen:
		r = Readiness{CheckWarning, "provider_unhealthy", "Its cool-down is over; the next call shows whether it works.", ""}
	case st.Status == HealthDegraded && k.Slow && k.Consecutive == 0:
		r = Readiness{CheckWarning, "provider_slow", "The last answer took longer than the configured limit.", ""}
	case st.Status == HealthDegraded:
		r = Readiness{CheckWarning, "provider_unhealthy", "The last call failed.", "Look at last_error."}
	case st.Status == HealthUnknown:
		r = Readiness{CheckUnknown, "unknown", "Nothing was asked of it yet.", ""}
	}
	return Check{"health", r}
}
