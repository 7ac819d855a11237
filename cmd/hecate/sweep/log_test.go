//go:build linux

package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/sqlite"
)

// store is the log of one experiment, seen from outside the server.
type store struct {
	env  []string // tells a server of it
	open func(ctx context.Context) (eventstore.Store, error)
}

func onSQLite(_ *testing.T, dir string) store {
	path := filepath.Join(dir, "log.db")
	return store{
		env: []string{"HECATE_BACKEND=sqlite", "HECATE_SQLITE_PATH=" + path},
		open: func(ctx context.Context) (eventstore.Store, error) {
			aside, err := copied(path)
			if err != nil {
				return nil, err
			}
			return sqlite.Open(ctx, sqlite.Options{Path: aside})
		},
	}
}

// copied is a copy of a database that nobody has open. To open it itself would leave
// traces, and its lock to whatever process this one is just starting.
func copied(path string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), "copy-")
	if err != nil {
		return "", err
	}
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + end)
		if errors.Is(err, os.ErrNotExist) {
			continue // it was closed properly, or never opened
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "log.db"+end), raw, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "log.db"), nil
}

func onPostgres(t *testing.T, _ string) store {
	t.Helper()
	url := pgtest.URL(t)
	return store{
		env: []string{"HECATE_BACKEND=postgres", "HECATE_POSTGRES_URL=" + url},
		open: func(ctx context.Context) (eventstore.Store, error) {
			if err := alone(ctx, url); err != nil {
				return nil, err
			}
			return postgres.Open(ctx, postgres.Options{URL: url})
		},
	}
}

// alone waits until the database has no other clients: what a dead one had asked for
// may still be under way.
func alone(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		var others int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&others)
		if err != nil || others == 0 {
			return err
		}
		time.Sleep(pollEvery)
	}
}

// history is the whole log at a moment at which nobody writes.
type history struct {
	records []eventstore.Record
	facts   []fact
}

// fact is what the checks want of a record.
type fact struct {
	kind, run string
	ToolCall  string `json:"tool_call_id"`
	Step      string `json:"step_id"`
	Outcome   string `json:"outcome"`
	Decision  string `json:"decision"`
	Reason    string `json:"reason"`
}

func (s store) read(ctx context.Context) (h *history, err error) {
	log, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	h = &history{}
	for {
		page, err := log.ReadAll(ctx, int64(len(h.records)), 512)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return h, nil
		}
		for _, r := range page {
			run, _ := strings.CutPrefix(r.Stream, "run-")
			f := fact{kind: r.Type, run: run}
			if err := json.Unmarshal(r.Data, &f); err != nil {
				return nil, fmt.Errorf("read record %d: %w", r.Position, err)
			}
			h.facts = append(h.facts, f)
		}
		h.records = append(h.records, page...)
	}
}

// of returns the facts of these kinds.
func (h *history) of(kinds ...string) (out []fact) {
	for _, f := range h.facts {
		if slices.Contains(kinds, f.kind) {
			out = append(out, f)
		}
	}
	return out
}

// openCalls are the tool calls that were dispatched and whose outcome is not known.
func (h *history) openCalls() map[string]bool {
	open := map[string]bool{}
	for _, f := range h.facts {
		switch f.kind {
		case "tool.dispatch.intended":
			open[f.ToolCall] = true
		case "tool.dispatch.settled":
			delete(open, f.ToolCall)
		}
	}
	return open
}

// cancelledModelCalls are the steps of the model calls that were under way when their
// run was cancelled.
func (h *history) cancelledModelCalls() map[string]bool {
	cut := map[string]bool{}
	for i, f := range h.facts {
		if f.kind != "run.cancelled" {
			continue
		}
		before := history{facts: h.facts[:i]}
		for key := range before.openModelCalls() {
			if strings.HasPrefix(key, f.run+" ") {
				cut[key] = true
			}
		}
	}
	return cut
}

// openModelCalls are the steps of the model calls that were under way, in runs that
// had not ended.
func (h *history) openModelCalls() map[string]bool {
	open := map[string]bool{}
	for _, f := range h.facts {
		switch f.kind {
		case "model.call.started":
			open[f.run+" "+f.Step] = true
		case "model.call.completed", "model.call.failed", "model.call.abandoned":
			delete(open, f.run+" "+f.Step)
		case "run.finished", "run.failed", "run.cancelled":
			for key := range open {
				if strings.HasPrefix(key, f.run+" ") {
					delete(open, key)
				}
			}
		}
	}
	return open
}
