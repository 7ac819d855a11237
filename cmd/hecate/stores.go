package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/sqlite"
	"hecate/projections/readdb"
)

// stores are the log and the database of the read models.
type stores struct {
	log   eventstore.Store
	views *readdb.DB
	// shared says that other processes may work on the log too.
	shared bool
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
	store, err := openSQLiteLog(ctx, c)
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

func openSQLiteLog(ctx context.Context, c config) (*sqlite.Store, error) {
	return sqlite.Open(ctx, sqlite.Options{Path: c.SQLitePath, TablePrefix: c.SQLitePrefix, BusyTimeout: c.SQLiteBusyTimeout})
}

func openPostgresLog(ctx context.Context, c config) (*postgres.Store, error) {
	return postgres.Open(ctx, postgres.Options{URL: c.PostgresURL, TablePrefix: c.PostgresPrefix, ReadersMax: c.PostgresConnsMax})
}

// viewsPath is where the read models stand: beside the log, in a file of their own.
func viewsPath(log string) string {
	ext := filepath.Ext(log)
	return log[:len(log)-len(ext)] + "-views" + ext
}

func (s *stores) openPostgres(ctx context.Context, c config) error {
	store, err := openPostgresLog(ctx, c)
	if err != nil {
		return err
	}
	s.log, s.shared = store, true
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
