package readdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"hecate/migrations"
)

const (
	postgresReaders = 4
	postgresWriters = 2 // the models and a rebuild beside them
)

// OpenPostgres opens the read models in the database of dsn. Table names begin with
// prefix, "hecate" if it is empty. It holds at most six connections.
func OpenPostgres(ctx context.Context, dsn, prefix string) (*DB, error) {
	if prefix != "" {
		if err := migrations.CheckPrefix(prefix); err != nil {
			return nil, err
		}
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open read models: %w", err)
	}
	config.RuntimeParams["application_name"] = "hecate-views"
	config.RuntimeParams["synchronous_commit"] = "off" // the log can tell all of it again
	// Without statistics, which come minutes after the rows, the server would gather all
	// that a page is the beginning of, to sort it. Indexes have the order already.
	config.RuntimeParams["enable_bitmapscan"] = "off"
	// With statistics it would rather read the whole of a table of middling size than look up
	// the hundred rows that a question names.
	config.RuntimeParams["enable_seqscan"] = "off"
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(postgresReaders + postgresWriters)
	pool.SetMaxIdleConns(postgresReaders + postgresWriters)
	db := &DB{
		pool: pool, postgres: true, prefix: prefix,
		write: newSessions(pool, postgresWriters, false), read: newSessions(pool, postgresReaders, false),
	}
	if err := db.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open read models: %w", err), db.Close())
	}
	return db, nil
}
