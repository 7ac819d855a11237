package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"syscall"

	"hecate/eventstore"
)

// startPercent is how much of the heap may be garbage while a server starts. A start allocates
// some eight megabytes in all, so it is quicker to collect them once it is over.
const startPercent = 400

type serveCommand struct{}

// Help is the long text of hecate serve --help.
func (serveCommand) Help() string {
	return `The server is configured by environment variables; the important ones:

    HECATE_ADDRESS                  listen address (127.0.0.1:8765)
    HECATE_DATA_DIR                 where its data is (.data)
    HECATE_BACKEND                  sqlite, postgres or memory
    HECATE_POSTGRES_URL             for HECATE_BACKEND=postgres
    HECATE_TASK_APPROVAL_POLICIES   what waits for a person (shell_exec,git_exec,file_write)
    HECATE_TASK_QUEUE_WORKERS       runs executed at a time (1)
    OPENAI_API_KEY, ANTHROPIC_API_KEY, PROVIDER_<NAME>_…   model providers

All of them: docs/operating.md. Logs go to standard error, as JSON lines.`
}

// Run serves until it is asked to end.
func (serveCommand) Run(a *app) error {
	defer a.catchInterrupts()()
	c, err := readConfig(a.environ)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: c.level()}))
	usual := debug.SetGCPercent(startPercent)
	n, err := startNode(context.Background(), a.environ, log)
	debug.SetGCPercent(usual)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		log.Error("gateway listen failed", "address", c.Address, "error", err.Error())
		return advise(err, "Another server listens there. Choose another HECATE_ADDRESS, or end it.")
	case errors.Is(err, eventstore.ErrInUse):
		return advise(err, "Use the server that is running, or give this one another HECATE_DATA_DIR.")
	case err != nil:
		return err
	}
	log = n.log
	log.Info("serving", "url", n.BaseURL(), "docs", n.BaseURL()+"/docs", "backend", c.Backend, "data_dir", c.DataDir, "pid", os.Getpid())
	debug.FreeOSMemory() // what only the start needed
	ended := make(chan error, 1)
	go func() { ended <- n.Wait() }() // ends with the node
	select {
	case err := <-ended:
		if n.asked.Load() && err == nil {
			return nil
		}
		return fmt.Errorf("the server ended: %w", err)
	case s := <-a.interrupt:
		log.Info("gateway shutting down", "trigger", s.String())
	}
	ctx, stop := context.WithTimeout(context.Background(), c.ShutdownMax)
	defer stop()
	if err := n.Close(ctx); err != nil {
		log.Error("shutdown did not finish cleanly", "error", err.Error())
	}
	return nil
}
