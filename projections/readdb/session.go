package readdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

const statementsMax = 256 // prepared per connection; beyond that all are closed and made again

// ErrClosed is returned by transactions after Close.
var ErrClosed = errors.New("the database of read models is closed")

// sessions are connections with the statements that were prepared on them.
// Preparing costs SQLite more than running, and a sql.Tx cannot use a statement
// again that another transaction prepared on the same connection.
type sessions struct {
	pool *sql.DB
	free chan *session // an empty session is connected at its first use
	done chan struct{}
}

type session struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	keep       bool // prepared statements are kept here; pgx keeps its own
}

func newSessions(pool *sql.DB, n int, keep bool) *sessions {
	s := &sessions{pool: pool, free: make(chan *session, n), done: make(chan struct{})}
	for range n {
		s.free <- &session{keep: keep}
	}
	return s
}

func (p *sessions) take(ctx context.Context) (*session, error) {
	select {
	case <-p.done:
		return nil, ErrClosed
	default:
	}
	select {
	case s := <-p.free:
		if err := s.connect(ctx, p.pool); err != nil {
			p.free <- s
			return nil, err
		}
		return s, nil
	case <-p.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin starts a transaction. A server that was restarted leaves dead connections
// behind; since nothing has happened on them yet, a new one is tried.
func (p *sessions) begin(ctx context.Context, s *session, statement string) error {
	err := s.exec(ctx, statement)
	if err == nil || s.keep { // SQLite has no server
		return err
	}
	s.drop()
	if err := s.connect(ctx, p.pool); err != nil {
		return err
	}
	return s.exec(ctx, statement)
}

func (s *session) connect(ctx context.Context, pool *sql.DB) error {
	if s.conn != nil {
		return nil
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	s.conn, s.statements = conn, map[string]*sql.Stmt{}
	return nil
}

// give takes a session back. One whose state is unknown is connected anew.
func (p *sessions) give(s *session, usable bool) {
	if !usable {
		s.drop()
	}
	p.free <- s
}

func (p *sessions) close() {
	close(p.done)
	for range cap(p.free) {
		(<-p.free).drop()
	}
}

func (s *session) drop() {
	if s.conn == nil {
		return
	}
	s.forget()
	// A connection in an unknown state must not go back to the pool.
	s.conn.Raw(func(any) error { return driver.ErrBadConn }) //nolint:errcheck // it is given up
	s.conn.Close()
	s.conn = nil
}

func (s *session) forget() {
	for _, stmt := range s.statements {
		stmt.Close()
	}
	clear(s.statements)
}

func (s *session) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt, ok := s.statements[text]; ok {
		return stmt, nil
	}
	if len(s.statements) >= statementsMax {
		s.forget()
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.statements[text] = stmt
	return stmt, nil
}

func (s *session) exec(ctx context.Context, text string, args ...any) error {
	_, err := s.execResult(ctx, text, args...)
	return err
}

func (s *session) execResult(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if !s.keep {
		return s.conn.ExecContext(ctx, text, args...)
	}
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (s *session) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if !s.keep {
		return s.conn.QueryContext(ctx, text, args...)
	}
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}
