package stored

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"hecate/migrations"
)

// OpenSQLite opens the log in a file, the one of a server or a copy, with so many
// connections. prefix is what table names begin with; "hecate" if empty.
func OpenSQLite(ctx context.Context, path, prefix string, conns int) (*Log, error) {
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	var failed error
	for _, how := range waysToRead(path) {
		l := &Log{
			db: sql.OpenDB(sqliteConnector{how}), scanner: &file{name: how}, prefix: prefix, describe: "SQLite file " + path, indexed: true,
			id: `l.event_id`, list: `(SELECT value FROM json_each(?))`, numbers: `(SELECT value, key AS number FROM json_each(?)) i`,
		}
		l.db.SetMaxOpenConns(conns)
		l.db.SetMaxIdleConns(conns)
		err := l.begin(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?`)
		if err == nil {
			return l, nil
		}
		failed = errors.Join(err, l.Close())
	}
	return nil, fmt.Errorf("open log %s: %w", path, failed)
}

// waysToRead lists how a file can be opened. One in write-ahead form whose folder cannot be
// written is read as it is, if there is no write-ahead log beside it.
func waysToRead(path string) []string {
	name := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
	params := url.Values{"_pragma": {"busy_timeout(30000)", "mmap_size(0)", "query_only(1)", "temp_store(memory)", "cache_size(-2048)"}}.Encode()
	ways := []string{name + "?mode=ro&" + params}
	if info, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		ways = append(ways, name+"?mode=ro&immutable=1&"+params)
	}
	return ways
}

// sqliteConnector opens connections without going through the global driver table.
type sqliteConnector struct{ dsn string }

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (sqliteConnector) Driver() driver.Driver { return sqliteDriver }

var sqliteDriver = &sqlite.Driver{}

// readSettings are what a PostgreSQL server applies to the connections.
var readSettings = map[string]string{
	"default_transaction_read_only": "on",
	"enable_seqscan":                "off", // ranges of positions, whatever the server believes about the sizes
	"enable_hashjoin":               "off",
	"jit":                           "off",
}

// OpenPostgres opens the log in a PostgreSQL database.
func OpenPostgres(ctx context.Context, address, prefix string, conns int) (*Log, error) {
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	for name, value := range readSettings {
		config.RuntimeParams[name] = value
	}
	db := stdlib.OpenDB(*config)
	l := &Log{
		db: db, scanner: server{db}, prefix: prefix, dollars: true,
		describe: fmt.Sprintf("PostgreSQL database %s at %s:%d", config.Database, config.Host, config.Port),
		id:       `uuid_send(l.event_id)`,
		list:     `(SELECT json_array_elements_text(?::json))`,
		numbers:  `(SELECT value::bigint AS value, number FROM json_array_elements_text(?::json) WITH ORDINALITY AS e(value, number)) i`,
	}
	l.db.SetMaxOpenConns(conns)
	l.db.SetMaxIdleConns(conns)
	if err := l.begin(ctx, `SELECT to_regclass(?) IS NOT NULL`); err != nil {
		return nil, errors.Join(fmt.Errorf("open log in %s: %w", l, err), l.Close())
	}
	return l, nil
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return migrations.CheckPrefix(prefix)
}
