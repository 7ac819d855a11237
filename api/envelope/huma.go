package envelope

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hecate/api/request"
)

// The framework makes errors of its own, for which it has one hook in the process.
// It is set before main, so that servers can be made at any time.
var _ = useOwnErrors()

func useOwnErrors() bool {
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		e := fromHuma(status, msg, errs)
		e.Body.RequestID = request.From(ctx.Context()).ID
		return e
	}
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return fromHuma(status, msg, errs)
	}
	return true
}

// fromHuma gives the framework's findings our form. One of ours among them wins.
func fromHuma(status int, msg string, errs []error) *Error {
	var texts []string
	for _, err := range errs {
		switch e := err.(type) { //nolint:errorlint // the framework hands them over unwrapped
		case *Error:
			out := *e
			return &out
		case *huma.ErrorDetail:
			texts = append(texts, fmt.Sprintf("%s: %s", e.Location, e.Message))
		case nil:
		default:
			texts = append(texts, e.Error())
		}
	}
	switch {
	case status >= http.StatusInternalServerError:
		return New(status, TypeGateway, "internal error")
	case status == http.StatusUnprocessableEntity:
		status = http.StatusBadRequest
	case status == http.StatusRequestEntityTooLarge:
		return New(status, TypeTooLarge, msg)
	}
	if len(texts) > 0 {
		msg = strings.Join(texts, "; ")
	}
	return New(status, TypeInvalid, msg)
}
