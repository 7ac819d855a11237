package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"hecate/api"
	"hecate/api/stream"
	v1 "hecate/api/v1"
	"hecate/cmd/hecate/internal/operators"
	"hecate/cmd/hecate/internal/retain"
	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/secret"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/projections/audit"
	"hecate/projections/presets"
	"hecate/projections/runner"
	"hecate/projections/runs"
	costs "hecate/projections/usage"
	"hecate/runtime/assess"
	"hecate/runtime/permissions"
	"hecate/runtime/worker"
	"hecate/runtime/workspace"
	"hecate/tools"
	"hecate/tools/egress"
	"hecate/tools/sandbox"
)

// How often, and how long apart, a taken address is tried.
const (
	listenTries = 10
	listenPause = 30 * time.Millisecond
)

// drainMargin is what is left of the time to stop for everything but commands under way.
const drainMargin = 2 * time.Second

// httpDrain is how long requests under way may take when the node ends.
const httpDrain = 3 * time.Second

// node is one running server: log, read models, API and workers.
type node struct {
	config   config
	log      *slog.Logger
	stores   *stores
	sealer   *proof.Sealer // nil for a log in memory
	witness  *witness      // of its checkpoints, nil if there is none
	models   *runner.Runner
	pool     *worker.Pool
	api      *api.Server
	progress stream.Progress // half-finished answers, of all nodes
	partials *partials       // nil if there is one node
	files    *permissions.Files
	secrets  *secret.Set // withheld from all that is recorded
	lock     *os.File    // on the data directory
	http     *http.Server
	listener net.Listener
	observed *observed
	outbound *outbound // brokers and webhooks
	retained *retain.Worker

	stop  context.CancelFunc
	asked atomic.Bool // to stop, by a request
	ended chan struct{}
	err   error // after ended
}

// startNode starts a server that is configured by NAME=VALUE pairs. It returns when
// the server answers requests; what an earlier process left open goes on at once.
func startNode(ctx context.Context, environ []string, log *slog.Logger) (*node, error) {
	c, err := readConfig(environ)
	if err != nil {
		return nil, err
	}
	n := &node{config: c, log: log, ended: make(chan struct{})}
	if err := n.open(ctx); err != nil {
		n.release()
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	go n.run(running)
	return n, nil
}

// open brings up everything in the order in which it depends on each other.
func (n *node) open(ctx context.Context) error {
	if n.config.Sandbox != sandboxNone {
		// Trying the wrapper out takes as long as opening the stores; toolSettings waits for it.
		go sandbox.Detect()
	}
	n.secrets = holdSecrets(n.config, n.log)
	var err error
	if n.observed, n.log, err = observe(ctx, n.config.Telemetry, n.secrets, n.log); err != nil {
		return err
	}
	var environ []string
	for k, v := range n.config.environ {
		environ = append(environ, k+"="+v)
	}
	providers, err := readProviders(environ)
	if err != nil {
		return err
	}
	hostID, err := hostID(n.config.DataDir)
	if err != nil {
		return err
	}
	if n.lock, err = lockNode(n.config.DataDir); err != nil {
		return err
	}
	known, err := n.openData(ctx)
	if err != nil {
		return err
	}
	if n.config.OperatorProof == v1.ProofNever {
		n.log.Warn("whoever reaches the API may answer approvals, commands of agents as well", "HECATE_OPERATOR_TOKEN_REQUIRED", "never")
	}
	if n.sealer, err = openSealer(ctx, n.config, n.stores.log, n.log); err != nil {
		return err
	}
	holdOwn(n.secrets, n.config, known)
	if n.sealer != nil && n.config.AuditWitness != "" {
		n.witness = newWitness(n.config.AuditWitness, n.log)
		keep := n.sealer.Signed
		n.sealer.Signed = func(checkpoint []byte) { keep(checkpoint); n.witness.tell(checkpoint) }
	}
	if err := n.observed.follow(ctx, n, hostID); err != nil {
		return err
	}
	n.models, err = runner.New(ctx, runner.Config{Log: n.stores.log, DB: n.stores.views, Models: []runner.Model{runs.Model{Log: n.stores.log}, costs.Model{}, presets.Model{}, audit.Model{}}, Logger: n.log})
	if err != nil {
		return err
	}
	executor := &commands.Executor{
		Store: n.stores.log, Clock: clock.System{}, NewID: newEventID, NewSalt: newSalt,
		Secrets: n.secrets, Policies: n.config.Policies, ModelCallsMax: n.config.ModelCallsMax, LevelsForbidden: n.config.Levels == "forbid",
	}
	settings, err := toolSettings(n.config)
	if err != nil {
		return err
	}
	settings.Secrets = n.secrets
	n.files = permissions.New(userConfigDir(n.config.environ), n.log)
	workers := n.workerConfig(executor, providers, settings, hostID)
	instrument(&workers)
	n.pool = worker.New(workers)
	n.progress = n.pool.Progress
	if shared, ok := n.stores.log.(eventstore.SharedProgress); ok {
		n.partials = newPartials(n.pool.Progress, shared, n.log)
		n.progress = n.partials
	}
	if n.listener, err = listen(n.config.Address); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if n.outbound, err = openOutbound(ctx, n.config, n.stores, n.BaseURL(), n.log); err != nil {
		return err
	}
	places := audit.NewViews(n.models)
	n.retained = retain.New(executor, places, n.config.Retention, n.config.RetentionInterval, n.log)
	n.api, err = api.New(api.Config{
		Executor: executor, Store: n.stores.log, Views: runs.NewViews(n.models, n.stores.log, n.partial), Models: shownModels{n.models, n.outbound, n.secrets}, Progress: n.progress,
		Usage: costs.NewViews(n.models, n.config.Backend), Presets: presets.NewViews(n.models), Audit: places, Retention: n.retained, Providers: shownProviders{providers.set, n.secrets}, Shutdown: n.askToStop,
		Permissions: permissionFiles{n.files}, Sampled: n.observed.tracer.Sampled, Served: n.observed.served(),
		Host: n.host(hostID, settings), Log: n.log, Token: n.config.RuntimeToken, Operators: heldOperators{known, n.secrets}, Proof: proofOf(n.config, settings.Wrapper), ListenAddress: n.listener.Addr().String(), AllowedOrigins: n.config.AllowedOrigins,
	})
	if err != nil {
		return err
	}
	n.http = &http.Server{Handler: n.api, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	return writeRuntimeFile(n.config.DataDir, n.BaseURL(), n.listener.Addr().String())
}

// openData opens the stores and the list of operators, side by side: making them is mostly
// waiting for the disk.
func (n *node) openData(ctx context.Context) (known *operators.List, err error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		known, err = openOperators(n.config, n.log)
		return err
	})
	g.Go(func() (err error) {
		n.stores, err = openStores(ctx, n.config, n.log)
		return err
	})
	err = g.Wait()
	return known, err
}

// workerConfig is what the pool of workers is made of.
func (n *node) workerConfig(executor *commands.Executor, p providerSettings, settings tools.Settings, hostID string) worker.Config {
	c := worker.Config{
		Executor: executor, Store: n.stores.log, Router: p.set, Tools: n.config.offered(), Settings: settings,
		Workspaces: workspace.NewManager(n.config.TempDir, settings.Hidden...), Clock: clock.System{}, SystemPrompt: n.config.SystemPrompt,
		Workers: n.workers(), ClaimsMax: n.config.RunsMax, NodeID: hostID, Log: n.log,
		Retry: p.retry.After, Prices: p.prices, Reserve: n.config.CostReservation, OutputMax: n.config.OutputTokensMax,
		Reconcile: n.config.Reconcile, DrainMax: max(0, n.config.ShutdownMax-drainMargin), Host: machineID(), Shared: n.config.SharedRoots,
		Permissions: n.files,
		Assessor:    assess.New(assess.Config{Router: p.set, Provider: n.config.CheckProvider, Model: n.config.CheckModel, Timeout: n.config.CheckTimeout}),
	}
	if n.config.RetentionEnabled {
		c.Retention = worker.Retention{
			Every: n.config.RetentionInterval, MaxAge: n.config.WorkspacesMaxAge, MaxCount: n.config.WorkspacesMaxCount, Changed: n.config.WorkspacesChanged,
		}
	}
	if n.stores.shared {
		c.LeaseTTL = time.Duration(n.config.LeaseSeconds) * time.Second
	}
	return c
}

// host is what the server says about itself.
func (n *node) host(id string, settings tools.Settings) v1.Host {
	h := v1.Host{
		ID: id, Label: hostLabel(n.config), Version: strings.TrimPrefix(version(), "hecate "), PublicURL: n.config.PublicURL,
		Sandbox: settings.Wrapper.Kind, SandboxPath: settings.Wrapper.Path, Backend: n.config.Backend, RunsMax: n.config.RunsMax, RTKPath: settings.RTKPath,
	}
	if n.config.WorkersEnabled {
		h.WorkerCount = n.workers()
	}
	return h
}

// workers is how many runs this process executes at a time.
func (n *node) workers() int {
	if !n.config.RunsEnabled {
		return 0
	}
	return n.config.Workers
}

// askToStop ends the node from the inside, as a signal does from the outside.
func (n *node) askToStop() {
	n.log.Info("gateway shutting down", "trigger", "system_shutdown_endpoint")
	n.asked.Store(true)
	n.stop()
}

// listen takes the address. A child that a killed server was just starting holds its
// socket until its program begins, so a taken address is tried for a moment.
func listen(address string) (net.Listener, error) {
	for try := 1; ; try++ {
		l, err := net.Listen("tcp", address)
		if err == nil || try == listenTries || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		time.Sleep(listenPause)
	}
}

// partial is the part of an answer that is still on its way, as queries want it.
func (n *node) partial(_ context.Context, runID string) (string, bool) {
	text, version := n.progress.Partial(runID)
	return text, version != 0
}

// run serves until it is told to stop or a part of the node fails, then ends all of it.
func (n *node) run(ctx context.Context) {
	defer close(n.ended)
	told := n.observed.run(ctx, n.log)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.models.Run(ctx) })
	g.Go(func() error { return n.outbound.Run(ctx) })
	g.Go(func() error { return n.api.Run(ctx) })
	if n.config.WorkersEnabled {
		g.Go(func() error { return n.pool.Run(ctx) })
	}
	if n.config.RetentionEnabled {
		g.Go(func() error { return n.retained.Run(ctx) })
	}
	if n.partials != nil {
		g.Go(func() error { return n.partials.Run(ctx) })
	}
	if n.sealer != nil {
		g.Go(func() error { return n.sealer.Run(ctx) })
	}
	if n.witness != nil {
		g.Go(func() error { return n.witness.run(ctx) })
	}
	g.Go(func() error {
		if err := n.http.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		drain, stop := context.WithTimeout(context.WithoutCancel(ctx), httpDrain)
		defer stop()
		if err := n.http.Shutdown(drain); err != nil {
			n.log.Warn("requests were cut off", "error", err)
			return n.http.Close()
		}
		return nil
	})
	n.err = g.Wait()
	if errors.Is(n.err, context.Canceled) {
		n.err = nil
	}
	if n.sealer != nil {
		n.sealer.Finish(ctx)
	}
	if n.witness != nil {
		n.witness.finish(ctx)
	}
	told()
	n.release()
}

// release closes what was opened, last first.
func (n *node) release() {
	removeRuntimeFile(n.config.DataDir)
	if n.listener != nil {
		_ = n.listener.Close() // closed already after a normal end
	}
	if n.outbound != nil {
		n.outbound.close()
	}
	if n.stores != nil {
		if err := n.stores.close(); err != nil {
			n.log.Error("close stores", "error", err)
		}
	}
	if err := n.observed.close(); err != nil {
		n.log.Warn("telemetry was not handed on to the end", "error", err)
	}
	if n.lock != nil {
		_ = n.lock.Close() // the lock ends with the process at the latest
	}
}

// BaseURL is where clients of this machine reach the node.
func (n *node) BaseURL() string { return "http://" + n.listener.Addr().String() }

// Wait returns when the node has ended, with the error that ended it.
func (n *node) Wait() error {
	<-n.ended
	return n.err
}

// Close ends the node: workers stop, commands under way are ended with their process
// trees, and runs under way stay open in the log.
func (n *node) Close(ctx context.Context) error {
	n.stop()
	select {
	case <-n.ended:
		return n.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newEventID() [16]byte { return uuid.Must(uuid.NewV7()) }

func newSalt() (s [16]byte) {
	rand.Read(s[:]) // never fails (crypto/rand)
	return s
}

func toolSettings(c config) (tools.Settings, error) {
	hidden, err := dataToHide(c)
	if err != nil {
		return tools.Settings{}, fmt.Errorf("find the data directory: %w", err)
	}
	return tools.Settings{
		OutputMaxBytes: c.OutputMaxBytes, ShellAllowPrivateIPs: c.ShellAllowPrivateIPs, ShellAllowedHosts: c.ShellAllowedHosts,
		HTTP: egress.Settings{
			Timeout: c.HTTPTimeout, ResponseMaxBytes: c.HTTPMaxBytes, AllowPrivateIPs: c.HTTPAllowPrivateIPs, AllowedHosts: c.HTTPAllowedHosts,
		},
		Wrapper: wrapperOf(c), Confined: c.Sandbox == sandboxRequired, RTKPath: findRTK(),
		Hidden: hidden,
	}, nil
}
