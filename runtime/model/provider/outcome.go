package provider

import (
	"errors"
	"net"
	"net/http"
	"time"

	"hecate/runtime/model"
)

// Classes of errors, as they are shown and counted.
const (
	ClassTimeout         = "timeout"
	ClassRateLimited     = "rate_limited"
	ClassServerError     = "server_error"
	ClassNetwork         = "network"
	ClassAuth            = "auth_failed"
	ClassInvalidRequest  = "invalid_request"
	ClassInvalidResponse = "invalid_response"
)

// outcome is what a failed call says about its provider.
type outcome struct {
	ignored  bool // nothing
	answered bool // that it works: it refused this request
	passing  bool // that it fails in a way that may pass
	class    string
	message  string
	wait     time.Duration
}

func outcomeOf(err error) outcome {
	var e *model.Error
	switch {
	case err == nil:
		return outcome{}
	case !errors.As(err, &e):
		return outcome{ignored: true} // it never left this process
	}
	o := outcome{class: classOf(e), message: e.Error(), wait: e.RetryAfter, passing: e.Retryable}
	switch e.Kind {
	case model.Canceled:
		// The caller's patience ran out before a byte came: that is the provider's
		// silence. Every other end is the caller's own business.
		o.passing = o.class == ClassTimeout && !e.Begun
		o.ignored = !o.passing
	case model.InvalidRequest, model.ContextLength:
		o.answered, o.ignored = e.Status > 0, e.Status == 0
	}
	return o
}

func classOf(e *model.Error) string {
	var slow net.Error
	switch {
	case e.Kind == model.RateLimited:
		return ClassRateLimited
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusGatewayTimeout,
		errors.As(e.Cause, &slow) && slow.Timeout():
		return ClassTimeout
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return ClassAuth
	case e.Kind == model.InvalidRequest, e.Kind == model.ContextLength:
		return ClassInvalidRequest
	case e.Kind == model.InvalidResponse:
		return ClassInvalidResponse
	case e.Kind == model.Unreachable, e.Kind == model.IncompleteStream:
		return ClassNetwork
	}
	return ClassServerError
}
