package model

import "time"

// Route is who is asked, and for what.
type Route struct {
	Provider string
	Kind     string // cloud or local
	Model    string
	Reason   string // why this one: pinned_provider, requested_model or provider_default_model
	Client   Client
}

// RouteError says that nobody can be asked. What it wraps is a *fault.Fault with
// a stable code and a text for the operator.
type RouteError struct {
	Fault   error
	RetryAt time.Time // when asking again is worth it at the earliest; zero: waiting changes nothing
}

func (e *RouteError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *RouteError) Unwrap() error { return e.Fault }

// Attempt is one call that was made, as it is reported for the health of its provider.
type Attempt struct {
	Route   Route         // as it was handed out, with its client
	Started time.Time     // when the request left
	Latency time.Duration // until the whole answer or the failure
	Err     error         // nil: an answer came
	Number  int           // which try at this provider it was, from 1
	// RequestID and TraceID are what the provider's history refers to; both may be empty.
	RequestID string
	TraceID   string
}
