package v1

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/envelope"
)

// shutdownAnswer is the one answer without data.
type shutdownAnswer struct {
	Object string `json:"object" doc:"Names the kind of the answer." enum:"system_shutdown"`
}

func (a *API) registerShutdown() {
	register(a, spec{
		id: "shutDown", method: http.MethodPost, path: Base + "/system/shutdown", tag: "System", status: http.StatusAccepted, local: true,
		summary: "End the server",
		description: "Answers, and then ends the process as a signal would: runs under way are not cancelled, they go on with the next start or at another worker. " +
			"Only from the server's own machine.",
		answer: reflect.TypeFor[shutdownAnswer](), example: map[string]any{"object": "system_shutdown"},
	}, a.shutDown)
}

func (a *API) shutDown(context.Context, *struct{}) (*StreamOutput, error) {
	if a.Shutdown == nil {
		return nil, envelope.New(http.StatusServiceUnavailable, envelope.TypeGateway, "this server cannot be ended over HTTP")
	}
	return &StreamOutput{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Connection", "close") // the end does not wait for this client
		w.WriteHeader(http.StatusAccepted)
		// Whether the client reads the answer or not, it asked for the end.
		_ = json.NewEncoder(w).Encode(shutdownAnswer{Object: "system_shutdown"})
		_ = http.NewResponseController(w).Flush()
		a.Shutdown()
	}}, nil
}
