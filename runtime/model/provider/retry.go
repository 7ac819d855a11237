package provider

import (
	"time"

	"hecate/runtime/model"
)

// Retry is how often and after which wait a provider is asked again.
type Retry struct {
	Attempts int           // requests in all, the first one included; 1: never again
	Backoff  time.Duration // wait before the second request; it doubles with each one
	WaitMax  time.Duration // longest wait; a provider that asks for more is not asked again
}

// After decides what follows a failed attempt (numbered from 1) at one provider:
// whether to ask it again, and after which wait. Asking again is only for
// failures that may pass and before any of an answer has arrived. A wait that
// the provider asked for is never cut short.
func (r Retry) After(attempt int, err *model.Error) (wait time.Duration, again bool) {
	if attempt >= r.Attempts || !err.Retryable || err.Begun || err.RetryAfter > r.WaitMax {
		return 0, false
	}
	wait = min(r.Backoff, r.WaitMax)
	for n := 1; n < attempt && wait < r.WaitMax; n++ {
		wait = min(2*wait, r.WaitMax)
	}
	return max(wait, err.RetryAfter), true
}
