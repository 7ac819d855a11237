package envelope_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"hecate/api/envelope"
	"hecate/domain/fault"
)

// Errors leave with their status, and nothing of their cause leaves with those that
// are nobody's fault outside.
func TestFrom(t *testing.T) {
	refused := fmt.Errorf("read head: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")})
	for _, c := range []struct {
		err    error
		status int
		typ    string
	}{
		{fault.Invalid("invalid_request", "no"), 400, "invalid_request"},
		{fault.Forbidden("forbidden", "no"), 403, "forbidden"},
		{fault.NotFound("not_found", "no"), 404, "not_found"},
		{fault.Conflict("conflict", "no"), 409, "conflict"},
		{fault.Unprocessable("model_not_configured", "no"), 422, "model_not_configured"},
		{refused, 503, "unavailable"},
		{errors.New("secret cause"), 500, "gateway_error"},
	} {
		e := envelope.From(context.Background(), slog.New(slog.DiscardHandler), c.err)
		if e.Status != c.status || e.Body.Type != c.typ {
			t.Errorf("%v: %d %s, want %d %s", c.err, e.Status, e.Body.Type, c.status, c.typ)
		}
		if text := e.Body.Message + e.Body.OperatorAction; strings.Contains(text, "secret") || strings.Contains(text, "refused") {
			t.Errorf("the cause is shown: %s", text)
		}
	}
}
