// Package fault names the few kinds of error that may cross the border of the
// system. A fault carries text that the caller may see; every other error is
// shown outside as an internal error.
package fault

import (
	"errors"
	"fmt"
)

// Kind says what the caller can do about a fault.
type Kind string

// The kinds of fault. The API maps each to one HTTP status.
const (
	KindInvalid       Kind = "invalid"       // the request is wrong and stays wrong
	KindForbidden     Kind = "forbidden"     // the operator does not allow it
	KindNotFound      Kind = "not_found"     // no such thing
	KindConflict      Kind = "conflict"      // the request is right, the state is not
	KindUnprocessable Kind = "unprocessable" // well formed, but cannot be carried out as configured
	KindUnavailable   Kind = "unavailable"   // try again later
)

// Fault is an error with a kind, a stable code and a text for the caller.
type Fault struct {
	Kind    Kind
	Code    string // stable, lower_snake_case
	Message string // one sentence: what happened, where, what to do next
}

func (f *Fault) Error() string { return f.Message }

// Invalid reports a request that is wrong in itself.
func Invalid(code, format string, args ...any) error {
	return &Fault{KindInvalid, code, fmt.Sprintf(format, args...)}
}

// Forbidden reports what the operator of the server does not allow. The message names the setting.
func Forbidden(code, format string, args ...any) error {
	return &Fault{KindForbidden, code, fmt.Sprintf(format, args...)}
}

// NotFound reports that the named thing does not exist.
func NotFound(code, format string, args ...any) error {
	return &Fault{KindNotFound, code, fmt.Sprintf(format, args...)}
}

// Conflict reports that the state of the thing forbids the request.
func Conflict(code, format string, args ...any) error {
	return &Fault{KindConflict, code, fmt.Sprintf(format, args...)}
}

// Unprocessable reports a request that is well formed and cannot be carried out as things are configured.
func Unprocessable(code, format string, args ...any) error {
	return &Fault{KindUnprocessable, code, fmt.Sprintf(format, args...)}
}

// Unavailable reports a condition that passes by itself.
func Unavailable(code, format string, args ...any) error {
	return &Fault{KindUnavailable, code, fmt.Sprintf(format, args...)}
}

// Of returns the fault in err's chain, if there is one.
func Of(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}
