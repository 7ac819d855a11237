package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"hecate/api"
	v1 "hecate/api/v1"
	"hecate/commands"
	"hecate/domain/clock"
	"hecate/projections/runner"
	"hecate/projections/runs"
	"hecate/runtime/model/provider"
	"hecate/runtime/worker"
	"hecate/runtime/workspace"
	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/sandbox"
)

// How often, and how long apart, a taken address is tried.
const (
	listenTries = 10
	listenPause = 30 * time.Millisecond
)

// httpDrain is how long requests under way may take when the node ends.
const httpDrain = 3 * time.Second

// node is one running server: log, read models, API and workers.
type node struct {
	config   config
	log      *slog.Logger
	stores   *stores
	models   *runner.Runner
	pool     *worker.Pool
	api      *api.Server
	http     *http.Server
	listener net.Listener

	stop  context.CancelFunc
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
	if n.config.Sandbox != "none" {
		// Trying the wrapper out takes as long as opening the stores; toolSettings waits for it.
		go sandbox.Detect()
	}
	providers, err := providersOf(n.config)
	if err != nil {
		return err
	}
	hostID, err := hostID(n.config.DataDir)
	if err != nil {
		return err
	}
	if n.stores, err = openStores(ctx, n.config, n.log); err != nil {
		return err
	}
	n.models, err = runner.New(ctx, runner.Config{Log: n.stores.log, DB: n.stores.views, Models: []runner.Model{runs.Model{}}, Logger: n.log})
	if err != nil {
		return err
	}
	executor := &commands.Executor{
		Store: n.stores.log, Clock: clock.System{}, NewID: newEventID, NewSalt: newSalt,
		Policies: n.config.Policies, ModelCallsMax: n.config.ModelCallsMax,
	}
	settings, err := toolSettings(n.config)
	if err != nil {
		return err
	}
	n.pool = worker.New(worker.Config{
		Executor: executor, Store: n.stores.log, Router: providers, Tools: append(builtin.All(), builtin.Direct()...), Settings: settings,
		Workspaces: workspace.NewManager(n.config.TempDir), Clock: clock.System{}, SystemPrompt: n.config.SystemPrompt,
		Workers: n.config.Workers, NodeID: hostID, Log: n.log,
	})
	if n.listener, err = listen(n.config.Address); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	n.api, err = api.New(api.Config{
		Executor: executor, Store: n.stores.log, Views: runs.NewViews(n.models, n.stores.log, n.partial), Models: n.models, Progress: n.pool.Progress,
		Host: v1.Host{ID: hostID, Label: hostLabel(n.config), Version: strings.TrimPrefix(version(), "hecate "), PublicURL: n.config.PublicURL, Sandbox: settings.Wrapper, SandboxPath: settings.WrapperPath},
		Log:  n.log, Token: n.config.RuntimeToken, ListenAddress: n.listener.Addr().String(), AllowedOrigins: n.config.AllowedOrigins,
	})
	if err != nil {
		return err
	}
	n.http = &http.Server{Handler: n.api, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	return writeRuntimeFile(n.config.DataDir, n.BaseURL(), n.listener.Addr().String())
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
	text, version := n.pool.Progress.Partial(runID)
	return text, version > 0
}

// run serves until it is told to stop or a part of the node fails, then ends all of it.
func (n *node) run(ctx context.Context) {
	defer close(n.ended)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.models.Run(ctx) })
	g.Go(func() error { return n.api.Run(ctx) })
	if n.config.WorkersEnabled {
		g.Go(func() error { return n.stores.whileWorker(ctx, n.log, n.pool.Run) })
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
	n.release()
}

// release closes what was opened, last first.
func (n *node) release() {
	removeRuntimeFile(n.config.DataDir)
	if n.listener != nil {
		_ = n.listener.Close() // closed already after a normal end
	}
	if n.stores != nil {
		if err := n.stores.close(); err != nil {
			n.log.Error("close stores", "error", err)
		}
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

func providersOf(c config) (*provider.Set, error) {
	var environ []string
	for k, v := range c.environ {
		environ = append(environ, k+"="+v)
	}
	configs, err := provider.Parse(environ)
	if err != nil {
		return nil, err
	}
	return provider.New(configs, provider.Options{})
}

func toolSettings(c config) (tools.Settings, error) {
	wrapper, path := sandbox.WrapperNone, ""
	if c.Sandbox != "none" {
		wrapper, path = sandbox.Detect()
	}
	data, err := filepath.Abs(c.DataDir)
	if err != nil {
		return tools.Settings{}, fmt.Errorf("find the data directory: %w", err)
	}
	return tools.Settings{
		OutputMaxBytes: c.OutputMaxBytes, ShellAllowPrivateIPs: c.ShellAllowPrivateIPs, ShellAllowedHosts: c.ShellAllowedHosts,
		Wrapper: wrapper, WrapperPath: path,
		Hidden: []string{data}, // what the agent runs has no business with the log
	}, nil
}
