// Package api is the way in: HTTP operations, event streams and the document that
// describes them.
//
// A request passes the guard (api/auth), gets its ids (api/request) and reaches an
// operation (api/v1), which runs a command or asks a read model. Streams (api/stream)
// follow the log through one hub (api/feed). The log is the only way from here to the
// runtime that carries out runs.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/auth"
	"hecate/api/console"
	"hecate/api/docs"
	"hecate/api/feed"
	"hecate/api/request"
	"hecate/api/stream"
	v1 "hecate/api/v1"
	"hecate/commands"
	"hecate/domain/trace"
	"hecate/eventstore"
	"hecate/projections/audit"
	"hecate/projections/presets"
	"hecate/projections/runs"
	"hecate/projections/usage"
)

// Config is what a server is made of.
type Config struct {
	Executor  *commands.Executor
	Store     eventstore.Store
	Views     *runs.Views     // what the read models answer
	Usage     *usage.Views    // the same of what model calls cost
	Presets   *presets.Views  // the same of work policies
	Audit     *audit.Views    // the same of what events speak of
	Models    v1.Models       // how far the read models are
	Progress  stream.Progress // half-finished model output; nil if there is none
	Host      v1.Host         // what the server says about itself
	Providers v1.Providers    // whom it asks for models' answers; nil if nobody
	Log       *slog.Logger
	Patience  time.Duration // how long an answer waits for the read models; 2 s if zero
	Retention v1.Retention  // erases what is no longer kept; nil if nothing does
	Shutdown  func()        // asks the process to end and returns at once; nil if no request may

	// Sampled decides whether a trace that begins with a request, or that its caller has
	// begun, is kept; nil: as the caller says, else yes.
	Sampled func(traceID string, caller trace.Parent) bool
	// Served is told of each request that has been answered, before the next one of the
	// connection is read; nil if nobody wants to know.
	Served func(request.Served)

	Permissions v1.PermissionFiles // of the server's machine; nil if it has none

	Token          string         // needed below /hecate/v1, if not empty
	Operators      auth.Operators // whose tokens prove who asks; nil for nobody's
	Proof          v1.Proof       // when decisions need such a token; ProofAuto if empty
	ListenAddress  string         // host:port; requests for this host are for us
	AllowedOrigins []string       // origins of browsers that may use the API
}

// patience is how long an answer waits for the read models by default. They lag by
// milliseconds; past this, something is wrong with them.
const patience = 2 * time.Second

// listsAreNeverNull is a setting of huma for the whole process.
var listsAreNeverNull = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

// Server answers HTTP requests.
type Server struct {
	http.Handler
	hub *feed.Hub
	doc *huma.OpenAPI
}

// New puts a server together. It serves at once; Run keeps its streams moving.
func New(c Config) (*Server, error) {
	if c.Executor == nil || c.Store == nil || c.Views == nil || c.Usage == nil || c.Presets == nil || c.Audit == nil || c.Models == nil || c.Log == nil {
		return nil, errors.New("make the API: executor, store, views, usage, presets, audit, models and log are needed")
	}
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.Sampled == nil {
		c.Sampled = func(_ string, caller trace.Parent) bool { return caller.TraceID == "" || caller.Sampled() }
	}
	listsAreNeverNull()
	reader := feed.NewReader(c.Store)
	hub := feed.NewHub(reader, c.Log)
	mux := http.NewServeMux()
	h := humago.New(mux, document(c))
	v1.Register(h, v1.Config{
		Commands: c.Executor, Views: c.Views, Models: c.Models, Feed: reader,
		Events: &stream.Events{Hub: hub, Log: c.Log},
		Runs:   &stream.Runs{Hub: hub, Feed: reader, Views: c.Views, Models: c.Models, Progress: c.Progress, Patience: c.Patience, Log: c.Log},
		Usage:  c.Usage, Presets: c.Presets, Audit: c.Audit, Providers: c.Providers, Permissions: c.Permissions, Retention: c.Retention, Host: c.Host, Proof: c.Proof, Shutdown: c.Shutdown, Clock: c.Executor.Clock, Patience: c.Patience, Log: c.Log,
	})
	v1.Describe(h.OpenAPI())
	docs.Mount(mux, h.OpenAPI())
	console.Mount(mux)
	guard := auth.New(auth.Config{
		Token: c.Token, Protected: v1.Base, ListenAddress: c.ListenAddress, PublicURL: c.Host.PublicURL, AllowedOrigins: c.AllowedOrigins,
		Operators: c.Operators,
	})
	door := &door{next: route{mux}, guard: guard, models: c.Models, head: c.Store.Head, random: c.Executor.NewSalt, wait: c.Patience, clock: c.Executor.Clock, log: c.Log, sampled: c.Sampled, served: c.Served}
	return &Server{Handler: door, hub: hub, doc: h.OpenAPI()}, nil
}

// Run moves the event streams until ctx ends; then it ends them. Call it once, before
// the HTTP server is shut down.
func (s *Server) Run(ctx context.Context) error { return s.hub.Run(ctx) }

// OpenAPI is the document of all operations.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.doc }

func document(c Config) huma.Config {
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Hecate",
				Version: c.Host.Version,
				Description: "An event-sourced runtime for AI agents. Successful answers are `{\"object\": …, \"data\": …}`, errors are " +
					"`{\"error\": {\"type\", \"message\"}}`. Unknown members of a request are ignored; accept unknown members of an answer. " +
					"Every answer says in `Hecate-Position` which position of the log it reflects.",
			},
			Servers:    []*huma.Server{{URL: "/", Description: "This server"}},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", v1.SchemaName)},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}
	config.AllowAdditionalPropertiesByDefault = true // in both directions
	return config
}
