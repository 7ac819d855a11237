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
	Pending bool      // a provider has not said yet which models it has: wait for that, and ask again
}

func (e *RouteError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *RouteError) Unwrap() error { return e.Fault }
