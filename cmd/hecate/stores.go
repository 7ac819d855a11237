package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/sqlite"
	"hecate/projections/readdb"
)

// stores are the log and the database of the read models.
type stores struct {
	log   eventstore.Store
	views *readdb.DB
	// lock takes the one place of the process that runs workers; nil if no other process can.
	lock func(context.Context) (release func(), lost <-chan struct{}, err error)
}

func openStores(ctx context.Context, c config, log *slog.Logger) (*stores, error) {
	s := &stores{}
	if err := s.open(ctx, c, log); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stores) open(ctx context.Context, c config, log *slog.Logger) error {
	switch c.Backend {
	case "memory":
		return s.openMemory(ctx)
	case "postgres":
		return s.openPostgres(ctx, c)
	}
	return s.openSQLite(ctx, c, log)
}

func (s *stores) openMemory(ctx context.Context) error {
	store, err := sqlite.OpenMemory(ctx)
	if err != nil {
		return err
	}
	s.log = store
	s.views, err = readdb.OpenMemory(ctx)
	return err
}

func (s *stores) openSQLite(ctx context.Context, c config, log *slog.Logger) error {
	store, err := sqlite.Open(ctx, sqlite.Options{Path: c.SQLitePath, TablePrefix: c.SQLitePrefix, BusyTimeout: c.SQLiteBusyTimeout})
	if err != nil {
		return err
	}
	s.log = store
	path := viewsPath(c.SQLitePath)
	views, replaced, err := readdb.OpenSQLite(ctx, path)
	if replaced {
		log.Warn("the read models were broken and are built anew", "path", path)
	}
	s.views = views
	return err
}

// viewsPath is where the read models stand: beside the log, in a file of their own.
func viewsPath(log string) string {
	ext := filepath.Ext(log)
	return log[:len(log)-len(ext)] + "-views" + ext
}

func (s *stores) openPostgres(ctx context.Context, c config) error {
	store, err := postgres.Open(ctx, postgres.Options{URL: c.PostgresURL, TablePrefix: c.PostgresPrefix, ReadersMax: c.PostgresConnsMax})
	if err != nil {
		return err
	}
	s.log, s.lock = store, store.LockWorker
	s.views, err = readdb.OpenPostgres(ctx, c.PostgresURL, c.PostgresPrefix)
	return err
}

// close closes what is open. The read models go first: they read the log.
func (s *stores) close() error {
	var err error
	if s.views != nil {
		err = s.views.Close()
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	return err
}

// workerRetry is how often a process without the worker's place tries to get it.
const workerRetry = 2 * time.Second

// whileWorker runs work as long as this process has the worker's place, and waits
// for the place otherwise.
func (s *stores) whileWorker(ctx context.Context, log *slog.Logger, work func(context.Context) error) error {
	if s.lock == nil {
		return work(ctx)
	}
	told := false
	for ctx.Err() == nil {
		release, lost, err := s.lock(ctx)
		if err == nil {
			told = false
			log.Info("this process runs the workers now")
			err = workUntil(ctx, lost, work)
			release()
			if err != nil {
				return err
			}
			continue
		}
		if ctx.Err() == nil && !told {
			told = true
			log.Info("this process runs no workers for now", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(workerRetry):
		}
	}
	return ctx.Err()
}

func workUntil(ctx context.Context, lost <-chan struct{}, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-lost:
			stop()
		case <-ended:
		}
	}()
	if err := work(ctx); err != nil {
		return fmt.Errorf("run workers: %w", err)
	}
	return nil
}
