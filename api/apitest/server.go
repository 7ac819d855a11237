package apitest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"hecate/api"
	"hecate/api/auth"
	"hecate/api/stream"
	v1 "hecate/api/v1"
	"hecate/commands"
	"hecate/domain/permission"
	"hecate/eventstore"
	"hecate/projections/audit"
	"hecate/projections/presets"
	"hecate/projections/readdb"
	"hecate/projections/runner"
	"hecate/projections/runs"
	"hecate/projections/usage"
)

// Server is a server over a log and read models in memory, behind a real socket.
type Server struct {
	*httptest.Server
	X      *commands.Executor
	Store  eventstore.Store
	Models *runner.Runner
	Stop   func()                                      // ends the streams, as a shutdown does
	Dial   func(ctx context.Context) (net.Conn, error) // a connection to the server
}

// Options are what differs between the servers of tests. The zero value is an open
// server without gates.
type Options struct {
	Policies  []permission.Policy
	Progress  stream.Progress
	Token     string
	Origins   []string
	Address   string
	Public    string
	Slow      bool          // the read models never move
	Pipes     bool          // clients come over pipes in memory, not over sockets
	Patience  time.Duration // with them; a minute if zero and they move, for busy machines
	Log       io.Writer     // the server's log; nowhere if nil
	Shutdown  func()
	Retention func(*commands.Executor) v1.Retention
	Providers v1.Providers
	Operators auth.Operators
	Files     v1.PermissionFiles
	Proof     v1.Proof // ProofNever if empty
	Sandbox   string   // none if empty
}

// Start returns a running server that ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	x := Executor(t, o.Policies...)
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Patience == 0 && !o.Slow {
		o.Patience = time.Minute
	}
	o.Proof, o.Sandbox = cmp.Or(o.Proof, v1.ProofNever), cmp.Or(o.Sandbox, "none")
	log := slog.New(slog.NewTextHandler(o.Log, nil))
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	models, err := runner.New(t.Context(), runner.Config{Log: x.Store, DB: db, Models: []runner.Model{runs.Model{Log: x.Store}, usage.Model{}, presets.Model{}, audit.Model{}}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	partial := runs.Partial(nil)
	if o.Progress != nil {
		partial = func(_ context.Context, runID string) (string, bool) {
			text, version := o.Progress.Partial(runID)
			return text, version > 0
		}
	}
	var retention v1.Retention
	if o.Retention != nil {
		retention = o.Retention(x)
	}
	s, err := api.New(api.Config{
		Executor: x, Store: x.Store, Views: runs.NewViews(models, x.Store, partial), Models: models, Progress: o.Progress,
		Usage: usage.NewViews(models, "memory"), Presets: presets.NewViews(models), Audit: audit.NewViews(models), Providers: o.Providers,
		Host:      v1.Host{ID: "runtime_0123456789abcdef01234567", Label: "test", Version: "1.2.3", Sandbox: o.Sandbox, PublicURL: o.Public, Backend: "memory", WorkerCount: 2, RunsMax: 8},
		Operators: o.Operators, Proof: o.Proof, Permissions: o.Files, Patience: o.Patience, Shutdown: o.Shutdown, Retention: retention,
		Log: log, Token: o.Token, ListenAddress: o.Address, AllowedOrigins: o.Origins,
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := background(t, s.Run)
	stopModels := func() {}
	if !o.Slow {
		stopModels = background(t, models.Run)
	}
	hs, dial := listen(s, o.Pipes)
	t.Cleanup(func() {
		stop()
		hs.Close()
		stopModels()
		_ = db.Close()
	})
	return &Server{Server: hs, X: x, Store: x.Store, Models: models, Stop: stop, Dial: dial}
}

// listen starts the server.
func listen(h http.Handler, inMemory bool) (*httptest.Server, func(context.Context) (net.Conn, error)) {
	if inMemory {
		p := newPipes()
		return p.serve(h), p.dial
	}
	s := httptest.NewServer(h)
	return s, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}
}

// background runs f until the returned function is called, which waits for its end.
func background(t testing.TB, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("background work ended: %v", err)
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
}

// Client returns a client without a limit on time.
func (s *Server) Client() *http.Client { return s.Server.Client() }
