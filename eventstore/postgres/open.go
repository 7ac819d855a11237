// Package postgres keeps the log in PostgreSQL, where several nodes share it.
//
// Each node gathers its appends and sends a group as one call of one function on
// the server. Positions are given there under one lock, so the order has no gaps
// and every reader sees it the same; see hecate_append in the migrations.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hecate/domain/ident"
	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/internal/tail"
	"hecate/migrations"
)

const (
	readersMaxDefault = 8
	writersMax        = 4 // appender, follower, notifier, sealer
	leasersMax        = 3 // what begins and ends claims takes turns anyway
	renewersMax       = 1
	connectMax        = 10 * time.Second
	leasePingMax      = 2 * time.Second
	clientCheck       = "5s"
)

// writerSettings are what the server applies to a connection that appends.
var writerSettings = map[string]string{
	// Nobody may sit on the log's lock, least of all a client that is gone.
	"lock_timeout":                        "10s",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "30s",
	"default_transaction_isolation":       "read committed",
}

// planSettings are what the server applies to every connection.
var planSettings = map[string]string{
	// The statements never change and all rows are found by their keys: plan once,
	// whatever the server believes about the sizes of the tables.
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",
}

// Options say where the log is.
type Options struct {
	URL         string // postgres://user@host:port/database?sslmode=…
	TablePrefix string // what table names begin with; "hecate" if empty
	ReadersMax  int    // connections for reading; 8 if zero. Appending, listening and leases take up to 9 more
}

// Store is a log in PostgreSQL. It implements eventstore.Store and eventstore.StoredReader.
type Store struct {
	config  *pgx.ConnConfig
	prefix  string
	sql     statements
	logID   string
	writer  *pgxpool.Pool // for appends and what keeps them known; readers cannot exhaust it
	reader  *pgxpool.Pool
	leaser  *pgxpool.Pool // begins and ends leases and claims, behind the log's lock, and execution locks
	renewer *pgxpool.Pool // renews leases: waits for nobody
	lost    lostSessions  // of leaser, that may not have ended
	queue   *groupcommit.Queue
	seen    seenVersions
	tail    *tail.Tail
	news    chan struct{} // a token: the database may be ahead of the tail
	notify  chan struct{} // a token: others should hear of an append
	stop    context.CancelFunc
	tasks   sync.WaitGroup

	connections atomic.Int64 // made for writing so far
	settleMax   time.Duration
	close       func()
}

// Open opens the log and creates it if the database has none. It returns an error
// that wraps migrations.ErrNewer if a newer build has changed the schema.
func Open(ctx context.Context, o Options) (*Store, error) {
	prefix := o.TablePrefix
	if prefix == "" {
		prefix = migrations.Prefix
	}
	if err := migrations.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	s := &Store{prefix: prefix, sql: newStatements(prefix), settleMax: settleMax, news: make(chan struct{}, 1), notify: make(chan struct{}, 1)}
	if err := s.connect(ctx, o); err != nil {
		s.closePools()
		return nil, fmt.Errorf("open log: %w", err)
	}
	head, err := s.prepare(ctx)
	if err != nil {
		s.closePools()
		return nil, fmt.Errorf("open log: %w", err)
	}
	s.tail = tail.New(head)
	s.queue = groupcommit.New(s.commit)
	s.close = sync.OnceFunc(s.shutDown)
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.tasks.Go(func() { s.listen(running) })
	s.tasks.Go(func() { s.follow(running) })
	s.tasks.Go(func() { s.announce(running) })
	return s, nil
}

func (s *Store) connect(ctx context.Context, o Options) error {
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return err
	}
	config.ConnConfig.ConnectTimeout = connectMax
	s.config = config.ConnConfig.Copy()

	maps.Copy(config.ConnConfig.RuntimeParams, planSettings)
	config.MaxConns = readersMaxDefault
	if o.ReadersMax > 0 {
		config.MaxConns = int32(min(o.ReadersMax, 1000))
	}
	if s.reader, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	config = config.Copy()
	maps.Copy(config.ConnConfig.RuntimeParams, writerSettings)
	s.writer, err = s.writers(ctx, config, writersMax, func() { s.connections.Add(1) })
	if err != nil {
		return err
	}
	// A connection that died costs a lease the time to make another one, and no more.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	config.PingTimeout = leasePingMax
	if s.leaser, err = s.writers(ctx, config, leasersMax, func() {}); err != nil {
		return err
	}
	s.renewer, err = s.writers(ctx, config, renewersMax, func() {})
	return err
}

// writers returns a pool of sessions that write. made is called for each new one.
func (s *Store) writers(ctx context.Context, config *pgxpool.Config, connsMax int32, made func()) (*pgxpool.Pool, error) {
	config = config.Copy()
	config.MaxConns = connsMax
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		made()
		if err := checkClients(ctx, conn); err != nil {
			return err
		}
		return s.beginSession(ctx, conn)
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// checkClients lets the server notice in the midst of a statement that the client
// is gone. Servers on some systems cannot do that, which is no reason to fail.
func checkClients(ctx context.Context, conn *pgx.Conn) error {
	for _, setting := range []string{"client_connection_check_interval", "tcp_user_timeout"} {
		_, err := conn.Exec(ctx, "SELECT set_config($1, $2, false)", setting, clientCheck)
		var refused *pgconn.PgError
		if err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// prepare brings the schema up to date and returns the last position given out.
func (s *Store) prepare(ctx context.Context) (head int64, err error) {
	conn, err := s.reader.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	if err := migrations.Postgres(ctx, conn.Conn(), migrations.PostgresLog(), s.prefix); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, s.sql.newLog, ident.New("log")); err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, s.sql.state).Scan(&s.logID, &head)
	return head, err
}

// Close ends waiting readers, finishes appends under way and closes all connections.
func (s *Store) Close() error {
	s.close()
	return nil
}

func (s *Store) shutDown() {
	s.tail.Close()
	s.queue.Close()
	s.stop()
	s.tasks.Wait()
	s.closePools()
}

func (s *Store) closePools() {
	for _, pool := range []*pgxpool.Pool{s.writer, s.reader, s.leaser, s.renewer} {
		if pool != nil {
			pool.Close()
		}
	}
}

// signal puts a token into ch if there is none.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

var (
	_ eventstore.Store          = (*Store)(nil)
	_ eventstore.StoredReader   = (*Store)(nil)
	_ eventstore.SharedProgress = (*Store)(nil)
)
