package v1

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/auth"
	"hecate/api/request"
	"hecate/domain/fault"
)

type healthOutput struct {
	Body health
}

type health struct {
	Status  string  `json:"status" doc:"Always ok: a server that is not does not answer." enum:"ok"`
	Time    string  `json:"time" format:"date-time" doc:"The server's time, in seconds."`
	Version string  `json:"version" doc:"Version of the server."`
	Sandbox sandbox `json:"sandbox" doc:"How runs are confined."`
}

type sandbox struct {
	OSIsolation osIsolation `json:"os_isolation" doc:"The part of it that the operating system does."`
}

type osIsolation struct {
	Kind string `json:"kind" doc:"What confines the commands that runs start." enum:"bwrap,sandbox-exec,none"`
	Path string `json:"path,omitempty" doc:"The program that does it."`
}

type session struct {
	Role         string       `json:"role" doc:"What the caller may do." enum:"operator"`
	Actor        sessionActor `json:"actor" doc:"As whom the log has what the caller does."`
	RuntimeHost  runtimeHost  `json:"runtime_host" doc:"The server."`
	Capabilities capabilities `json:"capabilities" doc:"What the server can do."`
}

type sessionActor struct {
	Kind     string `json:"kind" doc:"An operator has proved who it is; anybody else is a client." enum:"operator,client"`
	Name     string `json:"name,omitempty" doc:"Of an operator, that of the token. Of a client, what it said, if anything."`
	Verified bool   `json:"verified" doc:"Whether a token proved the name. Decisions may need that."`
}

type runtimeHost struct {
	ID             string `json:"id" doc:"Stays the same for a data directory."`
	Label          string `json:"label" doc:"The machine's name, or one that the operator chose."`
	Mode           string `json:"runtime_mode" doc:"How the server runs." enum:"local"`
	OperatorAccess string `json:"operator_access" doc:"As whom the caller is let in." enum:"local_operator"`
	PublicURL      string `json:"public_url,omitempty" doc:"The URL that clients should use."`
	LocalActions   bool   `json:"local_only_actions_available" doc:"Whether this request could use what is only for the server's own machine, such as ending the server."`
}

type capabilities struct {
	LocalProviders bool `json:"local_providers_allowed" doc:"Whether model providers on this machine can be used."`
}

// projection is where one read model stands.
type projection struct {
	Name       string `json:"name" doc:"Name of the read model."`
	Position   int64  `json:"position" doc:"Everything in the log up to here is visible."`
	Head       int64  `json:"head" doc:"Position of the newest event of the log."`
	Lag        int64  `json:"lag" doc:"Events after position."`
	Parked     int64  `json:"parked" doc:"Streams with an event that the model could not take; they stand still, all others go on."`
	Rebuilding bool   `json:"rebuilding" doc:"Whether it is being made anew from the log. The present one is read until then."`
	RebuiltTo  int64  `json:"rebuilt_to,omitempty" doc:"How far the new one is."`
	Trouble    string `json:"trouble,omitempty" doc:"Of a target outside: why nothing is sent at the moment, or why the last message was given up."`
}

type rebuildRequest struct {
	Name string `json:"name,omitempty" doc:"The read model; all of them if absent."`
}

type rebuildInput struct {
	Payload optional[rebuildRequest]
}

func (a *API) registerSystem() {
	register(a, spec{
		id: "getHealth", method: http.MethodGet, path: "/healthz", tag: "System", open: true,
		summary:     "Tell that the server is alive",
		description: "Needs no token and answers plain JSON without the envelope.",
		example:     map[string]any{"status": "ok", "time": "2026-02-03T09:30:00Z", "version": "1.0.0", "sandbox": map[string]any{"os_isolation": map[string]any{"kind": "bwrap", "path": "/usr/bin/bwrap"}}},
	}, a.health)
	register(a, spec{
		id: "whoAmI", method: http.MethodGet, path: Base + "/whoami", tag: "System",
		summary:     "Tell who is asking and who answers",
		description: "The caller's role and as whom the log has them, and the server's identity and abilities.",
	}, a.whoAmI)
	register(a, spec{
		id: "listProjections", method: http.MethodGet, path: Base + "/system/projections", tag: "System",
		summary: "List the read models",
		description: "Read models are folded from the log and lag it by milliseconds. This says where each one stands. " +
			"Brokers and webhooks that the server sends to are listed, too: they follow the log in the same way, and cannot be rebuilt.",
	}, a.listProjections)
	register(a, spec{
		id: "rebuildProjections", method: http.MethodPost, path: Base + "/system/projections/rebuild", tag: "System",
		summary: "Rebuild read models",
		description: "Makes one read model, or all, anew from the log beside the ones that are read, and puts them in their place. " +
			"Answers when that is done; a client that leaves earlier ends it, and the old ones stay.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
		body:  reflect.TypeFor[rebuildRequest](), bodyOptional: true, bodyExample: map[string]any{"name": "runs"},
	}, a.rebuildProjections)
}

func (a *API) health(context.Context, *struct{}) (*healthOutput, error) {
	out := &healthOutput{Body: health{Status: "ok", Time: a.Clock.Now().UTC().Format(time.RFC3339), Version: a.Host.Version}}
	out.Body.Sandbox.OSIsolation = osIsolation{Kind: a.Host.Sandbox, Path: a.Host.SandboxPath}
	return out, nil
}

// whoAmIInput is a request without input; where it comes from is part of the answer.
type whoAmIInput struct{ local bool }

// Resolve finds out whether the request comes from the server's own machine.
func (in *whoAmIInput) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	in.local = auth.LocalOnly(r) == nil
	return nil
}

func (a *API) whoAmI(ctx context.Context, in *whoAmIInput) (*answer[session], error) {
	return of("session", session{
		Role: "operator", Actor: actorOf(request.From(ctx)),
		RuntimeHost: runtimeHost{
			ID: a.Host.ID, Label: a.Host.Label, Mode: "local", OperatorAccess: "local_operator",
			PublicURL: a.Host.PublicURL, LocalActions: in.local,
		},
		Capabilities: capabilities{LocalProviders: true},
	}), nil
}

// actorOf is the caller as events name it.
func actorOf(r request.Info) sessionActor {
	kind := r.Actor.Kind
	if kind == "" {
		kind = request.KindClient
	}
	return sessionActor{Kind: kind, Name: r.Actor.Name, Verified: r.Verified()}
}

func (a *API) listProjections(ctx context.Context, _ *struct{}) (*answer[[]projection], error) {
	states, err := a.Models.Status(ctx)
	if err != nil {
		return nil, err
	}
	var out []projection
	for _, s := range states {
		p := projection{Name: s.Model, Position: s.Position, Head: s.Position + s.Lag, Lag: s.Lag, Parked: s.Parked, Rebuilding: s.Rebuilding != nil, Trouble: s.Trouble}
		if s.Rebuilding != nil {
			p.RebuiltTo = s.Rebuilding.Position
		}
		out = append(out, p)
	}
	return list("projections", out), nil
}

func (a *API) rebuildProjections(ctx context.Context, in *rebuildInput) (*answer[[]projection], error) {
	if err := a.Models.Rebuild(ctx, in.Payload.Value.Name, nil); err != nil {
		if ctx.Err() != nil {
			return nil, fault.Unavailable("unavailable", "the rebuild was interrupted; the old read models stay")
		}
		return nil, err
	}
	return a.listProjections(ctx, nil)
}
