// Package v1 is the HTTP interface below /hecate/v1: one file per group of
// operations. An operation reads its request, runs one command or asks one read
// model, and answers in the envelope. It decides nothing.
//
// The operations are declared for the OpenAPI document at the same time; what the
// document says about an operation stands in its spec, next to the handler.
package v1

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/auth"
	"hecate/api/envelope"
	"hecate/api/feed"
	"hecate/api/stream"
	"hecate/commands"
	"hecate/domain/clock"
	"hecate/projections/audit"
	"hecate/projections/presets"
	"hecate/projections/runner"
	"hecate/projections/runs"
	"hecate/projections/traces"
	"hecate/projections/usage"
)

// Base is what every path of this package begins with.
const Base = "/hecate/v1"

// Models is how far the read models are, and how to build them anew.
type Models interface {
	// WaitFor returns once the models show everything up to a position, or with ctx's error.
	WaitFor(ctx context.Context, position int64, models ...string) error
	// Position is what the models show at least.
	Position(models ...string) (int64, error)
	// Status tells where each model stands.
	Status(ctx context.Context) ([]runner.Status, error)
	// Rebuild makes one model, or all if name is empty, anew from the log.
	Rebuild(ctx context.Context, name string, progress func(runner.Progress)) error
}

// Config is what the operations work with.
type Config struct {
	Commands  *commands.Executor
	Views     *runs.Views
	Usage     *usage.Views
	Presets   *presets.Views
	Audit     *audit.Views
	Models    Models
	Feed      *feed.Reader
	Events    *stream.Events
	Runs      *stream.Runs
	Host      Host
	Proof     Proof     // when decisions need a verified operator; ProofAuto if empty
	Providers Providers // nil if the server asks none
	// Permissions are the permission files of this machine; nil if the server has none.
	Permissions PermissionFiles
	Retention   Retention // nil if nothing is erased because of its age or number
	Shutdown    func()    // asks the process to end and returns at once; nil if nobody may
	Clock       clock.Clock
	Patience    time.Duration // how long an answer waits for the read models to reach it
	Log         *slog.Logger
}

// Host is what the server says about itself.
type Host struct {
	ID          string // stable for a data directory, "runtime_…"
	Label       string // the machine's name or one chosen by the operator
	Version     string
	PublicURL   string
	Sandbox     string // bwrap, sandbox-exec or none
	SandboxPath string
	Backend     string // of the log: sqlite, postgres or memory
	WorkerCount int    // runs that this process executes at a time; 0 if it executes none
	RunsMax     int    // runs that all processes over the log execute at a time; 0 for no bound
	RTKPath     string // of the program that shortens the output of commands; "" if there is none
}

// API holds the operations of one server.
type API struct {
	Config
	huma   huma.API
	ends   *ends
	traces *traces.Reader
	pasts  chan struct{} // one for each history that is being folded
}

// Register declares all operations on h.
func Register(h huma.API, c Config) {
	if c.Providers == nil {
		c.Providers = noProviders{}
	}
	a := &API{Config: c, huma: h, pasts: make(chan struct{}, pastsMax), ends: &ends{log: c.Commands.Store, clock: c.Clock, runs: map[string]time.Time{}}, traces: traces.NewReader(c.Commands.Store, c.Host.Backend)}
	a.registerTasks()
	a.registerRuns()
	a.registerRunsAgain()
	a.registerRunParts()
	a.registerCalls()
	a.registerPatches()
	a.registerOperations()
	a.registerTake()
	a.registerApprovals()
	a.registerRunEvents()
	a.registerEvents()
	a.registerAudit()
	a.registerCauses()
	a.registerProof()
	a.registerPast()
	a.registerErase()
	a.registerPresets()
	a.registerPermissions()
	a.registerUsage()
	a.registerProviders()
	a.registerTraces()
	a.registerSystem()
	a.registerRetention()
	a.registerStats()
	a.registerShutdown()
}

// spec is an operation as the document shows it.
type spec struct {
	id, method, path string
	tag              string
	summary          string
	description      string
	status           int   // 0 means 200
	fails            []int // statuses beside those that every operation may answer, see failures
	body             reflect.Type
	bodyOptional     bool
	bodyExample      any
	example          any // of the answer
	open             bool
	local            bool         // only for requests from the server's own machine
	keyed            bool         // the client may name the request, see request.KeyHeader
	operates         bool         // a worker does it, and it may take longer than the answer waits
	media            string       // of the answer, if it is no JSON
	answer           reflect.Type // if the handler writes the answer itself
}

// register declares one operation. Whatever the handler returns as an error leaves
// in the envelope.
func register[I, O any](a *API, s spec, handle func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: s.id, Method: s.method, Path: s.path, Summary: s.summary, Description: s.description,
		Tags: []string{s.tag}, DefaultStatus: s.status,
		SkipValidateParams: true, // each operation checks its own, with the contract's leniency
	}
	if s.local {
		op.Middlewares = huma.Middlewares{a.fromHere}
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, envelope.From(ctx, a.Log, err)
		}
		return out, nil
	})
	a.document(s)
}

// fromHere lets only requests from the server's own machine pass. What they carry is
// not read before.
func (a *API) fromHere(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if refused := auth.LocalOnly(r); refused != nil {
		envelope.From(r.Context(), a.Log, refused).Write(w)
		return
	}
	next(ctx)
}

// ready waits until the read models show a position: those of tasks and runs if none is
// named. It returns false if they take too long; the answer must then come from elsewhere
// and say so.
func (a *API) ready(ctx context.Context, position int64, models ...string) bool {
	if len(models) == 0 {
		models = []string{runs.Name}
	}
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	return a.Models.WaitFor(ctx, position, models...) == nil
}
