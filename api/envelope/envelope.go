// Package envelope is how answers look: {"object": …, "data": …}, and for an error
// {"error": {…}}. Every error of the API, whoever finds it, leaves through here.
package envelope

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"

	"hecate/api/request"
	"hecate/domain/fault"
)

// The types of error that clients tell apart. Faults bring their own codes.
const (
	TypeInvalid      = "invalid_request"
	TypeUnauthorized = "unauthorized"
	TypeForbidden    = "forbidden"
	TypeNotFound     = "not_found"
	TypeMethod       = "method_not_allowed"
	TypeTooLarge     = "request_too_large"
	TypeTimeout      = "request_body_timeout"
	TypeGateway      = "gateway_error"  // something inside failed
	TypeInternal     = "internal_error" // something inside broke
	TypeUnavailable  = "unavailable"
)

// Answer is a successful answer. Object names what data is.
type Answer[T any] struct {
	Object string `json:"object" doc:"Names the kind of the answer."`
	Data   T      `json:"data" doc:"The answer itself."`
}

// Error is an answer that says what went wrong. It is an error, too.
type Error struct {
	Status int    `json:"-"`
	Body   Detail `json:"error" doc:"What went wrong."`
}

// Detail is what a client learns about an error.
type Detail struct {
	Type           string `json:"type" doc:"Stable name of the error, such as invalid_request, not_found or conflict." example:"invalid_request"`
	Message        string `json:"message" doc:"What happened, in one sentence." example:"request body must be valid JSON"`
	UserMessage    string `json:"user_message,omitempty" doc:"The same for somebody who does not operate the server."`
	OperatorAction string `json:"operator_action,omitempty" doc:"What an operator can do about it."`
	RequestID      string `json:"request_id,omitempty" doc:"The request, as it stands in the server's log." example:"req_5f0c2c6f2a7b4d1e9a3c8b70"`
}

// New returns an error answer.
func New(status int, typ, message string) *Error {
	return &Error{Status: status, Body: Detail{Type: typ, Message: message}}
}

// Error returns the message.
func (e *Error) Error() string { return e.Body.Message }

// GetStatus returns the HTTP status.
func (e *Error) GetStatus() int { return e.Status }

// statuses gives every kind of fault its HTTP status.
var statuses = map[fault.Kind]int{
	fault.KindInvalid:       http.StatusBadRequest,
	fault.KindForbidden:     http.StatusForbidden,
	fault.KindNotFound:      http.StatusNotFound,
	fault.KindConflict:      http.StatusConflict,
	fault.KindUnprocessable: http.StatusUnprocessableEntity,
	fault.KindUnavailable:   http.StatusServiceUnavailable,
}

// From turns any error into an answer. What is no fault is shown as an internal
// error, and its cause goes to the log only.
func From(ctx context.Context, log *slog.Logger, err error) *Error {
	r := request.From(ctx)
	var e *Error
	if f, ok := fault.Of(err); ok {
		e = New(statuses[f.Kind], f.Code, f.Message)
	} else if !errors.As(err, &e) {
		if ctx.Err() == nil {
			log.ErrorContext(ctx, "request failed", "request_id", r.ID, "error", err)
		}
		e = New(http.StatusInternalServerError, TypeGateway, "internal error")
		if away(err) {
			e = New(http.StatusServiceUnavailable, TypeUnavailable, "the database cannot be reached at the moment")
			e.Body.OperatorAction = "Look whether the database runs, and try again."
		}
	}
	out := *e // errors may be shared
	out.Body.RequestID = r.ID
	return &out
}

// away reports whether an error is that of a connection, and not of what was asked.
func away(err error) bool {
	var connection net.Error
	return errors.As(err, &connection) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// Write sends e as the whole answer. Nothing may have been sent before.
func (e *Error) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	// The client may be gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(e)
}
